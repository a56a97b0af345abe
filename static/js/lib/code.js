// Long lines of code wrap on demand.

document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".code-wrap");
  if (!button) return;
  const wrapped = button.closest(".code").classList.toggle("is-wrapped");
  button.setAttribute("aria-pressed", String(wrapped));
});
