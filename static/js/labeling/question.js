// One question of the form: shows what the current part says, and writes what is chosen back into it.

import { clearDefinition, showDefinition } from "./definitions.js";
import { Recent } from "./recent.js";
import { Typeahead } from "./typeahead.js";

export class Question {
  /** `part()` gives the current part, `changed(question)` follows every change, `go(question)` moves on. */
  constructor(element, dimension, hooks) {
    Object.assign(this, { element, dimension, hooks });
    this.recent = new Recent(hooks.user, hooks.version, dimension.key);
    this.hue = (dimension.number - 1) % 8 + 1;
    this.error = document.getElementById(`error-${dimension.number}`);
    this.proposal = element.querySelector(".proposal");
    this.none = element.querySelector("input[name=none]");
    this.choices = [...element.querySelectorAll(".choices input, .label-steps input")];
    this.box = element.querySelector(":scope > .label-number, :scope > textarea");
    const search = element.querySelector("[role=combobox]");
    if (search) this.search = this.makeSearch(search);
    this.listen();
  }

  get isMulti() {
    return this.dimension.is_set;
  }

  get value() {
    return this.hooks.part().labels[this.dimension.key];
  }

  get asked() {
    return this.hooks.part().proposals[this.dimension.key];
  }

  /** The category that was chosen, of several the last. */
  get answer() {
    return Array.isArray(this.value) ? this.dimension.byKey.get(this.value.at(-1)) : undefined;
  }

  get isAnswered() {
    const { value } = this;
    const some = Array.isArray(value) ? value.length > 0 || Boolean(this.none) : value !== undefined && value !== "";
    return some || Boolean(this.asked?.name);
  }

  set(value) {
    const { labels, proposals } = this.hooks.part();
    if (value === undefined) delete labels[this.dimension.key];
    else labels[this.dimension.key] = value;
    if (!this.isMulti && value !== undefined) delete proposals[this.dimension.key];
    this.show();
    this.hooks.changed(this);
  }

  toggle(key) {
    const chosen = Array.isArray(this.value) ? this.value : [];
    if (!this.isMulti) this.set([key]);
    else if (chosen.includes(key)) this.set(chosen.length > 1 ? chosen.filter((each) => each !== key) : undefined);
    else this.set([...chosen, key]);
  }

  /** In the place of the proposal that stands here. */
  take(key) {
    delete this.hooks.part().proposals[this.dimension.key];
    const chosen = this.isMulti && Array.isArray(this.value) ? this.value : [];
    this.set(chosen.includes(key) ? chosen : [...chosen, key]);
  }

  propose(name) {
    const { labels, proposals } = this.hooks.part();
    if (!this.isMulti) delete labels[this.dimension.key];
    if (Array.isArray(labels[this.dimension.key]) && !labels[this.dimension.key].length) delete labels[this.dimension.key];
    proposals[this.dimension.key] ??= { name, memo: "" };
    this.show();
    this.hooks.changed(this);
    this.proposal.querySelector(name ? "textarea" : "input").focus();
  }

  show() {
    const { value, asked } = this;
    const chosen = Array.isArray(value) ? value : [];
    for (const input of this.choices) {
      input.checked = this.dimension.is_two_valued ? value === (input.value === "yes") : chosen.includes(input.value);
    }
    if (this.none) this.none.checked = Array.isArray(value) && !value.length;
    if (this.box && document.activeElement !== this.box) this.box.value = value === undefined ? "" : String(value);
    if (this.search) this.showChosen(chosen);
    if (this.proposal) {
      this.proposal.hidden = !asked;
      const [name, memo] = this.proposal.querySelectorAll("input, textarea");
      if (asked && document.activeElement !== name) name.value = asked.name ?? "";
      if (asked && document.activeElement !== memo) memo.value = asked.memo ?? "";
      this.element.querySelector("[data-propose]").hidden = Boolean(asked);
    }
    this.element.querySelector("[data-clear]").hidden = value === undefined || this.dimension.required || !this.choices.length;
    this.element.classList.toggle("is-answered", this.isAnswered);
  }

  showChosen(keys) {
    const rows = keys.filter((key) => this.dimension.byKey.has(key)).map((key) => {
      const category = this.dimension.byKey.get(key);
      const row = document.createElement("li");
      const words = document.createElement("span");
      words.className = "chosen-words";
      words.append(Object.assign(document.createElement("strong"), { textContent: category.name }));
      if (category.path) {
        words.append(" ", Object.assign(document.createElement("span"), { className: "chosen-path", textContent: category.path }));
      }
      const drop = document.createElement("button");
      drop.type = "button";
      drop.className = "plain chosen-drop";
      drop.textContent = "×";
      drop.setAttribute("aria-label", `Remove ${category.name}`);
      drop.addEventListener("click", () => {
        const left = keys.filter((each) => each !== key);
        this.set(left.length ? left : undefined);
        this.focus();
      });
      row.append(words, drop);
      row.addEventListener("mouseenter", () => showDefinition(category, this.hue));
      row.addEventListener("focusin", () => showDefinition(category, this.hue));
      return row;
    });
    this.element.querySelector(".chosen").replaceChildren(...rows);
    this.search.input.placeholder = keys.length
      ? (this.isMulti ? "Add another" : "Choose another")
      : "Type to search, ↓ shows all";
  }

