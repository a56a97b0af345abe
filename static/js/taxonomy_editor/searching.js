// Finding categories by their names and keys.

/** Listens to the search field: what holds the words stays in sight, Enter goes there, Escape goes back. */
export function listenToSearch(editor, input, place) {
  let hits = [];
  const run = () => {
    hits = editor.tree.find(input.value);
    place.textContent = input.value.trim() ? (hits.length ? `${hits.length} found` : "none") : "";
  };
  const close = () => {
    input.value = "";
    run();
    const id = editor.tree.has(editor.chosen) ? editor.chosen : editor.tree.firstId();
    if (id) editor.tree.choose(id);
  };
  input.addEventListener("input", run);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if (event.key === "Enter" && hits.length) {
      event.preventDefault();
      editor.chosen = hits[0];
      close();
    } else if (event.key === "ArrowDown" && editor.tree.firstId()) {
      event.preventDefault();
      editor.tree.choose(hits[0] ?? editor.tree.firstId());
    }
  });
}
