"""Parquet pages: what unpacking a column's pages takes, read from the headers of the pages themselves.

The footer's sizes are only told; what a reader allocates is the size in the header of each page (Thrift's compact
protocol, struct PageHeader of parquet-format).
"""

from typing import IO

PAGES_MAX = 200_000
HEADER_BYTES, HEADER_BYTES_MAX = 1 << 12, 1 << 24
DEEPEST = 8
TYPE, UNPACKED_BYTES, PACKED_BYTES = 1, 2, 3
DICTIONARY = 2
I32, STRUCT = 5, 12
MARKS, BYTE, NUMBERS, DOUBLE, TEXT = (1, 2), 3, (4, 5, 6), 7, 8


def largest_pages(file: IO[bytes], start: int, n_bytes: int, pages_max: int = PAGES_MAX) -> tuple[int, int]:
    """Bytes that the largest dictionary and the largest other page of a column chunk take together, and its pages.

    Raises ValueError for a header that can't be read and for more than `pages_max` pages.
    """
    dictionary = other = n_pages = 0
    at = start
    while at < start + n_bytes:
        n_pages += 1
        if n_pages > pages_max:
            raise ValueError(f"it has more than {PAGES_MAX:,} pages")
        header, length = _header_at(file, at)
        unpacked, packed = header.get(UNPACKED_BYTES, 0), header.get(PACKED_BYTES, 0)
        if unpacked < 0 or packed < 0:
            raise ValueError("a page has a size below zero")
        if header.get(TYPE) == DICTIONARY:
            dictionary = max(dictionary, unpacked)
        else:
            other = max(other, unpacked)
        at += length + packed
    return dictionary + other, n_pages


def _header_at(file: IO[bytes], at: int) -> tuple[dict[int, int], int]:
    """The whole numbers of the header at a place of the file, by field, and the header's length."""
    n_bytes = HEADER_BYTES
    while True:
        file.seek(at)
        found = file.read(n_bytes)
        try:
            return _header(found)
        except IndexError:
            if len(found) < n_bytes or n_bytes >= HEADER_BYTES_MAX:
                raise ValueError("the header of a page is not complete") from None
            n_bytes *= 16


def _header(data: bytes) -> tuple[dict[int, int], int]:
    numbers: dict[int, int] = {}
    at = _struct(data, 0, 0, numbers)
    return numbers, at


def _struct(data: bytes, at: int, depth: int, numbers: dict[int, int] | None = None) -> int:
    """Where the struct at `at` ends. Raises IndexError where the data end before, ValueError for what no header has."""
    if depth > DEEPEST:
        raise ValueError("the header of a page is nested too deeply")
    field = 0
    while mark := data[at]:
        at += 1
        kind, step = mark & 15, mark >> 4
        if step:
            field += step
        else:
            number, at = _varint(data, at)
            field = _signed(number)
        if kind in NUMBERS:
            number, at = _varint(data, at)
            if kind == I32 and numbers is not None:
                numbers[field] = _signed(number)
        elif kind == TEXT:
            length, at = _varint(data, at)
            at += length
        elif kind == STRUCT:
            at = _struct(data, at, depth + 1)
        elif kind in (BYTE, DOUBLE):
            at += 1 if kind == BYTE else 8
        elif kind not in MARKS:
            raise ValueError("the header of a page has fields of an unknown kind")
    return at + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of seven bits a byte, cut to 32 bits as the reader cuts it, and where it ends."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number & 0xFFFFFFFF, at
        if shift > 63:
            raise ValueError("a number in the header of a page is too long")


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)
