"""Rows that a member may export, by rules that the Exports page and REST share."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pyarrow as pa
from django.http import StreamingHttpResponse

from annotation.core.access import ADJUDICATOR, OWNER, READER, Seat, get_round
from annotation.core.errors import Blind
from annotation.core.issue_texts import IssueRow, change_rows, issue_rows
from annotation.core.withheld_items import withheld_among
from annotation.exports.columns import COLUMNS, CONTENT_TYPES, write
from annotation.exports.record_batches import write_batches
from annotation.exports.wide_tables import wide_columns, widen
from annotation.labels.pseudonyms import Pseudonyms
from annotation.labels.queries import rows as label_rows
from annotation.labels.queries.batches.label_batches import Batches
from annotation.labels.queries.batches.label_batches import label_batches as of_labels
from annotation.labels.queries.batches.rating_batches import rating_batches as of_ratings
from annotation.labels.queries.evidence import evidence_rows
from annotation.labels.queries.item_history import answers_on_other_states
from annotation.labels.queries.label_version import label_version, standing_version
from annotation.labels.queries.version_mapping import target_version
from annotation.labels.resolution_notes import NOTES
from annotation.models import Item, Round, Study
from shared.chunks import chunks
from shared.compiled_queries import CompiledQuery
from shared.watched_streams import watched
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version

TOLD_EVERY = 500
"""Rows between two calls of `tell`."""
Tell = Callable[[int, label_rows.Place | None], None]
T = TypeVar("T")
READ_AT_ONCE = 1000
Found = Iterable[tuple[label_rows.Place, list[Any]]]
"""Item by item: where the reading stands, and the rows of the item."""


def own_only(seat: Seat) -> bool:
    """Whether this person reads only their own ratings: a rater without a role that shows more."""
    return not seat.has_role(OWNER, ADJUDICATOR, READER) and not seat.user.is_staff


def labels(
    seat: Seat,
    *,
    round_number: int | None = None,
    dimension: str | None = None,
    version: int | None = None,
    after: label_rows.Place = (0, 0),
) -> Found:
    """Agreed labels of the rounds that this person may see, in terms of a version or as the study stands.

    Raises Forbidden, NotFound, Blind, and Invalid for a version that the taxonomy has not.
    """
    seat.require_reading()
    told_in = _told_in(seat, version, round_number)
    rounds = in_sight(seat, round_number)
    standing = standing_version(seat.study) if told_in is None else None
    found = label_rows.labels(rounds, dimension=dimension, after=after, version=told_in, standing=standing)
    return _seen(seat, found, rounds)


def ratings(
    seat: Seat,
    *,
    round_number: int | None = None,
    dimension: str | None = None,
    revision: str | None = None,
    version: int | None = None,
    after: label_rows.Place = (0, 0),
) -> Found:
    """What raters gave: a rater's own, others' where that may be seen; of a blind or sealed round one's own.

    As given, or in terms of a version. Raises NotFound, Forbidden, and Invalid for a version that the taxonomy has not.
    """
    told_in = _told_in(seat, version, round_number)
    rounds = read_by(seat, round_number)
    is_own = own_only(seat)
    own_rounds = frozenset() if is_own else seat.sealed_round_ids
    found = label_rows.ratings(
        rounds,
        dimension=dimension,
        revision=revision,
        own=seat if is_own or own_rounds else None,
        own_round_ids=own_rounds,
        after=after,
        version=told_in,
    )
    return found if is_own else _seen(seat, found)


def label_batches(
    seat: Seat, *, round_number: int | None = None, dimension: str | None = None, version: int | None = None
) -> Batches:
    """The rows of `labels` as record batches. Raises as it does."""
    seat.require_reading()
    told_in = _told_in(seat, version, round_number)
    rounds = in_sight(seat, round_number)
    standing = standing_version(seat.study) if told_in is None else None
    hidden = _withheld(seat, rounds)
    return of_labels(rounds, dimension=dimension, version=told_in, standing=standing, hidden=hidden)


def rating_batches(
    seat: Seat,
    *,
    round_number: int | None = None,
    dimension: str | None = None,
    revision: str | None = None,
    version: int | None = None,
    raters: Sequence[str] = (),
    whole_only: bool = False,
) -> Batches:
    """The rows of `ratings` as record batches, or only those of some raters by code. Raises as it does.

    `whole_only` leaves out blind rounds, one's own answers there too.
    """
    told_in = _told_in(seat, version, round_number)
    rounds = in_sight(seat, round_number) if whole_only else read_by(seat, round_number)
    is_own = own_only(seat)
    own_rounds = frozenset() if is_own else seat.sealed_round_ids
    return of_ratings(
        rounds,
        dimension=dimension,
        revision=revision,
        raters=raters,
        own=seat if is_own or own_rounds else None,
        own_round_ids=own_rounds,
        version=told_in,
        hidden=() if is_own else _withheld(seat),
    )


def _withheld(seat: Seat, of_labels: Sequence[Round] = ()) -> list[tuple[int, int]]:
    """Round's number and item's key of each item whose answers of others are withheld from this person.

    With all places of the items whose labels in these rounds are withheld (`withheld_among`).
    """
    if not seat.withheld:
        return []
    numbers = {each.pk: each.number for each in Round.objects.filter(study=seat.study)}
    hidden = seat.withheld | withheld_among(seat, of_labels)
    return [(numbers[round_id], item) for round_id, item in sorted(hidden) if round_id in numbers]


def resolutions(seat: Seat, *, round_number: int | None = None, dimension: str | None = None) -> Found:
    """Decisions with their rationale, in rounds that are not blind. Raises Forbidden, NotFound, Blind."""
    seat.require_reading()
    found = label_rows.resolutions(in_sight(seat, round_number))
    if seat.link is not None:  # who came by a link learns no names
        codes = set(seat.study.memberships.filter(code__isnull=False).values_list("code", flat=True))
        found = (
            replace(
                row, decided_by="", meeting_participants=[each for each in row.meeting_participants if each in codes]
            )
            for row in found
        )
    return _seen(seat, (((0, 0), [row]) for row in found if dimension in (None, row.dimension)))


def issues(seat: Seat, *, after: label_rows.Place = (0, 0)) -> Found:
    """The study's issues as they are pinned, for every member; people by pseudonym unless the study says otherwise."""
    names = pseudonyms_of(seat.study)
    otherwise = answers_on_other_states(seat)
    for key, found in issue_rows(seat.study, after=after[1]):
        row = replace(found, n_answers_on_other_states=otherwise.get(key, 0))
        yield (0, key), [_named_otherwise(row, names) if names else row]


