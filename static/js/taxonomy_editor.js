// The editor of a taxonomy's draft: a tree like an outliner's, what is chosen beside it, saving by itself.

import { Banners } from "./taxonomy_editor/banners.js";
import { Detail } from "./taxonomy_editor/detail.js";
import { askMerge, askSplit } from "./taxonomy_editor/dialogs.js";
import * as docs from "./taxonomy_editor/document.js";
import { Dragging } from "./taxonomy_editor/dragging.js";
import { History } from "./taxonomy_editor/history.js";
import { actOf } from "./taxonomy_editor/keys.js";
import { Told, Usage, margins, warned } from "./taxonomy_editor/marks.js";
import * as origins from "./taxonomy_editor/origins.js";
import { Saving, ask } from "./taxonomy_editor/saving.js";
import { listenToSearch } from "./taxonomy_editor/searching.js";
import { Shelf } from "./taxonomy_editor/shelf.js";
import { Tree } from "./taxonomy_editor/tree.js";
import { viewOf } from "./taxonomy_editor/views_of_nodes.js";

const at = (id) => document.getElementById(id);

class Editor {
  constructor(begin) {
    this.begin = begin;
    this.root = at("editor");
    this.past = new origins.Past(begin.before);
    docs.setKinds(begin.kinds);
    this.doc = docs.fromPlain(begin.document);
    this.history = new History();
    this.told = new Told(begin);
    this.usage = null;
    this.problems = new Map();
    this.chosen = "version";
    this.fresh = null;
    const cookieName = this.root.dataset.csrfCookie;
    this.tree = new Tree(at("tree"), {
      choose: (id) => this.choose(id),
      named: (id, text, how) => this.named(id, text, how),
      retiredOf: (id) => origins.retired(this.doc, this.doc.nodes.get(id), this.past),
    });
    this.detail = new Detail(at("detail"), {
      set: (id, fields, group) => this.change(docs.setFields(this.doc, id, fields), { group: group && `${id} ${group}` }),
      rename: (id, name) => name && this.change(origins.rename(this.doc, id, name, this.past), { group: `${id} name` }),
      rekey: (id, key) => key && this.change(origins.changeKey(this.doc, id, key, this.past), { group: `${id} key` }),
      removeSource: (id, key) => this.removeSource(id, key),
      act: (what) => this.act(what, "detail"),
      rest: () => this.history.close(),
    });
    this.shelf = new Shelf(begin.user, begin.slug, begin.number);
    this.banners = new Banners(at("editor-banner"), {
      begin,
      shelf: this.shelf,
      cookieName,
      read: () => docs.toPlain(this.doc).plain,
      leave: () => (this.saving.isDirty = false),
      takeUp: (plain) => this.change(docs.fromPlain(plain), { say: "Unsaved changes restored." }),
    });
    this.saving = new Saving({
      urls: begin.urls,
      revision: begin.revision,
      cookieName,
      shelf: this.shelf,
      read: () => docs.toPlain(this.doc),
      hooks: {
        state: (word, sentence, address) => this.state(word, sentence, address),
        accepted: (body, isWhole) => this.accepted(body, isWhole),
        unfinished: (body, paths) => this.unfinished(body, paths),
        problems: (list, paths) => this.refused(list, paths),
        stale: (newer, message) => {
          this.state("bad", "No longer saved: see above.");
          this.banners.stale(newer, message, this.saving.isDirty);
        },
      },
    });
    new Dragging(this.tree, document.querySelector(".editor-tree"), {
      drop: (id, target, where) => this.dropped(id, target, where),
      may: (id, target, where) => this.landing(id, target, where) !== null,
      say: (words) => this.say(words),
    });
    this.listen();
    this.root.hidden = false;
    this.tree.draw(this.doc);
    this.tree.choose(this.tree.firstId() ?? "", { focus: false });
    if (!this.tree.chosen) this.choose("version");
    this.mark();
    if (begin.problems) this.refused(begin.problems, docs.toPlain(this.doc).paths, "Saved. Before you can publish");
    else at("saved").textContent = "All changes saved";
    this.banners.offer();
    this.count(cookieName);
  }

  // ── Changing ──

  /** Puts a new document in the place of the present one, as one step that can be undone. */
  change(doc, { choose = null, say = "", group = null, focus = true } = {}) {
    if (!doc || doc === this.doc) return false;
    this.history.note({ doc: this.doc, chosen: this.chosen, label: say }, group);
    this.become(doc);
    if (choose) this.tree.choose(choose, { focus });
    else this.later();
    if (say) this.say(say);
    return true;
  }

