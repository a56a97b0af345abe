"""Rows of whole numbers and floats from the database as arrays, by a binary COPY: no object is made for a value."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection

HEAD = struct.Struct(">11sii")
SIGN = b"PGCOPY\n\xff\r\n\0"
END = b"\xff\xff"
PART_BYTES = 1 << 20


class Rows:
    """A file that is written to and turns full records into arrays as they come, so that no answer lies there twice."""

    def __init__(self, kinds: Sequence[str]) -> None:
        fields: list[tuple[str, str]] = [("n", ">i2")]
        for place, kind in enumerate(kinds):
            fields += [(f"size {place}", ">i4"), (f"value {place}", f">{kind}")]
        self.record = np.dtype(fields)
        self.kinds = np.dtype([(f"value {place}", f"={kind}") for place, kind in enumerate(kinds)])
        self.held = bytearray()
        self.parts: list[np.ndarray] = []
        self.is_begun = False

    def write(self, data: bytes) -> int:
        self.held += data
        if len(self.held) >= PART_BYTES:
            self.turn()
        return len(data)

    def turn(self) -> None:
        if not self.is_begun:
            sign, _, extended = HEAD.unpack_from(self.held)
            if sign != SIGN or extended:
                raise ValueError("This is no binary COPY.")
            del self.held[: HEAD.size]
            self.is_begun = True
        n = len(self.held) // self.record.itemsize
        if n:
            full = np.frombuffer(bytes(self.held[: n * self.record.itemsize]), dtype=self.record)
            self.parts.append(full[list(self.kinds.names or ())].astype(self.kinds))
            del self.held[: n * self.record.itemsize]

    def whole(self) -> np.ndarray:
        self.turn()
        if bytes(self.held) != END:
            raise ValueError("The binary COPY ended amid a row, or holds a value that is null.")
        return np.concatenate(self.parts) if self.parts else np.zeros(0, dtype=self.kinds)


KINDS = {"bigint": "i8", "int": "i4", "float8": "f8"}


def read_binary(sql: str, params: Sequence[Any], **columns: str) -> np.ndarray:
    """The rows of a query as a structured array: `columns` are its columns by name, bigint, int or float8, never null.

    Raises ValueError where the query gives other columns. One query; memory: the array, and a mebibyte.
    """
    rows = Rows([KINDS[kind] for kind in columns.values()])
    with connection.cursor() as cursor:
        said = cursor.mogrify(sql, params)
        with connection.wrap_database_errors:
            cursor.copy_expert(f"COPY ({said.decode()}) TO STDOUT (FORMAT binary)", rows, 1 << 16)
    found = rows.whole()
    found.dtype.names = tuple(columns)
    return found
