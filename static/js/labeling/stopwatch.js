// Counts the seconds for which the tab is in sight.

export class Stopwatch {
  constructor() {
    this.reset(0);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.hold();
      else this.since = performance.now();
    });
  }

  reset(seconds) {
    this.counted = seconds * 1000;
    this.since = document.hidden ? null : performance.now();
  }

  hold() {
    if (this.since !== null) this.counted += performance.now() - this.since;
    this.since = null;
  }

  get seconds() {
    const running = this.since === null ? 0 : performance.now() - this.since;
    return Math.round((this.counted + running) / 1000);
  }
}
