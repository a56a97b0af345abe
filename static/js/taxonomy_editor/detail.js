// The right-hand side: what is chosen, with its fields. It asks for changes; it makes none itself.

import * as docs from "./document.js";

const KINDS = ["category", "dimension", "version", "retired"];

export class Detail {
  /**
   * `hooks`: set(id, fields, group), rename(id, name), rekey(id, key), act(what), removeSource(id, key).
   */
  constructor(root, hooks) {
    Object.assign(this, { root, hooks });
    this.shown = null;
    this.forms = Object.fromEntries(KINDS.map((kind) => [kind, document.getElementById(`of-${kind}`)]));
    root.addEventListener("input", (event) => this.#typed(event));
    root.addEventListener("change", (event) => this.#picked(event));
    root.addEventListener("submit", (event) => event.preventDefault());
    root.addEventListener("focusout", () => hooks.rest());
    root.addEventListener("click", (event) => this.#clicked(event));
    root.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && event.target.matches("input:not([type=checkbox])")) event.preventDefault();
      if (event.key === "Enter" && event.target.matches("[data-line]") && !event.shiftKey) {
        event.preventDefault();
        this.#addLine(event.target.closest("[data-list]"));
      }
    });
  }

  /** `view`: {kind, id, node, doc, path, isPast, sources: [{key, name}], words: [history], doubts, problems, earlier: [dimension nodes], title}. */
  show(view) {
    const isSame = this.shown?.id === view.id && this.shown?.kind === view.kind;
    this.shown = view;
    for (const kind of KINDS) this.forms[kind].hidden = kind !== view.kind;
    document.getElementById("sheet-title").textContent = view.title;
    const form = this.forms[view.kind];
    this.#text(form, "path", view.path);
    if (view.kind === "retired") {
      this.#text(form, "name", view.title);
      this.#text(form, "definition", view.definition);
      return;
    }
    const read = view.kind === "version" ? (name) => view.fields[name] ?? "" : (name) => docs.value(view.node, name);
    for (const field of form.querySelectorAll("[data-field]")) {
      const value = read(field.dataset.field);
      if (field.type === "checkbox") field.checked = value;
      else if (field.value !== value && !(isSame && field === document.activeElement)) field.value = value;
    }
    this.#problems(form, view);
    if (view.kind === "category") this.#category(form, view, isSame);
    if (view.kind === "dimension") this.#dimension(form, view);
  }

