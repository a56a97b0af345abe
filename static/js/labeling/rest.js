// The rest of a long thread, fetched part by part while its beginning is read.

const PAUSE = 150;
const place = () => document.querySelector("#reading #more-comments");

export class Rest {
  constructor() {
    this.timer = 0;
    this.request = null;
    window.addEventListener("online", () => this.start());
    // Before htmx hears of it: a part that is on its way already is not asked for twice.
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("#reading #more-comments [rel=next]");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      event.stopPropagation();
      void this.goOn(Number(link.dataset.firstNew));
    }, true);
  }

  /** Begins with the issue that is shown now; what was under way for another one is dropped. */
  start() {
    clearTimeout(this.timer);
    this.request?.abort();
    this.request = null;
    this.focusOn = 0;
    this.snapshot = "";
    if (place() && !navigator.connection?.saveData) this.timer = setTimeout(() => void this.goOn(), PAUSE);
  }

  /** Fetches the next part, and goes on until there is none; without a connection the button stays. */
  async goOn(focusOn = 0) {
    if (focusOn) this.focusOn = focusOn;
    if (this.request) return;
    clearTimeout(this.timer);
    const waiting = place();
    const url = new URL(waiting.querySelector("[rel=next]").getAttribute("hx-get"), location.href);
    this.snapshot ||= url.searchParams.get("snapshot");
    url.searchParams.set("snapshot", this.snapshot); // A newer one may have come meanwhile.
    const request = new AbortController();
    this.request = request;
    const html = await fetchText(url, request.signal);
    if (this.request !== request) return;
    this.request = null;
    if (html === null || !waiting.isConnected) return;
    const page = new DOMParser().parseFromString(html, "text/html");
    waiting.replaceWith(...page.body.childNodes);
    if (this.focusOn) document.getElementById(`comment-${this.focusOn}`)?.focus({ preventScroll: true });
    this.focusOn = 0;
    if (place()) this.timer = setTimeout(() => void this.goOn(), PAUSE);
  }
}

async function fetchText(url, signal) {
  try {
    const response = await fetch(url, { headers: { "HX-Request": "true" }, priority: "low", signal });
    return response.status === 200 && !response.redirected ? await response.text() : null;
  } catch {
    return null;
  }
}
