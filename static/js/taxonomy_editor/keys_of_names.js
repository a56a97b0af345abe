// Keys: what a name becomes, and which are free.

const MOST = 100;

/** The key that a name would have ("Hang & timeout": hang-and-timeout); empty where no Latin letter is left. */
export function keyOf(name) {
  const plain = name.toLowerCase().replaceAll("ß", "ss").replaceAll("&", " and ").normalize("NFKD");
  const ascii = plain.replace(/[^\x00-\x7f]/g, "");
  return trimmed(trimmed(ascii.replace(/[^a-z0-9_]+/g, "-")).slice(0, MOST));
}

const trimmed = (key) => key.replace(/^[-_]+|[-_]+$/g, "");

/** The first of key, key-2, key-3 … that is not taken. */
export function freeKey(key, taken) {
  if (!taken.has(key)) return key;
  for (let number = 2; ; number += 1) {
    const end = `-${number}`;
    const found = `${trimmed(key.slice(0, MOST - end.length))}${end}`;
    if (!taken.has(found)) return found;
  }
}

/** Whether a key is just what its name gives, so that it may follow the name. */
export function followsName(key, name, fallback) {
  const made = keyOf(name) || fallback;
  return !key || key === made || (key.startsWith(`${made}-`) && /^\d+$/.test(key.slice(made.length + 1)));
}
