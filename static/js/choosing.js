// Screening by keyboard: arrows (or j, k) go from item to item, i is in, o asks why and is out, u takes it back.

const rows = () => [...document.querySelectorAll("tr[data-item]")];
const here = () => document.activeElement?.closest?.("tr[data-item]");

const go = (row) => {
  row?.focus();
  row?.scrollIntoView({ block: "nearest" });
};

const step = (from, by) => {
  const all = rows();
  go(all[from ? Math.min(Math.max(all.indexOf(from) + by, 0), all.length - 1) : 0]);
};

const press = (row, screening) => {
  const button = row.querySelector(`button[name="screening"][value="${screening}"]`);
  button?.click();
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const row = here();
  if (event.target.matches?.("input, select, textarea")) {
    if (!row || !event.target.matches(".screening-reason")) return;
    if (event.key === "Escape") go(row);
    if (event.key === "Enter") {
      event.preventDefault();
      press(row, "out");
    }
    return;
  }
  const does = {
    ArrowDown: () => step(row, 1),
    j: () => step(row, 1),
    ArrowUp: () => step(row, -1),
    k: () => step(row, -1),
    i: row && (() => press(row, "in")),
    o: row && (() => row.querySelector(".screening-reason")?.select()),
    u: row && (() => press(row, "unscreened")),
  }[event.key];
  if (!does || (event.key.startsWith("Arrow") && !row)) return;
  event.preventDefault();
  does();
});

// What was screened takes the eye on to the next; a refusal stays where it is.
let goesOnFrom = -1;
document.addEventListener("htmx:beforeSwap", (event) => {
  const row = event.detail.target.closest?.("tr[data-item]");
  if (row) goesOnFrom = rows().indexOf(row);
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (goesOnFrom < 0 || !event.detail.elt.matches?.("tr[data-item]")) return;
  const all = rows();
  const refused = event.detail.elt.querySelector?.('[aria-invalid="true"]');
  const undone = event.detail.elt.querySelector?.('button[value="unscreened"]') === null;
  if (refused) refused.focus();
  else go(all[undone ? goesOnFrom : Math.min(goesOnFrom + 1, all.length - 1)]);
  goesOnFrom = -1;
});
