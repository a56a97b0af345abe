// The labelling page: loads an assignment, keeps it safe, submits it, and shows the next one in the same round trip.

import { Answers } from "./labeling/answers.js";
import { banner, clearBanner, isQuiet } from "./labeling/banner.js";
import { leftEmpty } from "./labeling/before.js";
import { Drafts } from "./labeling/drafts.js";
import { renameFormer } from "./labeling/former.js";
import { afterFeedback, feedbackBanner, keepFeedback, showFeedback } from "./labeling/feedback.js";
import { listenToKeys } from "./labeling/keys.js";
import { sendLeftovers } from "./labeling/leftovers.js";
import { Outbox } from "./labeling/outbox.js";
import { Ahead } from "./labeling/prefetch.js";
import { Server } from "./labeling/sending.js";
import { refusedBanner, wordsOf } from "./labeling/refused.js";
import { Rest } from "./labeling/rest.js";
import { Shelf } from "./labeling/shelf.js";
import { SigningIn } from "./labeling/signing_in.js";
import { bodyOf, emptyState, readState } from "./labeling/state.js";
import { Stopwatch } from "./labeling/stopwatch.js";
import { freeze } from "./labeling/submitting.js";
import { Tabs } from "./labeling/tabs.js";
import { Version } from "./labeling/version.js";
import { foldList, restoreFold, takeList } from "./labeling/list.js";

const JUST_CAME = 600;

const byId = (id) => document.getElementById(id);
const readTurn = () => JSON.parse(byId("turn").textContent);
const isPhone = () => matchMedia("(max-width: 760px)").matches;

function announce(words) {
  byId("announcer").textContent = "";
  setTimeout(() => (byId("announcer").textContent = words), 50);
}

restoreFold();
const version = new Version(JSON.parse(byId("version").textContent));
const shelf = new Shelf(version.user);
const server = new Server(version);
await renameFormer(shelf);
if (readTurn()) startPage();
else sendLeftovers({ version, shelf, server });

