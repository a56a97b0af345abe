// Quotes in a shown issue: taken from a selection, found again by their words, and marked without touching the page.

const NOT_QUOTED = ".code-bar, .remote-image, .shown-image, .code-fold > summary, .muted, .visually-hidden";
const CONTEXT = 60;
const MOST_PLACES = 5_000;
const EDGE = 0.04;

const isWord = (character) => /[\p{L}\p{N}]/u.test(character);
const isSeen = (character) => !/\s/u.test(character);
const lower = (sign) => (sign.toLowerCase().length === 1 ? sign.toLowerCase() : sign);
const plain = (text) => text.replace(/\s+/gu, " ");

/** Whether this browser can mark text; where it can't, the lists of quotes stand alone. */
const canHighlight = () => typeof Highlight === "function" && Boolean(CSS.highlights);

/** The text of an element as it can be selected: which signs it has and in which text node each of them stands. */
class ShownText {
  constructor(root) {
    this.root = root;
    this.nodes = [];
    this.starts = [];
    this.raw = "";
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      if (!node.data || skipped(node, root)) continue;
      this.nodes.push(node);
      this.starts.push(this.raw.length);
      this.raw += node.data;
    }
    this.kept = new Map();
  }

  /** Only the signs that count (`keep`), each with its place. */
  only(keep) {
    let found = this.kept.get(keep);
    if (!found) {
      const places = [];
      let text = "";
      for (let at = 0; at < this.raw.length; at += 1) {
        if (!keep(this.raw[at])) continue;
        text += lower(this.raw[at]);
        places.push(at);
      }
      found = { text, places };
      this.kept.set(keep, found);
    }
    return found;
  }

  range(start, end) {
    const range = document.createRange();
    const [first, last] = [this.nodeAt(start), this.nodeAt(end - 1)];
    range.setStart(this.nodes[first], start - this.starts[first]);
    range.setEnd(this.nodes[last], end - this.starts[last]);
    return range;
  }

  nodeAt(place) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= place) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The part of the text that a range covers, as [start, end], or null. */
  covered(range) {
    let start = -1;
    let end = -1;
    this.nodes.forEach((node, number) => {
      if (!range.intersectsNode(node)) return;
      const from = node === range.startContainer ? range.startOffset : 0;
      const until = node === range.endContainer ? range.endOffset : node.data.length;
      if (from >= until) return;
      if (start < 0) start = this.starts[number] + from;
      end = this.starts[number] + until;
    });
    return start < 0 ? null : [start, end];
  }
}

function skipped(node, root) {
  const hidden = node.parentElement?.closest(NOT_QUOTED);
  return Boolean(hidden && hidden !== root && root.contains(hidden));
}

let texts = new WeakMap();

/** Call it when what is shown has changed. */
export function forgetTexts() {
  texts = new WeakMap();
}

function textOf(root) {
  if (!texts.has(root)) texts.set(root, new ShownText(root));
  return texts.get(root);
}

/** Where quotes can be taken from, in the order of the page: [{root, where, comment (its number), key (its id)}]. */
export function sources(reading) {
  const issue = reading?.querySelector("article.issue[data-snapshot]");
  if (!issue) return [];
  const found = [{ root: issue.querySelector(".issue-title"), where: "title" }];
  for (const root of issue.querySelectorAll("[data-source]")) {
    const section = root.closest(".comment");
    if (root.dataset.source === "body") found.push({ root, where: "body" });
    else if (section) found.push({ root, where: "comment", comment: Number(section.id.replace("comment-", "")), key: Number(section.dataset.comment) });
  }
  return found.filter(({ root }) => root);
}