  become(doc) {
    this.doc = doc;
    this.tree.draw(doc);
    this.saving.changed();
    this.buttons();
  }

  step(found, words) {
    if (!found) return this.say(`Nothing to ${words}.`);
    const chosen = this.chosen;
    this.become(found.doc);
    const id = [found.chosen, chosen].find((each) => this.tree.has(each)) ?? this.tree.firstId();
    if (id) this.tree.choose(id);
    else this.choose("version");
    return this.say(`${words === "undo" ? "Undone" : "Done again"}${found.label ? `: ${found.label}` : "."}`);
  }

  present() {
    return { doc: this.doc, chosen: this.chosen };
  }

  buttons() {
    at("undo").disabled = !this.history.done.length;
    at("redo").disabled = !this.history.undone.length;
  }

  // ── Acts of the tree ──

  act(what, from = "tree") {
    const id = this.chosen;
    if (what === "undo") return this.step(this.history.undo(this.present()), "undo"), this.buttons();
    if (what === "redo") return this.step(this.history.redo(this.present()), "redo"), this.buttons();
    if (what === "find") return at("editor-search").focus();
    if (what === "keys") return at("editor-keys").showModal();
    if (!this.tree.has(id)) return null;
    const gone = this.tree.retiredRows.get(id);
    const go = (next) => next && this.tree.choose(next);
    if (what === "below") return go(this.tree.below(id));
    if (what === "above") return go(this.tree.above(id));
    if (what === "first") return go(this.tree.firstId());
    if (what === "last") return go(this.tree.lastId());
    if (what === "close") return (this.tree.isOpen(id) && this.tree.fold(id, true)) || go(this.tree.parentOf(id));
    if (what === "bring-back" || (gone && what === "add")) return this.bringBack(gone);
    if (gone) return this.say("This category is retired. Enter brings it back.");
    if (what === "open") return this.tree.isOpen(id) ? go(this.tree.below(id)) : this.tree.fold(id, false);
    if (what === "toggle") return this.tree.fold(id, this.tree.isOpen(id));
    if (what === "enter") return this.intoDetail();
    const node = this.doc.nodes.get(id);
    const name = this.name(id);
    if (what === "rename") return this.tree.rename(id);
    if (what === "add") return this.add(node, from);
    if (what === "retire") return this.retire(node);
    const keep = { choose: id, focus: from === "tree" };
    if (what === "up" || what === "down") {
      const moved = docs.shift(this.doc, id, what === "up" ? -1 : 1);
      return this.change(moved, { ...keep, say: `${name} moved ${what}` }) || this.say(`${name} can't go further ${what} here.`);
    }
    if (what === "in" || what === "out") {
      const moved = what === "in" ? docs.indent(this.doc, id) : docs.outdent(this.doc, id);
      if (moved && what === "in") this.tree.folded.delete(docs.siblings(this.doc, id)[docs.siblings(this.doc, id).indexOf(id) - 1]);
      const words = moved && `${name} is now on level ${docs.level(moved, id)}, ${what === "in" ? "below" : "next to"} ${this.name(what === "in" ? moved.nodes.get(id).parent : node.parent)}`;
      return this.change(moved, { ...keep, say: words }) || this.say(`${name} can't go ${what === "in" ? "deeper: there is no category above it" : "up a level: it is at the top"}.`);
    }
    if (node.type === "dimension") return this.say("Only categories can do this, not dimensions.");
    if (what === "merge") return this.merge(node);
    if (what === "split") return this.split(node);
    return null;
  }

  name(id) {
    const { fields } = this.doc.nodes.get(id);
    return fields.name ?? fields.title;
  }

  add(node, from) {
    const dimension = docs.dimensionOf(this.doc, node.id);
    if (!docs.hasCategories(dimension)) return this.say(`${this.name(dimension.id)} has no categories.`);
    const isInside = node.type === "dimension";
    const parent = isInside ? node.id : node.parent;
    const index = isInside ? 0 : docs.siblings(this.doc, node.id).indexOf(node.id) + 1;
    if (isInside) this.tree.fold(node.id, false);
    const { doc, id } = docs.add(this.doc, parent, index, { key: "", name: "" });
    this.start(doc, id, from);
    return true;
  }

  addDimension() {
    const { doc, id } = docs.add(this.doc, null, this.doc.order.length, { key: "", title: "", kind: docs.firstKind() });
    this.start(doc, id);
  }

