// The token that requests by script carry.

/** The token from the cookie: it changes when the person signs in again in another tab. */
export function csrfToken(cookieName) {
  const found = document.cookie.split("; ").find((each) => each.startsWith(`${cookieName}=`));
  if (found) return decodeURIComponent(found.slice(cookieName.length + 1));
  return JSON.parse(document.body.getAttribute("hx-headers") ?? "{}")["X-CSRFToken"] ?? "";
}
