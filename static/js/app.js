// What every page has: menus, dialogs, copying, messages, and what happens when a request fails.

const messages = () => document.getElementById("messages");

/** Shows a sentence in the region that screen readers announce; kind is "good", "warn" or "bad". */
export function say(sentence, kind = "bad") {
  const notice = document.createElement("div");
  notice.className = `notice notice-${kind}`;
  const line = document.createElement("div");
  line.className = "notice-line";
  const words = document.createElement("span");
  words.textContent = sentence;
  const dismiss = document.createElement("button");
  dismiss.type = "button";
  dismiss.className = "plain";
  dismiss.dataset.dismiss = "";
  dismiss.textContent = "Dismiss";
  line.append(words, dismiss);
  notice.append(line);
  messages()?.replaceChildren(notice);
}

document.addEventListener("click", async (event) => {
  const target = event.target.closest?.("[data-dialog], [data-copy], [data-dismiss], [data-sheet]");
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
  if (!target) return;
  if (target.dataset.dialog !== undefined) {
    document.getElementById(target.dataset.dialog)?.showModal();
  } else if (target.dataset.copy !== undefined) {
    const before = target.textContent;
    try {
      await navigator.clipboard.writeText(document.getElementById(target.dataset.copy).textContent);
      target.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById(target.dataset.copy));
      target.textContent = "Selected";
    }
    setTimeout(() => (target.textContent = before), 2000);
  } else if (target.dataset.dismiss !== undefined) {
    target.closest(".notice")?.remove();
  } else if (target.dataset.sheet !== undefined) {
    const open = target.closest(".room-answer")?.classList.toggle("is-open");
    target.setAttribute("aria-expanded", String(Boolean(open)));
  }
});

// On a narrow screen the tab one is on may lie beyond the edge.
for (const tab of document.querySelectorAll(".tabs [aria-current]")) {
  const tabs = tab.parentElement;
  tabs.scrollLeft = tab.offsetLeft - tabs.offsetLeft - (tabs.clientWidth - tab.offsetWidth) / 2;
}

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const menu = document.querySelector("[data-menu][open]");
  if (menu) {
    menu.open = false;
    menu.querySelector("summary")?.focus();
  }
});

// Pages with keys of their own show their sheet of keys instead.
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
  if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
  if (document.querySelector("dialog[open], [data-dialog$='keys']")) return;
  const help = document.querySelector("[data-help]");
  if (help) location.assign(help.href);
});

document.addEventListener("change", (event) => {
  if (event.target.closest?.("[data-submit-on-change]")) event.target.form?.requestSubmit();
});

document.addEventListener("submit", (event) => {
  const sentence = event.submitter?.dataset.confirm ?? event.target.dataset.confirm;
  if (sentence && !window.confirm(sentence)) {
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  const form = event.target;
  if (form.method !== "post") return;
  if (form.getAttribute("aria-busy") === "true") {
    event.preventDefault();
    event.stopImmediatePropagation();
    return;
  }
  form.setAttribute("aria-busy", "true");
  const free = () => form.removeAttribute("aria-busy");
  // Whoever sends a form by script answers for it; a download never leaves the page, so the form is freed in the end.
  setTimeout(() => event.defaultPrevented && !form.matches("[hx-post], [hx-put], [hx-patch], [hx-delete]") && free());
  setTimeout(free, 10_000);
}, true);

// A page that comes back from the browser's memory can be sent again.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll('form[aria-busy="true"]')) form.removeAttribute("aria-busy");
});

const focusFirstError = (part) => part?.querySelector?.('[aria-invalid="true"]')?.focus();
focusFirstError(document);

document.addEventListener("htmx:beforeSwap", (event) => {
  // A refusal names its own place (see config/middleware.py); anything else that failed is left unswapped.
  if (event.detail.xhr.getResponseHeader("HX-Retarget") === "#messages") {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});
document.addEventListener("htmx:afterSettle", (event) => focusFirstError(event.detail.elt));
document.addEventListener("htmx:afterRequest", (event) => {
  event.detail.elt.closest?.("form")?.removeAttribute("aria-busy");
});
document.addEventListener("htmx:responseError", (event) => {
  const { status } = event.detail.xhr;
  say(status >= 500
    ? "The server could not do this. Your saved work is safe. Try again in a moment."
    : `The server rejected this (${status}). Reload the page and try again.`);
});
document.addEventListener("htmx:sendError", () => {
  say("The server can't be reached. Check your network. What you type stays on this page.");
});
