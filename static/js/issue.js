// Everything a shown issue needs: import this on every page that includes ingest/_issue.html.
import "./lib/code.js";
import "./lib/images.js";
