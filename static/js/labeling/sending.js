// Requests to the server, and what their answers mean.

import { csrfToken } from "../lib/csrf.js";

const TIMEOUT = 30_000;

/** A random key for one request; also where the page is not served by https. */
export function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Server {
  /** `version` says whose page this is, which cookie holds the token, and where to sign in again. */
  constructor({ user, csrfCookie, signInUrl }) {
    Object.assign(this, { person: String(user), cookieName: csrfCookie, signInUrl });
  }

  /**
   * Posts JSON. Answers {outcome, status, html, address}: done, problems (422), stale, refused, signed-out, another
   * (someone else is signed in now), or away (no connection, a timeout, or a server that is just being restarted).
   */
  async post(url, body, { key = "", signal = null, keepalive = false, readings = [] } = {}) {
    const late = AbortSignal.timeout(TIMEOUT);
    let response;
    let html;
    try {
      if (!keepalive) await this.needToken();
      const headers = {
        "Content-Type": "application/json",
        "X-CSRFToken": csrfToken(this.cookieName),
        "HX-Request": "true",
        "Concord-Person": this.person,
      };
      if (key) headers["Idempotency-Key"] = key;
      if (readings.length) headers["Has-Reading"] = readings.join(" ");
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
    if (response.headers.get("Concord-Person")) return { ...answer, outcome: "another" };
    if (response.ok && !response.redirected) return { ...answer, outcome: "done" };
    if (response.status === 422) return { ...answer, outcome: "problems" };
    if (response.status === 409 && html.includes('id="stale"')) return { ...answer, outcome: "stale" };
    if (response.status >= 500 || response.status === 429) return { ...answer, outcome: "away" };
    return { ...answer, outcome: "refused" };
  }

  /** The text at an address, or null; it gives way to everything else that is loaded. */
  async lookAhead(url, signal) {
    try {
      const response = await fetch(url, { headers: { "HX-Request": "true" }, priority: "low", signal });
      return response.status === 200 && !response.redirected ? await response.text() : null;
    } catch {
      return null;
    }
  }

  /** The id of the person who is signed in now, or null. Brings the cookie that a request needs. */
  async present() {
    const response = await fetch(this.signInUrl, { signal: AbortSignal.timeout(TIMEOUT) });
    return (await response.json()).person;
  }

  /** Signs in again: "" when that is done, else the sentence that says why not. */
  async signIn(username, password) {
    try {
      await this.needToken();
      const response = await fetch(this.signInUrl, {
        method: "POST",
        headers: { "X-CSRFToken": csrfToken(this.cookieName) },
        body: new URLSearchParams({ username, password, person: this.person }),
        signal: AbortSignal.timeout(TIMEOUT),
      });
      if (response.ok) return "";
      const isJson = response.headers.get("Content-Type")?.includes("json");
      return (isJson && (await response.json()).message) || `The server rejected this (${response.status}). Try again.`;
    } catch {
      return "The server can't be reached. Try again in a moment.";
    }
  }

  /** A browser whose cookies were cleared has no token, and without one the server takes nothing. */
  async needToken() {
    if (!document.cookie.includes(`${this.cookieName}=`)) await this.present();
  }
}