  #category(form, view, isSame) {
    const key = form.querySelector("#category-key");
    const change = form.querySelector("[data-act=change-key]");
    if (!isSame) this.keyIsOpen = false;
    key.readOnly = view.isPast && !this.keyIsOpen;
    change.hidden = !view.isPast || this.keyIsOpen;
    this.#text(form, "key-help", view.isPast ? "fixed: labels depend on it" : "used in files and scripts; don’t change it later");
    for (const list of form.querySelectorAll("[data-list]")) this.#lines(list, docs.value(view.node, list.dataset.list), isSame);
    const history = form.querySelector("[data-show=history]");
    form.querySelector("[data-show=was]").hidden = !view.words.length && !view.sources.length;
    history.replaceChildren(
      ...view.words.map((words) => line(words)),
      ...view.sources.map(({ key: from, name }) => {
        const made = line(`Comes from “${name}”`);
        const button = document.createElement("button");
        button.type = "button";
        button.className = "plain small";
        button.textContent = "undo this link";
        button.setAttribute("aria-label", `It no longer comes from “${name}”`);
        button.dataset.source = from;
        made.append(" ", button);
        return made;
      }),
    );
    const doubts = form.querySelector("[data-show=doubts]");
    doubts.replaceChildren(...view.doubts.map((sentence) => line(sentence, "p")));
  }

  #dimension(form, view) {
    form.querySelector("#dimension-key").readOnly = view.isPast;
    this.#text(form, "key-help", view.isPast ? "fixed: labels depend on it" : "used in files and scripts");
    const when = docs.value(view.node, "applies_when");
    const select = form.querySelector("#applies-dimension");
    const options = [["", "always"], ...view.earlier.map((each) => [each.fields.key, `where ${each.fields.title} is`])];
    if (when && !view.earlier.some((each) => each.fields.key === when.dimension)) options.push([when.dimension, `where ${when.dimension} is`]);
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    select.value = when?.dimension ?? "";
    const box = form.querySelector("#applies-answers");
    const other = view.earlier.find((each) => each.fields.key === when?.dimension);
    box.hidden = !other;
    box.replaceChildren();
    if (!other) return;
    const answers = docs.isTwoValued(other)
      ? [[true, "yes", 0], [false, "no", 0]]
      : [...docs.categories(view.doc, other)].map((node) => [node.fields.key, node.fields.name, docs.level(view.doc, node.id) - 2]);
    for (const gone of when.is.filter((each) => !answers.some(([value]) => value === each))) answers.push([gone, `${gone} (removed)`, 0]);
    for (const [value, name, depth] of answers) {
      const label = document.createElement("label");
      label.className = `choice depth-${Math.min(depth, 6)}`;
      const input = document.createElement("input");
      input.type = "checkbox";
      input.dataset.answer = JSON.stringify(value);
      input.checked = when.is.includes(value);
      label.append(input, name);
      box.append(label);
    }
  }

  #problems(form, view) {
    const box = form.querySelector("[data-show=problems]");
    box.hidden = !view.problems.length;
    box.replaceChildren(...view.problems.map(({ sentence }) => line(sentence, "p")));
    const wrong = new Set(view.problems.map(({ field }) => field));
    for (const field of form.querySelectorAll("[data-field]")) {
      if (wrong.has(field.dataset.field)) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  #lines(list, values, isSame) {
    const box = list.querySelector(".editor-lines");
    const present = [...box.querySelectorAll("[data-line]")];
    const told = present.map((each) => each.value);
    const isTyping = isSame && box.contains(document.activeElement);
    if (isTyping || JSON.stringify(told) === JSON.stringify(values)) return;
    box.replaceChildren(...values.map((value) => this.#line(list, value)));
  }

  #line(list, value) {
    const row = document.createElement("div");
    row.className = "editor-line";
    const text = document.createElement("textarea");
    text.rows = Math.min(6, value.split("\n").length + Math.floor(value.length / 60));
    text.value = value;
    text.dataset.line = "";
    text.setAttribute("aria-label", list.querySelector("legend").textContent);
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain small";
    button.dataset.removeLine = "";
    button.textContent = "Remove";
    row.append(text, button);
    return row;
  }

  #addLine(list) {
    const made = this.#line(list, "");
    list.querySelector(".editor-lines").append(made);
    made.firstElementChild.focus();
  }

  #text(form, name, words) {
    const place = form.querySelector(`[data-show="${name}"]`);
    if (place && words !== undefined) place.textContent = words;
  }

  #typed(event) {
    const { target } = event;
    const { id } = this.shown;
    if (target.dataset.line !== undefined) {
      this.#keepLines(target.closest("[data-list]"));
    } else if (target.dataset.field && target.type !== "checkbox" && target.tagName !== "SELECT") {
      const { field } = target.dataset;
      const one = field === "definition" || field === "help" || field === "note" ? target.value : target.value.replace(/\s+/g, " ").trim();
      if (this.shown.kind !== "version" && (field === "name" || field === "title")) this.hooks.rename(id, one);
      else if (field === "key") this.hooks.rekey(id, one);
      else this.hooks.set(id, { [field]: one }, field);
    }
  }

  #keepLines(list) {
    const values = [...list.querySelectorAll("[data-line]")].map((each) => each.value).filter((each) => each.trim());
    this.hooks.set(this.shown.id, { [list.dataset.list]: values }, list.dataset.list);
  }

  #picked({ target }) {
    const { id, kind, node } = this.shown;
    if (target.id === "applies-dimension") {
      const { earlier, doc } = this.shown;
      const other = earlier.find((each) => each.fields.key === target.value);
      const is = !other ? [] : docs.isTwoValued(other) ? [true] : other.children.length ? [doc.nodes.get(other.children[0]).fields.key] : [];
      this.hooks.set(id, { applies_when: other ? { dimension: other.fields.key, is } : null }, null);
    } else if (target.dataset.answer) {
      const boxes = [...this.forms.dimension.querySelectorAll("[data-answer]")];
      const is = boxes.filter((each) => each.checked).map((each) => JSON.parse(each.dataset.answer));
      this.hooks.set(id, { applies_when: { ...docs.value(node, "applies_when"), is } }, null);
    } else if (target.type === "checkbox" || target.tagName === "SELECT") {
      this.hooks.set(id, { [target.dataset.field]: target.type === "checkbox" ? target.checked : target.value }, null);
    } else if (kind === "category" && target.dataset.field === "key") {
      this.hooks.rest();
    }
  }

  #clicked(event) {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.addLine !== undefined) {
      this.#addLine(button.closest("[data-list]"));
    } else if (button.dataset.removeLine !== undefined) {
      const list = button.closest("[data-list]");
      const next = button.parentElement.nextElementSibling ?? button.parentElement.previousElementSibling;
      button.parentElement.remove();
      this.#keepLines(list);
      (next?.querySelector("textarea") ?? list.querySelector("[data-add-line]")).focus();
    } else if (button.dataset.source !== undefined) {
      this.hooks.removeSource(this.shown.id, button.dataset.source);
    } else if (button.dataset.act === "change-key") {
      this.keyIsOpen = true;
      this.show(this.shown);
      this.forms.category.querySelector("#category-key").select();
    } else if (button.dataset.act) {
      this.hooks.act(button.dataset.act);
    }
  }

  /** To the field that matters most. */
  enter() {
    const form = this.forms[this.shown?.kind];
    (form?.querySelector("[data-field=definition], [data-field=title]") ?? form?.querySelector("button"))?.focus();
  }
}

function line(words, tag = "li") {
  const made = document.createElement(tag);
  made.textContent = words;
  return made;
}
