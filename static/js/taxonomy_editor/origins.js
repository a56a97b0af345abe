// Where categories come from: the version before, and the operations that write `was`. Pure, as document.js is.

import * as docs from "./document.js";
import { followsName, freeKey, keyOf } from "./keys_of_names.js";

const FALLBACK = { category: "category", dimension: "dimension" };

/** The version before (plain JSON or null) by dimension and key. */
export class Past {
  constructor(plain) {
    this.dimensions = new Map();
    for (const dimension of plain?.dimensions ?? []) {
      const specs = new Map();
      const grow = (list, parent, names) => {
        for (const spec of list ?? []) {
          specs.set(spec.key, { spec, parent, names: [...names, spec.name] });
          grow(spec.categories, spec.key, [...names, spec.name]);
        }
      };
      grow(dimension.categories, null, []);
      this.dimensions.set(dimension.key, { fields: dimension, specs });
    }
  }

  specs(dimensionKey) {
    return this.dimensions.get(dimensionKey)?.specs ?? new Map();
  }

  /** Whether the version before has this dimension, or this category in its dimension. */
  has(doc, id) {
    const node = doc.nodes.get(id);
    if (node.type === "dimension") return this.dimensions.has(node.fields.key);
    return this.specs(docs.dimensionOf(doc, id).fields.key).has(node.fields.key);
  }
}

const same = (one, other) => one.length === other.length && one.every((each, place) => each === other[place]);

/** For each category of a dimension (by id) the keys of the version before that it comes from; as the server reads it. */
export function sources(doc, dimension, past) {
  const before = past.specs(dimension.fields.key);
  const told = new Map();
  const claimed = new Set();
  for (const node of docs.categories(doc, dimension)) {
    const was = docs.value(node, "was");
    const own = before.get(node.fields.key);
    const isRemainder = own && same(own.spec.was ?? [], was);
    const keys = isRemainder ? [] : was.filter((key) => before.has(key));
    told.set(node.id, keys);
    for (const key of keys) if (key !== node.fields.key) claimed.add(key);
  }
  const found = new Map();
  for (const [id, keys] of told) {
    const { key } = doc.nodes.get(id).fields;
    const goesOn = before.has(key) && !keys.includes(key) && !(keys.length && claimed.has(key));
    found.set(id, goesOn ? [key, ...keys] : keys);
  }
  return found;
}

/** The entries of the version before in a dimension that nothing comes from any more, in their order. */
export function retired(doc, dimension, past) {
  const before = past.specs(dimension.fields.key);
  if (!before.size) return [];
  const kept = new Set([...sources(doc, dimension, past).values()].flat());
  return [...before.values()].filter((each) => !kept.has(each.spec.key));
}

/** The document with `was` written so that a category comes from just these keys. */
export function setSources(doc, id, keys, past) {
  const node = doc.nodes.get(id);
  const own = past.specs(docs.dimensionOf(doc, id).fields.key).get(node.fields.key);
  let was = own && same(keys, [node.fields.key]) ? [] : keys;
  // A `was` that stands just so in the version before would be taken for a remainder of it.
  if (own && was.length > 1 && same(own.spec.was ?? [], was)) was = [...was].reverse();
  return docs.setFields(doc, id, { was });
}

const taken = (doc, dimension, past, except) => {
  const keys = new Set(past.specs(dimension.fields.key).keys());
  for (const node of docs.categories(doc, dimension)) if (node.id !== except) keys.add(node.fields.key);
  return keys;
};

/** Another name; a key that only followed the name and is new in this draft follows it. */
export function rename(doc, id, name, past) {
  const node = doc.nodes.get(id);
  const field = node.type === "dimension" ? "title" : "name";
  const before = node.fields[field] ?? "";
  const isOwn = !past.has(doc, id) && !docs.value(node, "was").length;
  let found = docs.setFields(doc, id, { [field]: name });
  if (!isOwn || !followsName(node.fields.key, before, FALLBACK[node.type])) return found;
  const base = keyOf(name) || FALLBACK[node.type];
  if (node.type === "dimension") {
    const keys = new Set(past.dimensions.keys());
    for (const each of doc.order) if (each !== id) keys.add(doc.nodes.get(each).fields.key);
    return docs.setDimensionKey(found, id, freeKey(base, keys));
  }
  const dimension = docs.dimensionOf(doc, id);
  const key = freeKey(base, taken(doc, dimension, past, id));
  found = docs.setFields(found, id, { key });
  return node.fields.key ? docs.renamedInConditions(found, dimension.fields.key, node.fields.key, [key]) : found;
}

