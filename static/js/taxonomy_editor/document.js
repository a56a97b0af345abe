// A taxonomy's document in the editor: nodes by id. Nothing is changed in place; every operation gives a new document,
// which shares with the old one what stayed the same. So undoing is going back, and what changed is found by identity.

/**
 * @typedef {{id: string, type: "dimension"|"category", parent: string|null, fields: object, children: string[]}} Node
 * @typedef {{fields: object, order: string[], nodes: Map<string, Node>}} Doc
 */

const DEFAULTS = {
  note: "", required: true, help: "", applies_when: null, definition: "", shortcut: "", selectable: true,
  include: [], exclude: [], examples: [], was: [],
};
let kinds = {};

/** What each kind of question is, by name: {has_categories, is_open, is_two_valued}; the server tells it. */
export const setKinds = (told) => {
  kinds = told;
};

let made = 0;
const newId = () => `n${(made += 1)}`;

/** The document of plain JSON. */
export function fromPlain(plain) {
  const nodes = new Map();
  const grow = (spec, type, parent) => {
    const { categories = [], ...fields } = spec;
    const id = newId();
    nodes.set(id, null); // In the order of the document.
    nodes.set(id, { id, type, parent, fields, children: categories.map((each) => grow(each, "category", id)) });
    return id;
  };
  const { dimensions = [], ...fields } = plain;
  return { fields, order: dimensions.map((each) => grow(each, "dimension", null)), nodes };
}

/** Plain JSON, and which node stands at which path; categories without a name are still being typed and left out. */
export function toPlain(doc) {
  const paths = new Map();
  const grow = (ids, where) => {
    const found = [];
    for (const id of ids) {
      const node = doc.nodes.get(id);
      if (node.type === "category" && !node.fields.name.trim() && !node.children.length) continue;
      const path = `${where}[${found.length}]`;
      paths.set(path, id);
      const below = grow(node.children, `${path}.categories`);
      found.push(below.length ? { ...node.fields, categories: below } : { ...node.fields });
    }
    return found;
  };
  return { plain: { ...doc.fields, dimensions: grow(doc.order, "dimensions") }, paths };
}

/** The value of a field, or its default. */
export const value = (node, name) => node.fields[name] ?? DEFAULTS[name] ?? "";

export const firstKind = () => Object.keys(kinds)[0];
export const hasCategories = (dimension) => Boolean(kinds[dimension.fields.kind]?.has_categories);
/** Whether the answer is yes or no. */
export const isTwoValued = (dimension) => Boolean(kinds[dimension.fields.kind]?.is_two_valued);
/** Whether anything can be answered, so that no condition can name the answers. */
export const isOpen = (dimension) => Boolean(kinds[dimension.fields.kind]?.is_open);

/** The dimension that a node stands in, or is. */
export function dimensionOf(doc, id) {
  let node = doc.nodes.get(id);
  while (node.parent) node = doc.nodes.get(node.parent);
  return node;
}

/** A node with all below it, in order. */
export function* walk(doc, id) {
  const node = doc.nodes.get(id);
  yield node;
  for (const child of node.children) yield* walk(doc, child);
}

/** The categories of a dimension, in order. */
export function* categories(doc, dimension) {
  for (const child of dimension.children) yield* walk(doc, child);
}

/** The ids among which a node stands. */
export const siblings = (doc, id) => {
  const { parent } = doc.nodes.get(id);
  return parent ? doc.nodes.get(parent).children : doc.order;
};

/** The names from the root to a category. */
export function path(doc, id) {
  const names = [];
  for (let node = doc.nodes.get(id); node.parent; node = doc.nodes.get(node.parent)) names.unshift(node.fields.name);
  return names;
}

export const level = (doc, id) => {
  let found = 1;
  for (let node = doc.nodes.get(id); node.parent; node = doc.nodes.get(node.parent)) found += 1;
  return found;
};

function changed(doc, change) {
  const next = { ...doc, nodes: new Map(doc.nodes) };
  change(next);
  return next;
}

function put(doc, id, part) {
  doc.nodes.set(id, { ...doc.nodes.get(id), ...part });
}

