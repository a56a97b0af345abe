// The theme, before anything is painted: loaded as a blocking script in <head>.
(() => {
  const key = "concord-theme";
  const root = document.documentElement;

  const read = () => {
    if (root.dataset.keptTheme) return root.dataset.keptTheme;
    try {
      const kept = localStorage.getItem(key);
      return kept === "light" || kept === "dark" ? kept : "system";
    } catch {
      return "system";
    }
  };
  const show = (theme) => {
    if (theme === "system") delete root.dataset.theme;
    else root.dataset.theme = theme;
    for (const button of document.querySelectorAll("[data-theme-choice] button")) {
      button.setAttribute("aria-pressed", String(button.value === theme));
    }
  };
  const keep = (theme) => {
    try {
      if (theme === "system") localStorage.removeItem(key);
      else localStorage.setItem(key, theme);
    } catch {
      // A browser that keeps nothing still shows the choice on this page.
    }
    show(theme);
    if (root.dataset.keepTheme === undefined) return;
    root.dataset.keptTheme = theme; // whoever is signed in has it in every browser
    const token = JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"] ?? "";
    const sent = { method: "POST", headers: { "X-CSRFToken": token }, body: new URLSearchParams({ theme }) };
    fetch(root.dataset.keepTheme, sent).catch(() => {}); // without a network it holds on this page
  };

  show(read());
  document.addEventListener("DOMContentLoaded", () => show(read()));
  window.addEventListener("storage", (event) => event.key === key && show(read()));
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-theme-choice] button");
    if (button) keep(button.value);
  });
})();