/** Another key; where the version before has the old one, `was` tells where it comes from. */
export function changeKey(doc, id, key, past) {
  const dimension = docs.dimensionOf(doc, id);
  if (dimension.id === id) return docs.setDimensionKey(doc, id, key);
  const keys = sources(doc, dimension, past).get(id);
  const before = doc.nodes.get(id).fields.key;
  const found = setSources(docs.setFields(doc, id, { key }), id, keys, past);
  return docs.renamedInConditions(found, dimension.fields.key, before, [key]);
}

/** One category gone into another of its dimension: what came to it comes to the other, what stood below it, too. */
export function merge(doc, id, into, past) {
  const dimension = docs.dimensionOf(doc, id);
  for (let at = into; at; at = doc.nodes.get(at).parent) if (at === id) return null;
  const told = sources(doc, dimension, past);
  const keys = [...new Set([...told.get(into), ...told.get(id)])];
  let found = doc;
  for (const child of doc.nodes.get(id).children) found = docs.move(found, child, into, found.nodes.get(into).children.length);
  const { key } = doc.nodes.get(id).fields;
  found = docs.renamedInConditions(docs.remove(found, id), dimension.fields.key, key, [doc.nodes.get(into).fields.key]);
  return told.get(id).length ? setSources(found, into, keys, past) : found;
}

/** One category as several, each of which comes from it; one of its own name stays as it is. Gives {doc, ids}. */
export function split(doc, id, names, past) {
  const node = doc.nodes.get(id);
  const dimension = docs.dimensionOf(doc, id);
  const keys = sources(doc, dimension, past).get(id);
  const stays = names.find((name) => name.toLowerCase() === node.fields.name.toLowerCase());
  let found = doc;
  let index = docs.siblings(doc, id).indexOf(id) + 1;
  const ids = [];
  for (const name of names) {
    if (name === stays) {
      ids.push(id);
      continue;
    }
    const key = freeKey(keyOf(name) || FALLBACK.category, taken(found, found.nodes.get(dimension.id), past));
    const grown = docs.add(found, node.parent, index, { key, name, ...(keys.length ? { was: keys } : {}) });
    found = grown.doc;
    ids.push(grown.id);
    index += 1;
  }
  const heirs = ids.map((each) => found.nodes.get(each).fields.key);
  // Said outright, for another category's `was` would else take the key that goes on.
  if (stays && keys.length > 1) found = setSources(found, id, keys, past);
  if (!stays) {
    for (const child of node.children) found = docs.move(found, child, ids[0], found.nodes.get(ids[0]).children.length);
    found = docs.remove(found, id);
  }
  return { doc: docs.renamedInConditions(found, dimension.fields.key, node.fields.key, heirs), ids };
}

/** A retired category back in its place, with those below it that are retired, too. Gives {doc, id}. */
export function bringBack(doc, dimensionId, key, past) {
  const dimension = doc.nodes.get(dimensionId);
  const before = past.specs(dimension.fields.key);
  const gone = new Set(retired(doc, dimension, past).map((each) => each.spec.key));
  const present = new Map([...docs.categories(doc, dimension)].map((node) => [node.fields.key, node.id]));
  const copied = ({ categories = [], ...spec }) => ({
    ...spec,
    categories: categories.filter((each) => gone.has(each.key) && !present.has(each.key)).map(copied),
  });
  const { spec, parent } = before.get(key);
  if (present.has(key)) return { doc: setSources(doc, present.get(key), [key], past), id: present.get(key) };
  const above = present.get(parent) ?? dimensionId;
  return docs.add(doc, above, doc.nodes.get(above).children.length, copied(spec));
}
