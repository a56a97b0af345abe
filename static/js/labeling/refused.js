// Answers that were not taken, and are kept in this browser with their words.

import { banner } from "./banner.js";

/** What the server said, in one line. */
export function wordsOf(page) {
  const listed = [...page.querySelectorAll("#problems li")].map(({ textContent }) => textContent.trim());
  for (const button of page.querySelectorAll("button")) button.remove();
  return listed.join(" ") || page.body.textContent.trim().replace(/\s+/g, " ");
}

/** Which answers were not taken, and why; the one to the issue on the page is told first. */
export function refusedBanner(shelf, turn, gone) {
  const all = shelf.all("refused").sort((a, b) => a.at - b.at);
  const first = all.find(({ assignment }) => assignment === turn?.assignment) ?? all[0];
  if (!first) return;
  const isHere = first.assignment === turn?.assignment;
  const more = all.length > 1 ? ` ${all.length - 1} more ${all.length === 2 ? "is" : "are"} also kept.` : "";
  const what = first.skip ? `Skipping ${first.name} (“${first.skip}”)` : `Your labels of ${first.name}`;
  const where = isHere ? "They are filled in here again." : "They are kept in this browser.";
  banner("bad", `${what} could not be saved. ${first.why} ${where}${more}`, {
    name: "refused",
    link: isHere ? null : ["Open item", first.url],
    button: "Discard answer",
    press: () => {
      shelf.drop("refused", first.assignment);
      gone();
      refusedBanner(shelf, turn, gone);
    },
  });
}