def changes(seat: Seat, *, after: label_rows.Place = (0, 0)) -> Found:
    """What closed the study's issues or is linked to them, for every member; people by pseudonym as in `issues`."""
    names = pseudonyms_of(seat.study)
    for key, found in change_rows(seat.study, after=after[1]):
        if names:
            for row in found:
                author = row["author"]
                row["author"], row["title"] = names.name(author), names.text(row["title"], [author])
        yield (0, key), found


def evidence(
    seat: Seat,
    *,
    round_number: int | None = None,
    dimension: str | None = None,
    rater: str | None = None,
    after: label_rows.Place = (0, 0),
    whole_only: bool = False,
) -> Found:
    """The quotes under the ratings that this person may read, by the same rules. Raises NotFound.

    `whole_only` leaves out blind rounds, one's own answers there too.
    """
    is_own = own_only(seat)
    own_rounds = frozenset() if is_own else seat.sealed_round_ids
    found = evidence_rows(
        in_sight(seat, round_number) if whole_only else read_by(seat, round_number),
        dimension=dimension,
        rater=rater,
        own=seat.user.pk if is_own or own_rounds else None,
        own_round_ids=own_rounds,
        after=after[1],
    )
    hidden = frozenset() if is_own else _withheld_by_name(seat)
    return (((0, key), [row] if (row["round"], row["item"]) not in hidden else []) for key, row in found)


def _seen(seat: Seat, found: Found, of_labels: Sequence[Round] = ()) -> Found:
    """The rows without those of items of which what others said is withheld from this person.

    A label that a relabeling queue carries names the round it comes from, and is withheld with either place.
    """
    hidden = _withheld_by_name(seat, of_labels)
    if not hidden:
        return found
    return (
        (place, [row for row in rows if hidden.isdisjoint({(row.round, row.item), (place[0], row.item)})])
        for place, rows in found
    )


def _withheld_by_name(seat: Seat, of_labels: Sequence[Round] = ()) -> frozenset[tuple[int, str]]:
    """Round and item of the same, by number and identifier; two queries where anything is withheld."""
    found = _withheld(seat, of_labels)
    names = dict(Item.objects.filter(pk__in={item for _, item in found}).values_list("pk", "identifier"))
    return frozenset((number, names[item]) for number, item in found)


