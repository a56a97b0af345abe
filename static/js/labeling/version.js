// The version of the taxonomy in the browser: which questions apply, and which categories a few typed letters mean.

const fold = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();

export class Version {
  constructor({ dimensions, user, number, csrf_cookie: csrfCookie, has_password: hasPassword, sign_in_url: signInUrl }) {
    Object.assign(this, { user, number, csrfCookie, hasPassword, signInUrl });
    this.dimensions = dimensions;
    this.byKey = new Map(dimensions.map((dimension) => [dimension.key, dimension]));
    for (const dimension of dimensions) {
      dimension.categories.forEach((category, position) => {
        category.position = position;
        category.path = category.names.slice(0, -1).join(" › ");
        category.words = {
          name: fold(category.name),
          key: fold(category.key),
          path: fold(category.names.join(" ")),
          definition: fold([category.definition ?? "", ...(category.include ?? [])].join(" ")),
        };
      });
      dimension.byKey = new Map(dimension.categories.map((category) => [category.key, category]));
    }
  }

  /** Whether a dimension is asked under the labels of a part; the server judges by the same rule. */
  applies(dimension, labels) {
    const when = dimension.applies_when;
    if (!when) return true;
    const other = this.byKey.get(when.dimension);
    const answer = labels[other.key];
    if (answer === undefined || !this.applies(other, labels)) return false;
    if (typeof answer === "boolean") return when.is.includes(answer);
    if (!Array.isArray(answer)) return false;
    return answer.some((key) => other.byKey.get(key)?.keys.some((above) => when.is.includes(above)));
  }

  applicable(labels) {
    return this.dimensions.filter((dimension) => this.applies(dimension, labels));
  }
}

/** The choosable categories that hold every typed word, best first: name, key, path, definition; of equals the one used last. */
export function found(dimension, query, recent = []) {
  const words = fold(query).split(/[\s/›,]+/).filter(Boolean);
  const scored = [];
  for (const category of dimension.categories) {
    if (!category.selectable) continue;
    let total = 0;
    for (const word of words) {
      const score = rank(category.words, word);
      if (score === null) {
        total = null;
        break;
      }
      total += score;
    }
    if (total !== null) scored.push([total, category]);
  }
  const age = ({ key }) => (recent.includes(key) ? recent.indexOf(key) : recent.length);
  scored.sort(([a, one], [b, other]) => a - b || age(one) - age(other) || one.position - other.position);
  return scored.map(([, category]) => category);
}

/** The sentence by which a category was found whose name and path do not contain all typed words; else empty. */
export function reason(category, query) {
  const { name, key, path } = category.words;
  const hidden = fold(query).split(/[\s/›,]+/).filter((word) => word && ![name, key, path].some((text) => text.includes(word)));
  const told = [category.definition ?? "", ...(category.include ?? [])];
  return hidden.length ? told.find((text) => starts(fold(text), hidden[0])) ?? "" : "";
}

function rank({ name, key, path, definition }, word) {
  if (name.startsWith(word)) return 0;
  if (key === word) return 0;
  if (starts(name, word)) return 1;
  if (key.startsWith(word)) return 2;
  if (starts(path, word)) return 3;
  if (name.includes(word)) return 4;
  if (path.includes(word) || key.includes(word)) return 5;
  if (word.length > 2 && starts(definition, word)) return 8;
  return null;
}

const starts = (text, word) => (` ${text}`.replace(/[^\p{L}\p{N}]+/gu, " ")).includes(` ${word}`);
