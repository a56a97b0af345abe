// The session has ended: the same person signs in again over the page, and everything that waited goes on.

import { csrfToken } from "../lib/csrf.js";
import { banner, clearBanner } from "./banner.js";

const NAME = "signed-out";

export class SigningIn {
  /** `back()` is called when the person is signed in again, here or in another tab. */
  constructor({ version, server, back }) {
    Object.assign(this, { version, server, back });
    this.dialog = document.getElementById("signed-out");
    this.form = document.getElementById("signed-out-form");
    this.error = document.getElementById("signed-out-error");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.submit();
    });
    this.dialog.addEventListener("close", () => this.form.reset());
  }

  /** Says so in the banner; `isLoud` where the rater has just asked for something: then the dialog opens by itself. */
  needed({ outcome, address, html }, isLoud) {
    const isAnother = outcome === "another";
    const words = isAnother ? html.trim() : "You are signed out.";
    const kept = `${words} What you typed is kept.`;
    if (this.version.hasPassword) {
      banner("warn", kept, { name: NAME, button: "Sign in", press: () => this.open() });
      if (isLoud) void this.open();
    } else {
      const link = isAnother ? null : ["Sign in in a new tab", address];
      banner("warn", kept, { name: NAME, link, newTab: true, button: "Continue here", press: () => this.back() });
    }
  }

  /** Who signed in meanwhile, in another tab, is not asked. */
  async open() {
    let person = null;
    try {
      person = await this.server.present();
    } catch {
      // The dialog says so when it is sent.
    }
    if (person === this.version.user) return this.done();
    this.tell("");
    if (!this.dialog.open) this.dialog.showModal();
    this.form.elements.password.focus();
  }

  async submit() {
    const { username, password } = this.form.elements;
    if (!password.value) {
      this.tell("Enter your password.");
      password.focus();
      return;
    }
    const button = this.form.querySelector("[type=submit]");
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    const why = await this.server.signIn(username.value, password.value);
    button.setAttribute("aria-busy", "false");
    this.tell(why);
    if (why) password.select();
    else this.done();
  }

  done() {
    if (this.dialog.open) this.dialog.close();
    clearBanner(NAME);
    const token = csrfToken(this.server.cookieName);
    document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token }));
    this.back();
  }

  tell(why) {
    this.error.textContent = why;
    this.error.hidden = !why;
  }
}
