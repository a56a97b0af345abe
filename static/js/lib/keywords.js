// Keywords in shown text: whole words in any case, `*` is any letters and digits, a blank any blanks.

const LETTER = "[\\p{L}\\p{N}_]";
const escaped = (text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");

/**
 * The expression of a keyword; its group `whole` takes part in a match that has the whole keyword.
 *
 * Like the server's (ingest/keywords.py) it reads a text once: each part of a word counts at its first place, and where
 * a first word does not fit, the rest of it is passed over. A lookahead and what it found stand for an atomic group.
 */
function expressionOf(keyword) {
  const words = keyword.trim().split(/\s+/u).map((word) => word.split(/\*+/u).map(escaped));
  const [first, last] = [words[0], words.at(-1)];
  let begin = "(?<![\\p{L}\\p{N}]_{0,20})";
  if (!first[0]) {
    first.shift();
    begin = first[0] ? "" : "(?<!\\s)";
  }
  const ends = words.map((word) => (word === last ? "(?!_{0,20}[\\p{L}\\p{N}])" : "\\s+(?!\\s)"));
  if (!last.at(-1) && last.length > 1) {
    last.pop();
    ends[ends.length - 1] = `${LETTER}*`;
  }
  let groups = 0;
  const once = (inner) => `(?=(${inner}))(?:\\${(groups += 1)})`;
  const skips = first.length > 1 && /^[\p{L}\p{N}_]+$/u.test(first[0]);
  const pieces = words.flatMap((word, at) =>
    word.map((part, n) => {
      const piece = part + (n === word.length - 1 ? ends[at] : "");
      return n ? once(`${LETTER}*?${piece}`) : piece;
    }),
  );
  const rest = pieces.slice(1).join("");
  return new RegExp(`${begin}${pieces[0]}${skips ? `(?:${rest}(?<whole>)|${LETTER}*)` : `${rest}(?<whole>)`}`, "giu");
}

/** Reads keywords; `find(text)` of what comes back gives where each of them is: [from, to). */
export function finder(keywords) {
  const wanted = keywords.map((keyword) => ({ expression: expressionOf(keyword), grows: keyword.trim().startsWith("*") }));
  return function* find(text) {
    for (const { expression, grows } of wanted) {
      let done = 0;
      for (const hit of text.matchAll(expression)) {
        const end = hit.index + hit[0].length;
        if (hit.groups.whole === undefined || !hit[0]) continue;
        let start = hit.index;
        if (grows) while (start > done && /[\p{L}\p{N}_]/u.test(text[start - 1])) start -= 1;
        yield [start, end];
        done = end;
      }
    }
  };
}
