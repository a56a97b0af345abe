// The form with all questions: parts, conditions, memo, confidence, and what the server found wrong.

import { resetDefinition } from "./definitions.js";
import { Evidence } from "./evidence.js";
import { Flag } from "./flag.js";
import { missing, missingWords, showMissing } from "./missing.js";
import { isAskedHere, nextAsked, partsAsked, showBefore } from "./before.js";
import { showOutcome } from "./outcomes.js";
import { Question } from "./question.js";
import { emptyPart, emptyState, isEmptyPart } from "./state.js";

const byId = (id) => document.getElementById(id);

export class Answers {
  /** `changed()` follows every change by the rater, `announce(words)` speaks to screen readers. */
  constructor(version, { changed, announce }) {
    Object.assign(this, { version, changed, announce });
    this.form = byId("answers");
    this.memo = byId("memo");
    this.state = emptyState();
    this.at = 0;
    this.before = [];
    this.outcomes = [];
    this.wrong = [];
    this.questions = version.dimensions.map((dimension) => new Question(byId(`question-${dimension.number}`), dimension, {
      user: version.user,
      version: version.number,
      part: () => this.part,
      changed: (question) => this.touched(question),
      go: (question) => this.go(question),
    }));
    this.evidence = new Evidence(this, announce);
    this.memo.addEventListener("input", () => {
      this.part.memo = this.memo.value;
      this.touched();
    });
    this.form.addEventListener("change", (event) => {
      if (event.target.name !== "confidence") return;
      this.state.confidence = Number(event.target.value);
      this.touched();
    });
    this.flag = new Flag(byId("flag"), (on) => {
      this.state.flag = on;
      this.announce(on ? "Flagged for discussion." : "No longer flagged.");
      this.changed();
    });
    byId("add-part").addEventListener("click", () => this.addPart());
    byId("remove-part").addEventListener("click", () => this.removePart());
    byId("part-tabs").addEventListener("click", (event) => {
      const tab = event.target.closest("[role=tab]");
      if (tab) this.turnTo(Number(tab.dataset.part));
    });
    byId("part-tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      const n = this.state.parts.length;
      this.turnTo((this.at + step + n) % n);
      byId("part-tabs").querySelector("[aria-selected=true]").focus();
    });
  }

  get part() {
    return this.state.parts[this.at];
  }

  get visible() {
    return this.questions.filter(({ element }) => !element.hidden);
  }

  /** Fills the form for another issue; `before` is what was said earlier of its places, in a worklist, `outcomes` what was answered to proposals. */
  load(state, mayChange = true, before = [], outcomes = []) {
    this.state = state;
    this.outcomes = outcomes;
    this.before = before;
    this.at = before.length ? Math.min(...partsAsked(before, state), state.parts.length - 1) : 0;
    this.blame([]);
    this.isBlamed = false;
    this.showMissing();
    resetDefinition(this.version);
    for (const question of this.questions) question.search?.clear();
    this.mayChange = mayChange;
    this.evidence.reset();
    byId("answers-scroll").scrollTop = 0;
    this.show();
  }

  show() {
    const { parts } = this.state;
    this.memo.value = this.part.memo;
    for (const input of this.form.elements.confidence) input.checked = this.state.confidence === Number(input.value);
    this.flag.show(this.state.flag);
    this.showConditions();
    for (const question of this.questions) {
      question.show();
      showBefore(question, this.before, this.at);
      showOutcome(question, this.outcomes, this.at);
    }
    byId("parts").hidden = parts.length < 2;
    byId("part-tabs").replaceChildren(...parts.map((_, number) => {
      const tab = document.createElement("button");
      tab.type = "button";
      tab.dataset.part = String(number);
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-selected", String(number === this.at));
      tab.setAttribute("aria-controls", "part-panel");
      tab.tabIndex = number === this.at ? 0 : -1;
      tab.textContent = `Part ${number + 1}`;
      if (this.wrong.some(({ part }) => part === number)) tab.classList.add("is-wrong");
      if (partsAsked(this.before, this.state).includes(number)) tab.append(Object.assign(document.createElement("span"), { className: "part-asked", textContent: " · asked" }));
      return tab;
    }));
    const panel = byId("part-panel");
    if (parts.length > 1) {
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-label", `Part ${this.at + 1}`);
    } else {
      panel.removeAttribute("role");
      panel.removeAttribute("aria-label");
    }
    this.showErrors();
    for (const control of this.form.elements) {
      if (control.getAttribute("role") !== "tab") control.disabled = !this.mayChange;
    }
    this.form.classList.toggle("is-shut", !this.mayChange);
    this.evidence.show();
  }

  /** Shows the questions that apply; says aloud which came or went. */
  showConditions(speak = false) {
    const came = [];
    for (const { element, dimension } of this.questions) {
      const hidden = !this.version.applies(dimension, this.part.labels);
      if (element.hidden && !hidden) came.push(dimension.title);
      element.hidden = hidden;
    }
    if (speak && came.length) this.announce(`Now also applies: ${came.join(", ")}.`);
  }

  touched(question) {
    if (question) {
      this.showConditions(true);
      this.forgive(question.dimension.key);
    } else this.forgive("memo");
    this.evidence.touched(question);
    this.showMissing();
    this.changed();
  }

  /** On to the next question, at the end to the submit button. */
  go(question) {
    const { visible } = this;
    const next = this.before.length ? nextAsked(this, question) : visible[visible.indexOf(question) + 1];
    if (next) next.focus();
    else byId("submit").focus();
  }

  /** The first question; in a worklist the first that is asked anew, else the one whose proposal was answered. */
  focusFirst() {
    const isAsked = (question) => isAskedHere(question, this.before, this.at);
    const isTold = ({ dimension: { key } }) => this.outcomes.some(({ part, dimension }) => part === this.at + 1 && dimension === key);
    const first = this.visible.find(isAsked) ?? this.visible.find(isTold) ?? this.visible[0];
    (first ?? { focus: () => this.memo.focus() }).focus();
  }

  /** The question that has the focus, or had it last. */
  questionAt(element) {
    return this.visible.find((question) => question.element.contains(element));
  }

  turnTo(number) {
    this.at = number;
    this.show();
    this.announce(`Part ${number + 1} of ${this.state.parts.length}`);
  }

  addPart() {
    this.state.parts.push(emptyPart());
    this.turnTo(this.state.parts.length - 1);
    byId("answers-scroll").scrollTop = 0;
    this.focusFirst();
    this.changed();
  }

  removePart() {
    if (!isEmptyPart(this.part) && !window.confirm(`Remove part ${this.at + 1} and its labels?`)) return;
    this.state.parts.splice(this.at, 1);
    this.blame([]);
    this.turnTo(Math.min(this.at, this.state.parts.length - 1));
    this.showMissing();
    this.focusFirst();
    this.changed();
  }

  /** Shows the server's sentences at their questions: [{part (from 0), name, sentence}]. Gives back those without a place. */
  blame(problems) {
    this.wrong = problems;
    if (!problems.length) {
      this.showErrors();
      return [];
    }
    const placed = ({ name }) => name === "memo" || this.version.byKey.has(name);
    const first = problems.filter(placed).sort((a, b) => a.part - b.part || this.order(a) - this.order(b))[0];
    if (first && first.part < this.state.parts.length) this.at = first.part;
    this.show();
    if (first) {
      if (first.name === "memo") this.memo.focus();
      else this.questions.find(({ dimension }) => dimension.key === first.name).focus();
    }
    return problems.filter((problem) => !placed(problem));
  }

  /** Marks what is missing, goes to the first of it and says so; gives back whether something is. */
  blameMissing() {
    const found = missing(this.state, this.version);
    if (found.length) {
      this.blame(found);
      this.isBlamed = true;
      this.announce(missingWords(found, this.version, this.state.parts.length));
    }
    this.showMissing();
    return found.length > 0;
  }

  /** Once something was said to be missing, what still is. */
  showMissing() {
    const found = this.isBlamed ? missing(this.state, this.version) : [];
    if (!found.length) this.isBlamed = false;
    showMissing(byId("missing"), found, this.version, this.state.parts.length, ({ part, name }) => {
      if (part !== this.at) this.turnTo(part);
      this.questions.find(({ dimension }) => dimension.key === name).focus();
    });
  }

  order({ name }) {
    return this.version.byKey.get(name)?.number ?? 1000;
  }

  showErrors() {
    const here = this.wrong.filter(({ part }) => part === this.at);
    const sentence = (name) => here.filter((problem) => problem.name === name).map((problem) => problem.sentence).join(" ");
    for (const question of this.questions) question.blame(sentence(question.dimension.key));
    byId("memo-error").textContent = sentence("memo");
    byId("memo-error").hidden = !sentence("memo");
  }

  forgive(name) {
    if (!this.wrong.some((problem) => problem.name === name && problem.part === this.at)) return;
    this.wrong = this.wrong.filter((problem) => problem.name !== name || problem.part !== this.at);
    this.showErrors();
    for (const tab of byId("part-tabs").children) {
      tab.classList.toggle("is-wrong", this.wrong.some(({ part }) => part === Number(tab.dataset.part)));
    }
  }

  /** How many of the questions that apply are answered: for the handle of the sheet on a phone. */
  get counts() {
    const { visible } = this;
    return [visible.filter((question) => question.isAnswered).length, visible.length];
  }
}