  makeSearch(input) {
    const list = this.element.querySelector("[role=listbox]");
    return new Typeahead(input, list, this.dimension, {
      choose: (category) => {
        if (!this.search.hooks.isChosen(category)) this.recent.use(category.key);
        this.toggle(category.key);
        if (!this.isMulti) this.hooks.go(this);
      },
      recent: () => this.recent.keys,
      propose: this.proposal && ((name) => this.propose(name)),
      isChosen: (category) => Array.isArray(this.value) && this.value.includes(category.key),
      look: (category) => (category ?? this.answer ? showDefinition(category ?? this.answer, this.hue) : clearDefinition()),
      go: () => this.hooks.go(this),
      makeRoom: () => this.comeIntoSight(),
      undo: () => {
        const chosen = Array.isArray(this.value) ? this.value : [];
        if (chosen.length) this.set(chosen.length > 1 ? chosen.slice(0, -1) : undefined);
      },
    });
  }

  listen() {
    const { element } = this;
    for (const input of this.choices) {
      input.addEventListener("change", () => {
        if (this.dimension.is_two_valued) this.set(input.value === "yes");
        else if (this.isMulti) this.toggle(input.value);
        else this.set([input.value]);
      });
    }
    for (const choice of element.querySelectorAll("[data-category]")) {
      const category = this.dimension.byKey.get(choice.dataset.category);
      choice.addEventListener("mouseenter", () => showDefinition(category, this.hue));
      choice.addEventListener("focusin", () => showDefinition(category, this.hue));
    }
    // Back in a question that is answered: what the answer means.
    element.addEventListener("focusin", ({ target }) => {
      if (target.closest("[data-category], .chosen, .proposal")) return;
      if (this.answer) showDefinition(this.answer, this.hue);
    });
    this.none?.addEventListener("change", () => {
      if (this.none.checked) delete this.hooks.part().proposals[this.dimension.key];
      this.set(this.none.checked ? [] : undefined);
    });
    this.box?.addEventListener("input", () => this.set(this.box.value === "" ? undefined : this.box.value));
    element.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      if (button.hasAttribute("data-propose")) this.propose(this.search?.input.value.trim() ?? "");
      if (button.hasAttribute("data-clear")) {
        this.set(undefined);
        this.focus();
      }
      if (button.hasAttribute("data-drop-proposal")) {
        delete this.hooks.part().proposals[this.dimension.key];
        this.show();
        this.hooks.changed(this);
        this.focus();
      }
    });
    this.proposal?.addEventListener("input", (event) => {
      const name = event.target.name === "proposal-name" ? "name" : "memo";
      this.asked[name] = event.target.value;
      this.hooks.changed(this);
    });
  }

  /** Answers by a single key; false where the key means nothing here. */
  press(key) {
    const letter = key.toLowerCase();
    if (this.dimension.is_two_valued) {
      if (letter !== "y" && letter !== "n") return false;
      this.set(letter === "y");
      this.hooks.go(this);
      return true;
    }
    const category = this.dimension.categories.find(({ shortcut, selectable }) => selectable && shortcut && shortcut === letter);
    if (!category) return false;
    this.toggle(category.key);
    showDefinition(category, this.hue);
    if (this.isMulti) this.focus(category.key);
    else this.hooks.go(this);
    return true;
  }

  focus(key) {
    const input = this.choices.find((each) => (key ? each.value === key : each.checked)) ?? this.choices[0];
    const target = this.search?.input ?? this.box ?? input ?? this.element;
    target.focus({ preventScroll: true });
    this.comeIntoSight();
  }

  /** Scrolls the column as little as it takes; a search comes to the top, so that its list has room below. */
  comeIntoSight() {
    const scroller = this.element.closest(".label-scroll");
    if (getComputedStyle(scroller).overflowY === "visible") { // A sheet on a phone scrolls as a whole.
      this.element.scrollIntoView({ block: "start" });
      return;
    }
    const [inner, outer] = [this.element.getBoundingClientRect(), scroller.getBoundingClientRect()];
    const isTall = Boolean(this.search) || inner.height > outer.height;
    if (inner.top < outer.top || (isTall && inner.bottom > outer.bottom - 200)) scroller.scrollTop += inner.top - outer.top - 8;
    else if (inner.bottom > outer.bottom) scroller.scrollTop += inner.bottom - outer.bottom + 8;
  }

  blame(sentence) {
    this.error.textContent = sentence;
    this.error.hidden = !sentence;
    this.element.classList.toggle("is-wrong", Boolean(sentence));
    for (const control of [this.search?.input, this.box]) {
      if (!control) continue;
      if (sentence) control.setAttribute("aria-invalid", "true");
      else control.removeAttribute("aria-invalid");
    }
  }
}
