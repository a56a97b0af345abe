// The labelling page: loads an assignment, keeps it safe, submits it, and shows the next one in the same round trip.

import { Answers } from "./labelling/answers.js";
import { banner, clearBanner } from "./labelling/banner.js";
import { leftEmpty } from "./labelling/before.js";
import { Drafts } from "./labelling/drafts.js";
import { listenToKeys } from "./labelling/keys.js";
import { Shelf } from "./labelling/shelf.js";
import { bodyOf, emptyState, readState } from "./labelling/state.js";
import { Stopwatch } from "./labelling/stopwatch.js";
import { Submitter } from "./labelling/submitting.js";
import { Version } from "./labelling/version.js";
import { foldList, restoreFold } from "./labelling/list.js";

const JUST_CAME = 600;

const byId = (id) => document.getElementById(id);
const readTurn = () => JSON.parse(byId("turn").textContent);
const isPhone = () => matchMedia("(max-width: 760px)").matches;

function announce(words) {
  byId("announcer").textContent = "";
  setTimeout(() => (byId("announcer").textContent = words), 50);
}

restoreFold();
if (readTurn()) startPage();

function startPage() {
  const version = new Version(JSON.parse(byId("version").textContent));
  const shelf = new Shelf(version.user);
  const stopwatch = new Stopwatch();
  let turn = null;
  let savedAt = null;
  let startedAt = 0;
  let isUntouched = true;
  let sent = null;
  let leftOnPurpose = "";

  const answers = new Answers(version, { changed, announce });
  const drafts = new Drafts({
    shelf,
    cookieName: version.csrfCookie,
    read: () => ({ ...answers.state, seconds: stopwatch.seconds }),
    told: draftTold,
  });
  const submitter = new Submitter({ shelf, cookieName: version.csrfCookie, heard, waiting });

  function start() {
    turn = readTurn();
    byId("answers-column")?.classList.remove("is-open");
    document.querySelector("[data-sheet]")?.setAttribute("aria-expanded", "false");
    byId("reading").scrollTop = 0;
    if (isPhone()) window.scrollTo(0, 0);
    if (!turn) return finish();
    savedAt = null;
    startedAt = performance.now();
    isUntouched = true;
    leftOnPurpose = "";
    const draft = drafts.start(turn);
    const state = draft ?? startOf(turn);
    answers.load(state ? readState(state) : emptyState(), turn.may_change, turn.before, turn.outcomes);
    stopwatch.reset(Number.isFinite(draft?.seconds) ? draft.seconds : 0);
    showBar(draft);
    showCounts();
    const title = byId("issue-title")?.textContent.trim() ?? turn.name;
    const nAsked = turn.before.filter((each) => each.is_asked).length;
    announce(`${turn.name}. ${title}${nAsked ? `. ${nAsked === 1 ? "One answer is" : `${nAsked} answers are`} asked anew.` : ""}`);
    if (turn.may_change && !isPhone()) answers.focusFirst();
    const old = turn.may_change ? submitter.unanswered(turn) : null;
    if (old) {
      busy(true);
      banner("warn", "Your answer had not reached the server; it is sent again.");
      void submitter.resume(turn, old);
    }
  }

  function finish() {
    byId("room").classList.add("is-over");
    byId("answers-column")?.remove();
    drafts.forget();
    document.querySelector("[data-dialog=keys]")?.remove();
    const words = byId("reading").querySelector("h1");
    words.tabIndex = -1;
    words.focus();
  }

  function showBar(draft) {
    const isChange = turn.revision > 0;
    byId("submit-words").textContent = isChange ? "Save the change" : "Submit, next";
    byId("discard").hidden = !(isChange && draft);
    byId("saved-words").textContent = draft ? `Draft from ${since(draft.at)} brought back` : quietWords();
  }

  function quietWords() {
    return turn.revision === 0 && turn.carried ? "Filled in from the earlier answer" : "Drafts are saved as you type";
  }

  function changed() {
    isUntouched = false;
    if (submitter.hold()) banner("warn", "Not sent yet. Submit again when you are done.");
    drafts.changed();
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
      clearBanner("away");
    } else if (outcome === "away") {
      byId("saved-words").textContent = "Kept in this browser";
      banner("warn", "No connection to the server. Go on typing: everything is kept in this browser.", { name: "away" });
    } else if (outcome === "signed-out") signedOut(detail.address);
    else if (outcome === "refused") byId("saved-words").textContent = "Kept in this browser only";
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
    if (isUntouched && performance.now() - startedAt < JUST_CAME) return;
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
    if (!turn?.may_change || submitter.isBusy) return;
    sent = content;
    busy(true);
    drafts.stop();
    void submitter.submit(turn, content, stopwatch.seconds);
  }

  function heard(answer, of) {
    if (of !== turn) return;
    busy(false);
    const page = new DOMParser().parseFromString(answer.html, "text/html");
    if (answer.outcome === "done") {
      clearBanner();
      shelf.drop("draft", turn.assignment);
      drafts.forget();
      show(page);
      if (answer.address) history.replaceState(null, "", answer.address);
      start();
      return;
    }
    drafts.changed();
    if (answer.outcome === "problems") problems(page);
    else if (answer.outcome === "stale") stale(page.getElementById("stale"));
    else if (answer.outcome === "signed-out") signedOut(answer.address);
    else banner("bad", page.body.textContent.trim().replace(/\s+/g, " ") || `The server refused this (${answer.status}).`);
  }

  function waiting() {
    banner("warn", "No connection to the server. Your answer is kept and will be sent as soon as it is back.", {
      name: "away",
      button: "Try now",
      press: () => submitter.again(),
    });
  }

  function show(page) {
    for (const id of ["where", "own-list", "reading", "turn"]) {
      const fresh = page.getElementById(id);
      if (fresh) byId(id).replaceWith(document.importNode(fresh, true));
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
    if (submitter.sentKeys.has(part.dataset.key)) return replace();
    banner("warn", `${part.textContent.trim()} That answer is stored; what you see here is not.`, {
      button: "Replace it by this one",
      press: replace,
      link: ["Keep it and go on", location.pathname.replace(/label\/.*/, "label/")],
    });
  }

  function signedOut(address) {
    banner("warn", "You are signed out. What you typed is kept.", {
      link: ["Sign in in a new tab", address],
      newTab: true,
      button: "Go on here",
      press: () => (submitter.pending ? submitter.again() : drafts.save()),
    });
  }

  const actions = {
    submit,
    skip: () => turn?.may_change && openSkip(),
    memo: () => turn?.may_change && byId("memo").focus(),
    previous: () => (byId("previous") ? byId("previous").click() : announce("There is nothing before this.")),
    fold: foldList,
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
      byId("skip-error").textContent = "Say why, in a few words.";
      byId("skip-error").hidden = false;
      more.focus();
      return;
    }
    const { memo } = bodyOf(answers.state, version);
    send(memo ? { skip: words, memo } : { skip: words });
  });
  byId("skip-form").addEventListener("change", ({ target }) => {
    if (target.name === "reason" && !target.value) byId("skip-more").focus();
  });
  byId("discard").addEventListener("click", () => {
    answers.load(startOf(turn) ? readState(startOf(turn)) : emptyState(), true, turn.before, turn.outcomes);
    drafts.changed();
    byId("discard").hidden = true;
    answers.focusFirst();
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("[data-close]")) target.closest("dialog").close();
    if (target.closest?.("[data-dialog-skip]")) actions.skip();
  });
  window.addEventListener("pageshow", ({ persisted }) => persisted && location.reload());
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