  /** A new row, which is there for good when it gets a name. */
  start(doc, id) {
    this.history.note(this.present());
    this.doc = doc;
    this.tree.draw(doc);
    this.empty();
    this.tree.choose(id, { focus: false, quiet: true });
    this.fresh = id;
    this.tree.rename(id, "");
  }

  /** The name that was typed in the tree. */
  named(id, text, how) {
    const isFresh = this.fresh === id;
    this.fresh = null;
    const node = this.doc.nodes.get(id);
    if (!node) return;
    if (isFresh && (!text || how === "Escape")) {
      const before = this.history.drop();
      this.doc = before.doc;
      this.tree.draw(this.doc);
      this.empty();
      const back = this.tree.has(before.chosen) ? before.chosen : this.tree.firstId();
      if (back) this.tree.choose(back, { focus: how !== "blur" });
      else if (how !== "blur") at("add-dimension").focus();
      this.buttons();
      return;
    }
    const isNamed = how !== "Escape" && text && text !== this.name(id);
    const doubled = isNamed && node.type === "category"
      && docs.siblings(this.doc, id).some((each) => each !== id && this.name(each).toLowerCase() === text.toLowerCase());
    if (isNamed) {
      const before = this.name(id);
      const doc = origins.rename(this.doc, id, text, this.past);
      const words = `${isFresh ? `${text} added` : `${before} renamed ${text}`}${doubled ? "; another one next to it has this name" : ""}`;
      if (isFresh) {
        this.history.done.at(-1).label = words;
        this.become(doc);
        this.say(words);
      } else this.change(doc, { say: words });
    }
    this.tree.choose(id, { focus: how !== "blur" });
    if (how === "Tab" || how === "Shift+Tab") this.act(how === "Tab" ? "in" : "out");
    else if (isFresh && how === "Enter") this.add(this.doc.nodes.get(id));
  }

  retire(node) {
    const told = node.type === "category" ? origins.sources(this.doc, docs.dimensionOf(this.doc, node.id), this.past).get(node.id) : [];
    const isPast = node.type === "dimension" ? this.past.has(this.doc, node.id) : told.length > 0;
    const n = [...docs.walk(this.doc, node.id)].length - 1;
    const doc = docs.remove(this.doc, node.id);
    const ids = docs.siblings(this.doc, node.id);
    const index = ids.indexOf(node.id);
    const next = ids[index + 1] ?? ids[index - 1] ?? node.parent;
    const words = `${this.name(node.id)} ${isPast ? "retired" : "removed"}${n ? `, with ${n} below` : ""}; Ctrl+Z brings it back`;
    this.change(doc, { choose: next, say: words });
    if (!next) this.choose("version");
    this.empty();
  }

  merge(node) {
    const dimension = docs.dimensionOf(this.doc, node.id);
    const below = new Set([...docs.walk(this.doc, node.id)].map((each) => each.id));
    const options = [...docs.categories(this.doc, dimension)]
      .filter((each) => !below.has(each.id))
      .map((each) => ({ id: each.id, name: each.fields.name, path: docs.path(this.doc, each.id).join(" / ") }));
    if (!options.length) return this.say("There is no other category here.");
    return askMerge(node.fields.name, options, (into) => {
      const words = `${node.fields.name} merged into ${this.name(into)}`;
      this.change(origins.merge(this.doc, node.id, into, this.past), { choose: into, say: words });
    });
  }

  split(node) {
    const present = new Set(docs.siblings(this.doc, node.id).map((id) => this.name(id).toLowerCase()));
    return askSplit(node.fields.name, present, (names) => {
      const { doc, ids } = origins.split(this.doc, node.id, names, this.past);
      this.change(doc, { choose: ids[0], say: `${node.fields.name} split into ${names.join(", ")}` });
    });
  }

  bringBack(gone) {
    if (!gone) return;
    const { doc, id } = origins.bringBack(this.doc, gone.dimension, gone.key, this.past);
    this.change(doc, { choose: id, say: `${doc.nodes.get(id).fields.name} is back` });
  }

  removeSource(id, key) {
    const dimension = docs.dimensionOf(this.doc, id);
    const keys = origins.sources(this.doc, dimension, this.past).get(id).filter((each) => each !== key);
    const name = this.past.specs(dimension.fields.key).get(key)?.spec.name ?? key;
    this.change(origins.setSources(this.doc, id, keys, this.past), { say: `It no longer comes from ${name}` });
  }

  // ── Dragging ──

