// What was not saved stays in this browser: by person, version and revision.

export class Shelf {
  constructor(user, slug, number) {
    this.prefix = `concord.editor.${user}.${slug}.${number}.`;
  }

  /** Keeps a document that is based on a revision; an offered one is not overwritten by it. */
  keep(revision, document) {
    try {
      localStorage.setItem(`${this.prefix}now`, JSON.stringify({ revision, document, at: Date.now() }));
    } catch {
      // The browser's store is full or closed; the page itself still warns before it is left.
    }
  }

  drop() {
    this.#remove(`${this.prefix}now`);
  }

  /** What an earlier page left behind, the newest first; it stays until it is dropped by its name. */
  offered() {
    const found = [];
    try {
      const now = localStorage.getItem(`${this.prefix}now`);
      if (now) {
        localStorage.setItem(`${this.prefix}kept.${JSON.parse(now).at}`, now);
        localStorage.removeItem(`${this.prefix}now`);
      }
      for (const name of Object.keys(localStorage)) {
        if (name.startsWith(`${this.prefix}kept.`)) found.push({ name, ...JSON.parse(localStorage.getItem(name)) });
      }
    } catch {
      return [];
    }
    return found.sort((one, other) => other.at - one.at);
  }

  /** Puts the present one among those that are offered. */
  putAside() {
    return this.offered();
  }

  forget(name) {
    this.#remove(name);
  }

  #remove(name) {
    try {
      localStorage.removeItem(name);
    } catch {
      // Nothing was kept then.
    }
  }
}

/** Gives a document to the person as a file. */
export function download(document_, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(document_, null, 2)], { type: "application/json" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
