"""Kinds of exports; a new kind is one entry of KINDS, and its columns in `columns.py`."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, cast

from django.apps import apps
from django.db.models import Max
from django.utils.module_loading import import_string

from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.exports import column_descriptions
from annotation.exports.column_descriptions import ExportPageText
from annotation.exports.columns import FORMATS, write
from annotation.exports.queries import metadata, rows
from annotation.exports.queries.options import REFUSED, reader
from annotation.exports.queries.requests import ExportKind, ExportProgress, ExportRequest, Write
from annotation.models import Round, RoundItem

FILE_KINDS: Mapping[str, str] = cast("Any", apps.get_app_config("annotation")).file_kinds
NAMES = {"round": "round_number"}
"""What options are called where rows are read."""


def write_rows(asked: ExportRequest, seat: Seat, file: IO[bytes], progress: ExportProgress) -> None:
    """Writes labels, ratings, resolutions or issues, and tells about how many rows there will be."""
    options = {NAMES.get(name, name): value for name, value in asked.options.items()}
    if asked.what == "ratings":
        options["whole_only"] = True
    sizes = _sizes(KINDS[asked.what].rounds(seat, asked.options))

    def tell(n_rows: int, place: tuple[int, int] | None) -> None:
        if place is None or not n_rows:
            progress(n_rows)
            return
        number, position = place
        read = sum(size for each, size in sizes.items() if each < number) + position
        progress(n_rows, n_expected=max(n_rows, round(n_rows * sum(sizes.values()) / max(read, 1))))

    for piece in rows.file_pieces(seat, asked.what, asked.format, options, tell):
        file.write(piece)


def _sizes(rounds: Sequence[Round]) -> dict[int, int]:
    """Number of a round → the last position in it; one query."""
    found = RoundItem.objects.filter(round__in=[each.pk for each in rounds]).order_by().values("round__number")
    return {row["round__number"]: row["last"] for row in found.annotate(last=Max("position"))}


def _row_by_row(found: Callable[[Seat, Mapping[str, Any]], Iterator[dict[str, Any]]]) -> Write:
    """Writes what a reading gives, row after row."""

    def written(asked: ExportRequest, seat: Seat, file: IO[bytes], progress: ExportProgress) -> None:
        def counted() -> Iterator[dict[str, Any]]:
            n_rows = 0
            for n_rows, row in enumerate(found(seat, asked.options), start=1):
                yield row
                if n_rows % rows.TOLD_EVERY == 0:
                    progress(n_rows)
            progress(n_rows)

        for piece in write(asked.what, asked.format, counted()):
            file.write(piece)

    return written


def _evidence(seat: Seat, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The quotes under ratings, without blind rounds, one's own there too."""
    found = rows.evidence(seat, round_number=options.get("round"), dimension=options.get("dimension"), whole_only=True)
    return rows.flat(seat, found)


def rounds_in_sight(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """The rounds whose answers a file of this person may hold, or the one that is asked for."""
    return rows.in_sight(seat, options.get("round"))


def counted_rounds(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """The rounds of every kind whose answers a file of this person counts."""
    rounds = Round.objects.filter(study=seat.study).exclude(state=Round.State.DRAFT)
    return list(rounds.exclude(pk__in=seat.hidden_round_ids).order_by("number"))


def no_rounds(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """For files that hold no answers."""
    return ()


def kind_of_rows(
    title: str,
    write: Write,
    *takes: str,
    formats: Sequence[str] = FORMATS,
    rounds: Callable[[Seat, Mapping[str, Any]], Sequence[Round]] = no_rounds,
    on_page: ExportPageText | None = None,
    has_texts: bool = False,
    has_single_answers: bool = False,
    names_queues: bool = False,
) -> ExportKind:
    """A kind of file that holds rows and takes these of the usual options."""
    read = reader(*takes)
    return ExportKind(title, formats, write, read, rounds, takes, on_page, has_texts, has_single_answers, names_queues)


KINDS: dict[str, ExportKind] = {
    "labels": kind_of_rows(
        "Agreed labels",
        write_rows,
        "round",
        "dimension",
        "version",
        "shape",
        rounds=rounds_in_sight,
        on_page=column_descriptions.LABELS,
    ),
    "ratings": kind_of_rows(
        "Ratings",
        write_rows,
        "round",
        "dimension",
        "version",
        "revision",
        "raters",
        "shape",
        rounds=rounds_in_sight,
        on_page=column_descriptions.RATINGS,
        has_single_answers=True,
    ),
    "resolutions": kind_of_rows(
        "Resolutions", write_rows, "round", "dimension", rounds=rounds_in_sight, on_page=column_descriptions.RESOLUTIONS
    ),
    "evidence": kind_of_rows(
        "Evidence",
        _row_by_row(_evidence),
        "round",
        "dimension",
        rounds=rounds_in_sight,
        has_texts=True,
        has_single_answers=True,
    ),
    "items": kind_of_rows("Items", _row_by_row(metadata.items), names_queues=True),
    "issues": kind_of_rows(
        "Issues with their texts",
        write_rows,
        rounds=counted_rounds,
        on_page=column_descriptions.ISSUES,
        has_texts=True,
    ),
    "changes": kind_of_rows(
        "Changes that closed issues", write_rows, on_page=column_descriptions.CHANGES, has_texts=True
    ),
    "agreement": kind_of_rows(
        "Agreement", _row_by_row(metadata.coefficients), "round", "dimension", rounds=metadata.agreement_rounds
    ),
    "taxonomies": kind_of_rows(
        "Versions of the taxonomy",
        _row_by_row(metadata.taxonomies),
        "version",
        formats=("jsonl", "csv", "parquet"),
    ),
    **{name: import_string(path) for name, path in FILE_KINDS.items()},
}
"""Kinds by name. Those of other features are named in `annotation.apps`, because this module knows none of them."""


def read_export_request(seat: Seat, what: object, format: object, options: Mapping[str, Any]) -> ExportRequest:
    """What a request asks for. Raises Invalid with the fields, NotFound for a round that is not there, and Blind."""
    kind = KINDS.get(what) if isinstance(what, str) else None
    if kind is None:
        raise Invalid(REFUSED, fields={"what": [f"Use one of {', '.join(KINDS)}."]})
    if format is None or format == "":
        format = kind.formats[0]
    if format not in kind.formats:
        raise Invalid(REFUSED, fields={"format": [f"Use one of {', '.join(kind.formats)}."]})
    return ExportRequest(str(what), str(format), kind.read(seat, options))


def write_file(asked: ExportRequest, seat: Seat, file: IO[bytes], progress: ExportProgress) -> None:
    """Writes what was asked for at the end of an open file."""
    KINDS[asked.what].write(asked, seat, file, progress)
