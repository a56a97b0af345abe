"""Requests for exports, and the description of a kind for page, REST, job, and command."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from annotation.core.access import Seat
from annotation.exports.column_descriptions import ExportPageText
from annotation.models import Round


@dataclass(frozen=True)
class ExportRequest:
    """A file that is wanted: the name of its kind, its format, and the options as its kind has read them."""

    what: str
    format: str
    options: Mapping[str, Any] = field(default_factory=dict)


class ExportProgress(Protocol):
    """Is told how far the writing is: rows written, about how many there will be, and what is done now, in words.

    What is left out stays as it was told before. It may raise, where nobody waits for the file any more.
    """

    def __call__(
        self, n_rows: int | None = None, *, n_expected: int | None = None, step: str | None = None
    ) -> None: ...


Write = Callable[[ExportRequest, Seat, IO[bytes], ExportProgress], None]
"""Writes a file for someone at the end of an open one, which can be read and sought in as well."""


@dataclass(frozen=True)
class ExportKind:
    """A kind of file.

    `read` takes what a request says besides `what` and `format`, and gives the options that are kept, or raises Invalid
    with the fields, NotFound or Blind. `rounds` are those whose answers come into the file, which holds none of a round
    in which its owner is blind.
    """

    title: str
    formats: Sequence[str]
    write: Write
    read: Callable[[Seat, Mapping[str, Any]], dict[str, Any]]
    rounds: Callable[[Seat, Mapping[str, Any]], Sequence[Round]]
    takes: Sequence[str] = ()
    """The names of its options, for the page's form."""
    on_page: ExportPageText | None = None
    """Of a kind that the page writes while it is sent; others are made by a job alone."""
    has_texts: bool = False
    """Whether it holds texts of issues, which not all members may see."""
    has_single_answers: bool = False
    """Whether it holds what each rater gave, so that a download is logged as a reading of others' answers."""
    names_queues: bool = False
    """Whether it shows which items are in relabeling queues, which follows from labels."""
    has_frames: bool = False
    """Whether it holds the frames of samples that its maker may read."""

    def fitting(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of the fields of a form those that this kind takes."""
        return {name: value for name, value in given.items() if name in self.takes}
