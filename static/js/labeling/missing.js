// What is missing before an answer is sent: required questions that apply and have neither value nor proposal.

import { isBlank } from "./state.js";

/** [{part (from 0), name, sentence}], in the order of the page; the server judges by the same rule. */
export function missing(state, version) {
  return state.parts.flatMap(({ labels, proposals }, part) => version.applicable(labels)
    .filter(({ key, is_set: isSet, required }) => required && isEmpty(labels[key], isSet) && !proposals[key])
    .map(({ key, title }) => ({ part, name: key, sentence: `“${title}” is required.` })));
}

const isEmpty = (value, isSet) => isBlank(value) || (Array.isArray(value) && !value.length && !isSet);

/** The line above Submit: how many are missing and which, each a button that goes there; nothing for none. */
export function showMissing(place, found, version, nParts, go) {
  place.hidden = !found.length;
  if (!found.length) return place.replaceChildren();
  const buttons = found.map((problem) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = nameOf(problem, version, nParts);
    button.addEventListener("click", () => go(problem));
    return button;
  });
  place.replaceChildren(start(found), ...buttons.flatMap((each, at) => (at ? [", ", each] : [each])), ".");
}

/** The same to be said aloud. */
export const missingWords = (found, version, nParts) =>
  `${start(found)}${found.map((each) => nameOf(each, version, nParts)).join(", ")}.`;

const start = (found) => (found.length === 1 ? "1 answer is missing: " : `${found.length} answers are missing: `);

const nameOf = ({ part, name }, version, nParts) =>
  `${version.byKey.get(name).title}${nParts > 1 ? ` (part ${part + 1})` : ""}`;
