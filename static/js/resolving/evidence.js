// What the raters quoted is marked in the issue in their colours; a click on a quote leads there.

import { findQuote, forgetTexts, paint, reveal, sources } from "../lib/highlights.js";

const reading = () => document.getElementById("reading");
let ranges = new Map();

function rootOf({ where, comment }, shown) {
  return shown.find((each) => each.where === where && (where !== "comment" || each.key === Number(comment)))?.root;
}

function mark() {
  ranges = new Map();
  const shown = sources(reading());
  const marks = {};
  for (const line of document.querySelectorAll("[data-evidence]")) {
    const { quote, before, after, at, rater, tint } = line.dataset;
    const root = rootOf(line.dataset, shown);
    const range = root ? findQuote(root, { quote, before, after, at: at ? Number(at) : null }) : null;
    line.querySelector(".evidence-lost").hidden = Boolean(range);
    if (!range) continue;
    ranges.set(line, range);
    (marks[rater ? `evidence-${rater}-${tint}` : "evidence-off"] ??= []).push(range);
  }
  paint("evidence-", marks);
}

document.addEventListener("click", ({ target }) => {
  const line = target.closest?.("[data-evidence]");
  if (!line) return;
  const range = ranges.get(line);
  if (!range) return;
  line.closest(".room-answer")?.classList.remove("is-open");
  reveal(reading(), range);
});

document.addEventListener("htmx:afterSettle", () => {
  forgetTexts();
  mark();
});
mark();
