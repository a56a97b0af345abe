"""Parquet sheets: the rows of a file as text.

Run as a program it writes the rows of its standard input as JSON: some damaged files end the process that Arrow is in.
"""

import json
import re
import resource
import sys
from collections.abc import Iterator
from datetime import date, datetime
from itertools import accumulate
from typing import IO, Any

from annotation.core.errors import Unreadable
from annotation.core.parquet_pages import PAGES_MAX, largest_pages
from ingest.tables import TableRow as Row
from ingest.tables.workbooks import EXPANDED_BYTES_MAX
from taxonomy.kinds.number import number_words

ROWS_MAX = 1_000_000
COLUMNS_MAX = 2_000
CELLS_MAX = 50_000_000
BATCH = 5_000
BATCH_CELLS = 500_000
BATCH_BYTES_MAX = 64 << 20
PAGES_BYTES_MAX = 128 << 20
LISTED_MAX = 10_000_000
"""Values of one column of lists that are stored together, of which one row can hold all."""
SECONDS_MAX = 900
"""Of a processor, for one file."""
REFUSAL = "unreadable"

_NEW_PARQUET_MR = re.compile(r"parquet-mr version (?:1\.(?:[3-9]|[1-9][0-9])\.|[2-9])")


def read_parquet(file: IO[bytes]) -> Iterator[Row]:
    """The names of the columns as line 0, then the rows from 1; those without any text are left out.

    What the file says of its size is looked at before anything is unpacked. Texts stay the dictionaries they are stored
    as until it is known how long they are, for a few bytes can repeat a long one without end.
    """
    from pyarrow import ArrowException, parquet

    try:
        metadata = parquet.read_metadata(file)
        texts = _text_columns(metadata)
        _require_small_pages(file, metadata)
        file.seek(0)
        with parquet.ParquetFile(file, read_dictionary=texts) as source:
            names = [name.strip() for name in source.schema_arrow.names]
            yield Row(0, names)
            line = 0
            for batch in source.iter_batches(batch_size=max(1, min(BATCH, BATCH_CELLS // max(1, len(names))))):
                for values in zip(*(_values(column) for column in batch.columns), strict=True):
                    line += 1
                    cells = [_text(value) for value in values]
                    if any(cell and not cell.isspace() for cell in cells):
                        yield Row(line, cells)
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        raise Unreadable(f"The Parquet file can't be read: {error}") from error


def _text_columns(metadata: Any) -> list[str]:
    """The names of its columns of texts; raises Unreadable for a file that is larger or deeper than a sheet."""
    from pyarrow import types

    if metadata.num_columns > COLUMNS_MAX:
        raise Unreadable(f"The file has more than {COLUMNS_MAX} columns.")
    if metadata.num_rows > ROWS_MAX:
        raise Unreadable(f"The sheet has more than {ROWS_MAX:,} rows. Import it in pieces.")
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    if sum(group.total_byte_size for group in groups) > EXPANDED_BYTES_MAX:
        raise Unreadable("The file is larger than a gigabyte when unpacked. Import it in pieces.")
    for field in metadata.schema.to_arrow_schema():
        of = field.type.value_type if types.is_list(field.type) or types.is_large_list(field.type) else field.type
        if types.is_nested(of):
            raise Unreadable(f"The column “{field.name[:100]}” contains tables within cells. Use one value or a list.")
        if types.is_dictionary(of):
            of = of.value_type
        if types.is_binary(of) or types.is_large_binary(of) or types.is_fixed_size_binary(of):
            raise Unreadable(f"The column “{field.name[:100]}” contains bytes, not text. Save it as text.")
    columns = [group.column(at) for group in groups for at in range(group.num_columns)]
    listed = metadata.num_columns and max((each.num_values for each in columns), default=0)
    if listed > LISTED_MAX or sum(each.num_values for each in columns) > CELLS_MAX:
        raise Unreadable(f"The sheet has more than {CELLS_MAX:,} values. Import it in pieces.")
    leaves = [metadata.schema.column(at) for at in range(metadata.num_columns)]
    texts = [each for each in leaves if each.physical_type == "BYTE_ARRAY"]
    if others := [each for each in texts if each.logical_type.type != "STRING"]:  # these are never read as dictionaries
        kind = others[0].logical_type.type
        raise Unreadable(
            f"The column “{others[0].path[:100]}” contains texts of the kind {kind}. Save it as plain text."
        )
    return [each.path for each in texts]


def _require_small_pages(file: IO[bytes], metadata: Any) -> None:
    """Raises Unreadable where the pages that are in memory at once are large: by their own headers, not the footer.

    Of files of parquet-mr before 1.3 Arrow reads beyond the end that the footer names, so they are not read.
    """
    if str(metadata.created_by).startswith("parquet-mr") and not _NEW_PARQUET_MR.match(metadata.created_by):
        raise Unreadable("The Parquet file was written by parquet-mr before version 1.3. Write it with a newer one.")
    pages_left = PAGES_MAX
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        n_bytes = 0
        for column in map(group.column, range(group.num_columns)):
            dictionary = column.dictionary_page_offset or column.data_page_offset
            start = min(dictionary, column.data_page_offset)
            size, n_pages = largest_pages(file, start, column.total_compressed_size, pages_left)
            pages_left -= n_pages
            n_bytes += size
        if n_bytes > PAGES_BYTES_MAX:
            raise Unreadable(
                f"The pages of the Parquet file take more than {PAGES_BYTES_MAX >> 20} MB at once when unpacked. Write "
                "it with smaller pages, or import it as CSV."
            )


def _values(column: Any) -> list[Any]:
    import pyarrow
    from pyarrow import compute

    if isinstance(column, pyarrow.ListArray | pyarrow.LargeListArray):
        if (compute.sum(compute.list_value_length(column)).as_py() or 0) > BATCH_CELLS:
            raise Unreadable(f"{BATCH:,} rows contain more than {BATCH_CELLS:,} values in lists. Import it as CSV.")
        words, lengths = _values(column.flatten()), compute.list_value_length(column).to_pylist()
        ends = list(accumulate(length or 0 for length in lengths))
        return [
            None if length is None else words[end - length : end] for length, end in zip(lengths, ends, strict=True)
        ]
    if not isinstance(column, pyarrow.DictionaryArray):
        found: list[Any] = column.to_pylist()
        return found
    lengths = compute.binary_length(column.dictionary).take(column.indices)
    if (compute.sum(lengths).as_py() or 0) > BATCH_BYTES_MAX:
        raise Unreadable(f"{BATCH:,} rows contain more than {BATCH_BYTES_MAX >> 20} MB of text. Import it as CSV.")
    words = column.dictionary.to_pylist()
    return [None if at is None else words[at] for at in column.indices.to_pylist()]


def _text(value: Any) -> str:
    """A value as it would stand in CSV: whole numbers without a fraction, true and false in small letters."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            if value != value:
                return ""
            return number_words(value)
        case datetime() | date():
            return value.isoformat()
        case list() | tuple():
            return "; ".join(_text(each) for each in value) if value else "[]"
        case _:
            return str(value)


def main() -> None:
    """Writes each row as a line `[number, cells]`; last comes `{}`, or `{"unreadable": why}`."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_MAX, SECONDS_MAX))
    last = {}
    try:
        for row in read_parquet(sys.stdin.buffer):
            print(json.dumps([row.line, row.cells]))
    except Unreadable as error:
        last = {REFUSAL: str(error)}
    print(json.dumps(last))


if __name__ == "__main__":
    main()
