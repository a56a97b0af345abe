// Reading a taxonomy: find a category, fold the tree; and in the form of a document: jump to the line of a mistake.

/** Lower-case words with one blank around each, so that a word is found by how it begins. */
const folded = (text) => ` ${text.toLocaleLowerCase().replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;

function search(field) {
  const count = document.getElementById("category-count");
  const categories = [...document.querySelectorAll("[data-category]")].map((element) => {
    const details = element.querySelector(":scope > details");
    const own = [...(details ?? element).children].filter((part) => !part.matches("ul"));
    return { element, details, parent: element.parentElement.closest("[data-category]"), text: folded(own.map((part) => part.textContent).join(" ")) };
  });
  const dimensions = [...document.querySelectorAll("section.dimension")];
  const show = () => {
    const words = folded(field.value).split(" ").filter(Boolean);
    const shown = new Set();
    let n = 0;
    for (const { element, text } of categories) {
      if (!words.every((word) => text.includes(` ${word}`))) continue;
      n += 1;
      for (let at = element; at; at = at.parentElement.closest("[data-category]")) shown.add(at);
    }
    for (const { element, details } of categories) {
      element.hidden = words.length > 0 && !shown.has(element);
      if (details && words.length > 0 && shown.has(element)) details.open = true;
    }
    for (const dimension of dimensions) {
      dimension.hidden = words.length > 0 && ![...shown].some((element) => dimension.contains(element));
    }
    count.textContent = words.length === 0 ? "" : n === 0 ? "No category contains all of these words." : `${n} of ${categories.length}`;
  };
  field.addEventListener("input", show);
  field.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && field.value) {
      field.value = "";
      show();
      event.preventDefault();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select")) return;
    event.preventDefault();
    field.focus();
  });
  if (categories.length > 0) field.closest("[hidden]").hidden = false;
  show();
}

const field = document.getElementById("category-search");
if (field) search(field);

const folds = document.querySelector(".fold-all");
if (folds && document.querySelector(".category details")) {
  folds.hidden = false;
  folds.addEventListener("click", (event) => {
    const button = event.target.closest("[data-fold]");
    if (!button) return;
    for (const details of document.querySelectorAll(".category details")) details.open = button.dataset.fold === "open";
  });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-line]");
  const text = document.querySelector(".document-text");
  if (!button || !text) return;
  const lines = text.value.split("\n");
  const line = Math.min(Number(button.dataset.line), lines.length) - 1;
  const start = lines.slice(0, line).reduce((sum, each) => sum + each.length + 1, 0);
  text.focus();
  text.setSelectionRange(start + Number(button.dataset.column) - 1, start + lines[line].length);
  text.scrollTop = Math.max(0, line - 4) * parseFloat(getComputedStyle(text).lineHeight);
  text.scrollIntoView({ block: "nearest" });
});