  /** Where a dragged row would land: {parent, index}, or null where it can't. */
  landing(id, target, where) {
    const node = this.doc.nodes.get(id);
    const goal = this.doc.nodes.get(target);
    if (!node || !goal || id === target) return null;
    for (let up = goal; up; up = this.doc.nodes.get(up.parent)) if (up.id === id) return null;
    if (node.type === "dimension" || (goal.type === "dimension" && where !== "into")) {
      if (node.type !== goal.type || where === "into") return null;
    } else if (docs.dimensionOf(this.doc, id).id !== docs.dimensionOf(this.doc, target).id) return null;
    if (where === "into") return { parent: target, index: goal.children.filter((each) => each !== id).length };
    const ids = docs.siblings(this.doc, target).filter((each) => each !== id);
    return { parent: goal.parent, index: ids.indexOf(target) + (where === "after" ? 1 : 0) };
  }

  dropped(id, target, where) {
    const place = this.landing(id, target, where);
    if (!place) return;
    if (where === "into") this.tree.folded.delete(target);
    const words = `${this.name(id)} moved ${where} ${this.name(target)}`;
    this.change(docs.move(this.doc, id, place.parent, place.index), { choose: id, say: words });
  }

  // ── Choosing and telling ──

  choose(id) {
    this.chosen = id;
    this.history.close();
    at("about-version").setAttribute("aria-pressed", String(id === "version"));
    if (id === "version" && this.tree.chosen) {
      const li = at(this.tree.chosen);
      li?.setAttribute("aria-selected", "false");
    }
    this.later();
  }

  /** Fills the right-hand side after the next picture, so that going through the tree stays quick. */
  later() {
    if (this.isDue) return;
    this.isDue = true;
    requestAnimationFrame(() => setTimeout(() => this.isDue && this.fill()));
  }

  fill() {
    this.isDue = false;
    const view = viewOf(this, this.chosen);
    if (view) this.detail.show(view);
  }

  intoDetail() {
    this.fill();
    at("detail").classList.add("is-open");
    this.detail.enter();
  }

  mark() {
    const wrong = new Set(this.problems.keys());
    const of = (dimension) => origins.sources(this.doc, dimension, this.past);
    for (const [id, words, isWrong] of margins(this.doc, this.told, this.usage, of, wrong)) this.tree.mark(id, words, isWrong);
    at("bar-changes").textContent = this.begin.before ? this.told.words(this.usage) : "The first version";
    const isChanged = Boolean(this.begin.before) && this.told.changes.length + this.told.dimensions.length > 0;
    at("bar-diff").hidden = !isChanged;
    at("bar-plans").hidden = !isChanged || !this.begin.urls.plans;
    at("bar-plans").href = this.begin.urls.plans;
    const { length } = this.told.doubts;
    at("bar-doubts").hidden = !length;
    at("bar-doubts").textContent = length ? `${length} ${length === 1 ? "warning" : "warnings"}` : "";
    this.empty();
  }

  /** What to look at before publishing; each line leads to its category. */
  showWarnings() {
    const lines = warned(this.doc, this.told).map(({ id, name, sentences }) => {
      const line = document.createElement("li");
      const button = document.createElement("button");
      Object.assign(button, { type: "button", className: "plain", textContent: name });
      button.addEventListener("click", () => {
        at("warnings").close();
        this.tree.choose(id);
      });
      line.append(button, ` ${sentences.join(" ")}`);
      return line;
    });
    at("warnings-list").replaceChildren(...lines);
    at("warnings").showModal();
  }

  empty() {
    at("tree-empty").hidden = this.doc.order.length > 0;
  }

  say(words) {
    at("announcer").textContent = "";
    at("announcer").textContent = words;
    return true;
  }

  // ── Saving ──

  state(word, sentence, address = "") {
    const place = at("saved");
    place.className = `saved saved-${word}`;
    at("publish").querySelector("button").disabled = word !== "saved";
    if (place.textContent !== sentence) place.textContent = sentence;
    if (!address) return;
    const link = document.createElement("a");
    link.href = address;
    link.target = "_blank";
    link.textContent = "Sign in";
    place.append(" ", link);
  }

  accepted(body, isWhole) {
    this.told = new Told(body);
    this.begin.revision = body.revision;
    at("publish-expected").value = body.revision;
    at("publish").dataset.confirm = `Publish version ${this.begin.number}? ${body.frozen}`;
    this.begin.edited_by = body.edited_by;
    if (isWhole) this.problems.clear();
    this.mark();
    this.later();
  }

