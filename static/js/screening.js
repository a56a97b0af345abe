// Screening with the list beside the issue: keys, the line that is read, keywords, and the time that an issue took.

import { forgetTexts, paint } from "./lib/highlights.js";
import { finder } from "./lib/keywords.js";
import { singleKeys } from "./labeling/keys.js";
import { Stopwatch } from "./labeling/stopwatch.js";

const list = () => document.getElementById("screen-list");
const reading = () => document.getElementById("screen-read");
const bar = () => document.getElementById("screen-bar");
const room = document.getElementById("screen-room");
const lines = () => [...(list()?.querySelectorAll(".screen-line") ?? [])];
const watch = new Stopwatch();

const keywords = JSON.parse(document.getElementById("screen-words")?.textContent || "[]");
const finders = keywords.map((keyword) => finder([keyword]));

const SLICE_MS = 40;
let painting = 0;

/** Highlights the keywords in title, text and comments, and in the titles of the list; a long text in several slices. */
async function highlight() {
  if (!keywords.length) return;
  const places = [...(reading()?.querySelectorAll(".issue-title, [data-source]") ?? []), ...document.querySelectorAll(".screen-title")];
  const ranges = [];
  const turn = (painting += 1);
  let began = performance.now();
  for (const place of places) {
    const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const find of finders) {
        if (performance.now() - began > SLICE_MS) {
          paint("screening-keyword", { "screening-keyword": ranges });
          await new Promise((resume) => setTimeout(resume));
          if (turn !== painting) return; // something else is shown by now
          began = performance.now();
        }
        for (const [start, end] of find(node.data)) {
          const range = document.createRange();
          range.setStart(node, start);
          range.setEnd(node, end);
          ranges.push(range);
        }
      }
    }
  }
  paint("screening-keyword", { "screening-keyword": ranges });
}

/** Marks the line of the issue that is read, and brings it into sight; where the list lacks it, that part is fetched. */
function follow() {
  const here = reading()?.dataset.here;
  let found = null;
  for (const line of lines()) {
    const isHere = line.dataset.item === here;
    if (isHere) found = line;
    if (isHere) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
  if (found) found.scrollIntoView({ block: "nearest" });
  else if (here && list()) window.htmx.ajax("GET", `${list().dataset.url}&here=${here}`, { target: "#screen-list", swap: "outerHTML" });
}

function step(by) {
  const all = lines();
  const at = all.findIndex((line) => line.dataset.item === reading()?.dataset.here);
  const next = all[at + by];
  if (next) next.click();
  else document.getElementById(by > 0 ? "screen-later" : "screen-earlier")?.click();
}

const press = (selector) => {
  if (bar()?.getAttribute("aria-busy") !== "true") bar()?.querySelector(selector)?.click();
};

/** Shows the reasons and goes to the one that was chosen, or the first; a single reason is chosen at once. */
function askWhy() {
  const reasons = [...(bar()?.querySelectorAll(".screen-reasons button") ?? [])];
  if (reasons.length === 1) reasons[0].click();
  else if (reasons.length) {
    bar().classList.add("is-asked");
    document.getElementById("screen-out").setAttribute("aria-expanded", "true");
    (reasons.find((each) => each.getAttribute("aria-pressed") === "true") ?? reasons[0]).focus();
  }
}

function stopAsking() {
  bar()?.classList.remove("is-asked");
  document.getElementById("screen-out")?.setAttribute("aria-expanded", "false");
  reading()?.focus({ preventScroll: true });
}

document.addEventListener("click", (event) => {
  if (event.target.closest?.("#screen-out")) {
    if (bar().classList.contains("is-asked")) stopAsking();
    else askWhy();
  }
  if (event.target.closest?.("[data-list]") && matchMedia("(max-width: 760px)").matches) {
    event.preventDefault();
    room.classList.add("is-list");
    lines().find((line) => line.getAttribute("aria-current"))?.focus();
  }
  if (event.target.closest?.(".screen-line")) room.classList.remove("is-list");
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches?.("input, select, textarea")) return;
  if (event.key === "Escape" && bar()?.classList.contains("is-asked")) return stopAsking();
  if (!singleKeys()) return;
  const does = {
    j: () => step(1),
    k: () => step(-1),
    i: () => press('[value="in"]'),
    m: () => press(".screen-maybe"),
    o: askWhy,
    "?": () => document.getElementById("screen-help")?.showModal(),
    PageDown: () => scroll(1),
    PageUp: () => scroll(-1),
  }[event.key] ?? (/^[1-9]$/.test(event.key) ? () => press(`[data-digit="${event.key}"]`) : null);
  if (!does || event.repeat && !["j", "k", "PageDown", "PageUp"].includes(event.key)) return;
  event.preventDefault();
  does();
});

function scroll(way) {
  const place = getComputedStyle(reading()).overflowY === "visible" ? window : reading();
  place.scrollBy({ top: way * 0.85 * (place === window ? innerHeight : reading().clientHeight) });
}

document.addEventListener("htmx:configRequest", (event) => {
  if (event.detail.elt.id === "screen-bar") event.detail.parameters.seconds = String(watch.seconds);
});

document.addEventListener("htmx:afterSettle", (event) => {
  if (event.detail.target.id === "screen-read") {
    forgetTexts();
    watch.reset(0);
    follow();
    reading().scrollTop = 0;
    if (matchMedia("(max-width: 760px)").matches) scrollTo(0, 0);
    reading().focus({ preventScroll: true });
    const title = reading().querySelector(".issue-title, h1")?.textContent.trim();
    document.getElementById("announcer").textContent = title ?? "";
  }
  if (event.detail.target.id === "screen-list") {
    // A part of the list that was stepped into begins with its first issue, or ends with its last one.
    const all = lines();
    if (!all.some((line) => line.getAttribute("aria-current")) && all.length && document.activeElement === document.body) all[0].click();
  }
  highlight();
});

follow();
highlight();