function startPage() {
  const stopwatch = new Stopwatch();
  let turn = null;
  let savedAt = null;
  let cameAt = -Infinity; // When the issue came after an answer; never of the one the page was loaded with.
  let isUntouched = true;
  let sent = null;
  let leftOnPurpose = "";
  let isThrough = false; // The answer to what is on the page is stored, and what comes next is not here yet.
  let nSent = 0;
  let isChangedSince = false; // Something was changed while the answer was on its way.

  const answers = new Answers(version, { changed, announce });
  const drafts = new Drafts({
    shelf,
    server,
    read: () => ({ ...answers.state, seconds: stopwatch.seconds }),
    told: draftTold,
  });
  const ahead = new Ahead(server);
  const rest = new Rest();
  const readings = () => [turn?.reading, ...ahead.readings].filter(Boolean);
  const outbox = new Outbox({ shelf, server, readings, heard, away });
  const tabs = new Tabs(version.user, tabTold);
  const back = () => void Promise.all([outbox.send(), drafts.save()]);
  const signingIn = new SigningIn({ version, server, back });

  function start() {
    const isNext = Boolean(turn);
    turn = readTurn();
    byId("answers-column")?.classList.remove("is-open");
    document.querySelector("[data-sheet]")?.setAttribute("aria-expanded", "false");
    byId("reading").scrollTop = 0;
    if (isPhone()) window.scrollTo(0, 0);
    if (!turn) return finish();
    savedAt = null;
    if (isNext) cameAt = performance.now();
    isUntouched = true;
    leftOnPurpose = "";
    isThrough = false;
    isChangedSince = false;
    outbox.overtaken(turn);
    const refused = shelf.read("refused", turn.assignment);
    const kept = drafts.start(turn);
    const isRefused = Boolean(refused) && !((kept?.at ?? 0) > refused.at);
    const draft = isRefused ? refused.state : kept;
    const state = draft ?? startOf(turn);
    answers.load(state ? readState(state) : emptyState(), turn.may_change, turn.before, turn.outcomes);
    stopwatch.reset(Number.isFinite(draft?.seconds) ? draft.seconds : 0);
    showBar(kept, isRefused);
    showCounts();
    const title = byId("issue-title")?.textContent.trim() ?? turn.name;
    const nAsked = turn.before.filter((each) => each.is_asked).length;
    announce(`${turn.name}. ${title}${nAsked ? `. ${nAsked === 1 ? "One answer is" : `${nAsked} answers are`} asked again.` : ""}`);
    if (turn.may_change && !isPhone()) answers.focusFirst();
    if (refused) showRefused();
    else if (drafts.other) typedElsewhere(drafts.other);
    ahead.start(turn);
    rest.start();
    tabs.start(turn.assignment);
    if (outbox.start(turn)) {
      busy(true);
      banner("warn", "Your labels had not reached the server. Sending them again.", { name: "away" });
    }
    if (isQuiet()) showTold();
    void outbox.send();
  }

  function finish() {
    byId("room").classList.add("is-over");
    byId("answers-column")?.remove();
    drafts.forget();
    ahead.forget();
    outbox.start(null);
    tabs.start(null);
    document.querySelector("[data-dialog=keys]")?.remove();
    const words = byId("reading").querySelector("h1");
    words.tabIndex = -1;
    words.focus();
    if (isQuiet()) showTold();
  }

  function showBar(draft, isRefused) {
    const isChange = turn.revision > 0;
    byId("submit-words").textContent = isChange ? "Save change" : "Submit and next";
    byId("discard").hidden = !(isRefused || (isChange && draft));
    if (isRefused) byId("saved-words").textContent = "Filled in from the labels that were not saved";
    else byId("saved-words").textContent = draft ? `Draft from ${since(draft.at)} restored` : quietWords();
  }

  function quietWords() {
    return turn.revision === 0 && turn.carried ? "Filled in from the earlier labels" : "Drafts are saved as you type";
  }

  function changed() {
    isUntouched = false;
    isChangedSince ||= outbox.isInFlight(turn.assignment);
    if (outbox.hold(turn.assignment)) {
      byId("held")?.remove();
      busy(false);
      banner("warn", "Not sent yet. Submit again when you have finished.");
    }
    drafts.changed();
    savedAt = null;
    byId("saved-words").textContent = "Saving draft …";
    byId("discard").hidden = turn.revision === 0;
    showCounts();
  }

  function showCounts() {
    const [done, all] = answers.counts;
    byId("sheet-words").textContent = `Answer · ${done} of ${all}`;
  }

  function draftTold(outcome, detail) {
    if (outcome === "saved") {
      savedAt = detail;
      showSaved();
      if (!outbox.entries.length) clearBanner("away");
      else if (!outbox.isSending) void outbox.send();
    } else if (outcome === "away") {
      byId("saved-words").textContent = `Kept ${shelf.where}`;
      if (outbox.entries.length) showWaiting();
      else banner("warn", `No connection. Keep working: everything is kept ${shelf.where}.`, { name: "away" });
    } else if (outcome === "signed-out" || outcome === "another") signingIn.needed(detail, false);
    else if (outcome === "other") typedElsewhere(detail);
    else if (outcome === "refused") byId("saved-words").textContent = `Kept ${shelf.where}, not on the server`;
  }

  /** Another tab or device typed here as well: one of the two drafts is chosen, and until then both are kept. */
  function typedElsewhere(draft) {
    byId("saved-words").textContent = `Kept ${shelf.where}`;
    const words = `There is another draft of this issue from another tab or device (${since(draft.at)}). What you see here is kept ${shelf.where}.`;
    const choose = (state) => {
      if (state) answers.load(readState(state), true, turn.before, turn.outcomes);
      clearBanner("drafts");
      drafts.decided(draft);
      showCounts();
      announce(state ? "The other draft is loaded." : "Your draft is kept.");
      answers.focusFirst();
    };
    banner("warn", words, {
      name: "drafts",
      button: "Use the other draft",
      press: () => choose(draft),
      second: ["Keep this draft", () => choose(null)],
    });
  }

  function tabTold(kind) {
    if (kind === "closed") clearBanner("tabs");
    else if (kind === "answered" && !isThrough && !outbox.of(turn.assignment)) {
      banner("warn", "This issue was just labeled in another tab. What you see here is not saved.", {
        name: "answered",
        link: ["Continue with the next item", location.pathname.replace(/label\/.*/, "label/")],
      });
    } else if (kind === "open" && isQuiet()) {
      banner("warn", "This issue is open in another tab, too. Continue in one of them: the newer draft counts.", { name: "tabs" });
    }
  }

  function showSaved() {
    if (savedAt && turn) byId("saved-words").textContent = `Draft saved ${since(savedAt)}`;
  }
  setInterval(() => !document.hidden && showSaved(), 5_000);

  function busy(is) {
    byId("submit").setAttribute("aria-busy", String(is));
    byId("skip-button").setAttribute("aria-busy", String(is));
  }

  function submit() {
    // The second half of a double click must not answer the issue that has just come.
    if (isUntouched && performance.now() - cameAt < JUST_CAME) return;
    if (turn?.may_change && answers.blameMissing()) {
      byId("answers-column").classList.add("is-open");
      return;
    }
    const empty = leftEmpty(answers);
    const places = JSON.stringify(empty);
    if (empty.length && places !== leftOnPurpose) {
      leftOnPurpose = places;
      answers.blame(empty);
      announce(empty[0].sentence);
      return;
    }
    send(bodyOf(answers.state, version));
  }

  function send(content) {
    if (!turn?.may_change || isThrough || outbox.isInFlight(turn.assignment)) return;
    sent = content;
    isChangedSince = false;
    busy(true);
    drafts.stop();
    const { state } = answers;
    const old = outbox.of(turn.assignment);
    outbox.add(freeze(turn, content, { state, seconds: stopwatch.seconds, old }));
    void outbox.send();
  }

  function heard(answer, entry) {
    const isHere = entry.assignment === turn?.assignment;
    if (isHere) busy(false);
    if (answer.outcome === "signed-out" || answer.outcome === "another") return signingIn.needed(answer, isHere);
    const page = new DOMParser().parseFromString(answer.html, "text/html");
    if (answer.outcome === "done") return stored(page, entry, answer.address);
    const words = wordsOf(page) || `The server rejected this (${answer.status}).`;
    if (!isHere || !turn.may_change) {
      outbox.refuse(entry, words);
      return showRefused();
    }
    byId("held")?.remove();
    drafts.changed();
    if (answer.outcome === "problems") problems(page);
    else if (answer.outcome === "stale") stale(page.getElementById("stale"));
    else {
      outbox.refuse(entry, words);
      banner("bad", words);
    }
  }

  /** An answer has arrived. The page goes on when all have, and only from an issue that is through. */
  function stored(page, entry, address) {
    const isHere = entry.assignment === turn?.assignment;
    shelf.drop("draft", entry.assignment);
    shelf.drop("refused", entry.assignment);
    tabs.answered(entry.assignment);
    if (isHere && isChangedSince) return storedWithout(page, entry);
    if (isHere) {
      isThrough = true;
      drafts.forget();
    } else nSent++;
    const { length } = outbox.entries;
    if (isThrough && !length) {
      clearBanner();
      const onward = () => {
        show(page);
        if (address) history.replaceState(null, "", address);
        start();
      };
      // Of a training item the rater learns how it was meant before the next issue comes, and not over another issue.
      if (!isHere) keepFeedback(shelf, page, entry);
      if (!isHere || !showFeedback(page, onward)) afterFeedback(onward);
    } else {
      if (isHere) showFeedback(page);
      else keepFeedback(shelf, page, entry);
      showAround(page);
      if (length) showWaiting();
      else clearBanner("away");
    }
    if (!length && nSent) {
      const words = nSent === 1 ? "The waiting labels are saved" : `The labels of ${nSent} items that waited are saved`;
      if (turn) byId("saved-words").textContent = words;
      announce(`${words}.`);
      nSent = 0;
    }
    if (isQuiet()) showRefused();
    if (isQuiet()) showTold();
  }

  /** What was known of a training item that was answered before the issue on the page. */
  function showTold() {
    feedbackBanner(shelf, turn, () => clearBanner("told"));
  }

  /** The answer that was sent is stored, and what was changed on its way is not: the page stays, as for any change. */
  function storedWithout(page, entry) {
    isChangedSince = false;
    turn.revision = entry.expected + 1;
    drafts.changed();
    byId("submit-words").textContent = "Save change";
    banner("warn", "Your labels are saved as you sent them. Your changes since then are not saved yet.", {
      link: ["Leave and continue", location.pathname.replace(/label\/.*/, "label/")],
    });
    announce("Your changes since you sent your labels are not saved yet.");
    showFeedback(page);
  }

  /** The server can't be reached: what was submitted waits, and the rater goes on with what is at hand. */
  function away() {
    const isWaiting = turn && outbox.of(turn.assignment);
    if (isWaiting) busy(false);
    if (isWaiting && isChangedSince && outbox.hold(turn.assignment)) {
      isChangedSince = false;
      if (outbox.entries.length) showWaiting();
      else banner("warn", `No connection. Submit again when you have finished. Your changes are kept ${shelf.where}.`, { name: "away" });
      return;
    }
    const next = ahead.turn?.assignment;
    if (isWaiting && !isThrough && next && next !== turn.assignment && !outbox.of(next)) goOn();
    else if (isWaiting) showHeld();
    showWaiting();
  }

  function goOn() {
    const line = byId("own-list").querySelector(".label-line[aria-current]");
    const list = line?.closest("ol");
    if (line) {
      line.removeAttribute("aria-current");
      line.querySelector(".label-mark").textContent = "…";
      line.querySelector(".visually-hidden:last-child").textContent = ", waiting to be sent";
      const place = (each) => Number(each.querySelector(".label-place")?.textContent);
      for (const each of [...ahead.part("own-lines").children]) {
        [...list.children].find((other) => place(other) === place(each))?.remove();
        list.insertBefore(each, [...list.children].find((other) => place(other) > place(each)) ?? null);
      }
    }
    for (const id of ["reading", "turn"]) byId(id).replaceWith(ahead.part(id));
    history.replaceState(null, "", location.pathname.replace(/label\/.*/, "label/"));
    restoreFold();
    start();
  }

  function showHeld() {
    byId("held")?.remove();
    const n = outbox.entries.length;
    const note = Object.assign(document.createElement("p"), { id: "held", className: "label-note" });
    note.textContent = `${n === 1 ? "Your answer waits in this browser and will be sent." : `${n} answers wait in this browser and will be sent, the one to this issue among them.`} The next issue comes with the connection; until then you can still change this answer.`;
    byId("reading").prepend(note);
  }

  function showWaiting() {
    const n = outbox.entries.length;
    const words = `${n === 1 ? "One answer is" : `${n} answers are`} kept ${shelf.where} and will be sent.`;
    banner("warn", `No connection. ${words}`, { name: "away", button: "Try now", press: () => void outbox.send() });
  }

  function showRefused() {
    refusedBanner(shelf, turn, () => {
      clearBanner("refused");
      if (turn) byId("saved-words").textContent = quietWords();
    });
  }

  function showAround(page) {
    byId("where").replaceWith(document.importNode(page.getElementById("where"), true));
    const fresh = JSON.parse(page.getElementById("turn").textContent);
    if (fresh?.assignment !== turn?.assignment) return;
    const list = document.importNode(page.getElementById("own-list"), true);
    if (!takeList(list)) byId("own-list").replaceWith(list);
    window.htmx?.process(byId("own-list"));
    restoreFold();
  }

  function show(page) {
    const coming = JSON.parse(page.getElementById("turn").textContent);
    const isAtHand = !page.getElementById("reading");
    if (isAtHand && coming.reading === ahead.turn?.reading) byId("reading").replaceWith(ahead.part("reading"));
    else if (isAtHand && coming.reading !== turn.reading) return location.reload();
    byId("messages")?.replaceChildren(); // What a page before this one reported is read by now.
    for (const id of ["where", "own-list", "reading", "turn"]) {
      const fresh = page.getElementById(id);
      if (!fresh || (id === "own-list" && takeList(document.importNode(fresh, true)))) continue;
      byId(id).replaceWith(document.importNode(fresh, true));
    }
    window.htmx?.process(byId("own-list"));
    restoreFold();
  }

  function problems(page) {
    const found = [...page.querySelectorAll("#problems li")].map(({ dataset, textContent }) => (
      { part: Number(dataset.part) - 1, name: dataset.name, sentence: textContent }
    ));
    const rest = answers.blame(found);
    byId("answers-column").classList.add("is-open");
    const n = found.length - rest.length;
    if (rest.length) banner("bad", rest.map(({ sentence }) => sentence).join(" "));
    else clearBanner();
    announce(`Not stored: ${n === 1 ? found[0].sentence : `${n} answers are missing or wrong. ${found[0].sentence}`}`);
  }

  function stale(part) {
    const revision = Number(part.dataset.revision);
    const replace = () => {
      turn.revision = revision;
      clearBanner();
      send(sent?.skip ? sent : bodyOf(answers.state, version));
    };
    // An answer of this very page got through although its reply did not: what was changed since then replaces it.
    if (outbox.sentKeys.has(part.dataset.key)) return replace();
    banner("warn", `${part.textContent.trim()} Those labels are saved. What you see here is not.`, {
      button: "Use this answer",
      press: replace,
      link: ["Keep it and continue", location.pathname.replace(/label\/.*/, "label/")],
    });
  }

  const actions = {
    submit,
    skip: () => turn?.may_change && openSkip(),
    memo: () => turn?.may_change && byId("memo").focus(),
    evidence: () => turn?.may_change && answers.evidence.ask(),
    flag: () => turn?.may_change && byId("flag").click(),
    previous: () => (byId("previous") ? byId("previous").click() : announce("This is your first item.")),
    fold: foldList,
    larger: () => document.dispatchEvent(new CustomEvent("text-size", { detail: 1 })),
    smaller: () => document.dispatchEvent(new CustomEvent("text-size", { detail: -1 })),
    help: () => byId("keys").showModal(),
  };

  function openSkip() {
    byId("skip-form").reset();
    byId("skip-error").hidden = true;
    byId("skip").showModal();
    byId("skip-form").elements.reason[0].focus();
  }

  byId("answers").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  byId("skip-form").addEventListener("submit", (event) => {
    const { reason, more } = event.target.elements;
    const words = [reason.value, more.value.trim()].filter(Boolean).join(": ");
    if (!words) {
      event.preventDefault();
      byId("skip-error").textContent = "Give a short reason.";
      byId("skip-error").hidden = false;
      more.focus();
      return;
    }
    const { memo, flag } = bodyOf(answers.state, version);
    send({ skip: words, ...(memo && { memo }), ...(flag && { flag }) });
  });
  byId("skip-form").addEventListener("change", ({ target }) => {
    if (target.name === "reason" && !target.value) byId("skip-more").focus();
  });
  byId("discard").addEventListener("click", () => {
    answers.load(startOf(turn) ? readState(startOf(turn)) : emptyState(), true, turn.before, turn.outcomes);
    shelf.drop("refused", turn.assignment);
    clearBanner("refused");
    drafts.changed();
    byId("discard").hidden = true;
    answers.focusFirst();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("[data-close]")) target.closest("dialog").close();
    if (target.closest?.("[data-dialog-skip]")) actions.skip();
  });
  document.addEventListener("click", (event) => {
    if (navigator.onLine || !event.target.closest?.("#own-list a, #where a")) return;
    event.preventDefault();
    announce("Your other items can't be opened without a connection.");
    byId("saved-words").textContent = "Other items can't be opened without a connection";
  });
  window.addEventListener("beforeunload", (event) => {
    if (shelf.isClosed && (drafts.isDirty || outbox.entries.length)) event.preventDefault();
  });
  window.addEventListener("pageshow", ({ persisted }) => persisted && navigator.onLine && location.reload());
  if (/Mac|iP(hone|ad)/.test(navigator.platform)) {
    for (const each of document.querySelectorAll(".label-mod")) each.textContent = "⌘";
  }
  listenToKeys(answers, actions);
  start();
}

/** What to begin with: the rater's answer, or in a worklist the earlier one as far as it follows. */
function startOf(turn) {
  return turn.answer ?? turn.carried;
}

function since(at) {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000));
  if (seconds < 5) return "just now";
  if (seconds < 60) return `${Math.round(seconds / 5) * 5} s ago`;
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(at).toLocaleDateString("en", { day: "numeric", month: "long" });
}
