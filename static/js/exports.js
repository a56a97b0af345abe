// The page of exports: the form shows what the chosen kind of file takes, and news of files are said.

const form = document.querySelector(".export-form");

function fit() {
  const chosen = form.elements.what.selectedOptions[0];
  const [takes, formats] = [chosen.dataset.takes, chosen.dataset.formats].map((words) => (words ?? "").split(" "));
  for (const field of form.querySelectorAll("[data-option]")) {
    const name = field.dataset.option;
    if (name === "what" || name === "format") continue;
    field.hidden = !takes.includes(name) || field.querySelector("select").options.length < 2;
  }
  const format = form.elements.format;
  for (const option of format.options) option.hidden = option.disabled = !formats.includes(option.value);
  if (format.selectedOptions[0]?.disabled) format.value = formats[0];
}
if (form) {
  form.elements.what.addEventListener("change", fit);
  fit();
}

// Rows that ask again are no live region: they change every second. Only a new state is announced.
const states = new Map([...document.querySelectorAll(".made-file")].map((file) => [file.id, file.dataset.state]));
document.addEventListener("htmx:afterSettle", () => {
  for (const file of document.querySelectorAll(".made-file")) {
    if (states.get(file.id) === file.dataset.state) continue;
    states.set(file.id, file.dataset.state);
    document.getElementById("made-said").textContent = file.querySelector(".made-what").innerText;
  }
});
