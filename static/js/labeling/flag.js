// Flagged for discussion: one button beside the memo, for the whole item.

export class Flag {
  /** `changed(on)` follows every press. */
  constructor(button, changed) {
    this.button = button;
    button.addEventListener("click", () => {
      this.show(!this.on);
      changed(this.on);
    });
  }

  get on() {
    return this.button.getAttribute("aria-pressed") === "true";
  }

  show(on) {
    this.button.setAttribute("aria-pressed", String(on));
  }
}
