"""Study file: how it is written, and how an untrusted one is opened."""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import orjson

from annotation.core.archive import CHECKSUMS, PIECE
from annotation.core.errors import Invalid
from shared.storable_json import n_values

KIND, FORMAT = "concord study", 3
TABLES_SINCE = {"meeting": 2, "meetingresolution": 2, "activities": 3}
"""The format from which on a file holds a table, where it is not the first; an earlier file has no rows of it."""
MANIFEST = "manifest.json"
FOLDER = "tables"
MANIFEST_BYTES_MAX = 1 << 20
LINE_BYTES_MAX = 64 << 20
LINE_VALUES_MAX = 2_000_000
"""So many values, counted by their marks, a row may hold: each takes up to 30 times its bytes once it is read."""
TABLES_MOST = 200
UNPACKED_AT_LEAST = 256 << 20
EXPANSION_MOST = 100
"""How many times larger than the file what is in it may be, beyond UNPACKED_AT_LEAST bytes."""
_NAME = re.compile(r"[a-z]{1,40}\Z")
BROKEN = (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError, EOFError, ValueError)
"""What reading an entry raises: broken, with a password, or packed in a way that nobody here knows."""


def path_of(table: str) -> str:
    """Where the rows of a table lie in the file."""
    return f"{FOLDER}/{table}.jsonl"


def rejection(sentence: str) -> Invalid:
    """A file that is not taken, in words."""
    return Invalid(f"{sentence} Nothing was saved.", code="study_file", fields={"file": [sentence]})


@dataclass(frozen=True)
class TableFile:
    """What the manifest says of one table."""

    name: str
    rows: int
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class StudyFile:
    """A file that was opened: its form is right, and nothing in it is read but what the manifest names."""

    archive: zipfile.ZipFile
    manifest: Mapping[str, Any]
    tables: Mapping[str, TableFile]

    @property
    def n_rows(self) -> int:
        return sum(each.rows for each in self.tables.values())

    @property
    def slug(self) -> str:
        return str(self.manifest.get("slug") or "")

    @property
    def title(self) -> str:
        return str(self.manifest.get("title") or "")

    def check(self) -> Iterator[str]:
        """Reads every table once, and names it before; raises Invalid where a hash or a number of rows differs."""
        for name, table in self.tables.items():
            yield name
            digest, n_rows = hashlib.sha256(), 0
            try:
                with self.archive.open(path_of(name)) as file:
                    while piece := file.read(PIECE):
                        digest.update(piece)
                        n_rows += piece.count(b"\n")
            except BROKEN as error:
                raise rejection(f"The table {name} of the file can't be read.") from error
            if digest.hexdigest() != table.sha256 or n_rows != table.rows:
                raise rejection(
                    f"The table {name} has changed since the file was created: its SHA-256 differs from that "
                    "in the manifest. Copy the file again, or export the study again."
                )

    def lines(self, name: str) -> Iterator[bytes]:
        """The rows of a table, each as JSON; raises Invalid for one that is too long."""
        if name not in self.tables:
            return
        with self.archive.open(path_of(name)) as file:
            while line := file.readline(LINE_BYTES_MAX + 1):
                if len(line) > LINE_BYTES_MAX:
                    raise rejection(f"A row of the table {name} is larger than {LINE_BYTES_MAX >> 20} MB.")
                if n_values(line) > LINE_VALUES_MAX:
                    raise rejection(f"A row of the table {name} has more than {LINE_VALUES_MAX:,} values.")
                yield line


def open_study(file: IO[bytes], tables: Sequence[str]) -> StudyFile:
    """Opens a file that should be a study with these tables. Raises Invalid, in words, for anything else."""
    size = file.seek(0, 2)
    file.seek(0)
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError) as error:
        raise rejection("This is not a full export: it can't be opened as a ZIP file.") from error
    entries = archive.infolist()
    names = [each.filename for each in entries]
    expected = {MANIFEST, CHECKSUMS, *map(path_of, tables)}
    if MANIFEST not in names:
        raise rejection("This is not a full export: it has no manifest. A replication package can't be imported.")
    if strange := [name for name in names if name not in expected]:
        raise rejection(f"The file contains “{strange[0][:80]}”, which does not belong to a full export.")
    if len(set(names)) < len(names):
        raise rejection("The file contains two entries with the same name.")
    unpacked = sum(each.file_size for each in entries)
    if unpacked > max(UNPACKED_AT_LEAST, EXPANSION_MOST * size):
        raise rejection(f"The file would be {unpacked:,} bytes when unpacked, far too many for its {size:,}.")
    manifest = _manifest(archive)
    return StudyFile(archive, manifest, _tables(manifest, set(tables), names))


def _manifest(archive: zipfile.ZipFile) -> dict[str, Any]:
    try:
        with archive.open(MANIFEST) as file:
            text = file.read(MANIFEST_BYTES_MAX + 1)
        found = orjson.loads(text) if len(text) <= MANIFEST_BYTES_MAX else None
    except BROKEN as error:
        raise rejection("The manifest of the file can't be read.") from error
    if not isinstance(found, dict) or found.get("kind") != KIND or type(found.get("format")) is not int:
        raise rejection("The manifest of the file is not that of a full export.")
    if found["format"] > FORMAT:
        made_by = str(found.get("concord"))[:20]
        raise rejection(f"The file was created by a newer Concord ({made_by}). Upgrade this server first.")
    return found


def _tables(manifest: Mapping[str, Any], known: set[str], names: Sequence[str]) -> dict[str, TableFile]:
    told = manifest.get("tables")
    if not isinstance(told, list) or len(told) > TABLES_MOST:
        raise rejection("The manifest of the file names no tables.")
    found: dict[str, TableFile] = {}
    for each in told:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or not _NAME.match(name) or name in found or path_of(name) not in names:
            raise rejection("The manifest of the file names a table that is missing.")
        numbers = [each.get("rows"), each.get("bytes")]
        if not all(type(number) is int and 0 <= number < 1 << 50 for number in numbers):
            raise rejection(f"The manifest of the file lacks the size of the table {name}.")
        found[name] = TableFile(name, each["rows"], each["bytes"], str(each.get("sha256")))
    later = {name for name in known if TABLES_SINCE.get(name, 1) > manifest["format"]}
    if missing := sorted(known - later - set(found)):
        raise rejection(f"The file lacks the table {missing[0]}.")
    return found
