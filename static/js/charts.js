// Draws the charts of a page from the specifications (Vega-Lite or Vega) beside them. Marks that hold an address open it, by click or,
// in a heat map, by arrow keys and Enter. Each chart has its table, so where nothing can be drawn nothing is missing.

const tip = document.createElement("p");
tip.className = "chart-tip";
tip.setAttribute("role", "status");
document.body.append(tip);

function say(words, x, y) {
  tip.textContent = words ?? "";
  if (!words) return;
  tip.style.left = `${Math.max(8, Math.min(x + 12, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 16 + tip.offsetHeight > innerHeight ? y - 8 - tip.offsetHeight : y + 16}px`;
}

function open(address, event) {
  if (!address) return;
  if (event.ctrlKey || event.metaKey) window.open(address, "_blank", "noopener");
  else location.assign(address);
}

/** The next cell in a direction, passing over empty ones; the cell itself at the edge. */
function beside(cells, { row, column }, key) {
  const [along, across, sign] = { ArrowLeft: ["column", "row", -1], ArrowRight: ["column", "row", 1], ArrowUp: ["row", "column", -1], ArrowDown: ["row", "column", 1] }[key];
  const from = { row, column };
  const ahead = cells.filter((cell) => (cell[along] - from[along]) * sign > 0);
  const far = (cell) => Math.abs(cell[across] - from[across]) * 1000 + Math.abs(cell[along] - from[along]);
  return ahead.sort((one, other) => far(one) - far(other))[0] ?? from;
}

function byKeyboard(place, view, cells) {
  let at = null;
  const point = async (cell) => {
    at = cells.find(({ row, column }) => row === cell.row && column === cell.column) ?? at;
    await view.signal("at", { row: at.row, column: at.column }).runAsync();
    const [left, top] = view.origin();
    const frame = place.querySelector("svg").getBoundingClientRect();
    const x = left + view.scale("x")(at.column);
    const y = top + view.scale("y")(at.row);
    const seen = place.getBoundingClientRect();
    if (frame.left + x < seen.left || frame.left + x + 30 > seen.right) place.scrollLeft += frame.left + x - (seen.left + seen.right) / 2;
    say(at.words, place.querySelector("svg").getBoundingClientRect().left + x, frame.top + y + 8);
  };
  place.addEventListener("focus", () => place.matches(":focus-visible") && point(at ?? cells[0]));
  place.addEventListener("blur", () => {
    say("");
    view.signal("at", { row: -1, column: -1 }).runAsync();
  });
  place.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      point(at ? beside(cells, at, event.key) : cells[0]);
    } else if (event.key === "Enter" && at) {
      open(at.url, event);
    } else if (event.key === "Escape") {
      say("");
    }
  });
}

/** What is wider than its place is scrolled by keyboard, too. */
function reach(place) {
  if (place.scrollWidth > place.clientWidth) place.tabIndex = 0;
  else place.removeAttribute("tabindex");
}

async function draw(figure) {
  if (figure.dataset.drawn) return;
  figure.dataset.drawn = "begun";
  const place = figure.querySelector(".chart");
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const ground = document.createElement("div"); // vega-embed writes a role and a name of its own onto it
  ground.setAttribute("aria-hidden", "true");
  place.append(ground);
  const { view } = await window.vegaEmbed(ground, spec, {
    mode: spec.$schema.includes("vega-lite") ? "vega-lite" : "vega",
    renderer: "svg",
    ast: true, // expressions are interpreted: the page allows no eval
    actions: false,
    defaultStyle: false,
    hover: false,
    tooltip: (handler, event, item, words) => say(words, event.clientX, event.clientY),
  });
  view.addEventListener("click", (event, item) => open(item?.datum?.url, event));
  if (figure.dataset.chart === "map") byKeyboard(place, view, spec.data.values);
  else new ResizeObserver(() => reach(place)).observe(place);
  figure.dataset.drawn = "done";
}

/** Soon also where the browser is never idle, as on a machine with much else to do. */
const whenIdle = (work) => (window.requestIdleCallback ? requestIdleCallback(work, { timeout: 1000 }) : setTimeout(work, 50));

if (window.vegaEmbed) {
  const figures = [...document.querySelectorAll("[data-chart]")];
  const seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) draw(target);
  });
  for (const figure of figures) seen.observe(figure);
  // The rest one by one, so that all is there when the page is printed.
  const rest = () => {
    const next = figures.find((figure) => !figure.dataset.drawn);
    if (next) draw(next).finally(() => whenIdle(rest));
  };
  addEventListener("load", () => whenIdle(rest));
}
