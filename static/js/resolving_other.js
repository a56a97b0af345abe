// “Other”: the categories of the dimension as a list that narrows while one types.

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Opens or closes the list, and goes to its field. */
export function showOther(open) {
  const other = document.getElementById("other");
  if (!other) return;
  other.hidden = !open;
  if (!open) return;
  other.querySelector("input, textarea")?.focus();
  other.scrollIntoView({ block: "nearest" });
}

function narrow(words) {
  const list = document.getElementById("other-list");
  const wanted = fold(words).split(/\s+/).filter(Boolean);
  let n = 0;
  for (const choice of list.querySelectorAll("[data-words]")) {
    const words = fold(choice.dataset.words);
    choice.hidden = !wanted.every((word) => words.includes(word));
    if (!choice.hidden) n += 1;
  }
  for (const group of list.querySelectorAll(".resolve-group")) group.hidden = wanted.length > 0;
  list.classList.toggle("is-narrowed", wanted.length > 0);
  list.querySelector(".resolve-no-match").hidden = n > 0;
}

const shown = () => [...document.querySelectorAll("#other-list [data-words]:not([hidden]) input")];

/** The field narrows the list; Enter takes the first match, the arrow goes down into the list. */
export function listenToFinding() {
  document.addEventListener("input", ({ target }) => target.id === "find-category" && narrow(target.value));
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "find-category" || event.ctrlKey || event.metaKey) return;
    const [first] = shown();
    if (event.key === "Enter") {
      event.preventDefault();
      if (!first || !event.target.value.trim()) return;
      first.checked = first.type === "radio" || !first.checked;
      first.dispatchEvent(new Event("change", { bubbles: true }));
      if (first.type === "radio") {
        event.target.value = "";
        narrow("");
        first.focus();
      } else event.target.select();
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      first?.focus();
    }
  });
}
