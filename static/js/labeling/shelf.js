// What this browser keeps of unfinished work, per person and assignment; a browser that keeps nothing is no error.

const PREFIX = "concord.labelling";
const DAYS_KEPT = 60;

export class Shelf {
  constructor(user) {
    this.user = user;
    this.isClosed = false; // Full, or the browser allows none: what is on the page is kept by the page alone.
    this.sweep();
  }

  name(kind, assignment) {
    return `${PREFIX}.${this.user}.${assignment}.${kind}`;
  }

  read(kind, assignment) {
    try {
      return JSON.parse(localStorage.getItem(this.name(kind, assignment)));
    } catch {
      return null;
    }
  }

  /** Everything of a kind that is kept for this person. */
  all(kind) {
    try {
      const [start, end] = [`${PREFIX}.${this.user}.`, `.${kind}`];
      const names = Object.keys(localStorage).filter((name) => name.startsWith(start) && name.endsWith(end));
      return names.map((name) => this.read(kind, name.slice(start.length, -end.length))).filter(Boolean);
    } catch {
      return [];
    }
  }

  keep(kind, assignment, value) {
    try {
      localStorage.setItem(this.name(kind, assignment), JSON.stringify(value));
      this.isClosed = false;
    } catch {
      this.isClosed = true;
    }
  }

  /** Where what was kept last is, in words. */
  get where() {
    return this.isClosed ? "on this page only (don’t close it)" : "in this browser";
  }

  drop(kind, assignment) {
    try {
      localStorage.removeItem(this.name(kind, assignment));
    } catch {
      // Nothing was kept then.
    }
  }

  sweep() {
    try {
      const oldest = Date.now() - DAYS_KEPT * 86_400_000;
      for (const name of Object.keys(localStorage)) {
        if (!name.startsWith(`${PREFIX}.`)) continue;
        if (!((JSON.parse(localStorage.getItem(name))?.at ?? 0) > oldest)) localStorage.removeItem(name);
      }
    } catch {
      // As above.
    }
  }
}
