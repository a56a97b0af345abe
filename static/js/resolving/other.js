// “Other”: the categories of the dimension as a list that narrows while one types.

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

/** Goes to the field of the list once it is open. */
export function showOther(open) {
  const other = document.getElementById("other");
  if (!other) return;
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
    const fits = wanted.every((word) => words.includes(word));
    choice.hidden = !fits && !choice.querySelector("[type=checkbox]:checked");
    if (fits) n += 1;
  }
  for (const group of list.querySelectorAll(".resolve-group")) group.hidden = wanted.length > 0;
  list.classList.toggle("is-narrowed", wanted.length > 0);
  list.querySelector(".resolve-no-match").hidden = n > 0;
}

const matches = (words) => {
  const wanted = fold(words).split(/\s+/).filter(Boolean);
  return [...document.querySelectorAll("#other-list [data-words]")]
    .filter((choice) => wanted.every((word) => fold(choice.dataset.words).includes(word)))
    .map((choice) => choice.querySelector("input"));
};

/** The field narrows the list; Enter takes the first match, the arrow goes down into the list. */
export function listenToFinding() {
  document.addEventListener("input", ({ target }) => target.id === "find-category" && narrow(target.value));
  document.addEventListener("keydown", (event) => {
    if (event.target.id !== "find-category" || event.ctrlKey || event.metaKey) return;
    const [first] = matches(event.target.value);
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