function list(doc, parent, ids) {
  if (parent) put(doc, parent, { children: ids });
  else doc.order = ids;
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** Fields of a node (or of the version: id "version"); what equals its default is left out. */
export function setFields(doc, id, fields) {
  const apply = (before) => {
    const after = { ...before, ...fields };
    for (const [name, given] of Object.entries(fields)) if (name in DEFAULTS && same(given, DEFAULTS[name])) delete after[name];
    return after;
  };
  if (id === "version") return { ...doc, fields: apply(doc.fields) };
  return changed(doc, (next) => put(next, id, { fields: apply(doc.nodes.get(id).fields) }));
}

/** A new node among the children of a parent (null: a dimension), with all below it; gives {doc, id}. */
export function add(doc, parent, index, spec) {
  let id = "";
  const next = changed(doc, (after) => {
    const grow = (each, above) => {
      const { categories: below = [], ...fields } = each;
      const own = newId();
      after.nodes.set(own, null);
      const children = below.map((child) => grow(child, own));
      after.nodes.set(own, { id: own, type: above ? "category" : "dimension", parent: above, fields, children });
      return own;
    };
    id = grow(spec, parent);
    const ids = parent ? doc.nodes.get(parent).children : doc.order;
    list(after, parent, ids.toSpliced(index, 0, id));
  });
  return { doc: next, id };
}

/** The document without a node and all below it. */
export function remove(doc, id) {
  const { parent } = doc.nodes.get(id);
  return changed(doc, (next) => {
    list(next, parent, siblings(doc, id).filter((each) => each !== id));
    for (const node of walk(doc, id)) next.nodes.delete(node.id);
  });
}

/** A node moved among the children of a parent; index counts without the node itself. Not below itself: null. */
export function move(doc, id, parent, index) {
  for (let at = parent; at; at = doc.nodes.get(at).parent) if (at === id) return null;
  const from = doc.nodes.get(id).parent;
  return changed(doc, (next) => {
    list(next, from, siblings(doc, id).filter((each) => each !== id));
    const ids = parent ? next.nodes.get(parent).children : next.order;
    list(next, parent, ids.toSpliced(index, 0, id));
    if (parent !== from) put(next, id, { parent });
  });
}

/** Up or down among its siblings by one; null where it is the first or last. */
export function shift(doc, id, by) {
  const ids = siblings(doc, id);
  const index = ids.indexOf(id) + by;
  if (index < 0 || index >= ids.length) return null;
  return move(doc, id, doc.nodes.get(id).parent, index);
}

/** Below the sibling above it; null where there is none, and for dimensions. */
export function indent(doc, id) {
  const ids = siblings(doc, id);
  const above = doc.nodes.get(ids[ids.indexOf(id) - 1]);
  return above?.type === "category" ? move(doc, id, above.id, above.children.length) : null;
}

/** Up a level, behind its parent; null where it stands at the top of its dimension. */
export function outdent(doc, id) {
  const parent = doc.nodes.get(doc.nodes.get(id).parent);
  if (parent?.type !== "category") return null;
  return move(doc, id, parent.parent, siblings(doc, parent.id).indexOf(parent.id) + 1);
}

/** Conditions that name a category name its heirs instead (none: they stay, for someone to decide). */
export function renamedInConditions(doc, dimension, key, heirs) {
  let found = doc;
  for (const id of doc.order) {
    const when = doc.nodes.get(id).fields.applies_when;
    if (!heirs.length || when?.dimension !== dimension || !when.is.includes(key)) continue;
    const is = [...new Set(when.is.flatMap((each) => (each === key ? heirs : [each])))];
    found = setFields(found, id, { applies_when: { ...when, is } });
  }
  return found;
}

/** A dimension's key, also where conditions name it. */
export function setDimensionKey(doc, id, key) {
  const before = doc.nodes.get(id).fields.key;
  let found = setFields(doc, id, { key });
  for (const each of doc.order) {
    const when = found.nodes.get(each).fields.applies_when;
    if (when?.dimension === before) found = setFields(found, each, { applies_when: { ...when, dimension: key } });
  }
  return found;
}
