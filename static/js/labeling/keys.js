// The keyboard: single keys where nobody is typing, and a few that work everywhere.

const OFF = "concord.single-keys-off";

const USUAL = { skip: "s", memo: "m", evidence: "e", flag: "!", previous: "p", fold: "[" };
const sheet = document.getElementById("keys");
/** What this person chose (action → key, `single`); on other pages than the labelling page the usual ones. */
export const KEYS = { ...USUAL, ...JSON.parse(sheet?.dataset.keys ?? "{}") };
const ACTIONS = { "+": "larger", "=": "larger", "-": "smaller", "?": "help" };
for (const action of Object.keys(USUAL)) ACTIONS[KEYS[action]] = action;
for (const shown of document.querySelectorAll("kbd[data-key]")) shown.textContent = KEYS[shown.dataset.key];

const isTyping = (target) =>
  target.matches?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox], [type=button])");

/** Whether single keys are on; kept in this browser. */
export function singleKeys() {
  if (KEYS.single === false) return false;
  try {
    return localStorage.getItem(OFF) !== "1";
  } catch {
    return true;
  }
}

export function keepSingleKeys(on) {
  if (sheet?.dataset.keep) {
    KEYS.single = on; // it follows the person to other browsers; without a network this one keeps it
    const token = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"] ?? "";
    const body = new URLSearchParams({ only_single: on ? "1" : "0" });
    fetch(sheet.dataset.keep, { method: "POST", headers: { "X-CSRFToken": token }, body }).catch(() => {});
  }
  try {
    localStorage.setItem(OFF, on ? "0" : "1");
  } catch {
    // Then it holds until the page is loaded again.
  }
}

/** `answers` and the actions: submit, skip, memo, flag, previous, fold, larger, smaller, help. */
export function listenToKeys(answers, actions) {
  let last = null;
  let on = singleKeys();
  const box = document.getElementById("single-keys");
  box.checked = on;
  box.addEventListener("change", () => {
    on = box.checked;
    keepSingleKeys(on);
  });
  document.addEventListener("focusin", (event) => {
    last = answers.questionAt(event.target) ?? last;
  });

  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    const { key, target } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      if (!event.repeat) actions.submit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves(event, answers)) {
      event.preventDefault();
      return;
    }
    const emptySearch = target.matches?.("[role=combobox]") && !target.value && /^[1-9?!]$/.test(key);
    if (!on || key.length !== 1 || key === " " || (isTyping(target) && !emptySearch)) return;
    const active = answers.questionAt(target) ?? (last && !last.element.hidden ? last : null);
    if (single(key, active, answers, actions)) event.preventDefault();
  });
}

function moves({ key, target, shiftKey }, answers) {
  if ((key === "PageDown" || key === "PageUp") && !target.matches("textarea")) {
    const reading = document.getElementById("reading");
    if (reading.scrollHeight <= reading.clientHeight) return false;
    reading.scrollBy({ top: (key === "PageDown" ? 0.85 : -0.85) * reading.clientHeight });
    return true;
  }
  const question = answers.questionAt(target);
  if (key === "Escape" && isTyping(target)) {
    if (question) question.element.focus({ preventScroll: true });
    else target.blur();
    return true;
  }
  if (!question) return false;
  if (key === "Enter" && !shiftKey && !target.matches("textarea, button, summary, a")) {
    answers.go(question);
    return true;
  }
  if ((key === "Backspace" || key === "Delete") && target.matches("input[type=radio], input[type=checkbox]")) {
    question.set(undefined);
    return true;
  }
  return false;
}

function single(key, active, answers, actions) {
  if (answers.mayChange && active?.press(key)) return true;
  if (/^[1-9]$/.test(key)) {
    const question = answers.visible.find(({ dimension }) => dimension.number === Number(key));
    question?.focus();
    return Boolean(question);
  }
  const action = ACTIONS[key];
  if (action) {
    actions[action]();
    return true;
  }
  if (!answers.mayChange) return false;
  // A stray letter must not change what was answered elsewhere: an answered question is reached by its number first.
  return answers.visible.some((question) => question !== active && !question.isAnswered && question.press(key));
}
