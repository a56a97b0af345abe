// What the server says of a training item: shown before the next issue comes, or in a line where the rater went on already.

import { banner } from "./banner.js";

const open = () => document.querySelector("dialog#feedback[open]");

/** Shows the feedback of an answer's page, then calls `goOn`; false where there is none. Enter, Ctrl+Enter and Esc go on. */
export function showFeedback(page, goOn = () => {}) {
  const told = page.getElementById("feedback");
  if (!told) return false;
  open()?.close();
  const dialog = document.importNode(told, true);
  document.body.append(dialog);
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    event.stopPropagation();
    if (!event.repeat) dialog.close();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    goOn();
  });
  dialog.showModal();
  dialog.querySelector("#feedback-on").focus();
  return true;
}

/** Calls `goOn` when no feedback is open any more. */
export function afterFeedback(goOn) {
  if (open()) open().addEventListener("close", goOn, { once: true });
  else goOn();
}

/** Keeps what is told of an answer whose issue is not on the page any more, to be told when the rater can read it. */
export function keepFeedback(shelf, page, { assignment, name, url }) {
  const words = page.getElementById("feedback-title")?.textContent.trim();
  if (words) shelf.keep("told", assignment, { assignment, name, url, words, at: Date.now() });
}

/** Tells of the oldest one that was kept, with the way to read all of it; to be read on its own page, it is told there. */
export function feedbackBanner(shelf, turn, gone) {
  if (turn) shelf.drop("told", turn.assignment);
  const [first, ...more] = shelf.all("told").sort((a, b) => a.at - b.at);
  if (!first) return;
  const rest = more.length ? ` ${more.length} more ${more.length === 1 ? "has" : "have"} feedback.` : "";
  banner("told", `Calibration item ${first.words}.${rest}`, {
    name: "told",
    link: ["Show feedback", `${first.url}#meant`],
    button: "Seen",
    press: () => {
      shelf.drop("told", first.assignment);
      gone();
      feedbackBanner(shelf, turn, gone);
    },
  });
}
