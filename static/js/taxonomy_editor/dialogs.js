// The dialogs of merging and splitting.

const SHOWN = 40;

for (const dialog of ["merge", "split"]) {
  document.getElementById(dialog)?.addEventListener("click", (event) => {
    if (event.target.closest("[data-close]")) event.currentTarget.close();
  });
}

/** Asks into which of the options ([{id, name, path}]) a category shall go; take(id). */
export function askMerge(name, options, take) {
  const dialog = document.getElementById("merge");
  const input = document.getElementById("merge-search");
  const list = document.getElementById("merge-list");
  document.getElementById("merge-title").textContent = `Merge “${name}” into …`;
  document.getElementById("merge-words").textContent = "Labels are mapped to the category that stays. Subcategories move along.";
  let shown = [];
  let at = 0;
  const mark = (place) => {
    at = Math.max(0, Math.min(place, shown.length - 1));
    for (const [index, option] of [...list.children].entries()) {
      option.setAttribute("aria-selected", String(index === at));
      if (index === at) option.scrollIntoView({ block: "nearest" });
    }
    if (shown.length) input.setAttribute("aria-activedescendant", `merge-${at}`);
    else input.removeAttribute("aria-activedescendant");
  };
  const fill = () => {
    const words = input.value.trim().toLowerCase();
    const hits = options.filter((each) => each.path.toLowerCase().includes(words));
    hits.sort((one, other) => Number(other.name.toLowerCase().startsWith(words)) - Number(one.name.toLowerCase().startsWith(words)));
    shown = hits.slice(0, SHOWN);
    list.replaceChildren(
      ...shown.map((each, index) => {
        const option = document.createElement("li");
        option.id = `merge-${index}`;
        option.setAttribute("role", "option");
        option.textContent = each.path;
        option.addEventListener("click", () => finish(each));
        return option;
      }),
    );
    mark(0);
  };
  const finish = (option) => {
    dialog.close();
    if (option) take(option.id);
  };
  input.value = "";
  input.oninput = fill;
  input.onkeydown = (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      mark(at + (event.key === "ArrowDown" ? 1 : -1));
    }
  };
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    if (shown.length) finish(shown[at]);
  };
  fill();
  dialog.showModal();
  input.focus();
}

/** Asks into which names a category shall be split; take(names). */
export function askSplit(name, present, take) {
  const dialog = document.getElementById("split");
  const text = document.getElementById("split-names");
  const wrong = document.getElementById("split-error");
  document.getElementById("split-title").textContent = `Split “${name}” into …`;
  text.value = "";
  wrong.hidden = true;
  text.onkeydown = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) dialog.querySelector("form").requestSubmit();
  };
  dialog.querySelector("form").onsubmit = (event) => {
    event.preventDefault();
    const names = [...new Set(text.value.split("\n").map((each) => each.replace(/\s+/g, " ").trim()).filter(Boolean))];
    const doubled = names.find((each) => each.toLowerCase() !== name.toLowerCase() && present.has(each.toLowerCase()));
    const sentence = names.length < 2 ? "Enter at least two names, one per line." : doubled ? `“${doubled}” already exists at this level.` : "";
    wrong.textContent = sentence;
    wrong.hidden = !sentence;
    if (sentence) return;
    dialog.close();
    take(names);
  };
  dialog.showModal();
  text.focus();
}
