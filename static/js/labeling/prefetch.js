// The issue that comes next, fetched while this one is read; only its text, once, and not where data are to be saved.

const SOON = 3_000;
const whenIdle = (work) =>
  window.requestIdleCallback ? requestIdleCallback(work, { timeout: SOON }) : setTimeout(work, SOON / 3);

export class Ahead {
  constructor(server) {
    this.server = server;
    this.forget();
  }

  forget() {
    this.request?.abort();
    this.page = null;
    this.turn = null;
    delete document.documentElement.dataset.ahead;
  }

  /** Begins with an assignment: what comes after it is looked for when the browser has time. */
  start(turn) {
    this.forget();
    if (!turn?.may_change || navigator.connection?.saveData) return;
    const request = new AbortController();
    this.request = request;
    whenIdle(async () => {
      const html = request.signal.aborted ? null : await this.server.lookAhead(turn.after_url, request.signal);
      if (!html || this.request !== request) return;
      this.page = new DOMParser().parseFromString(html, "text/html");
      this.turn = JSON.parse(this.page.getElementById("turn").textContent);
      document.documentElement.dataset.ahead = this.turn.name;
    });
  }

  /** The names of the readings that are at hand. */
  get readings() {
    return this.turn?.reading ? [this.turn.reading] : [];
  }

  part(id) {
    return document.importNode(this.page.getElementById(id), true);
  }
}
