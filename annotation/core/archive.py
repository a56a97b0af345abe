"""ZIP archive that is byte-identical for the same contents."""

import hashlib
import zipfile
from collections.abc import Iterable
from datetime import date
from typing import IO, Self

PIECE = 1 << 20
CHECKSUMS = "CHECKSUMS.txt"
EARLIEST = date(1980, 1, 1)
"""No file in a zip can be older."""


class ZipArchive:
    """Files go in one after the other, all of one day; `close` adds their SHA-256 in `CHECKSUMS.txt`."""

    def __init__(self, file: IO[bytes], day: date) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True)
        self._day = max(day, EARLIEST)
        self.digests: dict[str, str] = {}
        self.sizes: dict[str, int] = {}

    def add(self, path: str, content: bytes | str) -> None:
        """A file as a whole. Raises ValueError for a path that is there already."""
        told = content.encode() if isinstance(content, str) else content
        with self._open(path) as place:
            place.write(told)
        self._known(path, hashlib.sha256(told).hexdigest(), len(told))

    def add_file(self, path: str, file: IO[bytes]) -> None:
        """An open file from its beginning, in steady memory. Raises ValueError for a path that is there already."""
        digest, size = hashlib.sha256(), 0
        file.seek(0)
        with self._open(path) as place:
            while piece := file.read(PIECE):
                digest.update(piece)
                size += len(piece)
                place.write(piece)
        self._known(path, digest.hexdigest(), size)

    def add_lines(self, path: str, lines: Iterable[bytes]) -> int:
        """A file line by line, in steady memory; how many there were. Raises ValueError for a path that is there."""
        digest, size, n_lines = hashlib.sha256(), 0, 0
        with self._open(path) as place:
            for line in lines:
                digest.update(line)
                size += len(line)
                n_lines += 1
                place.write(line)
        self._known(path, digest.hexdigest(), size)
        return n_lines

    def close(self) -> None:
        lines = [f"{digest}  {path}\n" for path, digest in sorted(self.digests.items())]
        with self._open(CHECKSUMS) as place:
            place.write("".join(lines).encode())
        self._zip.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: type[BaseException] | None, *more: object) -> None:
        if error is None:
            self.close()

    def _open(self, path: str) -> IO[bytes]:
        if path in self.digests:
            raise ValueError(f"{path} is in the archive already.")
        entry = zipfile.ZipInfo(path, (self._day.year, self._day.month, self._day.day, 0, 0, 0))
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.create_system = 3
        entry.external_attr = 0o100644 << 16
        return self._zip.open(entry, "w", force_zip64=True)

    def _known(self, path: str, digest: str, size: int) -> None:
        self.digests[path], self.sizes[path] = digest, size
