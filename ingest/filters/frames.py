"""Frames: the issues that a filter leaves, in the same order on every server, counted after each step."""

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Any

from django.db.models import Case, IntegerField, Q, QuerySet, Value, When
from django.db.models import Count as RowCount
from django.db.models.functions import Collate

from ingest.filters.conditions import FilterStep, countable, repository
from ingest.filters.fixes import STRATA_BY_FIX, stratum_name, stratum_value
from ingest.filters.registry import steps
from ingest.identifiers import full_name
from ingest.models import Issue, Snapshot, SnapshotComment
from ingest.search.keywords import Keywords
from ingest.search.matching import fold
from ingest.text_lengths import text_chunks

STRATA_OF_SNAPSHOTS = ("repository", "state", "year", "label")
STRATA = (*STRATA_OF_SNAPSHOTS, *STRATA_BY_FIX)
NOT_KNOWN, NO_LABEL = "not known", "no label"
STRATUM_LONGEST = 200
CHUNK = 1000

Stratum = Callable[[str, str, datetime | None, Sequence[str]], str]
"""From repository, state, the day it was opened and GitHub labels to the name of a stratum."""


@dataclass(frozen=True)
class Count:
    """How many issues a step leaves."""

    step: str
    n: int


@dataclass
class Frame:
    """The issues that a filter leaves, in the order that a seed draws from.

    Sorted by host, owner and name of the repository (by code point) and number; the rows go together. `strata` is empty
    where the frame has none.
    """

    counts: list[Count]
    issues: "array[int]" = field(default_factory=lambda: array("q"))
    snapshots: "array[int]" = field(default_factory=lambda: array("q"))
    strata: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.issues)


def strata_of(stratify_by: str, given: Mapping[str, Any]) -> Stratum:
    """How snapshots are put into strata; `given` is the filter that was read. Raises KeyError for what is none of them.

    By label: the labels of the filter that the issue has, or all it has where the filter names none.
    """
    named = {fold(label): label for label in (*given.get("labels_all", ()), *given.get("labels", ()))}

    def by_label(repository: str, state: str, created_at: datetime | None, labels: Sequence[str]) -> str:
        counted = sorted({named[fold(each)] for each in labels if fold(each) in named} if named else labels)
        return " + ".join(counted)[:STRATUM_LONGEST] or NO_LABEL

    found: Mapping[str, Stratum] = {
        "": lambda repository, state, created_at, labels: "",
        "repository": lambda repository, state, created_at, labels: repository[:STRATUM_LONGEST],
        "state": lambda repository, state, created_at, labels: state or NOT_KNOWN,
        "year": lambda repository, state, created_at, labels: str(created_at.year) if created_at else NOT_KNOWN,
        "label": by_label,
    }
    return found[stratify_by]


def frame(
    given: Mapping[str, Any],
    issues: QuerySet[Issue],
    *,
    further: Iterable[FilterStep] = (),
    stratify_by: str = "",
    rows: bool = True,
) -> Frame:
    """What a filter that was read leaves of `issues`; `further` steps come after its own, keywords last.

    Two queries; keywords read the texts of what the other steps leave, in chunks that are smaller where texts are long,
    by two queries each, and two more where comments are looked at. `rows=False` only counts.
    """
    keywords: Keywords | None = given.get("keywords")
    taken = [*steps(given), *further]
    found = Frame(_counts(taken, _counted(issues, given.get("repository"))))
    if keywords is None and not rows:
        return found
    left = countable(issues).filter(*(step.condition for step in taken))
    by_fix = stratify_by in STRATA_BY_FIX
    stratum = strata_of("" if by_fix else stratify_by, given)
    columns: Sequence[str] = COLUMNS if stratify_by else COLUMNS[:2]
    if by_fix:
        left = left.annotate(**stratum_value(stratify_by))
        columns = (*COLUMNS[:2], "fix_value", "has_fix", "changes_known")
    names: dict[str, str] = {}  # of strata, each once
    n_fit = 0
    for pk, snapshot, *described in _fitting(left, keywords, columns):
        n_fit += 1
        if rows:
            found.issues.append(pk)
            found.snapshots.append(snapshot)
            if by_fix:
                value, has_fix, is_known = described
                in_stratum = stratum_name(stratify_by, value, has_fix=has_fix, is_known=is_known)[:STRATUM_LONGEST]
                found.strata.append(names.setdefault(in_stratum, in_stratum))
            elif stratify_by:
                host, owner, name, state, created_at, labels = described
                in_stratum = stratum(full_name(host, owner, name), state, created_at, labels)
                found.strata.append(names.setdefault(in_stratum, in_stratum))
    if keywords is not None:
        found.counts.append(Count(str(keywords), n_fit))
    return found


def _counted(issues: QuerySet[Issue], named: Any) -> QuerySet[Issue]:
    """Where counting begins: of private issues those in named repositories alone.

    Everyone in a study reads the counts, also who must not know how many private issues its owner reads elsewhere.
    """
    return issues.filter(Q(repository__private=False) | repository(named).condition) if named else issues


def _counts(taken: Sequence[FilterStep], issues: QuerySet[Issue]) -> list[Count]:
    """Counts after every step in one pass: each issue is put where it falls out, so no condition is asked twice."""
    fell_out: Any = Value(len(taken))
    for place in range(len(taken) - 1, -1, -1):
        condition = taken[place].condition
        if condition:
            fell_out = Case(When(condition, then=fell_out), default=Value(place), output_field=IntegerField())
    by_place = dict(
        countable(issues).order_by().annotate(fell_out=fell_out).values_list("fell_out").annotate(n=RowCount("pk"))
    )
    n = sum(by_place.values())
    counts = [Count("all issues", n)]
    for place, step in enumerate(taken):
        n_out = by_place.get(place, 0)
        n -= n_out
        if step.always or n_out:
            counts.append(Count(step.name, n))
    return counts


COLUMNS = (
    "pk",
    "current_snapshot_id",
    "repository__host",
    "repository__owner",
    "repository__name",
    "current_snapshot__state",
    "current_snapshot__created_at",
    "current_snapshot__github_labels",
)


def _fitting(issues: QuerySet[Issue], keywords: Keywords | None, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of a frame in its order, those that have the keywords."""
    by_code_point = (Collate(f"repository__{name}", "C") for name in ("host", "owner", "name"))
    ordered = issues.order_by(*by_code_point, "number")
    if keywords is None:
        yield from ordered.values_list(*columns).iterator(chunk_size=5 * CHUNK)
        return
    rows = ordered.values_list(*columns).iterator(chunk_size=CHUNK)
    while read := list(islice(rows, CHUNK)):
        for chunk in text_chunks(read, itemgetter(1), comments="comments" in keywords.places):
            texts = _texts([row[1] for row in chunk], keywords.places)
            yield from (row for row in chunk if keywords.fit(texts.get(row[1], ())))


def _texts(snapshots: Sequence[int], places: Collection[str]) -> dict[int, list[str]]:
    """Of each snapshot the texts at these places; up to two queries."""
    own = [place for place in ("title", "body") if place in places]
    stored = Snapshot.objects.filter(pk__in=snapshots).order_by().values_list("pk", *own)
    found = {pk: list(texts) for pk, *texts in stored}
    if "comments" in places:
        threads = SnapshotComment.objects.filter(snapshot__in=snapshots).order_by()
        for snapshot, body in threads.values_list("snapshot", "comment__body"):
            found.setdefault(snapshot, []).append(body)
    return found
