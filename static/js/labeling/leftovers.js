// Where there is nothing to label: answers that a visit before left behind are sent, and the page says what became of them.

import { banner, clearBanner, isQuiet } from "./banner.js";
import { feedbackBanner, keepFeedback } from "./feedback.js";
import { Outbox } from "./outbox.js";
import { refusedBanner, wordsOf } from "./refused.js";
import { SigningIn } from "./signing_in.js";

export function sendLeftovers({ version, shelf, server }) {
  let nStored = 0;
  const outbox = new Outbox({ shelf, server, readings: () => [], heard, away });
  const signingIn = new SigningIn({ version, server, back: () => outbox.send() });

  function heard(answer, entry) {
    if (answer.outcome === "signed-out" || answer.outcome === "another") return signingIn.needed(answer, false);
    if (answer.outcome === "done") {
      nStored++;
      keepFeedback(shelf, new DOMParser().parseFromString(answer.html, "text/html"), entry);
      shelf.drop("draft", entry.assignment);
      shelf.drop("refused", entry.assignment);
    } else {
      const page = new DOMParser().parseFromString(answer.html, "text/html");
      outbox.refuse(entry, wordsOf(page) || `The server rejected this (${answer.status}).`);
    }
    if (outbox.entries.length) return;
    if (nStored) location.reload();
    else tell();
  }

  function tell() {
    refusedBanner(shelf, null, () => clearBanner("refused"));
    if (isQuiet()) feedbackBanner(shelf, null, () => clearBanner("told"));
  }

  function away() {
    banner("warn", "No connection. Your labels are kept in this browser and will be sent.", { name: "away" });
  }

  tell();
  void outbox.send();
}
