// What the right-hand side is to show of a category, a dimension or the version.

import * as docs from "./document.js";
import { kindsOf } from "./marks.js";
import * as origins from "./origins.js";

/** The view of what is chosen, as Detail.show takes it; null where it is not there any more. */
export function viewOf(editor, id) {
  const problems = editor.problems.get(id) ?? [];
  if (id === "version") {
    return { kind: "version", id, fields: editor.doc.fields, problems, title: "About this version" };
  }
  const gone = editor.tree.retiredRows.get(id);
  if (gone) {
    const { spec, names } = editor.past.specs(editor.doc.nodes.get(gone.dimension).fields.key).get(gone.key);
    return { kind: "retired", id, title: spec.name, path: names.join(" / "), definition: spec.definition ?? "" };
  }
  const node = editor.doc.nodes.get(id);
  if (!node) return null;
  const isPast = editor.past.has(editor.doc, id);
  if (node.type === "dimension") {
    const earlier = editor.doc.order.slice(0, editor.doc.order.indexOf(id)).map((each) => editor.doc.nodes.get(each));
    const usable = earlier.filter((each) => !docs.isOpen(each));
    return { kind: "dimension", id, node, doc: editor.doc, isPast, problems, earlier: usable, title: node.fields.title };
  }
  const dimension = docs.dimensionOf(editor.doc, id);
  const specs = editor.past.specs(dimension.fields.key);
  const { key } = node.fields;
  const keys = origins.sources(editor.doc, dimension, editor.past).get(id) ?? [];
  const changes = editor.told.changesTo(dimension.fields.key, key);
  return {
    kind: "category",
    id,
    node,
    doc: editor.doc,
    isPast,
    problems,
    title: node.fields.name,
    path: [dimension.fields.title, ...docs.path(editor.doc, id).slice(0, -1)].join(" › "),
    sources: keys.filter((each) => each !== key || keys.length > 1).map((each) => ({ key: each, name: specs.get(each)?.names.join(" / ") ?? each })),
    words: historyWords(changes, specs.size > 0),
    doubts: editor.told.doubtsAbout(dimension.fields.key, key).map((each) => each.sentence),
  };
}

function historyWords(changes, hasPast) {
  const kinds = kindsOf(changes);
  const own = changes.find((each) => each.old === each.new) ?? changes[0];
  const words = {
    added: hasPast ? "New in this version" : "",
    merged: `Merged from ${changes.length} categories`,
    split: "Result of a split",
    moved: `Moved from ${own?.old_path.join(" / ")}`,
    renamed: `Renamed from “${own?.old_path.at(-1)}”`,
    redefined: "Definition or rules changed",
  };
  return Object.keys(words).filter((kind) => kinds.has(kind) && words[kind] && !(kind === "renamed" && kinds.has("merged"))).map((kind) => words[kind]);
}
