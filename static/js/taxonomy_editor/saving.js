// Saving by itself: after a moment of rest the whole document goes to the server, with the revision it is based on.

import { csrfToken } from "../lib/csrf.js";

const REST = 1000;
const SHELF_REST = 250;
const RETRIES = [2_000, 4_000, 8_000, 15_000, 30_000];
const TIMEOUT = 30_000;

/** A request for JSON: {status, body}; status 0 where nobody answered, 401 where the person is signed out. */
export async function ask(url, cookieName, given) {
  const headers = { "HX-Request": "true", Accept: "application/json" };
  const options = { headers, signal: AbortSignal.timeout(TIMEOUT) };
  if (given !== undefined) {
    options.method = "POST";
    options.body = given;
    headers["Content-Type"] = "application/json";
    headers["X-CSRFToken"] = csrfToken(cookieName);
  }
  try {
    const answer = await fetch(url, options);
    if (answer.headers.get("HX-Redirect")) return { status: 401, address: answer.headers.get("HX-Redirect") };
    const isJson = answer.headers.get("Content-Type")?.includes("json");
    return { status: answer.status, body: isJson ? await answer.json() : null };
  } catch {
    return { status: 0 };
  }
}

export class Saving {
  /**
   * `read()` gives {plain, paths}; hooks: state(word, sentence), accepted(body), unfinished(body, paths),
   * problems(list, paths), stale(newer, message).
   */
  constructor({ urls, revision, cookieName, shelf, read, hooks }) {
    Object.assign(this, { urls, revision, cookieName, shelf, read, hooks });
    this.isDirty = false;
    this.isStopped = false;
    this.unsure = null;
    this.tries = 0;
    window.addEventListener("online", () => this.isDirty && this.save());
    window.addEventListener("focus", () => this.look());
    document.addEventListener("visibilitychange", () => (document.hidden ? this.flush() : this.look()));
    window.addEventListener("pagehide", () => this.flush());
    window.addEventListener("beforeunload", (event) => this.isDirty && event.preventDefault());
  }

  changed() {
    this.isDirty = true;
    this.edits = (this.edits ?? 0) + 1;
    clearTimeout(this.shelfTimer);
    this.shelfTimer = setTimeout(() => this.flush(), SHELF_REST);
    if (this.isStopped) return;
    this.hooks.state("waiting", "Not saved yet");
    this.tries = 0;
    this.#in(REST);
  }

  #in(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), wait);
  }

  /** Into this browser, at once. */
  flush() {
    clearTimeout(this.shelfTimer);
    if (this.isDirty) this.shelf.keep(this.revision, this.read().plain);
  }

  async save() {
    clearTimeout(this.timer);
    if (this.isStopped || !this.isDirty) return;
    if (this.isAtWork) {
      this.isWaiting = true;
      return;
    }
    this.isAtWork = true;
    this.hooks.state("saving", "Saving …");
    const { edits } = this;
    const read = this.read();
    // An answer that got lost may have been a yes: the same text again is known by the server and does no harm.
    const sent = this.unsure ?? { body: JSON.stringify({ revision: this.revision, document: read.plain }), edits, paths: read.paths };
    const answer = await ask(this.urls.save, this.cookieName, sent.body);
    this.isAtWork = false;
    this.unsure = null;
    this.isSignedOut = answer.status === 401;
    this.#answered(answer, sent);
    if (this.isWaiting && !this.isStopped) {
      this.isWaiting = false;
      if (answer.status) this.#in(0);
    }
  }

  #answered({ status, body, address }, sent) {
    if (status === 200 && body) {
      this.#stored(body, sent);
      if (!this.isDirty) this.hooks.state("saved", `Saved ${clock(new Date())}`);
      this.hooks.accepted(body, !this.isDirty);
    } else if (status === 202 && body) {
      this.#stored(body, sent);
      this.hooks.unfinished(body, sent.paths);
    } else if (status === 422 && body?.problems) {
      this.hooks.problems(body.problems, sent.paths);
    } else if (status === 409 && body) {
      this.isStopped = true;
      this.flush();
      this.hooks.stale(body.newer ?? null, body.message);
    } else if (status === 401) {
      this.hooks.state("bad", "Not saved: you are signed out. Sign in in another tab and come back. Your changes are kept here.", address);
    } else if (status === 0 || status >= 500 || status === 429) {
      this.unsure = sent;
      this.hooks.state("bad", status ? "Not saved: the server is busy. Retrying …" : "Not saved: no connection. Retrying … Your changes are kept in this browser.");
      this.#in(RETRIES[Math.min(this.tries, RETRIES.length - 1)]);
      this.tries += 1;
    } else {
      const why = { 403: "you can no longer change this taxonomy", 404: "this draft was discarded", 413: "it is too large" };
      this.hooks.state("bad", `Not saved: ${why[status] ?? `the server refused it (${status})`}. All is kept in this browser.`);
    }
  }

  #stored(body, sent) {
    this.tries = 0;
    this.revision = body.revision;
    this.isDirty = this.edits !== sent.edits;
    if (this.isDirty) return this.#in(REST);
    this.shelf.drop();
    return clearTimeout(this.shelfTimer);
  }

  /** Whether someone else wrote meanwhile. */
  async look() {
    if (this.isStopped || this.isAtWork) return;
    if (this.isDirty) {
      if (!document.hidden && (this.unsure || this.isSignedOut)) this.save();
      return;
    }
    const { status, body } = await ask(this.urls.state, this.cookieName);
    if (status !== 200 || !body || this.isAtWork || this.isStopped) return;
    if (body.revision > this.revision || body.state !== "draft") {
      this.isStopped = true;
      this.hooks.stale(body, "");
    }
  }
}

export const clock = (date) => date.toLocaleTimeString("en-GB");
