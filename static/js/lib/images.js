// Remote images are fetched only when someone asks for one, for all of an issue, or for all of a host: a page alone must
// not tell other sites who reads what.
// Each is shown in a document of its own, for no other page may load anything from elsewhere; nothing runs in there.

import { csrfToken } from "./csrf.js";

const words = (text, name = "") => {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
};

/** Puts the image in the place of its button, in a frame as large as the image. */
export function showImage(button, { offersHost = true } = {}) {
  const { src, frame: address, alt, width } = button.dataset;
  const shown = words("", "shown-image");
  const told = words(`loading from ${new URL(src).host} …`, "shown-image-told");
  told.setAttribute("role", "status");
  const frame = document.createElement("iframe");
  frame.title = alt || "Image";
  frame.setAttribute("sandbox", "allow-same-origin");
  frame.tabIndex = -1; // The keys stay with the page.
  frame.addEventListener("load", () => {
    const image = frame.contentDocument?.querySelector("img");
    if (image?.naturalWidth) {
      image.alt = alt;
      frame.style.width = `${width || image.naturalWidth}px`;
      frame.style.aspectRatio = `${image.naturalWidth} / ${image.naturalHeight}`;
    } else frame.remove();
    const link = document.createElement("a");
    Object.assign(link, { href: src, target: "_blank", rel: "noopener noreferrer" });
    link.textContent = image?.naturalWidth ? "open separately" : `${alt || "The image"} can't be shown here; open it separately`;
    told.replaceChildren(link);
    if (offersHost && image?.naturalWidth) offerHost(told, new URL(src).host);
    if (hadFocus) link.focus({ preventScroll: true });
  });
  frame.src = address;
  shown.append(frame, told);
  const hadFocus = button.matches(":focus-visible");
  const around = button.closest("a");
  if (around) {
    around.after(shown); // A link within a link is none.
    button.replaceWith(words(alt || "Image", "muted"));
  } else button.replaceWith(shown);
}

const hostsOf = (issue) => (issue?.dataset.imageHosts ?? "").split(" ").filter(Boolean);

/** Beside an image that was asked for: to show all of its host from now on. */
function offerHost(told, host) {
  const issue = told.closest("article.issue");
  const address = issue?.dataset.keepImageHost;
  if (!address || hostsOf(issue).includes(host)) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = `Always show images from ${host}`;
  button.addEventListener("click", async () => {
    const answer = await fetch(address, {
      method: "POST",
      headers: { "X-CSRFToken": csrfToken("") },
      body: new URLSearchParams({ host }),
    }).catch(() => null);
    if (!answer?.ok) {
      button.textContent = answer?.status === 403 ? "Not saved: others use this account, too." : "Not saved. Try again.";
      return;
    }
    for (const each of document.querySelectorAll("article.issue[data-image-hosts]")) {
      each.dataset.imageHosts = [...hostsOf(each), host].join(" ");
    }
    button.replaceWith(words(` Images from ${host} are now always shown. You can change this in your settings.`));
    lookForImages();
  });
  told.append(" ", button);
}

/** Shows the images whose hosts were chosen, and how many are left to be shown together. */
function lookForImages() {
  for (const issue of document.querySelectorAll("article.issue")) {
    const hosts = hostsOf(issue);
    for (const button of hosts.length ? issue.querySelectorAll(".remote-image") : []) {
      if (hosts.includes(new URL(button.dataset.src).host)) showImage(button, { offersHost: false });
    }
    const all = issue.querySelector(".show-images");
    const n = issue.querySelectorAll(".remote-image").length;
    if (!all || all.dataset.n === String(n)) continue;
    all.dataset.n = String(n);
    all.hidden = n < 2;
    all.textContent = `Show all ${n} images`;
  }
}

lookForImages();
new MutationObserver(lookForImages).observe(document.body, { childList: true, subtree: true });

document.addEventListener("click", (event) => {
  const all = event.target.closest?.(".show-images");
  for (const each of all?.closest("article.issue").querySelectorAll(".remote-image") ?? []) showImage(each);
  const button = event.target.closest?.(".remote-image");
  if (!button) return;
  event.preventDefault(); // It may stand inside a link.
  showImage(button);
});