  /** What is stored and can't be published yet. */
  unfinished(body, paths) {
    this.begin.revision = body.revision;
    this.begin.edited_by = body.edited_by;
    at("publish-expected").value = body.revision;
    this.refused(body.problems, paths, "Saved. Before you can publish");
  }

  refused(list, paths, words = "Not saved") {
    this.problems.clear();
    let first = null;
    for (const { path, sentence } of list) {
      let where = path;
      while (where && !paths.has(where)) where = where.slice(0, Math.max(where.lastIndexOf("."), where.lastIndexOf("["), 0));
      const id = paths.get(where) ?? "version";
      const field = path.slice(where.length).replace(/^\./, "").split(/[.[]/)[0];
      if (!this.doc.nodes.has(id) && id !== "version") continue;
      if (!this.problems.has(id)) this.problems.set(id, []);
      this.problems.get(id).push({ field, sentence: sentence.replace(/ \(line \d+\)/, "") });
      first ??= id;
    }
    const more = list.length > 1 ? ` (and ${list.length - 1} more)` : "";
    const sentence = this.problems.get(first)?.[0].sentence ?? "the document is not valid";
    this.state(words === "Not saved" ? "bad" : "unfinished", `${words}: ${sentence}${more}`);
    if (first) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = "Go to the problem";
      button.addEventListener("click", () => (first === "version" ? this.choose("version") : this.tree.choose(first)));
      at("saved").append(" ", button);
    }
    this.mark();
    this.later();
  }

  async count(cookieName) {
    if (!this.begin.urls.usage) return;
    const { status, body } = await ask(this.begin.urls.usage, cookieName);
    if (status !== 200 || !body) return;
    this.usage = new Usage(body);
    this.mark();
  }

  // ── Listening ──

  listen() {
    const tree = this.tree.root;
    let mayLeave = false;
    tree.addEventListener("keydown", (event) => {
      if (event.isComposing || event.target.closest("input")) return;
      const what = actOf(event);
      if (event.key === "Tab" && mayLeave) return;
      mayLeave = what === "leave" || (mayLeave && event.key === "Shift");
      if (!what) return;
      if (what === "leave") {
        this.say("Tab now leaves the tree.");
        return;
      }
      event.preventDefault();
      if (what === "type") {
        if (this.doc.nodes.has(this.chosen)) this.tree.rename(this.chosen, event.key);
      } else this.act(what);
    });
    tree.addEventListener("focusin", ({ target }) => {
      if (target.matches("[role=treeitem]") && target.id !== this.chosen) this.tree.choose(target.id, { focus: false });
    });
    tree.addEventListener("focusout", () => (mayLeave = false));
    tree.addEventListener("click", (event) => {
      const li = event.target.closest("[role=treeitem]");
      if (!li || event.target.closest("input")) return;
      this.tree.choose(li.id);
      if (event.target.closest(".fold-mark")) this.tree.fold(li.id, this.tree.isOpen(li.id));
      if (event.target.closest("[data-bring-back]")) this.act("bring-back");
      else if (!event.target.closest(".fold-mark") && matchMedia("(max-width: 760px)").matches) this.fill();
    });
    tree.addEventListener("dblclick", (event) => {
      const li = event.target.closest(".node")?.parentElement;
      if (li && this.doc.nodes.has(li.id) && event.target.closest(".node-name")) this.tree.rename(li.id);
    });
    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const isText = event.target.closest("input:not([type=checkbox]), textarea, select");
      const what = actOf(event);
      if (event.key === "Escape" && at("detail").contains(event.target)) {
        at("detail").classList.remove("is-open");
        if (this.tree.has(this.chosen)) this.tree.choose(this.chosen);
      } else if (!isText && !tree.contains(event.target) && ["undo", "redo", "find", "keys"].includes(what)) {
        event.preventDefault();
        this.act(what);
      }
    });
    at("undo").addEventListener("click", () => this.act("undo"));
    at("redo").addEventListener("click", () => this.act("redo"));
    at("bar-doubts").addEventListener("click", () => this.showWarnings());
    at("add-dimension").addEventListener("click", () => this.addDimension());
    at("about-version").addEventListener("click", () => {
      this.choose("version");
      this.fill();
      if (matchMedia("(max-width: 760px)").matches) at("detail").classList.add("is-open");
    });
    listenToSearch(this, at("editor-search"), at("editor-found"));
  }
}

const begin = at("begin");
if (begin) new Editor(JSON.parse(begin.textContent));
