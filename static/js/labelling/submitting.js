// Submits an answer so that it is stored once, whatever happens on the way: a frozen body, one key, again until answered.

import { newKey, post } from "./sending.js";

const WAITS = [1_500, 3_000, 6_000, 12_000, 20_000];

export class Submitter {
  /** `heard(answer, turn)` gets every answer but "away"; `waiting(seconds)` is told when the network is gone. */
  constructor({ shelf, cookieName, heard, waiting }) {
    Object.assign(this, { shelf, cookieName, heard, waiting });
    this.pending = null;
    this.isBusy = false;
    this.sentKeys = new Set();
    window.addEventListener("online", () => this.again());
    document.addEventListener("visibilitychange", () => !document.hidden && this.again());
  }

  /** Sends the content; the same content again, also after a reload, is the same request with the same key. */
  submit(turn, content, seconds) {
    if (this.isBusy) return;
    const same = JSON.stringify(content);
    const old = this.pending ?? this.shelf.read("submit", turn.assignment);
    const isResend = old?.assignment === turn.assignment && old.expected === turn.revision && old.same === same
      && old.snapshot === turn.snapshot;
    this.pending = isResend
      ? old
      : {
        assignment: turn.assignment,
        url: turn.submit_url,
        expected: turn.revision,
        key: newKey(),
        same,
        snapshot: turn.snapshot,
        body: JSON.stringify({ ...content, seconds, expected: turn.revision, snapshot: turn.snapshot }),
        at: Date.now(),
      };
    this.shelf.keep("submit", turn.assignment, this.pending);
    this.turn = turn;
    this.n = 0;
    return this.send();
  }

  /** Whether a submit of this assignment was begun before the page was loaded and never answered. */
  unanswered(turn) {
    const old = this.shelf.read("submit", turn.assignment);
    if (old?.expected === turn.revision) return old;
    this.shelf.drop("submit", turn.assignment);
    return null;
  }

  /** Takes up what `unanswered` found. */
  resume(turn, old) {
    Object.assign(this, { pending: old, turn, n: 0 });
    return this.send();
  }

  async send() {
    if (this.isBusy || !this.pending) return;
    clearTimeout(this.timer);
    const { pending, turn } = this;
    this.isBusy = true;
    this.sentKeys.add(pending.key);
    const answer = await post(pending.url, pending.body, { cookieName: this.cookieName, key: pending.key });
    this.isBusy = false;
    if (this.pending !== pending) return;
    if (answer.outcome === "away") {
      const wait = WAITS[Math.min(this.n++, WAITS.length - 1)];
      this.timer = setTimeout(() => this.send(), wait);
      this.waiting(answer);
      return;
    }
    if (answer.outcome !== "signed-out") this.forget();
    this.heard(answer, turn);
  }

  /** Tries at once what waits for the network or for a sign-in. */
  again() {
    if (this.pending && !this.isBusy) void this.send();
  }

  /** The rater went on typing: what waited is not sent any more. */
  hold() {
    clearTimeout(this.timer);
    if (this.isBusy) return false;
    const had = Boolean(this.pending);
    if (had) this.forget();
    return had;
  }

  forget() {
    clearTimeout(this.timer);
    if (this.pending) this.shelf.drop("submit", this.pending.assignment);
    this.pending = null;
  }
}
