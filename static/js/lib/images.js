// Remote images are fetched only when someone asks for one: a click must not tell other sites who reads what.

/** Puts the image in the place of its button. */
export function showImage(button) {
  const image = document.createElement("img");
  image.className = "shown-image";
  image.alt = button.dataset.alt;
  image.referrerPolicy = "no-referrer";
  if (button.dataset.width) image.width = Number(button.dataset.width);
  image.addEventListener("error", () => {
    const words = document.createElement("span");
    words.className = "muted";
    words.textContent = `${button.dataset.alt || "The image"} can't be shown; its address: ${button.dataset.src}`;
    image.replaceWith(words);
  });
  image.src = button.dataset.src;
  button.replaceWith(image);
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.(".remote-image");
  if (!button) return;
  event.preventDefault(); // It may stand inside a link.
  showImage(button);
});
