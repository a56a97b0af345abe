// Requests to the server, and what their answers mean.

import { csrfToken } from "../lib/csrf.js";

const TIMEOUT = 30_000;

/** A random key for one request; also where the page is not served by https. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Posts JSON. Answers {outcome, status, html, address}: done, problems (422), stale, refused, signed-out, or away
 * (no connection, a timeout, or a server that is just being restarted).
 */
export async function post(url, body, { cookieName, key = "", signal = null, keepalive = false }) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": csrfToken(cookieName), "HX-Request": "true" };
  if (key) headers["Idempotency-Key"] = key;
  const late = AbortSignal.timeout(TIMEOUT);
  let response;
  let html;
  try {
    response = await fetch(url, {
      method: "POST",
      headers,
      body,
      keepalive,
      signal: signal ? AbortSignal.any([signal, late]) : late,
    });
    html = await response.text();
  } catch {
    return { outcome: signal?.aborted ? "aborted" : "away", status: 0, html: "" };
  }
  const signIn = response.headers.get("HX-Redirect");
  if (signIn) return { outcome: "signed-out", status: response.status, html: "", address: signIn };
  const answer = { status: response.status, html, address: response.headers.get("HX-Replace-Url") };
  if (response.ok && !response.redirected) return { ...answer, outcome: "done" };
  if (response.status === 422) return { ...answer, outcome: "problems" };
  if (response.status === 409 && html.includes('id="stale"')) return { ...answer, outcome: "stale" };
  if (response.status >= 500 || response.status === 429) return { ...answer, outcome: "away" };
  return { ...answer, outcome: "refused" };
}
