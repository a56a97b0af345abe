// In a worklist: what was said earlier of each place, why it is asked anew, and which place comes next.

const here = (question, before, at) =>
  before.filter(({ part, dimension }) => part === at + 1 && dimension === question.dimension.key);

export const isAskedHere = (question, before, at) => here(question, before, at).some((each) => each.is_asked);

/** The parts (from 0) of a state in which something is asked; the first where nothing is. */
export function partsAsked(before, state) {
  const asked = before.filter((each) => each.is_asked && each.part <= state.parts.length).map(({ part }) => part - 1);
  return asked.length ? [...new Set(asked)].sort((a, b) => a - b) : before.length ? [0] : [];
}

/** Where something is asked anew and nothing stands there now, as problems that the form can show. */
export function leftEmpty(answers) {
  const { before, state, version } = answers;
  const places = new Map();
  for (const { part, dimension, is_asked: isAsked } of before) {
    const { labels, proposals } = state.parts[part - 1] ?? {};
    const asked = version.byKey.get(dimension);
    if (!isAsked || !labels || !asked || asked.required || !version.applies(asked, labels)) continue;
    const value = labels[dimension];
    const isEmpty = value === undefined || value === "" || (Array.isArray(value) && !value.length);
    if (isEmpty && !proposals[dimension]?.name) places.set(`${part} ${dimension}`, { part: part - 1, name: dimension });
  }
  const sentence = "This needs a new label. Choose one, or submit again to leave it empty.";
  return [...places.values()].map((place) => ({ ...place, sentence }));
}

/** On from a question: to the next one that is asked anew or still needs an answer, in the parts that follow as well. */
export function nextAsked(answers, question) {
  const waits = (each) => isAskedHere(each, answers.before, answers.at) || (each.dimension.required && !each.isAnswered);
  const { visible } = answers;
  const next = visible.slice(visible.indexOf(question) + 1).find(waits);
  if (next) return next;
  const part = partsAsked(answers.before, answers.state).find((number) => number > answers.at);
  if (part === undefined) return undefined;
  answers.turnTo(part);
  return answers.visible.find(waits) ?? answers.visible[0];
}

/** The line of a question that says what was answered before; the old definition unfolds. */
export function showBefore(question, before, at) {
  const place = question.element.querySelector(".question-before");
  if (!place) return;
  const entries = here(question, before, at);
  const isAsked = entries.some((each) => each.is_asked);
  question.element.classList.toggle("is-asked", isAsked);
  place.hidden = !entries.length;
  place.replaceChildren(...entries.flatMap(lines));
  if (isAsked) place.prepend(Object.assign(document.createElement("span"), { className: "tag", textContent: "asked" }));
}

function lines({ words, values }) {
  const said = Object.assign(document.createElement("p"), { textContent: words });
  const defined = values.filter(({ definition }) => definition);
  if (!defined.length) return [said];
  const fold = document.createElement("details");
  fold.append(Object.assign(document.createElement("summary"), { textContent: "Earlier definition" }));
  for (const { name, definition } of defined) {
    const row = document.createElement("p");
    row.append(Object.assign(document.createElement("strong"), { textContent: name }), ` ${definition}`);
    fold.append(row);
  }
  return [said, fold];
}
