// What a rater has typed for one issue, as plain data: {parts: [{labels, proposals, memo}], memo, confidence}.

export const emptyPart = () => ({ labels: {}, proposals: {}, memo: "" });
export const emptyState = () => ({ parts: [emptyPart()], memo: "", confidence: null });

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
    })),
    memo: inParts ? text(given.memo) : "",
    confidence: [1, 2, 3].includes(given.confidence) ? given.confidence : null,
  };
}

export const isBlank = (value) => value === undefined || value === null || value === "";

export const isEmptyPart = (part) =>
  !part.memo && !Object.keys(part.proposals).length && Object.values(part.labels).every(isBlank);

/** The request's body: of each part the questions that apply; what was typed under others stays in the draft. */
export function bodyOf(state, version) {
  const parts = state.parts.map(({ labels, proposals, memo }) => {
    const part = { labels: {}, proposals: {}, memo };
    for (const dimension of version.applicable(labels)) {
      const value = labels[dimension.key];
      if (!isBlank(value) && !(Array.isArray(value) && !value.length && dimension.kind !== "multi")) {
        part.labels[dimension.key] = dimension.kind === "number" ? numberOf(value) : value;
      }
      const proposal = proposals[dimension.key];
      if (proposal) part.proposals[dimension.key] = { name: proposal.name ?? "", memo: proposal.memo ?? "" };
    }
    return part;
  });
  const body = parts.length === 1 && !state.memo ? parts[0] : { parts, memo: state.memo };
  return state.confidence ? { ...body, confidence: state.confidence } : body;
}

function numberOf(value) {
  const number = typeof value === "number" ? value : Number(value.trim());
  return Number.isFinite(number) ? number : value; // The server says in words what is wrong with it.
}
