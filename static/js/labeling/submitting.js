// Freezes an answer into a request that is stored once, whatever happens on the way: one body, one key.

import { newKey } from "./sending.js";

/**
 * The request for an answer. `old` is one that waits for the same assignment: the same content again, also after a
 * reload, is that request with its key. `state` is what the rater typed, to be brought back if it is not taken.
 */
export function freeze(turn, content, { state, seconds, old }) {
  const same = JSON.stringify(content);
  const isResend = old && old.expected === turn.revision && old.same === same && old.snapshot === turn.snapshot;
  if (isResend) return old;
  return {
    assignment: turn.assignment,
    name: turn.name,
    url: turn.submit_url,
    expected: turn.revision,
    key: newKey(),
    same,
    snapshot: turn.snapshot,
    body: JSON.stringify({ ...content, seconds, expected: turn.revision, snapshot: turn.snapshot }),
    state: structuredClone(state),
    skip: content.skip ?? "",
    at: Date.now(),
  };
}
