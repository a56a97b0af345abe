// Keeps what is typed: in this browser at once, on the server shortly after; brings back the newer of the two.

import { newKey } from "./sending.js";

const WAIT = 800;
const RETRY = 8_000;
const KEEPALIVE_MOST = 60_000;

export class Drafts {
  /**
   * `read()` gives the draft to keep; `told(state, detail)` hears "saved", "away", "signed-out", "another", "refused", or
   * "other" with the draft that was typed elsewhere meanwhile.
   */
  constructor({ shelf, server, read, told }) {
    Object.assign(this, { shelf, server, read, told });
    this.by = newKey();
    this.turn = null;
    this.isDirty = false;
    document.addEventListener("visibilitychange", () => document.hidden && this.flush());
    window.addEventListener("pagehide", () => this.flush());
    window.addEventListener("online", () => this.isDirty && this.save());
  }

  /**
   * Begins with an assignment and gives back its draft, the newer of the browser's and the server's, or null. Where one
   * does not go on from the other, `other` is the older one.
   */
  start(turn) {
    this.stop();
    this.turn = turn;
    this.isDirty = false;
    this.theirs = null;
    this.other = null;
    this.seen = turn?.draft?.at ?? null;
    if (!turn?.may_change) return null;
    const [there, here] = [turn.draft, this.shelf.read("draft", turn.assignment)].map((draft) =>
      draft?.base === turn.revision ? draft : null,
    );
    if (!there || !here) return there ?? here;
    const [newer, older] = (there.at ?? 0) > (here.at ?? 0) ? [there, here] : [here, there];
    const isOneLine = there.by === here.by || newer.seen === older.at;
    if (!isOneLine && !isSame(newer, older)) this.other = older;
    return newer;
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
    return { ...this.read(), base: this.turn.revision, at: this.at, by: this.by, seen: this.seen };
  }

  async save() {
    clearTimeout(this.timer);
    if (!this.turn || !this.isDirty || this.theirs) return;
    const { turn, at } = this;
    this.request?.abort();
    this.request = new AbortController();
    const answer = await this.server.post(turn.draft_url, JSON.stringify(this.draft()), { signal: this.request.signal });
    if (this.turn !== turn || answer.outcome === "aborted") return;
    if (answer.outcome === "done") {
      if (this.at === at) this.isDirty = false;
      this.told("saved", at);
      return;
    }
    const theirs = answer.outcome === "refused" && answer.status === 409 ? draftIn(answer.html) : null;
    if (theirs) {
      this.theirs = theirs;
      this.told("other", theirs);
      return;
    }
    this.told(answer.outcome, answer);
    if (answer.outcome === "away") this.timer = setTimeout(() => this.save(), RETRY);
  }

  /** The rater has decided between this draft and one from elsewhere; what is on the page now is kept as theirs. */
  decided(draft) {
    this.seen = draft.at ?? null;
    this.theirs = null;
    this.changed();
  }

  /** Before the page goes away. */
  flush() {
    if (!this.turn || !this.isDirty || this.theirs) return;
    const body = JSON.stringify(this.draft());
    void this.server.post(this.turn.draft_url, body, { keepalive: body.length < KEEPALIVE_MOST });
  }

  /** No more saving for this assignment: it is being submitted, so that no late draft comes after the answer. */
  stop() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.isDirty = false;
  }

  forget() {
    this.stop();
    if (this.turn) this.shelf.drop("draft", this.turn.assignment);
    this.turn = null;
  }
}

const typed = ({ base, at, by, seen, seconds, ...rest }) => JSON.stringify(rest);
const isSame = (a, b) => typed(a) === typed(b);

function draftIn(html) {
  try {
    return JSON.parse(html).draft ?? null;
  } catch {
    return null;
  }
}
