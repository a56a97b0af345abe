"""Lengths of stored texts of issues, by which chunks fit in memory; the database tells them without reading."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from django.db.models import F, Func, IntegerField, Sum

from ingest.models import Snapshot, SnapshotComment
from shared.chunks import chunks

T = TypeVar("T")


def bytes_of(column: str) -> Func:
    """How many bytes a text has. PostgreSQL knows it without unpacking the text."""
    return Func(F(column), function="octet_length", output_field=IntegerField())


def text_chunks(
    rows: Sequence[T], snapshot_of: Callable[[T], int | None], *, comments: bool = True
) -> Iterator[list[T]]:
    """The rows in chunks by the lengths of the titles, bodies and comments of their snapshots (by key).

    A query, and one for comments.
    """
    snapshots = [snapshot for row in rows if (snapshot := snapshot_of(row))]
    own = Snapshot.objects.filter(pk__in=snapshots).order_by()
    lengths: dict[int | None, int] = dict(own.values_list("pk", bytes_of("title") + bytes_of("body")))
    if comments:
        places = SnapshotComment.objects.filter(snapshot__in=snapshots).order_by()
        threads = places.values("snapshot").annotate(length=Sum(bytes_of("comment__body")))
        for snapshot, length in threads.values_list("snapshot", "length"):
            lengths[snapshot] = lengths.get(snapshot, 0) + length
    return chunks(rows, max(1, len(rows)), lambda row: lengths.get(snapshot_of(row), 0))
