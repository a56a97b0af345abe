// Answers on their way to the server: kept in this browser until they arrived, sent in order, each stored once.

const WAITS = [1_500, 3_000, 6_000, 12_000, 20_000];
const LOCK_WAIT = 2_000;

export class Outbox {
  /**
   * `readings()` names the issues that the page has at hand. `heard(answer, entry)` gets every answer but "away",
   * which `away()` is told; "signed-out" and "another" leave the entry where it is.
   */
  constructor({ shelf, server, readings, heard, away }) {
    Object.assign(this, { shelf, server, readings, heard, away });
    this.here = null;
    this.own = new Map();
    this.inFlight = null;
    this.isSending = false;
    this.n = 0;
    this.sentKeys = new Set();
    window.addEventListener("online", () => this.send());
    document.addEventListener("visibilitychange", () => !document.hidden && this.send());
  }

  /** What waits, the oldest first. Another tab's answer for the issue on this page is left to that tab. */
  get entries() {
    const found = this.shelf.all("submit").filter(({ assignment }) => assignment !== this.here);
    const all = new Map([...found.map((entry) => [entry.assignment, entry]), ...this.own]);
    return [...all.values()].sort((a, b) => a.at - b.at);
  }

  of(assignment) {
    return this.own.get(assignment) ?? null;
  }

  isInFlight(assignment) {
    return this.inFlight?.assignment === assignment;
  }

  /** The page shows an assignment now. An answer to it that was begun before the page was loaded is taken up. */
  start(turn) {
    this.here = turn?.assignment ?? null;
    const old = turn?.may_change ? this.shelf.read("submit", turn.assignment) : null;
    if (old && old.expected === turn.revision) this.own.set(turn.assignment, old);
    return turn ? this.of(turn.assignment) : null;
  }

  /** An answer to this assignment that waits here, while another one was stored elsewhere, is kept with its words. */
  overtaken(turn) {
    const old = turn.may_change && !this.own.has(turn.assignment) && this.shelf.read("submit", turn.assignment);
    if (!old || old.expected === turn.revision) return;
    this.shelf.drop("submit", turn.assignment);
    if (old.key !== turn.key) this.refuse(old, "This issue was labeled in another tab or on another device.");
  }

  add(entry) {
    this.own.set(entry.assignment, entry);
    this.shelf.keep("submit", entry.assignment, entry);
    this.n = 0;
  }

  /** The rater goes on typing: what waits for this assignment is not sent any more; whether something did. */
  hold(assignment) {
    const entry = this.of(assignment);
    if (!entry || this.inFlight === entry) return false;
    this.drop(entry);
    return true;
  }

  drop(entry) {
    const kept = this.shelf.read("submit", entry.assignment);
    if (kept?.key === entry.key) this.shelf.drop("submit", entry.assignment);
    if (this.own.get(entry.assignment)?.key === entry.key) this.own.delete(entry.assignment);
  }

  async send() {
    if (this.isSending) return; // Also while it is told that the server is away: then the next time is set already.
    clearTimeout(this.timer);
    if (!this.entries.length) return;
    this.isSending = true;
    try {
      await inTurn(`concord.labelling.${this.shelf.user}`, () => this.sendAll());
    } finally {
      this.isSending = false;
    }
  }

  async sendAll() {
    for (let entry = this.entries[0]; entry; entry = this.entries[0]) {
      this.inFlight = entry;
      this.sentKeys.add(entry.key);
      const answer = await this.server.post(entry.url, entry.body, { key: entry.key, readings: this.readings() });
      this.inFlight = null;
      if (answer.outcome === "away") {
        this.timer = setTimeout(() => this.send(), WAITS[Math.min(this.n++, WAITS.length - 1)]);
        this.away();
        return;
      }
      const mustWait = answer.outcome === "signed-out" || answer.outcome === "another";
      if (!mustWait) this.drop(entry);
      this.n = 0;
      this.heard(answer, entry);
      if (mustWait) return;
    }
  }

  /** An answer that was not taken, and is not on the page any more, is kept with its words. */
  refuse({ assignment, name, url, state, skip, at }, why) {
    this.shelf.keep("refused", assignment, { assignment, name, url, state, skip, at, why });
  }
}

/** One tab at a time, where browsers can do that; it does not wait for long, for a key makes a second sending harmless. */
async function inTurn(name, work) {
  if (!navigator.locks) return work();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), LOCK_WAIT);
  let isMyTurn = false;
  try {
    return await navigator.locks.request(name, { signal: late.signal }, () => {
      isMyTurn = true;
      clearTimeout(timer);
      return work();
    });
  } catch (error) {
    if (isMyTurn || error.name !== "AbortError") throw error;
    return work();
  }
}
