// What the editor says across the page: someone else wrote meanwhile, or an earlier page left something behind.

import { ask, clock } from "./saving.js";
import { download } from "./shelf.js";

const day = (date) => date.toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric" });
const when = (date) => (date.toDateString() === new Date().toDateString() ? clock(date) : `${day(date)}, ${clock(date)}`);

function notice(kind, words, buttons) {
  const made = document.createElement("div");
  made.className = `notice notice-${kind}`;
  const text = document.createElement("p");
  text.textContent = words;
  const actions = document.createElement("div");
  actions.className = "actions";
  for (const [label, take] of buttons) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "small";
    button.textContent = label;
    button.addEventListener("click", () => take(made, button));
    actions.append(button);
  }
  made.append(text, actions);
  return made;
}

export class Banners {
  constructor(place, { begin, shelf, cookieName, read, leave, takeUp }) {
    Object.assign(this, { place, begin, shelf, cookieName, read, leave, takeUp });
  }

  get #name() {
    return `${this.begin.slug}-v${this.begin.number}-mine.json`;
  }

  /** Someone else saved, or the draft is no draft any more; nothing is saved from here on. */
  stale(newer, message, isDirty) {
    const isDraft = newer?.state === "draft";
    const who = newer ? `${newer.edited_by || "Someone"} saved this draft at ${when(new Date(newer.edited_at))}` : message;
    const words = isDraft || !newer ? who : `Version ${this.begin.number} is now ${newer.state}`;
    const mine = isDirty ? " Your changes are kept here but not saved. Nothing is overwritten." : " You have no unsaved changes.";
    const buttons = [];
    if (isDraft) buttons.push(["Show their version", () => window.open(location.href, "_blank", "noopener")]);
    buttons.push([isDirty ? "Use theirs (mine is kept as a file)" : "Use theirs", () => this.#takeTheirs(isDirty)]);
    if (isDirty) buttons.push(["Save mine as another draft", (made, button) => this.#copy(this.read(), made, button)]);
    this.place.prepend(notice("warn", `${words.replace(/\.$/, "")}.${mine}`, buttons));
    this.place.querySelector("button").focus();
  }

  #takeTheirs(isDirty) {
    if (isDirty) {
      download(this.read(), this.#name);
      this.shelf.putAside();
    }
    this.leave();
    // The download begins first.
    setTimeout(() => location.reload(), 300);
  }

  async #copy(document_, made, button, name = "") {
    button.disabled = true;
    const body = JSON.stringify({ revision: this.begin.revision, document: document_ });
    const answer = await ask(this.begin.urls.copy, this.cookieName, body);
    if (answer.status === 201) {
      if (name) this.shelf.forget(name);
      else this.shelf.drop();
      this.leave();
      location.assign(answer.body.address);
      return;
    }
    button.disabled = false;
    const first = answer.body?.problems?.[0]?.sentence;
    made.querySelector("p").textContent += first ? ` It can't be saved as it is: ${first}` : " Saving failed. Try again.";
  }

  /** What earlier pages left behind, each with what can be done with it. */
  offer() {
    for (const each of this.shelf.offered()) {
      const isHere = each.revision === this.begin.revision;
      const words = isHere
        ? `Changes of ${when(new Date(each.at))} were not saved.`
        : `Changes of ${when(new Date(each.at))} were not saved; ${this.begin.edited_by || "someone"} has saved this draft since.`;
      const done = (made) => {
        this.shelf.forget(each.name);
        made.remove();
      };
      const buttons = [["Download changes", () => download(each.document, this.#name)], ["Discard changes", done]];
      if (isHere) {
        buttons.unshift(["Restore changes", (made) => {
          this.takeUp(each.document);
          done(made);
        }]);
      } else {
        buttons.unshift(["Save changes as another draft", (made, button) => this.#copy(each.document, made, button, each.name)]);
      }
      this.place.append(notice("warn", words, buttons));
    }
  }
}
