// Remote images are fetched only when someone asks for one: a click must not tell other sites who reads what.
// Each is shown in a document of its own, for no other page may load anything from elsewhere; nothing runs in there.

const words = (text, name = "") => {
  const element = document.createElement("span");
  element.className = name;
  element.textContent = text;
  return element;
};

/** Puts the image in the place of its button, in a frame as large as the image. */
export function showImage(button) {
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
    link.textContent = image?.naturalWidth ? "open by itself" : `${alt || "The image"} can't be shown here; open it by itself`;
    told.replaceChildren(link);
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

document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".remote-image");
  if (!button) return;
  event.preventDefault(); // It may stand inside a link.
  showImage(button);
});
