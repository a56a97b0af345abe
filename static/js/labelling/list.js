// The list of one's own items at the left folds away, and stays so.

const KEY = "concord.labelling-list-folded";

const isFolded = () => {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
};

function show(folded) {
  document.getElementById("room")?.classList.toggle("list-folded", folded);
  const button = document.querySelector("[data-fold-list]");
  if (!button) return;
  button.setAttribute("aria-expanded", String(!folded));
  button.firstElementChild.textContent = folded ? "»" : "«";
}

export function foldList() {
  const folded = !document.getElementById("room").classList.contains("list-folded");
  try {
    localStorage.setItem(KEY, folded ? "1" : "0");
  } catch {
    // Then it holds until the page is loaded again.
  }
  show(folded);
}

/** Folds it as it was left, and shows the current line. */
export function restoreFold() {
  show(isFolded());
  const list = document.getElementById("own-list");
  const here = list?.querySelector("[aria-current]") ?? list?.querySelector("li:last-child");
  if (here) list.scrollTop = here.offsetTop - list.clientHeight / 2;
}

document.addEventListener("click", ({ target }) => target.closest?.("[data-fold-list]") && foldList());
