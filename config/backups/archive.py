"""Backup archive: a ZIP file that is written in one pass, and checked as a whole before it is used.

`manifest.json` contains the SHA-256 of every other member. The comment at the end of the file contains that of the
manifest.
"""

import fcntl
import hashlib
import io
import json
import os
import re
import struct
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any, cast

from config.backups.errors import Damaged

FORMAT = 1
MANIFEST = "manifest.json"
DUMP = "database.dump"
FILES = "files/"
"""Before the names of stored files."""
KEPT = "kept/"
"""Before the names of files of the data folder."""
PIECE = 1 << 20
WELL_COMPRESSED = (".csv", ".json", ".jsonl", ".md", ".tsv", ".txt")
HALF = ".concord-backup."
_MARK = re.compile(rb"Concord backup, manifest sha256:([0-9a-f]{64})")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    struct.error,
    NotImplementedError,
    RuntimeError,
    KeyError,
    ValueError,
)


@dataclass(frozen=True, kw_only=True)
class ArchiveMember:
    """A file in the archive: its name there, its bytes and their SHA-256."""

    name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What a backup holds, and of what."""

    id: str
    concord: str
    made_at: str
    postgres: int
    migrations: list[list[str]] = field(default_factory=list)
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name: rows, and a checksum that does not depend on their order."""
    objects: dict[str, int] = field(default_factory=dict)
    """How many triggers, functions, indexes, constraints and sequences there are."""
    members: list[ArchiveMember] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """Names of files that rows name and the storage had no more."""
    format: int = FORMAT

    def as_json(self) -> bytes:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1).encode()

    def under(self, prefix: str) -> list[ArchiveMember]:
        """The members whose names begin so."""
        return [member for member in self.members if member.name.startswith(prefix)]


class ArchiveWriter:
    """An archive that is being written; what is added is read in pieces and never held whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = _HashingReader(file)
        self._zip = zipfile.ZipFile(cast(IO[bytes], self._file), "w")
        self.members: list[ArchiveMember] = []

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind:
            self._zip.fp = None  # or it would try to write its end

    def add(self, name: str, source: IO[bytes]) -> ArchiveMember:
        """Takes all of a stream in."""
        info = zipfile.ZipInfo(name, date_time=time.gmtime()[:6])
        info.external_attr = 0o600 << 16
        if name.lower().endswith(WELL_COMPRESSED):
            info.compress_type = zipfile.ZIP_DEFLATED
            info._compresslevel = 1  # type: ignore[attr-defined]
        digest, n_bytes = hashlib.sha256(), 0
        with self._zip.open(info, "w", force_zip64=True) as target:
            while piece := source.read(PIECE):
                digest.update(piece)
                n_bytes += len(piece)
                target.write(piece)
        self.members.append(ArchiveMember(name=name, n_bytes=n_bytes, sha256=digest.hexdigest()))
        return self.members[-1]

    def close(self, manifest: Manifest) -> tuple[int, str]:
        """Writes the manifest and the end; gives the bytes of the whole file and their SHA-256."""
        text = manifest.as_json()
        self._zip.writestr(zipfile.ZipInfo(MANIFEST, date_time=time.gmtime()[:6]), text, zipfile.ZIP_DEFLATED)
        self._zip.comment = b"Concord backup, manifest sha256:" + hashlib.sha256(text).hexdigest().encode()
        self._zip.close()
        return self._file.n_bytes, self._file.digest.hexdigest()


class _HashingReader:
    """Passes bytes on and keeps their number and hash; can't go back, so that the archive is written in one go."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest, self.n_bytes = hashlib.sha256(), 0

    def write(self, piece: bytes) -> int:
        self.digest.update(piece)
        self.n_bytes += len(piece)
        return self._file.write(piece)

    def flush(self) -> None:
        self._file.flush()


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """A file beside `path` that takes its name when the block ends well, and is gone when it does not.

    What a killed process left half written in this folder goes, too: the kernel let go of its lock.
    """
    _remove_halves(path.parent)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=HALF, suffix=".half")
    half = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield file
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
        _sync_folder(path.parent)
    except BaseException:
        half.unlink(missing_ok=True)
        raise


