// One quiet line above the page for what the rater has to know: no connection, signed out, answered elsewhere.

const place = () => document.getElementById("banner");

/** `kind` is warn or bad; `name` lets `clearBanner` take away only this one; buttons and a link may follow the words. */
export function banner(kind, words, { name = "", button = "", press = null, second = null, link = null, newTab = false } = {}) {
  const line = document.createElement("div");
  line.className = `notice notice-${kind} notice-line`;
  line.dataset.name = name;
  line.append(Object.assign(document.createElement("span"), { textContent: words }));
  const doing = document.createElement("span");
  doing.className = "actions";
  if (link) {
    const anchor = Object.assign(document.createElement("a"), { textContent: link[0], href: link[1] });
    if (newTab) Object.assign(anchor, { target: "_blank", rel: "noopener" });
    doing.append(anchor);
  }
  for (const [label, pressed] of [[button, press], second ?? []]) {
    if (!label) continue;
    const made = Object.assign(document.createElement("button"), { type: "button", className: "small", textContent: label });
    made.addEventListener("click", pressed);
    doing.append(made);
  }
  line.append(doing);
  const old = place().firstElementChild;
  if (old?.textContent === line.textContent) old.replaceWith(line);
  else place().replaceChildren(line);
}

export function clearBanner(name) {
  if (!name || place().firstElementChild?.dataset.name === name) place().replaceChildren();
}

/** Whether there is nothing to tell. */
export const isQuiet = () => !place().firstElementChild;
