// What stands in the margin and in the bar: changes against the version before, doubts, counts of labels.

import * as docs from "./document.js";

const WORDS = { added: "new", renamed: "renamed", redefined: "redefined", moved: "moved", merged: "merged", split: "split" };
const DOUBTS = { alike: "similar names", undefined: "no definition", only_child: "only child", unused: "not used" };
const place = (dimension, key) => `${dimension} ${key}`;
const several = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** What the server told, by dimension and key. */
export class Told {
  constructor({ changes, dimensions, doubts }) {
    this.changes = changes;
    this.dimensions = dimensions;
    this.doubts = doubts;
    this.byNew = new Map();
    for (const change of changes) if (change.new) push(this.byNew, place(change.dimension, change.new), change);
    this.doubtsOf = new Map();
    for (const doubt of doubts) {
      const keys = doubt.kind === "only_child" ? doubt.keys.slice(1) : doubt.keys;
      for (const key of keys) push(this.doubtsOf, place(doubt.dimension, key), doubt);
    }
  }

  changesTo(dimension, key) {
    return this.byNew.get(place(dimension, key)) ?? [];
  }

  doubtsAbout(dimension, key) {
    return this.doubtsOf.get(place(dimension, key)) ?? [];
  }

  /** "12 changes · 3 merges · affects 214 labels"; changes are counted as where two versions are compared. */
  words(usage) {
    const of = (kind, end) => new Set(this.changes.filter((each) => each.kind === kind).map((each) => place(each.dimension, each[end]))).size;
    const n = this.changes.length + this.dimensions.length;
    const found = n ? [] : ["No changes"];
    if (this.changes.length) found.push(several(this.changes.length, "change"));
    if (this.dimensions.length) found.push(`${several(this.dimensions.length, "dimension")} changed`);
    const merges = of("merged", "new");
    const splits = of("split", "old");
    const retired = of("retired", "old");
    if (merges) found.push(several(merges, "merge"));
    if (splits) found.push(several(splits, "split"));
    if (retired) found.push(`${retired} retired`);
    if (usage && n) {
      const olds = new Set(this.changes.filter((each) => each.old).map((each) => place(each.dimension, each.old)));
      let labels = 0;
      for (const each of olds) labels += usage.of(...each.split(" "));
      found.push(`affects ${several(labels, "label")}`);
    }
    return found.join(" · ");
  }
}

/** How often each category of the version before was given, as the address of the studies tells it. */
export class Usage {
  constructor({ counts, n_ratings: total }) {
    this.counts = counts;
    this.total = total;

  }

  of(dimension, key) {
    return this.counts[dimension]?.[key] ?? 0;
  }
}

/** The kinds of change of a category; against a category that only went into it, names and words differ anyway. */
export function kindsOf(changes) {
  const isOther = (each) => (each.kind === "merged" || each.kind === "split") && each.old !== each.new;
  return new Set(changes.flatMap((each) => (isOther(each) ? [each.kind] : [each.kind, ...each.also])));
}

/** The words beside each row: [[id, [[kind, word], …], is wrong], …]. */
export function margins(doc, told, usage, origins, wrong) {
  const found = [];
  const changedDimensions = new Map(told.dimensions.map((each) => [each.dimension, each]));
  for (const id of doc.order) {
    const dimension = doc.nodes.get(id);
    const change = changedDimensions.get(dimension.fields.key);
    const words = change ? [["change", change.kind === "added" ? "new" : "changed"]] : [];
    if (wrong.has(id)) words.push(["wrong", "to correct"]);
    found.push([id, words, wrong.has(id)]);
    const isNew = change?.kind === "added";
    const comesFrom = origins(dimension);
    for (const node of docs.categories(doc, dimension)) {
      const { key } = node.fields;
      const kinds = kindsOf(told.changesTo(dimension.fields.key, key));
      const marks = isNew ? [] : Object.keys(WORDS).filter((kind) => kinds.has(kind)).map((kind) => ["change", WORDS[kind]]);
      for (const kind of new Set(told.doubtsAbout(dimension.fields.key, key).map((each) => each.kind))) marks.push(["doubt", DOUBTS[kind]]);
      const keys = comesFrom.get(node.id) ?? [];
      if (usage?.total && keys.length) {
        const n = keys.reduce((sum, each) => sum + usage.of(dimension.fields.key, each), 0);
        if (n) marks.push(["count", String(n)]);
        else if (docs.value(node, "selectable")) marks.push(["unused", DOUBTS.unused]);
      }
      if (wrong.has(node.id)) marks.unshift(["wrong", "to correct"]);
      found.push([node.id, marks, wrong.has(node.id)]);
    }
  }
  return found;
}

/** The categories with warnings in the order of the tree: {id, name, sentences}. */
export function warned(doc, told) {
  return doc.order.flatMap((place) => {
    const dimension = doc.nodes.get(place);
    return [...docs.categories(doc, dimension)].map(({ id, fields }) => (
      { id, name: fields.name || fields.key, sentences: told.doubtsAbout(dimension.fields.key, fields.key).map((each) => each.sentence) }
    ));
  }).filter(({ sentences }) => sentences.length);
}

function push(map, key, value) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(value);
}
