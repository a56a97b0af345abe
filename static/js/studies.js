// A new study: the title suggests the address until someone writes one.

const title = document.getElementById("id_title");
const slug = document.getElementById("id_slug");
let own = Boolean(slug?.value);

export const suggested = (text) =>
  text.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80).replace(/-+$/, "");

title?.addEventListener("input", () => {
  if (!own) slug.value = suggested(title.value);
});
slug?.addEventListener("input", () => {
  own = slug.value !== "";
});
