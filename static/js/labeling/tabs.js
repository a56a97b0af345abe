// Tells the tabs of one browser of each other: the same issue open twice, or answered in another one.

import { newKey } from "./sending.js";

export class Tabs {
  /** `told(kind)` hears "open", "closed" or "answered" of another tab with the issue of this one. */
  constructor(user, told) {
    this.me = newKey();
    this.told = told;
    this.assignment = null;
    if (!window.BroadcastChannel) return;
    this.channel = new BroadcastChannel(`concord.labelling.${user}`);
    this.channel.addEventListener("message", ({ data }) => this.heard(data));
    window.addEventListener("pagehide", () => this.start(null));
  }

  start(assignment) {
    if (this.assignment !== null && this.assignment !== assignment) this.say("closed");
    this.assignment = assignment;
    if (assignment !== null) this.say("open");
  }

  answered(assignment) {
    this.say("answered", assignment);
  }

  say(kind, assignment = this.assignment, isReply = false) {
    this.channel?.postMessage({ kind, assignment, isReply });
  }

  heard({ kind, assignment, isReply }) {
    if (this.assignment === null || assignment !== this.assignment) return;
    if (kind === "open" && !isReply) this.say("open", assignment, true);
    this.told(kind);
  }
}
