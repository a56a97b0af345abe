// Keeps what is typed: in this browser at once, on the server shortly after; brings back the newer of the two.

import { post } from "./sending.js";

const WAIT = 800;
const RETRY = 8_000;
const KEEPALIVE_MOST = 60_000;

export class Drafts {
  /** `read()` gives the draft to keep; `told(state, detail)` hears "saving", "saved", "away", "signed-out" or "refused". */
  constructor({ shelf, cookieName, read, told }) {
    Object.assign(this, { shelf, cookieName, read, told });
    this.turn = null;
    this.isDirty = false;
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
    window.addEventListener("pagehide", () => this.flush());
    window.addEventListener("online", () => this.isDirty && this.save());
  }

  /** Begins with an assignment and gives back its draft, the newer of the browser's and the server's, or null. */
  start(turn) {
    this.stop();
    this.turn = turn;
    this.isDirty = false;
    if (!turn?.may_change) return null;
    const kept = [turn.draft, this.shelf.read("draft", turn.assignment)].filter((draft) => draft?.base === turn.revision);
    return kept.sort((a, b) => (b.at ?? 0) - (a.at ?? 0))[0] ?? null;
  }

  changed() {
    if (!this.turn?.may_change) return;
    this.isDirty = true;
    this.at = Date.now();
    this.shelf.keep("draft", this.turn.assignment, this.draft());
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), WAIT);
  }

  draft() {
    return { ...this.read(), base: this.turn.revision, at: this.at };
  }

  async save() {
    clearTimeout(this.timer);
    if (!this.turn || !this.isDirty) return;
    const { turn, at } = this;
    this.request?.abort();
    this.request = new AbortController();
    const answer = await post(turn.draft_url, JSON.stringify(this.draft()), {
      cookieName: this.cookieName,
      signal: this.request.signal,
    });
    if (this.turn !== turn || answer.outcome === "aborted") return;
    if (answer.outcome === "done") {
      if (this.at === at) this.isDirty = false;
      this.told("saved", at);
    } else {
      this.told(answer.outcome, answer);
      if (answer.outcome === "away") this.timer = setTimeout(() => this.save(), RETRY);
    }
  }

  /** Before the page goes away. */
  flush() {
    if (!this.turn || !this.isDirty) return;
    const body = JSON.stringify(this.draft());
    void post(this.turn.draft_url, body, { cookieName: this.cookieName, keepalive: body.length < KEEPALIVE_MOST });
  }

  /** No more saving for this assignment: it is being submitted, so that no late draft comes after the answer. */
  stop() {
    clearTimeout(this.timer);
    this.request?.abort();
  }

  forget() {
    this.stop();
    if (this.turn) this.shelf.drop("draft", this.turn.assignment);
    this.isDirty = false;
    this.turn = null;
  }
}
