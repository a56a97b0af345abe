// Moving rows by mouse, pen or finger: a line shows where a row would come to stand.

const FAR_ENOUGH = 5;
const EDGE = 40;

export class Dragging {
  /** `drop(id, target id, "before" | "after" | "into")` moves; `may(id, target id, where)` says whether it could. */
  constructor(tree, scroller, { drop, may, say }) {
    Object.assign(this, { tree, scroller, drop, may, say });
    this.line = document.createElement("div");
    this.line.className = "drop-line";
    this.line.hidden = true;
    scroller.append(this.line);
    tree.root.addEventListener("pointerdown", (event) => this.#press(event));
    // A native drag of text would take the pointer away.
    tree.root.addEventListener("dragstart", (event) => event.preventDefault());
  }

  #press(event) {
    const li = event.target.closest("[role=treeitem]");
    const grip = event.target.closest(".grip");
    if (!li || event.button !== 0 || event.target.closest("button, input")) return;
    if (li.classList.contains("retired") || (event.pointerType !== "mouse" && !grip)) return;
    const stop = new AbortController();
    const on = (name, listener) => document.addEventListener(name, listener, { signal: stop.signal, passive: false });
    const begun = { x: event.clientX, y: event.clientY };
    this.held = null;
    const end = () => {
      stop.abort();
      cancelAnimationFrame(this.frame);
      this.line.hidden = true;
      li.classList.remove("is-held");
      document.body.classList.remove("is-dragging");
      for (const each of this.tree.root.querySelectorAll(".is-target")) each.classList.remove("is-target");
    };
    on("pointermove", (move) => {
      if (!this.held) {
        if (Math.hypot(move.clientX - begun.x, move.clientY - begun.y) < FAR_ENOUGH) return;
        this.held = li.id;
        li.classList.add("is-held");
        document.body.classList.add("is-dragging");
        this.#roll();
      }
      move.preventDefault();
      this.at = { x: move.clientX, y: move.clientY };
      this.#aim();
    });
    on("pointerup", () => {
      const { held, target } = this;
      end();
      if (!held) return;
      this.#swallowClick();
      if (target) this.drop(held, target.id, target.where);
    });
    on("pointercancel", end);
    on("keydown", (key) => {
      if (key.key !== "Escape" || !this.held) return;
      key.preventDefault();
      key.stopPropagation();
      end();
      this.held = null;
      this.say("Nothing moved.");
    });
  }

  #swallowClick() {
    const swallow = (event) => event.stopPropagation();
    this.tree.root.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => this.tree.root.removeEventListener("click", swallow, { capture: true }));
  }

  #aim() {
    for (const each of this.tree.root.querySelectorAll(".is-target")) each.classList.remove("is-target");
    this.target = null;
    this.line.hidden = true;
    const line = document.elementFromPoint(this.at.x, this.at.y)?.closest?.("#tree .node");
    const li = line?.parentElement;
    if (!li || li.classList.contains("retired")) return;
    const box = line.getBoundingClientRect();
    const share = (this.at.y - box.top) / box.height;
    const wished = share < 0.3 ? "before" : share > 0.7 ? "after" : "into";
    const order = wished === "into" ? ["into", share < 0.5 ? "before" : "after"] : [wished, "into"];
    const where = order.find((each) => this.may(this.held, li.id, each));
    if (!where) return;
    this.target = { id: li.id, where };
    if (where === "into") {
      line.classList.add("is-target");
      return;
    }
    const home = this.scroller.getBoundingClientRect();
    const whole = where === "after" ? li.getBoundingClientRect() : box;
    const y = where === "after" ? whole.bottom : box.top;
    this.line.hidden = false;
    this.line.style.setProperty("--x", `${box.left - home.left + this.scroller.scrollLeft}px`);
    this.line.style.setProperty("--y", `${y - home.top + this.scroller.scrollTop}px`);
    this.line.style.setProperty("--w", `${box.width}px`);
  }

  /** Near its edges the tree rolls on. */
  #roll() {
    const step = () => {
      const box = this.scroller.getBoundingClientRect();
      const top = Math.max(box.top, 0);
      const bottom = Math.min(box.bottom, innerHeight);
      const by = this.at && this.at.y < top + EDGE ? -8 : this.at && this.at.y > bottom - EDGE ? 8 : 0;
      if (by) {
        this.scroller.scrollBy(0, by);
        this.#aim();
      }
      this.frame = requestAnimationFrame(step);
    };
    this.frame = requestAnimationFrame(step);
  }
}
