// The room where differences are decided: keys, the list of other categories, and where the focus goes.

import { keepSingleKeys, singleKeys } from "./labeling/keys.js";
import { listenToFinding, showOther } from "./resolving/other.js";

const FOLDED = "concord.resolving-queue-folded";
const PLAIN_INPUTS = "[type=radio], [type=checkbox], [type=button]";

const room = () => document.getElementById("room");
const form = () => document.querySelector(".resolve-form");

function remembered(name) {
  try {
    return localStorage.getItem(name) === "1";
  } catch {
    return false;
  }
}

function fold(folded) {
  room()?.classList.toggle("list-folded", folded);
  const button = document.querySelector("[data-fold]");
  if (!button) return;
  button.setAttribute("aria-expanded", String(!folded));
  button.textContent = folded ? "»" : "fold";
  button.title = folded ? "Expand the queue" : "Collapse the queue";
}

function toggleFold() {
  const folded = !room().classList.contains("list-folded");
  try {
    localStorage.setItem(FOLDED, folded ? "1" : "0");
  } catch {
    // Then it holds until the page is loaded again.
  }
  fold(folded);
}

/** After every swap: the queue shows where one is, the sheet of keys speaks the machine's language. */
function settle() {
  fold(remembered(FOLDED));
  if (/Mac|iP(hone|ad)/.test(navigator.platform)) {
    for (const each of document.querySelectorAll("[data-mod]")) each.textContent = each.textContent.replace("Ctrl", "⌘");
  }
  const queue = document.getElementById("queue");
  const here = queue?.querySelector("[aria-current]");
  if (here) queue.scrollTop = here.offsetTop - queue.clientHeight / 3;
}

function choose(key) {
  // "No value" has a key of its own, also where a rater gave none and it stands among the numbered ones.
  const found = (selector) => form()?.querySelector(selector);
  const none = () => found('[name="choice"][value="[]"]') ?? found('[name="choice"][value="no-part"]');
  const radio = key === "n" ? none() : found(`[data-key="${key}"]`);
  if (!radio) return false;
  radio.checked = true;
  radio.focus();
  radio.dispatchEvent(new Event("change", { bubbles: true }));
  if (key === "s") document.querySelector("#several input")?.focus();
  return true;
}

function go(address) {
  if (address) location.assign(address);
  return true;
}

/** Opens what stands folded beside the decision and goes to its first field. */
function unfold(which) {
  const folded = document.querySelector(which);
  if (!folded) return false;
  folded.open = true;
  folded.closest(".room-answer")?.classList.add("is-open");
  (folded.querySelector("select, input[type=date], input[type=text]") ?? folded.querySelector("summary")).focus();
  return true;
}

function single(key) {
  const place = room();
  if (!place) return false;
  if (/^[1-9ons]$/.test(key)) return choose(key);
  if (key === "j" || key === "]") return go(place.dataset.next);
  if (key === "k" || key === "[") return go(place.dataset.previous);
  if (key === "u") return go(place.dataset.queue);
  if (key === "w") {
    document.getElementById("rationale")?.focus();
    return true;
  }
  if (key === "e") return unfold(".resolve-precedents");
  if (key === "h") return unfold(".resolve-form .resolve-how");
  if (key === "m") return unfold(".resolve-match details");
  if (key === "t" || key === "p") return unfold(key === "t" ? ".resolve-ask" : ".resolve-fault");
  if (key === "r") {
    const button = document.querySelector(".resolve-reopen");
    button?.click(); // htmx sends the name of a button only if it was clicked
    return Boolean(button);
  }
  if (key === "f") toggleFold();
  else if (key === "?") document.getElementById("keys")?.showModal();
  else return false;
  return true;
}

const isTyping = (target) => target.matches?.("textarea, select, [contenteditable]")
  || (target.matches?.("input") && !target.matches(PLAIN_INPUTS));

let on = singleKeys();

document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    if (!event.repeat) form()?.requestSubmit();
    return;
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (key === "Escape" && isTyping(target)) {
    target.blur();
  } else if ((key === "PageDown" || key === "PageUp") && !target.matches("textarea")) {
    const reading = document.getElementById("reading");
    if (!reading || getComputedStyle(reading).overflowY === "visible") return;
    reading.scrollBy({ top: (key === "PageDown" ? 0.9 : -0.9) * reading.clientHeight });
    event.preventDefault();
  } else if (on && key.length === 1 && !isTyping(target) && single(key)) {
    event.preventDefault();
  }
});

document.addEventListener("click", ({ target }) => target.closest?.("[data-fold]") && toggleFold());

// A decision that came too late (409) is shown in its place, like one that is not valid (422).
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.xhr.status !== 409 || detail.xhr.getResponseHeader("HX-Retarget")) return;
  detail.shouldSwap = true;
  detail.isError = false;
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (!["decision", "room"].includes(detail.target?.id) && !["decision", "room"].includes(detail.elt?.id)) return;
  settle();
  const decision = document.getElementById("decision");
  if (decision.querySelector('[aria-invalid="true"]')) return;
  (decision.querySelector("[data-focus]") ?? document.getElementById("decision-title"))?.focus({ preventScroll: true });
  decision.closest(".room-answer").scrollTop = 0;
  const just = decision.querySelector(".resolve-just");
  const announcer = document.getElementById("announcer");
  if (just && announcer) announcer.textContent = just.textContent;
});

const box = document.getElementById("single-keys");
if (box) {
  box.checked = on;
  box.addEventListener("change", () => {
    on = box.checked;
    keepSingleKeys(on);
  });
}

document.addEventListener("change", ({ target }) => target.name === "choice" && showOther(target.value === "other"));
listenToFinding();
settle();
document.body.dataset.keys = "on";
