// A run's page: counts down to when a waiting run goes on, and says in words when the state changes.

const words = (seconds) => {
  if (seconds <= 0) return "now";
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  if (hours) return `${hours} h ${minutes} min`;
  return minutes ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
};

function countDown() {
  for (const part of document.querySelectorAll("[data-countdown]")) {
    const now = words(Math.max(0, Math.ceil((Date.parse(part.dataset.countdown) - Date.now()) / 1000)));
    if (part.textContent !== now) part.textContent = now;
  }
}
countDown();
setInterval(countDown, 1000);

// The part that is asked for again is no live region: it changes every second. Only a new state is announced.
let state = document.getElementById("run")?.dataset.state;
document.addEventListener("htmx:afterSettle", () => {
  countDown();
  const run = document.getElementById("run");
  if (!run || run.dataset.state === state) return;
  state = run.dataset.state;
  document.getElementById("run-said").textContent = run.querySelector(".run-line").innerText;
});
