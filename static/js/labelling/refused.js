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
  const more = all.length > 1 ? ` ${all.length - 1} more ${all.length === 2 ? "is" : "are"} kept, too.` : "";
  const what = first.skip ? `That you skip ${first.name} (“${first.skip}”)` : `Your answer to ${first.name}`;
  const where = isHere ? "It is filled in here again." : "It is kept in this browser.";
  banner("bad", `${what} was not taken. ${first.why} ${where}${more}`, {
    name: "refused",
    link: isHere ? null : ["Open it", first.url],
    button: "Throw it away",
    press: () => {
      shelf.drop("refused", first.assignment);
      gone();
      refusedBanner(shelf, turn, gone);
    },
  });
}
