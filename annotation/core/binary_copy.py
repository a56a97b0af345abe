"""Binary COPY: integers and floats from the database as arrays, without an object for each value."""

import io
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection

HEAD = struct.Struct(">11sii")
SIGN = b"PGCOPY\n\xff\r\n\0"
END = b"\xff\xff"

KINDS = {"bigint": "i8", "int": "i4", "float8": "f8"}


def read_binary(sql: str, params: Sequence[Any], **columns: str) -> np.ndarray:
    """The rows of a query as a structured array: `columns` are its columns by name, bigint, int or float8, never null.

    Raises ValueError where the query gives other columns. One query; memory: twice the rows.
    """
    file = io.BytesIO()
    with connection.cursor() as cursor:
        said = cursor.mogrify(sql, params)
        with connection.wrap_database_errors:
            cursor.copy_expert(f"COPY ({said.decode()}) TO STDOUT (FORMAT binary)", file, 1 << 16)
    return _rows(file.getbuffer(), columns)


def _rows(sent: memoryview, columns: Mapping[str, str]) -> np.ndarray:
    sign, _, extended = HEAD.unpack_from(sent)
    if sign != SIGN or extended:
        raise ValueError("This is no binary COPY.")
    fields: list[tuple[str, str]] = [("number of fields", ">i2")]
    for name, kind in columns.items():
        fields += [(f"size of {name}", ">i4"), (name, f">{KINDS[kind]}")]
    record = np.dtype(fields)
    n, left = divmod(len(sent) - HEAD.size - len(END), record.itemsize)
    if left or bytes(sent[-len(END) :]) != END:
        raise ValueError("The binary COPY ended amid a row, or holds a value that is null.")
    full = np.frombuffer(sent, dtype=record, count=n, offset=HEAD.size)
    sizes = {f"size of {name}": int(KINDS[kind][1]) for name, kind in columns.items()}
    if any((full[name] != size).any() for name, size in {"number of fields": len(columns), **sizes}.items()):
        raise ValueError("The binary COPY has other columns than were asked for, or holds a value that is null.")
    found = np.empty(n, dtype=[(name, f"={KINDS[kind]}") for name, kind in columns.items()])
    for name in columns:
        found[name] = full[name]
    return found
