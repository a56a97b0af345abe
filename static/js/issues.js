// The list of issues by keyboard: / goes to the search, j and k (or the arrows) from row to row, Enter opens one.
// While a search is typed, the server suggests how it may go on.

const search = document.getElementById("search");
const links = [...document.querySelectorAll(".issues .row-title")];

const suggestions = document.getElementById("search-suggestions");
const PAUSE_MS = 150;
let pause = 0;

search.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const typed = search.value;
    const answer = await fetch(`${suggestions.dataset.url}?search=${encodeURIComponent(typed)}`).catch(() => null);
    if (!answer?.ok || typed !== search.value) return;
    const found = await answer.json();
    suggestions.replaceChildren(...found.map((each) => new Option(each.means, each.search)));
  }, PAUSE_MS);
});

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("input, select, textarea, [contenteditable], dialog, .menu")) return;
  const here = links.indexOf(document.activeElement);
  if (event.key === "/") {
    event.preventDefault();
    search.focus();
    search.select();
  } else if (event.key === "j" || (event.key === "ArrowDown" && here >= 0)) {
    event.preventDefault();
    links[Math.min(here + 1, links.length - 1)]?.focus();
  } else if (event.key === "k" || (event.key === "ArrowUp" && here >= 0)) {
    event.preventDefault();
    links[Math.max(here - 1, 0)]?.focus();
  }
});
