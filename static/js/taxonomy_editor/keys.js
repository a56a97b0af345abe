// The keys of the tree: an outliner's.

/** What a key press in the tree asks for: the name of an act, or null. */
export function actOf(event) {
  const { key, ctrlKey, metaKey, shiftKey, altKey } = event;
  const command = ctrlKey || metaKey;
  if (command && !altKey && key.toLowerCase() === "z") return shiftKey ? "redo" : "undo";
  if (command && !altKey && key.toLowerCase() === "y") return "redo";
  if (command) return key === "Enter" ? "enter" : null;
  if (altKey) {
    const moves = { ArrowUp: "up", ArrowDown: "down", ArrowRight: "in", ArrowLeft: "out" };
    if (event.code === "KeyM") return "merge";
    if (event.code === "KeyS") return "split";
    return moves[key] ?? null;
  }
  const plain = {
    Enter: "add", F2: "rename", Delete: "retire", ArrowDown: "below", ArrowUp: "above", ArrowRight: "open",
    ArrowLeft: "close", Home: "first", End: "last", "/": "find", "?": "keys", Escape: "leave", " ": "toggle",
  };
  if (key === "Tab") return shiftKey ? "out" : "in";
  return plain[key] ?? (key.length === 1 ? "type" : null);
}
