// A search field over the categories of one dimension: a few letters, arrows, Enter.

import { found, reason } from "./version.js";

export class Typeahead {
  /** `choose(category)`, `propose(text)`, `look(category)` (none: no category is at hand), `go()` to the next question, `undo()` the last choice, `makeRoom()`, `recent()` keys. */
  constructor(input, list, dimension, hooks) {
    Object.assign(this, { input, list, dimension, hooks });
    this.shown = [];
    this.at = -1;
    input.addEventListener("input", () => this.open());
    input.addEventListener("keydown", (event) => this.key(event));
    input.addEventListener("mousedown", () => {
      if (document.activeElement === input || !input.value) this.open();
    });
    input.addEventListener("blur", () => this.leave());
    list.addEventListener("mousedown", (event) => {
      event.preventDefault(); // The field keeps the focus.
      const option = event.target.closest("[role=option]");
      if (option) this.take(Number(option.dataset.at));
    });
    list.addEventListener("mousemove", (event) => {
      const option = event.target.closest("[role=option]");
      if (option && Number(option.dataset.at) !== this.at) this.mark(Number(option.dataset.at), false);
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  clear() {
    this.input.value = "";
    this.close();
  }

  open() {
    const query = this.input.value.trim();
    this.list.replaceChildren();
    this.shown = [];
    if (query) this.results(query);
    else this.tree();
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    // Enter takes the best category; a proposal is never made by a reflex.
    this.mark(query && this.shown[0].key ? 0 : -1);
    this.hooks.makeRoom();
    this.fit();
  }

  /** The list ends with the column, never across the words of another question. */
  fit() {
    this.list.style.maxHeight = "";
    const scroller = this.list.closest(".label-scroll");
    if (getComputedStyle(scroller).overflowY === "visible") return;
    const room = scroller.getBoundingClientRect().bottom - this.list.getBoundingClientRect().top - 8;
    if (room > 160) this.list.style.maxHeight = `${room}px`;
  }

  /** Closes the list without a choice: what was marked in it is not at hand any more. */
  leave() {
    if (this.isOpen) this.hooks.look();
    this.close();
  }

  close() {
    this.list.hidden = true;
    this.at = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
  }

  results(query) {
    const categories = found(this.dimension, query, this.hooks.recent()).slice(0, 30);
    for (const category of categories) this.add(category, query);
    if (!categories.length) {
      this.note(`No category contains “${query}”.`);
      this.note("Names and definitions of this question are searched. Press Esc, then ↓ to see all categories.");
    }
    if (this.hooks.propose) this.addProposal(query);
  }

  tree() {
    const recent = this.hooks.recent().map((key) => this.dimension.byKey.get(key)).filter((category) => category?.selectable);
    if (recent.length) {
      this.group({ name: "Recently used", keys: [""] });
      for (const category of recent) this.add(category, "", true);
      this.group({ name: "All", keys: [""] });
    }
    for (const category of this.dimension.categories) {
      if (category.selectable) this.add(category, "");
      else this.group(category);
    }
  }

  add(category, query, withPath = Boolean(query)) {
    const option = this.option(category);
    const name = document.createElement("span");
    name.className = "option-name";
    markWords(name, category.name, query);
    option.append(name);
    if (withPath && category.path) {
      const path = document.createElement("span");
      path.className = "option-path";
      path.textContent = category.path;
      option.append(path);
    }
    const why = query && reason(category, query);
    if (why) {
      const words = document.createElement("span");
      words.className = "option-path option-reason";
      markWords(words, why, query);
      option.append(words);
    }
    if (!withPath) option.classList.add(`level-${Math.min(category.keys.length, 4)}`);
    if (this.hooks.isChosen(category)) option.classList.add("is-chosen");
    option.setAttribute("aria-selected", String(this.hooks.isChosen(category)));
  }

  addProposal(query) {
    const option = this.option({ proposal: query });
    option.classList.add("option-proposal");
    option.textContent = `+ Propose “${query}” as a new category`;
  }

  option(entry) {
    const option = document.createElement("li");
    option.setAttribute("role", "option");
    option.id = `${this.list.id}-${this.shown.length}`;
    option.dataset.at = String(this.shown.length);
    this.shown.push(entry);
    this.list.append(option);
    return option;
  }

  group(category) {
    const group = document.createElement("li");
    group.setAttribute("role", "presentation");
    group.className = `option-group level-${Math.min(category.keys.length, 4)}`;
    group.textContent = category.name;
    this.list.append(group);
  }

  note(words) {
    const note = document.createElement("li");
    note.setAttribute("role", "presentation");
    note.className = "option-note";
    note.textContent = words;
    this.list.append(note);
  }

  mark(at, scroll = true) {
    this.at = at;
    for (const each of this.list.querySelectorAll(".is-marked")) each.classList.remove("is-marked");
    const option = this.list.querySelector(`[data-at="${at}"]`);
    this.hooks.look(this.shown[at]?.key ? this.shown[at] : undefined);
    if (!option) {
      this.input.removeAttribute("aria-activedescendant");
      return;
    }
    option.classList.add("is-marked");
    this.input.setAttribute("aria-activedescendant", option.id);
    if (scroll) option.scrollIntoView({ block: "nearest" });
  }

  take(at) {
    const entry = this.shown[at];
    if (!entry) return;
    const byProposal = entry.proposal !== undefined;
    this.clear();
    if (byProposal) this.hooks.propose(entry.proposal);
    else this.hooks.choose(entry);
  }

  key(event) {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    if (key === "ArrowDown" || key === "ArrowUp") {
      event.preventDefault();
      if (!this.isOpen) this.open();
      const n = this.shown.length;
      if (n) this.mark(key === "ArrowDown" ? (this.at + 1) % n : (this.at <= 0 ? n : this.at) - 1);
    } else if (key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      if (this.isOpen && this.at >= 0) this.take(this.at);
      else if (!this.input.value.trim()) {
        this.close();
        this.hooks.go();
      }
    } else if (key === "Escape" && (this.isOpen || this.input.value)) {
      event.preventDefault();
      event.stopPropagation();
      this.leave();
      this.clear();
    } else if (key === "Backspace" && !this.input.value) {
      this.hooks.undo();
    } else if (this.isOpen && (key === "PageDown" || key === "PageUp") && this.shown.length) {
      event.preventDefault();
      event.stopPropagation();
      const to = this.at + (key === "PageDown" ? 8 : -8);
      this.mark(Math.max(0, Math.min(this.shown.length - 1, to)));
    } else if (this.isOpen && key === "Tab") {
      if (this.at >= 0 && this.input.value.trim()) {
        event.preventDefault();
        this.take(this.at);
      } else this.close();
    }
  }
}

function markWords(place, name, query) {
  const words = query.split(/\s+/).filter(Boolean).sort((a, b) => b.length - a.length);
  if (!words.length) {
    place.textContent = name;
    return;
  }
  const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
  let end = 0;
  for (const match of name.matchAll(pattern)) {
    place.append(name.slice(end, match.index));
    const mark = document.createElement("b");
    mark.textContent = match[0];
    place.append(mark);
    end = match.index + match[0].length;
  }
  place.append(name.slice(end));
}
