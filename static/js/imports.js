// The mapping of a workbook is drawn anew with every choice. What is typed or chosen while that is on its way stays.

const keyOf = ({ name, type, value }) => (type === "checkbox" || type === "radio" ? `${name}=${value}` : name);
const saidBy = ({ type, value, checked }) => (type === "checkbox" || type === "radio" ? checked : value);
const answers = (form) => new Map([...form.elements].filter(({ name, type }) => name && type !== "hidden").map((field) => [keyOf(field), saidBy(field)]));
const isForm = (element) => element?.id === "workbook";

let sent = new Map();
let since = new Map();

document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (isForm(target)) sent = answers(target);
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!isForm(detail.target)) return;
  since = new Map([...answers(detail.target)].filter(([key, said]) => sent.has(key) && sent.get(key) !== said));
});
document.addEventListener("htmx:afterSettle", () => {
  const form = document.getElementById("workbook");
  if (!form || !since.size) return;
  const changed = [...form.elements].filter((field) => since.has(keyOf(field)) && saidBy(field) !== since.get(keyOf(field)));
  for (const field of changed) {
    if (typeof since.get(keyOf(field)) === "boolean") field.checked = since.get(keyOf(field));
    else field.value = since.get(keyOf(field));
  }
  since = new Map();
  // Who still types tells by leaving the field; what was chosen meanwhile is told now.
  changed.find((field) => field !== document.activeElement)?.dispatchEvent(new Event("change", { bubbles: true }));
});
