// Everything a shown issue needs: import this on every page that includes ingest/_issue.html.
import "./lib/code.js";
import "./lib/images.js";

// Who asked for the next comments goes on reading at the first of them.
document.addEventListener("htmx:afterSettle", (event) => {
  const first = event.detail.requestConfig?.elt?.dataset.firstNew;
  if (first) document.getElementById(`comment-${first}`)?.focus({ preventScroll: true });
});
