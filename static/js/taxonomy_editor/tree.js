// The tree on the page. Only the rows that a change touches are drawn again; the rest of the page stays as it is.

import { level } from "./document.js";

const part = (tag, className, text = "") => {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
};

export class Tree {
  /** `hooks`: choose(id), named(id, text, how), retiredOf(dimension id) → entries of the version before. */
  constructor(root, hooks) {
    Object.assign(this, { root, hooks });
    this.rows = new Map();
    this.retiredRows = new Map();
    this.folded = new Set();
    this.doc = null;
    this.chosen = null;
    this.editing = null;
    this.isPressed = false;
    document.addEventListener("pointerdown", () => (this.isPressed = true), true);
    for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => (this.isPressed = false), true);
  }

  // ── Drawing ──

  /** Draws a document in the place of the one before: all of it at first, then what differs. */
  draw(doc) {
    const before = this.doc;
    this.doc = doc;
    const hadFocus = this.root.contains(document.activeElement);
    if (before) for (const id of before.nodes.keys()) if (!doc.nodes.has(id)) this.#drop(id);
    const touched = [];
    for (const [id, node] of doc.nodes) if (before?.nodes.get(id) !== node || !this.rows.has(id)) touched.push(node);
    for (const node of touched) this.#row(node);
    for (const node of touched) this.#arrange(this.rows.get(node.id), node.children);
    if (before?.order !== doc.order) this.#place(this.root, doc.order.map((id) => this.rows.get(id).li), null);
    for (const id of doc.order) this.#relevel(id, 1);
    const stale = new Set(touched.filter((node) => node.type === "dimension").map((node) => node.id));
    for (const node of touched) {
      let at = node;
      while (at?.parent) at = doc.nodes.get(at.parent);
      if (at) stale.add(at.id);
    }
    if (before) for (const id of before.order) if (doc.nodes.has(id) && doc.nodes.get(id) !== before.nodes.get(id)) stale.add(id);
    for (const id of stale) this.drawRetired(id);
    if (hadFocus && this.chosen && !this.editing) this.#element(this.chosen)?.focus({ preventScroll: true });
  }

  #row(node) {
    let row = this.rows.get(node.id);
    if (!row) {
      const li = document.createElement("li");
      li.id = node.id;
      li.tabIndex = -1;
      li.setAttribute("role", "treeitem");
      li.setAttribute("aria-selected", "false");
      li.className = node.type;
      const line = part("div", "node");
      const grip = part("span", "grip", "⠿");
      const fold = part("span", "fold-mark");
      const name = part("span", "node-name");
      const marks = part("span", "node-marks");
      name.id = `${node.id}-name`;
      marks.id = `${node.id}-marks`;
      for (const each of [grip, fold]) each.setAttribute("aria-hidden", "true");
      li.setAttribute("aria-labelledby", `${name.id} ${marks.id}`);
      line.append(grip, fold, name, marks);
      li.append(line);
      row = { li, line, name, marks, group: null, level: 0, told: null };
      this.rows.set(node.id, row);
    }
    const text = (node.type === "dimension" ? node.fields.title : node.fields.name) || "";
    if (row.name.textContent !== text && this.editing?.id !== node.id) row.name.textContent = text;
    row.line.classList.toggle("not-selectable", node.fields.selectable === false);
  }

  #group(row, wanted) {
    if (wanted && !row.group) {
      row.group = part("ul", "group");
      row.group.setAttribute("role", "group");
      row.li.append(row.group);
    } else if (!wanted && row.group) {
      row.group.remove();
      row.group = null;
    }
    if (!wanted) row.li.removeAttribute("aria-expanded");
    else if (!row.li.hasAttribute("aria-expanded")) this.#expand(row.li.id, !this.folded.has(row.li.id));
    return row.group;
  }

  #arrange(row, children) {
    const retiredList = row.group?.querySelector(":scope > .retired") ?? null;
    const group = this.#group(row, children.length > 0 || Boolean(retiredList));
    if (group) this.#place(group, children.map((id) => this.rows.get(id).li), retiredList);
  }

  /** Puts elements in order before `end`; those that stand right are not touched. */
  #place(group, wanted, end) {
    let at = group.firstElementChild;
    for (const li of wanted) {
      if (at !== li && at?.nextElementSibling === li) at = li; // The one between is on its way down.
      if (at === li) at = at.nextElementSibling;
      else group.insertBefore(li, at ?? end);
    }
  }

  #relevel(id, depth) {
    const row = this.rows.get(id);
    if (row.level !== depth) {
      row.level = depth;
      row.li.setAttribute("aria-level", String(depth));
    }
    for (const child of this.doc.nodes.get(id).children) this.#relevel(child, depth + 1);
  }

  #drop(id) {
    this.rows.get(id)?.li.remove();
    this.rows.delete(id);
    this.folded.delete(id);
  }

  /** The retired categories of a dimension, quietly at its end. */
  drawRetired(id) {
    const row = this.rows.get(id);
    const entries = this.hooks.retiredOf(id);
    const told = entries.map((each) => each.spec.key).join(" ");
    if (row.told === told) return;
    row.told = told;
    for (const old of row.group?.querySelectorAll(":scope > .retired") ?? []) {
      this.retiredRows.delete(old.id);
      old.remove();
    }
    const group = this.#group(row, entries.length > 0 || this.doc.nodes.get(id).children.length > 0);
    for (const { spec, names } of entries) {
      const li = part("li", "retired");
      li.id = `${id}-gone-${spec.key}`;
      li.tabIndex = -1;
      li.setAttribute("role", "treeitem");
      li.setAttribute("aria-level", "2");
      li.setAttribute("aria-selected", "false");
      li.setAttribute("aria-label", `${names.join(" / ")}, retired`);
      const line = part("div", "node");
      const back = part("button", "plain", "bring back");
      back.type = "button";
      back.tabIndex = -1;
      back.dataset.bringBack = "";
      const name = part("s", "node-name", names.join(" / "));
      line.append(name, part("span", "node-marks", "retired"), back);
      li.append(line);
      group.append(li);
      this.retiredRows.set(li.id, { dimension: id, key: spec.key });
    }
  }

  /** Words beside a row, as [kind, word, …]; `wrong` marks the row itself. */
  mark(id, marks, wrong = false) {
    const row = this.rows.get(id);
    if (!row) return;
    const told = JSON.stringify([marks, wrong]);
    if (row.marked === told) return;
    row.marked = told;
    row.marks.replaceChildren(...marks.map(([kind, word]) => part("span", `margin margin-${kind}`, word)));
    row.line.classList.toggle("is-wrong", wrong);
    if (wrong) row.li.setAttribute("aria-invalid", "true");
    else row.li.removeAttribute("aria-invalid");
  }

  // ── Choosing and folding ──

  #element(id) {
    return this.rows.get(id)?.li ?? (this.retiredRows.has(id) ? document.getElementById(id) : null);
  }

  has(id) {
    return Boolean(this.#element(id));
  }

  /** Makes a row the one that is chosen: the one stop of Tab in the tree. */
  choose(id, { focus = true, quiet = false } = {}) {
    const li = this.#element(id);
    if (this.chosen && this.chosen !== id) {
      const before = this.#element(this.chosen);
      before?.setAttribute("aria-selected", "false");
      if (before) before.tabIndex = -1;
    }
    this.chosen = li ? id : null;
    if (!li) return;
    for (let up = li.parentElement.closest("[role=treeitem]"); up; up = up.parentElement.closest("[role=treeitem]")) {
      if (this.folded.has(up.id)) this.fold(up.id, false);
    }
    li.setAttribute("aria-selected", "true");
    li.tabIndex = 0;
    if (focus) li.focus({ preventScroll: true });
    if (focus) li.firstElementChild.scrollIntoView({ block: "nearest" });
    if (!quiet) this.hooks.choose(id);
  }

  #expand(id, open) {
    const row = this.rows.get(id);
    row.li.setAttribute("aria-expanded", String(open));
    if (row.group) row.group.hidden = !open;
  }

  fold(id, folded) {
    if (!this.rows.get(id)?.group) return false;
    if (folded) this.folded.add(id);
    else this.folded.delete(id);
    this.#expand(id, !folded);
    return true;
  }

  isOpen(id) {
    return Boolean(this.rows.get(id)?.group) && !this.folded.has(id);
  }

  // ── Going ──

  below(id) {
    const li = this.#element(id);
    if (this.isOpen(id)) {
      const inside = first(this.rows.get(id).group.firstElementChild);
      if (inside) return inside.id;
    }
    for (let at = li; at && at !== this.root; at = at.parentElement.closest("[role=treeitem]")) {
      const next = first(at.nextElementSibling);
      if (next) return next.id;
    }
    return null;
  }

  above(id) {
    const li = this.#element(id);
    let at = li.previousElementSibling;
    while (at?.hidden) at = at.previousElementSibling;
    if (!at) return li.parentElement.closest("[role=treeitem]")?.id ?? null;
    return this.#lastIn(at).id;
  }

  #lastIn(li) {
    let at = li;
    while (this.isOpen(at.id)) {
      let inside = this.rows.get(at.id).group.lastElementChild;
      while (inside?.hidden) inside = inside.previousElementSibling;
      if (!inside) break;
      at = inside;
    }
    return at;
  }

  firstId() {
    return first(this.root.firstElementChild)?.id ?? null;
  }

  lastId() {
    let last = this.root.lastElementChild;
    while (last?.hidden) last = last.previousElementSibling;
    return last ? this.#lastIn(last).id : null;
  }

  parentOf(id) {
    return this.#element(id)?.parentElement.closest("[role=treeitem]")?.id ?? null;
  }

  // ── Finding ──

  /** Shows only what holds the words, and what it stands below; gives the ids that hold them. */
  find(words) {
    const wanted = words.trim().toLowerCase();
    const found = [];
    const shown = new Set();
    for (const [id, node] of this.doc.nodes) {
      const text = `${node.fields.name ?? node.fields.title} ${node.fields.key}`.toLowerCase();
      const hit = Boolean(wanted) && text.includes(wanted);
      this.rows.get(id).line.classList.toggle("is-found", hit);
      if (!hit) continue;
      found.push(id);
      for (let at = node; at && !shown.has(at.id); at = this.doc.nodes.get(at.parent)) shown.add(at.id);
    }
    for (const [id, row] of this.rows) {
      row.li.hidden = Boolean(wanted) && !shown.has(id);
      if (wanted && shown.has(id) && row.group) this.#expand(id, true);
      else if (!wanted && row.group) this.#expand(id, !this.folded.has(id));
    }
    for (const id of this.retiredRows.keys()) document.getElementById(id).hidden = Boolean(wanted);
    return found;
  }

  // ── Renaming in place ──

  /** A field in the place of the name. Ends in named(id, text, how): how is Enter, Tab, Shift+Tab, Escape or blur. */
  rename(id, text) {
    const row = this.rows.get(id);
    if (!row || this.editing) return;
    const input = document.createElement("input");
    input.className = "node-input";
    input.value = text ?? row.name.textContent;
    input.maxLength = 200;
    input.setAttribute("aria-label", level(this.doc, id) === 1 ? "Title of the dimension" : "Name of the category");
    row.name.replaceChildren(input);
    this.editing = { id, input };
    input.focus({ preventScroll: true });
    row.line.scrollIntoView({ block: "nearest" });
    if (text === undefined) input.select();
    const end = (how) => {
      if (this.editing?.input !== input) return;
      this.editing = null;
      const typed = input.value.replace(/\s+/g, " ").trim();
      const node = this.doc.nodes.get(id);
      row.name.textContent = node?.fields.name ?? node?.fields.title ?? "";
      this.hooks.named(id, typed, how);
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing) return;
      if (event.key === "Enter" || event.key === "Escape" || event.key === "Tab") {
        event.preventDefault();
        end(event.key === "Tab" && event.shiftKey ? "Shift+Tab" : event.key);
      }
    });
    // A press outside is a click first: without the row of an empty field the page would move under the pointer.
    input.addEventListener("blur", () => (this.isPressed ? this.#afterClick(() => end("blur")) : end("blur")));
  }

  /** Does something when the click that begins with the present press arrives, before anybody else hears of it. */
  #afterClick(act) {
    const done = new AbortController();
    const finish = () => (done.abort(), act());
    window.addEventListener("click", finish, { capture: true, once: true, signal: done.signal });
    window.addEventListener("pointerup", () => setTimeout(() => done.signal.aborted || finish(), 50), { once: true, signal: done.signal });
    window.addEventListener("pointercancel", finish, { once: true, signal: done.signal });
  }
}

function first(li) {
  let at = li;
  while (at?.hidden) at = at.nextElementSibling;
  return at;
}
