// Widths of the columns and the size of the text, as this browser keeps them: a blocking script in <head>, so that
// nothing moves once it is painted.
(() => {
  const KEY = "concord.sizes";
  const STEPS = [0.9375, 1, 1.125, 1.25];
  const COLUMNS = {
    list: { least: 160, usual: 208, most: 384, share: 0.24, sign: 1 },
    answers: { least: 320, usual: 400, most: 720, share: 0.45, sign: -1 },
  };
  const root = document.documentElement;

  const read = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY)) ?? {};
      return typeof kept === "object" ? kept : {};
    } catch {
      return {};
    }
  };
  let kept = read();

  const keep = (name, value) => {
    if (value === null) delete kept[name];
    else kept[name] = value;
    try {
      localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
      // Then it holds until the page is loaded again.
    }
    show();
  };

  const most = ({ most, share }) => Math.max(0, Math.min(most, Math.floor(window.innerWidth * share)));
  const usual = (column) => Math.min(column.usual, most(column));
  const width = (name) => {
    const column = COLUMNS[name];
    const own = Number.isFinite(kept[name]) ? kept[name] : usual(column);
    return Math.max(Math.min(own, most(column)), Math.min(column.least, most(column)));
  };
  const step = () => (Number.isInteger(kept.text) && STEPS[kept.text] ? kept.text : 1);

  function show() {
    for (const name of Object.keys(COLUMNS)) {
      if (Number.isFinite(kept[name])) root.style.setProperty(`--label-${name}`, `${kept[name]}px`);
      else root.style.removeProperty(`--label-${name}`);
    }
    if (step() === 1) root.style.removeProperty("--label-text");
    else root.style.setProperty("--label-text", String(STEPS[step()]));
    for (const handle of document.querySelectorAll("[data-column]")) {
      const column = COLUMNS[handle.dataset.column];
      handle.setAttribute("aria-valuemin", String(Math.min(column.least, most(column))));
      handle.setAttribute("aria-valuemax", String(most(column)));
      handle.setAttribute("aria-valuenow", String(width(handle.dataset.column)));
      handle.setAttribute("aria-valuetext", `${width(handle.dataset.column)} pixels`);
    }
    for (const button of document.querySelectorAll("[data-text-size]")) {
      const at = step() + Number(button.dataset.textSize);
      button.setAttribute("aria-disabled", String(button.dataset.textSize !== "0" && !(at in STEPS)));
    }
  }

  function size(by) {
    const to = by === 0 ? 1 : Math.max(0, Math.min(STEPS.length - 1, step() + by));
    keep("text", to === 1 ? null : to);
    const place = document.getElementById("announcer");
    if (place) place.textContent = `Text size ${to + 1} of ${STEPS.length}`;
  }

  function set(name, to) {
    const column = COLUMNS[name];
    keep(name, Math.round(Math.max(column.least, Math.min(most(column), to))));
  }

  show();
  document.addEventListener("DOMContentLoaded", show);
  window.addEventListener("resize", show);
  window.addEventListener("storage", (event) => {
    if (event.key !== KEY) return;
    kept = read();
    show();
  });
  document.addEventListener("text-size", ({ detail }) => size(detail));
  document.addEventListener("click", ({ target }) => {
    const button = target.closest?.("[data-text-size]");
    if (button) size(Number(button.dataset.textSize));
  });
  document.addEventListener("dblclick", ({ target }) => {
    const handle = target.closest?.("[data-column]");
    if (handle) keep(handle.dataset.column, null);
  });
  document.addEventListener("pointerdown", (event) => {
    const handle = event.target.closest?.("[data-column]");
    if (!handle || event.button) return;
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    const name = handle.dataset.column;
    const [from, was] = [event.clientX, width(name)];
    let moved = false;
    const move = ({ clientX }) => {
      if (clientX === from && !moved) return;
      moved = true;
      set(name, was + (clientX - from) * COLUMNS[name].sign);
    };
    handle.addEventListener("pointermove", move);
    handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), { once: true });
  });
  document.addEventListener("keydown", (event) => {
    const name = event.target.dataset?.column;
    if (!name || event.ctrlKey || event.metaKey || event.altKey) return;
    const { least, sign } = COLUMNS[name];
    const to = {
      ArrowLeft: width(name) - 16 * sign,
      ArrowRight: width(name) + 16 * sign,
      Home: least,
      End: most(COLUMNS[name]),
    }[event.key];
    if (to === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (event.key === "Enter") keep(name, null);
    else set(name, to);
  });
})();