def _named_otherwise(row: IssueRow, names: Pseudonyms) -> IssueRow:
    logins = [row.author or "", *(comment["author"] for comment in row.comments or ())]
    comments = row.comments and [
        {**comment, "author": names.name(comment["author"]), "body": names.text(comment["body"], logins)}
        for comment in row.comments
    ]
    return replace(
        row,
        title=row.title and names.text(row.title, logins),
        body=row.body and names.text(row.body, logins),
        author=row.author and names.name(row.author),
        comments=comments,
    )


def pseudonyms_of(study: Study) -> Pseudonyms | None:
    """What stands for people in the study's files; None where its owner decided that they keep their names."""
    return Pseudonyms(study.pseudonym_key) if study.pseudonymise else None


def of_kind(
    what: str,
    seat: Seat,
    *,
    round_number: int | None = None,
    dimension: str | None = None,
    version: int | None = None,
) -> Found:
    """Labels, ratings (both in terms of a version), resolutions or (of all rounds) issues or changes.

    Raises KeyError for anything else.
    """
    if what == "issues":
        return issues(seat)
    if what == "changes":
        return changes(seat)
    if what == "resolutions":
        return resolutions(seat, round_number=round_number, dimension=dimension)
    read = {"labels": labels, "ratings": ratings}[what]
    return read(seat, round_number=round_number, dimension=dimension, version=version)


def _told_in(seat: Seat, version: int | None, round_number: int | None) -> TaxonomyVersion | None:
    """The version that is asked for: of a named round's taxonomy, else of the study's."""
    if version is None:
        return None
    return target_version(seat, version, None if round_number is None else get_round(seat, round_number))


def in_sight(seat: Seat, number: int | None) -> list[Round]:
    """Rounds of every kind that count and whose labels are not hidden. Raises Blind or Forbidden for one asked for."""
    rounds = counting(seat, number)
    if number is not None:
        for round_ in rounds:
            seat.require_sight(round_)
    return [round_ for round_ in rounds if round_.pk not in seat.hidden_round_ids]


def read_by(seat: Seat, number: int | None) -> list[Round]:
    """Rounds of which this person reads single answers, all or their own. Raises Forbidden for one that they don't."""
    rounds = counting(seat, number)
    if number is not None and not own_only(seat):
        for round_ in rounds:
            if round_.pk not in seat.blind_round_ids:
                seat.require_answers(round_)
    return rounds


def read_of_others(seat: Seat, number: int | None) -> list[Round]:
    """The rounds of `read_by` if this person reads answers of others there, none where they read only their own."""
    return [] if own_only(seat) else read_by(seat, number)


_counting = CompiledQuery(
    lambda study: (
        Round.objects.filter(study=study)
        .exclude(state__in=(Round.State.DRAFT, Round.State.UNDONE))
        .exclude(kind=Round.Kind.SCREENING)
        .select_related("taxonomy_version")
        .order_by("number")
    ),
    int,
)


def counting(seat: Seat, number: int | None) -> list[Round]:
    """Rounds that are neither drafts nor undone nor screen; undone ones and those that screen are read by number."""
    if number is None:
        return _counting.all(seat.study.pk)
    round_ = get_round(seat, number)
    return [] if round_.state == Round.State.DRAFT else [round_]


def flat(seat: Seat, found: Found) -> Iterator[dict[str, Any]]:
    """Row after row, as mappings for the writers; in what people wrote about issues nobody is named either."""
    names = pseudonyms_of(seat.study)
    for _, here in found:
        for row in here:
            said = row if isinstance(row, dict) else label_rows.as_dict(row)
            for column in ("memo", *NOTES, "quote"):
                if names and said.get(column):
                    said[column] = names.text(said[column])
            yield said


def while_reading(seat: Seat, found: Iterable[T], *, at_once: int = READ_AT_ONCE) -> Iterator[T]:
    """What is found, as long as the person reads as much as when they asked.

    A file is read from the database while it is sent. With a slow connection that takes long enough for its reader to
    become a rater of an open round. After each `at_once` that were read (fewer where texts are long), and once a second
    while they are sent, it is looked at whether they may have them. Raises Blind, which ends the file, and NotFound for
    a former member. Three queries each time.
    """
    hidden = seat.hidden_answers

    def look() -> None:
        if seat.reads_less_than(*hidden):
            raise Blind("Your role in this study changed while this file was sent. Download it again.")

    def looked_at() -> Iterator[T]:
        for read in chunks(found, at_once):
            look()
            yield from read

    return watched(looked_at(), look)


