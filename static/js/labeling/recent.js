// The categories used last, per person, version and dimension: kept in this browser.

const MOST = 5;

export class Recent {
  constructor(user, version, dimension) {
    this.name = `concord.recent.${user}.${version}.${dimension}`;
    this.held = [];
  }

  /** Their keys, the last first. */
  get keys() {
    try {
      const kept = JSON.parse(localStorage.getItem(this.name));
      return Array.isArray(kept) ? kept.filter((key) => typeof key === "string").slice(0, MOST) : this.held;
    } catch {
      return this.held;
    }
  }

  use(key) {
    this.held = [key, ...this.keys.filter((each) => each !== key)].slice(0, MOST);
    try {
      localStorage.setItem(this.name, JSON.stringify(this.held));
    } catch {
      // Then they are known until the page is loaded again.
    }
  }
}
