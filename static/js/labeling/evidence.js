// Evidence: selected text of the issue is attached to an answer, listed under its question and marked in the issue.

import { findQuote, forgetTexts, paint, reveal, shortened, sources, takeQuote } from "../lib/highlights.js";
import { KEYS, singleKeys } from "./keys.js";
import { isBlank, speaksFor } from "./state.js";

const LONGEST = 5_000;
const MOST = 100;
const STEPS = 4;
const PAUSE = 250;

const byId = (id) => document.getElementById(id);
const reading = () => byId("reading");
const isTyping = (target) => target.matches?.("textarea, select, [contenteditable], input:not([type=radio], [type=checkbox])");

const make = (tag, className, words = "") => Object.assign(document.createElement(tag), { className, textContent: words });

export class Evidence {
  /** `answers` is the form; `announce(words)` speaks to screen readers. */
  constructor(answers, announce) {
    Object.assign(this, { answers, announce });
    this.popover = byId("evidence");
    this.choices = this.popover.querySelector(".evidence-choices");
    this.note = this.popover.querySelector(".evidence-note");
    this.taken = null;
    this.pending = null;
    this.ranges = new Map();
    this.listenToSelection();
    this.popover.addEventListener("mousedown", (event) => event.preventDefault()); // The selection stays.
    this.popover.addEventListener("click", ({ target }) => {
      const button = target.closest("button");
      if (button) this.options[Number(button.dataset.at)]?.take();
    });
    document.addEventListener("keydown", (event) => this.key(event), true);
    byId("part-panel").addEventListener("click", ({ target }) => this.clicked(target));
    byId("part-panel").addEventListener("keydown", (event) => {
      if (!["Delete", "Backspace"].includes(event.key) || !event.target.matches(".evidence-go")) return;
      event.preventDefault();
      event.stopPropagation();
      if (answers.mayChange) this.drop(Number(event.target.dataset.place));
    });
    this.observer = new MutationObserver(() => {
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.again());
    });
  }

  get isOpen() {
    return !this.popover.hidden;
  }

  get quotes() {
    return this.answers.part.evidence;
  }

  listenToSelection() {
    let isDown = false;
    let timer = 0;
    const later = (wait) => {
      clearTimeout(timer);
      timer = setTimeout(() => this.look(), wait);
    };
    document.addEventListener("pointerdown", ({ target }) => (isDown = Boolean(reading()?.contains(target))));
    for (const name of ["pointerup", "pointercancel"]) {
      document.addEventListener(name, () => {
        if (isDown) later(10);
        isDown = false;
      });
    }
    document.addEventListener("selectionchange", () => !isDown && later(PAUSE));
    window.addEventListener("resize", () => this.isOpen && this.place());
  }

  /** Offers the popover where something is selected; takes it away where nothing is. */
  look() {
    if (this.popover.contains(document.activeElement)) return;
    const taken = this.answers.mayChange ? takeQuote(reading(), getSelection()) : null;
    if (!taken) this.close();
    else if (!this.isOpen || taken.quote !== this.taken?.quote || taken.at !== this.taken.at) this.open(taken);
  }

  /** The key for it: takes what is selected, and the popover takes the focus. */
  ask() {
    const taken = takeQuote(reading(), getSelection());
    if (!taken) {
      this.announce("Select text in the issue first. Then you can attach it to an answer.");
      return;
    }
    this.back = document.activeElement;
    this.open(taken);
    this.choices.querySelector("button")?.focus();
  }

  open(taken) {
    this.taken = taken;
    const isLong = taken.quote.length > LONGEST;
    const isFull = this.quotes.length >= MOST;
    const options = isLong || isFull ? [] : this.answered();
    if (isLong) this.offer([], `A quote has at most ${LONGEST.toLocaleString("en")} characters. Select less.`);
    else if (isFull) this.offer([], `There are ${MOST} quotes already. Remove one first.`);
    else if (!options.length) this.offerQuestions("Nothing is selected yet. Your next choice in …");
    else this.offer([...options, { key: "0", words: "Another category …", take: () => this.more() }], "");
    this.popover.hidden = false;
    this.place();
  }

  more() {
    this.offerQuestions("Your next choice in …");
    this.place();
    if (this.popover.contains(document.activeElement) || this.back) this.choices.querySelector("button")?.focus();
  }

  /** What is answered now in each question that applies. */
  answered() {
    const found = [];
    for (const question of this.answers.visible) {
      for (const { category, words } of answersOf(question)) {
        found.push({ question, words, take: () => this.attach(question.dimension, category) });
      }
    }
    return found;
  }

  offerQuestions(note) {
    this.offer(this.answers.visible.map((question) => ({
      question,
      words: "",
      take: () => this.await(question),
    })), note);
  }

  offer(options, note) {
    this.options = options;
    this.note.textContent = note;
    this.note.hidden = !note;
    this.choices.replaceChildren(...options.map(({ question, words, key }, at) => {
      const button = make("button", `evidence-choice ${question ? `dimension-${question.hue}` : ""}`);
      button.type = "button";
      button.dataset.at = String(at);
      const number = key ?? (at < 9 ? String(at + 1) : "");
      if (question) button.append(make("span", "swatch"), make("span", "evidence-of", question.dimension.title));
      if (words) button.append(make("span", "evidence-words", words));
      if (number) button.append(Object.assign(make("kbd", "", number), { ariaHidden: "true" }));
      if (number) button.setAttribute("aria-keyshortcuts", number);
      return button;
    }));
    byId("evidence-title").textContent = note ? "Evidence" : "Evidence for";
  }

  /** Below the selection, else above it, always in the window. */
  place() {
    if (matchMedia("(max-width: 760px)").matches) return this.popover.removeAttribute("data-placed");
    const rects = [...this.taken.range.getClientRects()];
    const last = rects.at(-1) ?? this.taken.range.getBoundingClientRect();
    const { width, height } = this.popover.getBoundingClientRect();
    const below = last.bottom + 6;
    const top = below + height < window.innerHeight - 8 ? below : Math.max(8, (rects[0] ?? last).top - height - 6);
    const left = Math.max(8, Math.min(last.right - 24, window.innerWidth - width - 8));
    // The policy for styles leaves only what a script sets property by property.
    this.popover.style.setProperty("top", `${Math.round(Math.min(top, window.innerHeight - height - 8))}px`);
    this.popover.style.setProperty("left", `${Math.round(left)}px`);
  }

  close() {
    if (!this.isOpen) return;
    const had = this.popover.contains(document.activeElement);
    this.popover.hidden = true;
    this.taken = null;
    if (had) (this.back?.isConnected ? this.back : reading()).focus({ preventScroll: true });
    this.back = null;
  }

  key(event) {
    const { key, target } = event;
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const done = () => {
      event.preventDefault();
      event.stopPropagation();
    };
    const isInside = this.popover.contains(target);
    if (this.isOpen && key === "Escape") {
      done();
      this.close();
    } else if (isInside && (key === "ArrowDown" || key === "ArrowUp")) {
      done();
      const buttons = [...this.choices.querySelectorAll("button")];
      const at = buttons.indexOf(document.activeElement) + (key === "ArrowDown" ? 1 : -1);
      buttons[(at + buttons.length) % buttons.length]?.focus();
    } else if (this.isOpen && /^[0-9]$/.test(key) && (isInside || (singleKeys() && !isTyping(target)))) {
      const option = this.options.find((each, at) => (each.key ?? String(at + 1)) === key);
      if (option) {
        done();
        option.take();
      }
    } else if (key === KEYS.evidence && singleKeys() && !isTyping(target) && !isInside && this.answers.mayChange
      && takeQuote(reading(), getSelection())) {
      done();
      this.ask();
    }
  }

  /** Goes to a question; what is chosen there next gets the quote. */
  await(question) {
    const { range, ...quote } = this.taken;
    this.pending = { quote, dimension: question.dimension.key, had: answersOf(question).map(({ category }) => category) };
    this.back = null;
    this.popover.hidden = true;
    getSelection().removeAllRanges();
    byId("answers-column").classList.add("is-open");
    this.show();
    question.focus();
    question.search?.open();
    this.announce(`Choose in ${question.dimension.title}: it gets the quote ${shortened(quote.quote)}.`);
  }

  /** An answer was changed: what waits for one is attached, what lost its answer is greyed. */
  touched(question) {
    if (question && this.pending?.dimension === question.dimension.key) {
      const now = answersOf(question);
      const { had, quote } = this.pending;
      const fresh = now.find(({ category }) => !had.includes(category)) ?? (question.isMulti ? null : now[0]);
      if (fresh) {
        this.pending = null;
        this.add(question.dimension, fresh.category, quote);
      }
    }
    this.show();
  }

  attach(dimension, category) {
    const { range, ...quote } = this.taken;
    getSelection().removeAllRanges();
    this.close();
    this.add(dimension, category, quote);
    this.show();
    this.answers.changed();
  }

  add(dimension, category, quote) {
    const same = ({ where, comment, quote: words, at }) => where === quote.where && comment === quote.comment && words === quote.quote && at === quote.at;
    const target = category ? { dimension: dimension.key, category } : { dimension: dimension.key };
    const isThere = this.quotes.some((each) => same(each) && each.dimension === dimension.key && (each.category ?? "") === category);
    if (!isThere) this.quotes.push({ ...target, ...quote });
    this.announce(`${shortened(quote.quote)} is evidence for ${dimension.title}.`);
  }

  drop(place) {
    const [{ dimension }] = this.quotes.splice(place, 1);
    const question = this.answers.questions.find((each) => each.dimension.key === dimension);
    this.show();
    this.answers.changed();
    this.announce("Quote removed.");
    const next = question.element.querySelector(".evidence-go");
    if (next) next.focus();
    else question.focus();
  }

  clicked(target) {
    const button = target.closest("button");
    if (button?.matches(".evidence-go")) {
      const range = this.ranges.get(this.quotes[Number(button.dataset.place)]);
      if (!range) return this.announce("This text is not in the shown snapshot.");
      byId("answers-column").classList.remove("is-open");
      reveal(reading(), range);
    } else if (button?.matches(".evidence-drop")) this.drop(Number(button.dataset.place));
    else if (button?.matches(".evidence-cancel")) {
      const question = this.answers.questions.find((each) => each.dimension.key === this.pending.dimension);
      this.pending = null;
      this.show();
      question.focus();
    }
  }

  /** Another issue: nothing waits for an answer any more. */
  reset() {
    this.pending = null;
    this.close();
  }

  /** The lists under the questions, and the marks in the issue. */
  show() {
    if (this.observed !== reading()) {
      this.observed = reading();
      this.ranges.clear();
      forgetTexts();
      this.observer.disconnect();
      if (this.observed) this.observer.observe(this.observed, { childList: true, subtree: true });
      this.observed?.addEventListener("scroll", () => this.isOpen && this.place(), { passive: true });
    }
    this.mark();
    for (const question of this.answers.questions) {
      const list = question.element.querySelector(".evidence-list");
      const own = this.quotes.map((quote, place) => ({ quote, place })).filter(({ quote }) => quote.dimension === question.dimension.key);
      const rows = own.map(({ quote, place }) => this.line(question, quote, place));
      if (this.pending?.dimension === question.dimension.key) rows.push(this.waitingLine());
      list.replaceChildren(...rows);
      list.hidden = !rows.length;
    }
  }

  line(question, quote, place) {
    const counts = this.counts(quote);
    const row = make("li", `evidence-line evidence-step-${this.step(quote)}${counts ? "" : " is-off"}`);
    const go = make("button", "plain evidence-go");
    go.type = "button";
    go.dataset.place = String(place);
    go.title = quote.quote.length > 64 ? quote.quote.slice(0, 600) : "";
    go.append(make("span", "evidence-quote", shortened(quote.quote)));
    const name = question.dimension.byKey?.get(quote.category)?.name ?? (quote.category === "PENDING" ? "proposed" : "");
    const words = [];
    if (quote.where !== "body") words.push(quote.where === "title" ? "title" : `comment ${quote.comment}`);
    if (question.isMulti && counts && name) words.push(name);
    if (!counts) words.push(`${name || "this answer"} is not selected, so the quote is not sent`);
    if (!this.ranges.has(quote)) words.push("not in the shown snapshot");
    if (words.length) go.append(" ", make("small", "muted", words.join(" · ")));
    row.append(make("span", "evidence-mark"), go);
    if (this.answers.mayChange) {
      const drop = make("button", "plain evidence-drop", "×");
      drop.type = "button";
      drop.dataset.place = String(place);
      drop.setAttribute("aria-label", `Remove the quote ${shortened(quote.quote, 40)}`);
      row.append(drop);
    }
    return row;
  }

  waitingLine() {
    const row = make("li", "evidence-line evidence-waiting");
    const cancel = make("button", "plain evidence-cancel", "×");
    cancel.type = "button";
    cancel.setAttribute("aria-label", "Don’t attach the quote");
    row.append(make("span", "", `${shortened(this.pending.quote.quote, 40)} will be attached to your next choice here.`), cancel);
    return row;
  }

  counts(quote) {
    return speaksFor(quote, this.answers.part, this.answers.version);
  }

  /** Categories of one question differ in lightness, in the order of the version. */
  step(quote) {
    const { byKey } = this.answers.version.byKey.get(quote.dimension);
    const used = [...new Set(this.quotes.filter((each) => each.dimension === quote.dimension).map((each) => each.category ?? ""))];
    used.sort((one, other) => (byKey?.get(one)?.position ?? 1e6) - (byKey?.get(other)?.position ?? 1e6));
    return used.indexOf(quote.category ?? "") % STEPS + 1;
  }

  /** What is shown has changed: every quote is looked for anew. */
  again() {
    forgetTexts();
    this.ranges.clear();
    if (document.activeElement.closest(".evidence-list")) this.mark();
    else this.show();
  }

  /** Finds every quote in what is shown and marks it. */
  mark() {
    const roots = new Map(sources(reading()).map(({ root, where, comment }) => [`${where} ${comment ?? ""}`, root]));
    const marks = {};
    for (const part of this.answers.state.parts) {
      for (const quote of part.evidence) {
        const root = roots.get(`${quote.where} ${quote.comment ?? ""}`);
        const known = this.ranges.get(quote);
        const range = known ?? (root ? findQuote(root, quote) : null);
        const question = this.answers.questions.find((each) => each.dimension.key === quote.dimension);
        if (!range || !question) continue;
        this.ranges.set(quote, range);
        let name = "evidence-other";
        if (part === this.answers.part) name = this.counts(quote) ? `evidence-${question.hue}-${this.step(quote)}` : "evidence-off";
        (marks[name] ??= []).push(range);
      }
    }
    paint("evidence-", marks);
  }
}

/** What is answered in a question: [{category ("" where there are none), words}]. */
function answersOf(question) {
  const { dimension, value, asked } = question;
  const found = [];
  if (Array.isArray(value)) {
    for (const key of value) {
      const category = dimension.byKey.get(key);
      if (category) found.push({ category: key, words: category.name });
    }
  } else if (!isBlank(value)) {
    const words = typeof value === "boolean" ? (value ? "Yes" : "No") : shortened(String(value), 24);
    found.push({ category: "", words });
  }
  if (asked) found.push({ category: "PENDING", words: asked.name ? `${asked.name} (proposed)` : "the proposed category" });
  return found;
}
