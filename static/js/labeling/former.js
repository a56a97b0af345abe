// Answers that this browser kept under the numbers that assignments had before they had UUIDs: looked up by their item.

/** Gives what is kept under a number its new name, so that it is sent; what the server does not find stays as it is. */
export async function renameFormer(shelf) {
  for (const kind of ["submit", "refused"]) {
    for (const entry of shelf.all(kind)) {
      if (!/^\d+$/.test(String(entry.assignment))) continue;
      const found = await newName(entry);
      if (!found) continue;
      if (!shelf.read(kind, found.assignment)) shelf.keep(kind, found.assignment, { ...entry, ...found });
      if (!shelf.isClosed) shelf.drop(kind, entry.assignment);
    }
  }
}

async function newName({ url, name }) {
  try {
    const place = String(url).replace(/\d+\/$/, `of/?item=${encodeURIComponent(name)}`);
    const response = await fetch(place, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(30_000) });
    return response.ok && !response.redirected ? await response.json() : null;
  } catch {
    return null; // Next time.
  }
}