def stream_rows(
    seat: Seat, what: str, format: str, *, options: Mapping[str, Any] | None = None
) -> StreamingHttpResponse:
    """All rows as a file, written while it is sent. Raises what the reading of this kind does."""
    return response_pieces(seat, what, format, file_pieces(seat, what, format, options or {}, is_sent=True))


def response_pieces(seat: Seat, what: str, format: str, pieces: Iterable[bytes]) -> StreamingHttpResponse:
    """The pieces of a file as an answer."""
    answer = StreamingHttpResponse(pieces, content_type=CONTENT_TYPES[format])
    answer["Content-Disposition"] = f'attachment; filename="{seat.study.slug}-{what}.{format}"'
    return answer


def file_pieces(
    seat: Seat,
    what: str,
    format: str,
    options: Mapping[str, Any],
    tell: Tell | None = None,
    *,
    is_sent: bool = False,
) -> Iterator[bytes]:
    """The bytes of a file of rows in pieces; `tell` hears how many rows were written, and up to which place.

    One that `is_sent` while it is read ends where its reader must not read on (`while_reading`). Labels and ratings
    come as batches, all else row by row. Raises what the reading of this kind does.
    """
    if what in ("labels", "ratings"):
        read = {"labels": label_batches, "ratings": rating_batches}[what]
        asked = {name: value for name, value in options.items() if name != "shape"}
        found = read(seat, **asked)
        if is_sent:
            found = while_reading(seat, found, at_once=1)
        if options.get("shape") != "wide":
            return write_batches(COLUMNS[what], format, _told_batches(seat, found, tell))
        narrowed = {name: value for name, value in asked.items() if name in ("round_number", "dimension", "version")}
        dimensions = _dimensions(seat, what, **narrowed)
        wide = ((place, each) for place, batch in found for each in widen(what, [batch], dimensions))
        return write_batches(wide_columns(what, dimensions), format, _told_batches(seat, wide, tell))
    rows = of_kind(what, seat, **options)
    read_on = while_reading(seat, rows) if is_sent else rows
    return write(what, format, _told_rows(flat(seat, read_on), tell))


def _dimensions(
    seat: Seat, what: str, *, round_number: int | None = None, dimension: str | None = None, version: int | None = None
) -> list[tuple[str, str]]:
    """Key and kind of the dimensions that labels or ratings can have, those of the newest version first."""
    told_in = _told_in(seat, version, round_number)
    if what == "labels":
        standing = standing_version(seat.study) if told_in is None else None
        versions = {told_in or label_version(each, standing) for each in in_sight(seat, round_number)}
    else:
        versions = {told_in or each.taxonomy_version for each in read_by(seat, round_number)}
    found: dict[str, str] = {}
    for each in sorted(versions, key=lambda version: (-version.number, version.pk)):
        for one in published_version(each.pk).dimensions:
            found.setdefault(one.key, one.kind)
    return [(key, kind) for key, kind in found.items() if dimension in (None, key)]


def _told_batches(seat: Seat, batches: Batches, tell: Tell | None) -> Iterator[pa.RecordBatch]:
    n_rows = 0
    names = pseudonyms_of(seat.study)
    for place, batch in batches:
        yield _nobody_named(batch, names) if names else batch
        n_rows += batch.num_rows
        if tell:
            tell(n_rows, place)


def _nobody_named(batch: pa.RecordBatch, names: Pseudonyms) -> pa.RecordBatch:
    """The batch with nobody named in what people wrote, as `flat` has it."""
    at = batch.schema.get_field_index("memo")
    if at < 0:
        return batch
    memos = batch.column(at)
    words = pa.array([names.text(word) for word in memos.dictionary.to_pylist()], pa.string())
    return batch.set_column(at, "memo", pa.DictionaryArray.from_arrays(memos.indices, words))


def _told_rows(found: Iterable[dict[str, Any]], tell: Tell | None) -> Iterator[dict[str, Any]]:
    n_rows = 0
    for row in found:
        yield row
        n_rows += 1
        if tell and n_rows % TOLD_EVERY == 0:
            tell(n_rows, None)
    if tell:
        tell(n_rows, None)
