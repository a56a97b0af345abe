// The list of one's own items at the left: folds away and stays so, shows all of them or a part, and the one at hand.

const KEY = "concord.labelling-list-folded";

const byId = (id) => document.getElementById(id);
const folded = { here: null }; // Where the browser keeps nothing it holds until the page is loaded again.

let shown = byId("own-list")?.dataset.show ?? "all";
let counts = null;

const isFolded = () => {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return folded.here === true;
  }
};

function show(isFolded) {
  byId("room")?.classList.toggle("list-folded", isFolded);
  const button = document.querySelector("[data-fold-list]");
  if (!button) return;
  button.setAttribute("aria-expanded", String(!isFolded));
  button.firstElementChild.textContent = isFolded ? "»" : "«";
}

export function foldList() {
  if (isOver()) return openList(false);
  const now = !byId("room").classList.contains("list-folded");
  folded.here = now;
  try {
    localStorage.setItem(KEY, now ? "1" : "0");
  } catch {
    // See above.
  }
  show(now);
}

/** Where the window has no room for the list it lies over the issue, when asked for. */
function isOver() {
  const button = byId("open-list");
  return Boolean(button) && getComputedStyle(button).display !== "none";
}

function openList(on) {
  const button = byId("open-list");
  byId("room").classList.toggle("list-open", on);
  button.setAttribute("aria-expanded", String(on));
  if (on) {
    restoreFold();
    byId("own-list").querySelector("a")?.focus();
  } else button.focus();
}

/** Folds it as it was left, shows the current line, and asks how many were skipped and flagged. */
export function restoreFold() {
  show(isFolded());
  const list = byId("own-list");
  const here = list?.querySelector(".label-line[aria-current]") ?? list?.querySelector(".label-lines > li:last-child");
  if (here) list.scrollTop = here.offsetTop - list.clientHeight / 2;
  void count();
}

/** The counts have a request of their own, so that no submit waits for them; without an answer there are none. */
async function count() {
  const place = byId("own-shown");
  if (!place?.dataset.counts) return;
  for (const each of place.querySelectorAll("a")) {
    const known = counts?.[each.id];
    if (known) each.querySelector(".label-count")?.replaceChildren(known);
  }
  const fresh = await part(place.dataset.counts, "own-shown");
  if (!fresh || !place.isConnected) return;
  const at = document.activeElement?.id;
  const hadFocus = place.contains(document.activeElement);
  place.replaceWith(fresh);
  window.htmx?.process(fresh);
  if (hadFocus) byId(at)?.focus();
  counts = Object.fromEntries([...fresh.querySelectorAll("a")].map(({ id, lastElementChild }) => [id, lastElementChild?.textContent]));
}

async function part(address, id) {
  try {
    const response = await fetch(address, { headers: { "HX-Request": "true" } });
    if (!response.ok || response.redirected) return null;
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const found = page.getElementById(id);
    return found && document.importNode(found, true);
  } catch {
    return null;
  }
}

/** After a submit: while a part of the list is shown, that part is asked for again. Says whether it sees to it. */
export function takeList(fresh) {
  const address = shown === "all" ? null : fresh.querySelector(`#shown-${shown}`)?.getAttribute("hx-get");
  if (!address) return false;
  void part(address, "own-list").then((found) => {
    byId("own-list").replaceWith(found ?? fresh);
    window.htmx?.process(byId("own-list"));
    restoreFold();
  });
  return true;
}

document.addEventListener("click", ({ target }) => {
  if (target.closest?.("[data-fold-list]")) foldList();
  else if (target.closest?.("#open-list")) openList(!byId("room").classList.contains("list-open"));
  else if (byId("room")?.classList.contains("list-open") && !target.closest?.("#own-list")) openList(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !byId("room")?.classList.contains("list-open")) return;
  event.preventDefault();
  openList(false);
}, true);
document.addEventListener("htmx:afterSwap", () => {
  const list = byId("own-list");
  if (!list || list.dataset.show === shown) return;
  shown = list.dataset.show;
  restoreFold();
});
