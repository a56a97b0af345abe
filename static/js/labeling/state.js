// What a rater has typed for one issue, as plain data: {parts: [{labels, proposals, memo}], memo, confidence, flag}.

export const emptyPart = () => ({ labels: {}, proposals: {}, memo: "", evidence: [] });
export const emptyState = () => ({ parts: [emptyPart()], memo: "", confidence: null, flag: false });

const object = (value) => (value && typeof value === "object" && !Array.isArray(value) ? value : {});
const text = (value) => (typeof value === "string" ? value : "");

/** A state from a draft or an answer, whoever wrote it. */
export function readState(raw) {
  const given = object(raw);
  const inParts = Array.isArray(given.parts) && given.parts.length > 0;
  const parts = inParts ? given.parts : [given];
  return {
    parts: parts.map((part) => ({
      labels: structuredClone(object(part?.labels)),
      proposals: structuredClone(object(part?.proposals)),
      memo: text(part?.memo),
      evidence: readQuotes(part?.evidence),
    })),
    memo: inParts ? text(given.memo) : "",
    confidence: [1, 2, 3].includes(given.confidence) ? given.confidence : null,
    flag: given.flag === true,
  };
}

function readQuotes(raw) {
  const given = Array.isArray(raw) ? raw : [];
  return given.filter((each) => ["dimension", "where", "quote"].every((name) => text(object(each)[name]))).map((each) => structuredClone(each));
}

export const isBlank = (value) => value === undefined || value === null || value === "";

export const isEmptyPart = (part) =>
  !part.memo && !part.evidence.length && !Object.keys(part.proposals).length && Object.values(part.labels).every(isBlank);

/** Whether a quote speaks for an answer that is given now; one that does not is kept, and not sent. */
export function speaksFor({ dimension: key, category }, { labels, proposals }, version) {
  const dimension = version.byKey.get(key);
  if (!dimension || !version.applies(dimension, labels)) return false;
  if (category === "PENDING") return Boolean(proposals[key]);
  const value = labels[key];
  return Array.isArray(value) ? value.includes(category) : !isBlank(value);
}

/** The request's body: of each part the questions that apply; what was typed under others stays in the draft. */
export function bodyOf(state, version) {
  const parts = state.parts.map(({ labels, proposals, memo, evidence }) => {
    const part = { labels: {}, proposals: {}, memo };
    const quotes = evidence.filter((quote) => speaksFor(quote, { labels, proposals }, version));
    if (quotes.length) part.evidence = quotes;
    for (const dimension of version.applicable(labels)) {
      const value = labels[dimension.key];
      if (!isBlank(value) && !(Array.isArray(value) && !value.length && !dimension.is_set)) {
        part.labels[dimension.key] = dimension.is_number ? numberOf(value) : value;
      }
      const proposal = proposals[dimension.key];
      if (proposal) part.proposals[dimension.key] = { name: proposal.name ?? "", memo: proposal.memo ?? "" };
    }
    return part;
  });
  const body = parts.length === 1 && !state.memo ? parts[0] : { parts, memo: state.memo };
  return { ...body, ...(state.confidence && { confidence: state.confidence }), ...(state.flag && { flag: true }) };
}

function numberOf(value) {
  const number = typeof value === "number" ? value : Number(value.trim());
  return Number.isFinite(number) ? number : value; // The server says in words what is wrong with it.
}
