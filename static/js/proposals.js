// After a group was answered the line that says so has the focus, and the next group is unfolded.

document.addEventListener("htmx:afterSettle", () => {
  const done = [...document.querySelectorAll("[data-done]")].find((line) => !line.dataset.told);
  if (!done) return;
  done.dataset.told = "yes";
  let next = done.nextElementSibling;
  while (next && !next.querySelector("details")) next = next.nextElementSibling;
  if (next) next.querySelector("details").open = true;
  done.focus();
});
