"""The kinds of files that leave a study; a new kind is one line of KINDS."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any

from annotation.access import Seat
from annotation.errors import Invalid
from annotation.exports import package, rows
from annotation.exports.asked import Asked, Kind, Progress, Write
from annotation.exports.options import REFUSED, reader
from annotation.exports.writers import FORMATS, write
from annotation.models import Round


def _of_rows(found: Callable[[Seat, Mapping[str, Any]], rows.Found]) -> Write:
    """Writes what a reading gives, row after row."""

    def written(asked: Asked, seat: Seat, file: IO[bytes], progress: Progress) -> None:
        def counted() -> Iterator[dict[str, Any]]:
            n_rows = 0
            for row in rows.flat(seat, found(seat, asked.options)):
                n_rows += 1
                if n_rows % 1000 == 0:
                    progress(n_rows)
                yield row
            progress(n_rows)

        for chunk in write(asked.what, asked.format, counted()):
            file.write(chunk)

    return written


def _narrowed(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    words = {"round": "round_number"}
    return {words.get(name, name): options.get(name) for name in names}


def _labels(seat: Seat, options: Mapping[str, Any]) -> rows.Found:
    return rows.labels(seat, **_narrowed(options, "round", "dimension", "version"))


def _ratings(seat: Seat, options: Mapping[str, Any]) -> rows.Found:
    return rows.ratings(seat, whole_only=True, **_narrowed(options, "round", "dimension", "version", "revision"))


def _resolutions(seat: Seat, options: Mapping[str, Any]) -> rows.Found:
    return rows.resolutions(seat, **_narrowed(options, "round", "dimension"))


def _issues(seat: Seat, options: Mapping[str, Any]) -> rows.Found:
    return rows.issues(seat)


def rounds_in_sight(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """The rounds whose answers a file of this person may hold, or the one that is asked for."""
    return rows.in_sight(seat, options.get("round"))


def no_rounds(seat: Seat, options: Mapping[str, Any]) -> Sequence[Round]:
    """For files that hold no answers."""
    return ()


KINDS: dict[str, Kind] = {
    "labels": Kind(
        "Agreed labels", FORMATS, _of_rows(_labels), reader("round", "dimension", "version"), rounds_in_sight
    ),
    "ratings": Kind(
        "Ratings", FORMATS, _of_rows(_ratings), reader("round", "dimension", "version", "revision"), rounds_in_sight
    ),
    "resolutions": Kind("Resolutions", FORMATS, _of_rows(_resolutions), reader("round", "dimension"), rounds_in_sight),
    "issues": Kind("Issues", FORMATS, _of_rows(_issues), reader(), no_rounds),
    "package": Kind("Replication package", ("zip",), package.write_package, package.read_options, package.rounds_of),
}


def read_asked(seat: Seat, what: object, format: object, options: Mapping[str, Any]) -> Asked:
    """What a request asks for. Raises Invalid with the fields, NotFound for a round that is not there, and Blind."""
    kind = KINDS.get(what) if isinstance(what, str) else None
    if kind is None:
        raise Invalid(REFUSED, fields={"what": [f"Write one of {', '.join(KINDS)}."]})
    if format is None or format == "":
        format = kind.formats[0]
    if format not in kind.formats:
        raise Invalid(REFUSED, fields={"format": [f"Write one of {', '.join(kind.formats)}."]})
    return Asked(str(what), str(format), kind.read(seat, options))


def write_file(asked: Asked, seat: Seat, file: IO[bytes], progress: Progress) -> None:
    """Writes what was asked for at the end of an open file."""
    KINDS[asked.what].write(asked, seat, file, progress)
