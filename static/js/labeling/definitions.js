// The panel that shows what the category at hand means: definition, what belongs, what does not, examples.

const panel = () => document.getElementById("definition");

function make(tag, words, className = "") {
  const element = document.createElement(tag);
  element.textContent = words;
  if (className) element.className = className;
  return element;
}

function list(title, entries, className) {
  if (!entries?.length) return [];
  const items = document.createElement("ul");
  for (const entry of entries) items.append(make("li", entry));
  items.className = className;
  return [make("h3", title), items];
}

/** Shows a category of the dimension with this number. */
export function showDefinition(category, hue) {
  const place = panel();
  if (!place || place.dataset.category === `${hue} ${category.key}`) return;
  place.dataset.category = `${hue} ${category.key}`;
  place.className = `definition dimension-${hue}`;
  const head = make("h2", category.name, "hue");
  const parts = [head];
  if (category.path) parts.push(make("p", category.path, "definition-path"));
  parts.push(make("p", category.definition || "This category has no definition.", category.definition ? "" : "muted"));
  parts.push(...list("Includes", category.include, "definition-in"));
  parts.push(...list("Excludes", category.exclude, "definition-out"));
  parts.push(...list("Examples", category.examples, "definition-examples"));
  place.replaceChildren(...parts);
  place.scrollTop = 0;
}

/** Empties the panel; a version without a single definition has none at all. */
export function resetDefinition(version) {
  const place = panel();
  if (!place) return;
  const told = ({ definition, include, exclude, examples }) => definition || include || exclude || examples;
  place.hidden = !version.dimensions.some(({ categories }) => categories.some(told));
  clearDefinition();
}

/** Shows none, so that the panel never explains another category than the one at hand. */
export function clearDefinition() {
  const place = panel();
  if (!place) return;
  place.className = "definition";
  delete place.dataset.category;
  place.replaceChildren(make("p", "The definition of a category appears here when you focus it.", "muted"));
}