def _remove_halves(folder: Path) -> None:
    for half in folder.glob(f"{HALF}*.half"):
        with suppress(OSError), half.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if half.stat().st_size:  # an empty one may be about to be locked
                half.unlink()


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_backup(path: Path) -> bool:
    """Whether a file ends as backups do."""
    try:
        with zipfile.ZipFile(path) as archive:
            return bool(_MARK.fullmatch(archive.comment))
    except (OSError, *_BROKEN):
        return False


class BackupArchive:
    """A backup to be read. Raises Damaged where the file is none, or not whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
            mark = _MARK.fullmatch(self._zip.comment)
            text = self._zip.read(MANIFEST) if mark else b""
        except OSError as error:
            raise Damaged(f"{path} can't be read: {error.strerror or error}.") from error
        except _BROKEN as error:
            raise Damaged(f"{path} is not a Concord backup, or its end is missing. Take another copy.") from error
        if not mark:
            raise Damaged(f"{path} is not a Concord backup.")
        if hashlib.sha256(text).hexdigest().encode() != mark[1]:
            raise Damaged(f"{path} was changed after it was made: its manifest is another one. Take another copy.")
        try:
            self.manifest = _read_manifest(json.loads(text), path)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise Damaged(f"{path} is not a Concord backup: its manifest can't be read ({error!r}).") from error

    def __enter__(self) -> "BackupArchive":
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()

    def check(self, progress: Callable[[int], None] = lambda n_bytes: None) -> None:
        """Reads all of it once. Raises Damaged where a byte is not as it was written."""
        n_read = 0
        for member in self.manifest.members:
            digest = hashlib.sha256()
            for piece in self.pieces(member.name):
                digest.update(piece)
                n_read += len(piece)
                progress(n_read)
            if digest.hexdigest() != member.sha256:
                raise Damaged(f"{self.path} is damaged: {member.name} is not what was written. Take another copy.")

    def pieces(self, name: str) -> Iterator[bytes]:
        """The bytes of a member. Raises Damaged where they can't be read."""
        try:
            with self._zip.open(name) as source:
                while piece := source.read(PIECE):
                    yield piece
        except (OSError, *_BROKEN) as error:
            raise Damaged(f"{self.path} is damaged: {name} can't be read ({error}). Take another copy.") from error

    def stream(self, name: str) -> IO[bytes]:
        """A member as a file that is read."""
        return io.BufferedReader(_Pieces(self.pieces(name)), PIECE)


class _Pieces(io.RawIOBase):
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._left = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._left = self._left or next(self._pieces, b"")
        n_bytes = min(len(buffer), len(self._left))
        buffer[:n_bytes], self._left = self._left[:n_bytes], self._left[n_bytes:]
        return n_bytes


def _read_manifest(read: dict[str, Any], path: Path) -> Manifest:
    if read.get("format", 0) > FORMAT:
        raise Damaged(
            f"{path} was made by Concord {read.get('concord')}, in a form that this Concord does not know yet. "
            "Restore it with that version or a later one."
        )
    known = {each.name for each in fields(Manifest)}
    given = {name: value for name, value in read.items() if name in known}
    members = [ArchiveMember(**member) for member in read["members"]]
    if wrong := next((member.name for member in members if not _is_place(member.name)), None):
        raise Damaged(f"{path} is not a Concord backup: it has a file named {wrong[:100]!r}.")
    return Manifest(**{**given, "members": members})


def _is_place(name: str) -> bool:
    """Whether a file of this name has a place in the data folder: a path that leads nowhere else."""
    return "\0" not in name and "\\" not in name and not {"", ".", ".."} & set(name.split("/"))


def newest(folder: Path, pattern: str) -> Sequence[Path]:
    """The backups of a folder with such names, the newest first."""
    return sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)