/** The selection as a quote, cut at the end of the first text it touches; null where it touches none. */
export function takeQuote(reading, selection) {
  if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
  const selected = selection.getRangeAt(0);
  if (!reading || !selected.intersectsNode(reading)) return null;
  for (const { root, where, comment } of sources(reading)) {
    if (!selected.intersectsNode(root)) continue;
    const text = textOf(root);
    const covered = text.covered(selected);
    if (!covered) continue;
    let [start, end] = covered;
    while (start < end && !isSeen(text.raw[start])) start += 1;
    while (end > start && !isSeen(text.raw[end - 1])) end -= 1;
    if (start === end) continue;
    const range = text.range(start, end);
    const quote = text.raw.slice(start, end);
    const isCode = range.startContainer.parentElement.closest("pre");
    return {
      where,
      ...(comment ? { comment } : {}),
      quote: isCode ? quote : plain(quote),
      before: plain(text.raw.slice(Math.max(0, start - 2 * CONTEXT), start)).slice(-CONTEXT),
      after: plain(text.raw.slice(end, end + 2 * CONTEXT)).slice(0, CONTEXT),
      at: Math.round((start / text.raw.length) * 1e5) / 1e5,
      range,
    };
  }
  return null;
}

/** Where a quote stands in an element, by its words and those around it; null where it is not there (any more). */
export function findQuote(root, { quote, before = "", after = "", at = null }) {
  const text = textOf(root);
  for (const keep of [isSeen, isWord]) {
    const only = (words) => words.split("").filter(keep).map(lower).join("");
    const wanted = only(quote);
    if (!wanted) continue;
    const { text: shown, places } = text.only(keep);
    const [left, right] = [only(before), only(after)];
    let best = null;
    let n = 0;
    for (let place = shown.indexOf(wanted); place >= 0 && n < MOST_PLACES; place = shown.indexOf(wanted, place + 1)) {
      n += 1;
      const fit = common(shown, place - 1, left, -1) + common(shown, place + wanted.length, right, 1);
      const far = at === null ? 0 : Math.abs(places[place] / text.raw.length - at);
      if (!best || fit > best.fit || (fit === best.fit && far < best.far)) best = { fit, far, place };
    }
    if (best) return text.range(places[best.place], places[best.place + wanted.length - 1] + 1);
  }
  return null;
}

/** How many signs from `from` on, in one direction, are those of `words`. */
function common(shown, from, words, step) {
  for (let n = 0; n < words.length; n += 1) {
    if (shown[from + n * step] !== words[step > 0 ? n : words.length - 1 - n]) return n;
  }
  return words.length;
}

/** Marks ranges: {name: [range, …]}; whatever else had a name with this prefix is unmarked. */
export function paint(prefix, marks) {
  if (!canHighlight()) return;
  for (const name of [...CSS.highlights.keys()]) {
    if (name.startsWith(prefix) && !marks[name]?.length) CSS.highlights.delete(name);
  }
  for (const [name, ranges] of Object.entries(marks)) {
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
  }
}

let flashing = 0;

/** Brings a range into sight, opens what is folded around it, and lets it flash. */
export function reveal(reading, range) {
  const place = range.startContainer.parentElement;
  for (let fold = place.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  place.scrollIntoView({ block: "center", inline: "nearest" });
  const { top, left } = range.getBoundingClientRect();
  const scrolls = getComputedStyle(reading).overflowY !== "visible";
  const sight = scrolls ? reading.getBoundingClientRect() : { top: 0, bottom: window.innerHeight };
  const margin = (sight.bottom - sight.top) * EDGE + 24;
  if (top < sight.top + margin || top > sight.bottom - 3 * margin) {
    const by = top - (sight.top + (sight.bottom - sight.top) / 3);
    if (scrolls) reading.scrollBy({ top: by });
    else window.scrollBy({ top: by });
  }
  const code = place.closest("pre");
  if (code) {
    const frame = code.getBoundingClientRect();
    if (left < frame.left || left > frame.right - 40) code.scrollLeft += left - frame.left - 40;
  }
  paint("evidence-flash", { "evidence-flash": [range] });
  clearTimeout(flashing);
  flashing = setTimeout(() => paint("evidence-flash", {}), 1600);
}

/** A quote as a short line. */
export function shortened(quote, most = 64) {
  const words = plain(quote).trim();
  if (words.length <= most) return `“${words}”`;
  const cut = words.slice(0, most);
  return `“${cut.slice(0, Math.max(cut.lastIndexOf(" "), most - 16)).trimEnd()} …”`;
}
