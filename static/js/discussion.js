// The discussion on an item's page: sends remarks, completes members after an @, and asks now and then what is new.

const EVERY = 10_000;

const byId = (id) => document.getElementById(id);
const isInTalk = (target) => target?.id === "remark-text";
const singleKeysOn = () => byId("single-keys")?.checked ?? true;

// --- what is new -------------------------------------------------------------------------------------------------

function look() {
  const news = byId("talk-news");
  if (news && !document.hidden) window.htmx.trigger(news, "look");
}

setInterval(look, EVERY);
document.addEventListener("visibilitychange", look);

// A remark can come twice, by its author's own request and by the next look; it stands there once.
document.addEventListener("htmx:oobBeforeSwap", ({ detail }) => {
  for (const remark of detail.fragment.querySelectorAll(".talk-remark")) {
    if (byId("remarks")?.querySelector(`#${remark.id}`)) remark.remove();
  }
});

document.addEventListener("htmx:oobAfterSwap", ({ detail }) => {
  if (detail.target?.id !== "remarks") return;
  const count = byId("talk-title");
  const n = byId("remarks").children.length;
  if (n) count.innerHTML = `Discussion <span class="count">${n}</span>`;
  const last = byId("remarks").lastElementChild;
  if (last && byId("announcer")) byId("announcer").textContent = last.textContent.trim().replace(/\s+/g, " ");
});

// --- writing -----------------------------------------------------------------------------------------------------

const list = () => byId("mention-list");
const shown = () => [...(list()?.querySelectorAll("[role=option]:not([hidden])") ?? [])];
const chosen = () => list()?.querySelector('[aria-selected="true"]:not([hidden])');

/** The letters after an @ before the caret, or null. */
function asked(field) {
  const before = field.value.slice(0, field.selectionStart);
  return before.match(/(?:^|[\s(,;:*_])@([\p{L}\p{N}_.+-]*)$/u)?.[1] ?? null;
}

function close() {
  if (!list()) return;
  list().hidden = true;
  const field = byId("remark-text");
  for (const name of ["aria-activedescendant", "aria-controls", "aria-autocomplete"]) field?.removeAttribute(name);
}

function select(option) {
  for (const each of list().children) each.setAttribute("aria-selected", String(each === option));
  byId("remark-text").setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function offer(field) {
  if (!list()) return;
  const letters = asked(field)?.toLocaleLowerCase();
  if (letters === undefined || letters === null) return close();
  for (const option of list().children) {
    const words = option.dataset.words.toLocaleLowerCase().split(/\s+/);
    option.hidden = !words.some((word) => word.startsWith(letters));
  }
  const found = shown();
  const isWhole = found.length === 1 && found[0].dataset.name.toLocaleLowerCase() === letters;
  if (!found.length || isWhole) return close();
  if (list().hidden && byId("announcer")) {
    byId("announcer").textContent = `${found.length} members: use the arrow keys, then Enter`;
  }
  list().hidden = false;
  field.after(list());
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-controls", "mention-list");
  select(chosen() ?? found[0]);
}

function take(option) {
  const field = byId("remark-text");
  const start = field.selectionStart - asked(field).length;
  field.setRangeText(`${option.dataset.name} `, start, field.selectionStart, "end");
  close();
  field.focus();
}

function move(by) {
  const found = shown();
  const at = found.indexOf(chosen());
  select(found[(at + by + found.length) % found.length]);
}

document.addEventListener("input", ({ target }) => isInTalk(target) && offer(target));
document.addEventListener("focusout", ({ target }) => isInTalk(target) && setTimeout(close, 150));
document.addEventListener("mousedown", (event) => {
  const option = event.target.closest?.("#mention-list [role=option]");
  if (!option) return;
  event.preventDefault();
  take(option);
});

// Before the keys of the room: within the remark, Ctrl+Enter says it and decides nothing.
document.addEventListener("keydown", (event) => {
  const { key, target } = event;
  if (event.isComposing || document.querySelector("dialog[open]")) return;
  if (!isInTalk(target)) {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    const isTyping = target.matches?.("textarea, select, input:not([type=radio], [type=checkbox], [type=button])");
    if (key === "d" && plain && singleKeysOn() && !isTyping && byId("remark-text")) {
      event.preventDefault();
      target.closest?.(".room-answer")?.classList.add("is-open");
      byId("remark-text").focus();
    }
    return;
  }
  if (key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey) {
    event.preventDefault();
    if (!event.repeat) target.form.requestSubmit();
  } else if (list() && !list().hidden && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (key === "ArrowDown" || key === "ArrowUp") move(key === "ArrowDown" ? 1 : -1);
    else if (key === "Enter" || key === "Tab") take(chosen());
    else if (key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}, true);

// --- after a swap ------------------------------------------------------------------------------------------------

document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  // The list stands under the field while it is open; the form that is swapped must not take it along.
  if (detail.target?.id === "say" && list()) byId("talk").append(list());
  if (detail.target?.id === "say") close();
});

document.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.elt?.id === "say" && !byId("remark-text").hasAttribute("aria-invalid")) byId("remark-text").focus();
  if (detail.elt?.id !== "decision") return;
  // The next place of the item is decided: what is said now is about that one.
  const form = document.querySelector("#decision form");
  const about = byId("say")?.elements.place;
  const value = form ? `${form.elements.part?.value}.${form.elements.dimension?.value}` : "";
  if (about && [...about.options].some((option) => option.value === value)) about.value = value;
});
