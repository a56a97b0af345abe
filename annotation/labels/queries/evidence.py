"""Evidence from the database: for raters, adjudicators, and scripts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import JSONObject, Length

from annotation.labels.consensus import PENDING
from annotation.labels.queries.part_matches import matches_of
from annotation.models import Assignment, Evidence, Rating, Round, RoundItem
from ingest.models import Comment, Snapshot, SnapshotComment
from taxonomy.tree import VersionTree

CHUNK = 1000
PLACE = SnapshotComment.objects.filter(
    snapshot=OuterRef("rating__annotation__snapshot"), comment=OuterRef("comment")
).values("position")[:1]
LENGTH = Case(
    When(where="title", then=Length("rating__annotation__snapshot__title")),
    When(where="body", then=Length("rating__annotation__snapshot__body")),
    default=Length("comment__body"),
)
COLUMNS = (
    "item",
    "part",
    "round",
    "rater",
    "dimension",
    "category",
    "where",
    "comment",
    "start",
    "end",
    "quote",
    "snapshot",
    "revision",
)


def texts_of(snapshot: int, comments: Iterable[int]) -> tuple[Snapshot, dict[int, Comment]]:
    """A snapshot with its repository and, by their place in the thread, these comments of it; two queries at most."""
    found = Snapshot.objects.select_related("issue__repository").get(pk=snapshot)
    wanted = set(comments)
    if not wanted:
        return found, {}
    rows = SnapshotComment.objects.filter(snapshot=snapshot, position__in=wanted).select_related("comment")
    return found, {row.position: row.comment for row in rows}


def with_evidence(ratings: QuerySet[Rating]) -> QuerySet[Rating]:
    """Ratings with their evidence in `quotes`, as in a request; in the same query."""
    quotes = (
        Evidence.objects.filter(rating=OuterRef("pk"))
        .order_by("pk")
        .values(
            said=JSONObject(
                where="where",
                comment=Subquery(PLACE),
                quote="quote",
                before="before",
                after="after",
                start="start",
                length=LENGTH,
            )
        )
    )
    return ratings.annotate(quotes=ArraySubquery(quotes))


def as_sent(quotes: Sequence[Mapping[str, Any]], dimension: str, category: str) -> list[dict[str, object]]:
    """The quotes of one rating in the shape of a request."""
    found = []
    for quote in quotes:
        said: dict[str, object] = {"dimension": dimension, "category": category, "where": quote["where"]}
        if quote["comment"] is not None:
            said["comment"] = quote["comment"]
        said |= {name: quote[name] for name in ("quote", "before", "after")}
        if quote["start"] is not None:
            said["at"] = round(quote["start"] / max(quote["length"] or 1, 1), 5)
        found.append(said)
    return found


@dataclass(frozen=True)
class QuoteLine:
    """A quote under a rater's answer; `comment` is the comment's id, `number` its place in the thread that was read."""

    category: str
    where: str
    comment: int | None
    number: int | None
    quote: str
    before: str
    after: str
    at: float | None


def evidence_lines(annotations: Iterable[int], tree: VersionTree) -> dict[int, dict[tuple[int, str], list[QuoteLine]]]:
    """By annotation, agreed part and dimension what it rests on; one query, or two where anything is quoted."""
    rows = list(
        Evidence.objects.filter(rating__annotation__in=list(annotations))
        .select_related("rating")
        .annotate(length=LENGTH, number=Subquery(PLACE))
        .order_by("pk")
    )
    matched = matches_of({row.rating.annotation_id for row in rows})
    found: dict[int, dict[tuple[int, str], list[QuoteLine]]] = {}
    for row in rows:
        dimension = tree.by_id[row.rating.dimension_id]
        category = dimension.by_id[row.rating.category_id].name if row.rating.category_id else ""
        places = found.setdefault(row.rating.annotation_id, {})
        part = matched.get(row.rating.annotation_id, {}).get(row.rating.part, row.rating.part)
        places.setdefault((part, dimension.key), []).append(
            QuoteLine(
                category=category if dimension.is_set else "",
                where=row.where,
                comment=row.comment_id,
                number=row.number,
                quote=row.quote,
                before=row.before,
                after=row.after,
                at=None if row.start is None else round(row.start / max(row.length or 1, 1), 5),
            )
        )
    return found


def evidence_rows(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    rater: str | None = None,
    own: int | None = None,
    own_round_ids: frozenset[int] = frozenset(),
    after: int = 0,
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Quote by quote, by key: of blind and current revisions, of training items of first and current ones.

    They are read in chunks of a thousand, each one query.

    With `own` only that user's in the rounds of `own_round_ids`, or in all of them when it is empty.
    """
    given = Assignment.objects.filter(pk=OuterRef("rating__annotation__assignment"))
    excluded = RoundItem.objects.filter(round=OuterRef("rating__round"), item=OuterRef("rating__item"), excluded=True)
    rows = Evidence.objects.filter(~Exists(excluded), rating__round__in=[round_.pk for round_ in rounds])
    training = RoundItem.objects.filter(round=OuterRef("rating__round"), item=OuterRef("rating__item"))
    training = training.filter(known__isnull=False)
    rows = rows.annotate(
        revision=Case(
            When(Q(rating__annotation__revision=1) & Exists(training), then=Value("first")),
            When(Exists(training) & ~Q(rating__annotation=Subquery(given.values("current")[:1])), then=Value("")),
            When(Exists(training), then=Value("current")),
            When(rating__annotation=Subquery(given.values("blind")[:1]), then=Value("blind")),
            When(rating__annotation=Subquery(given.values("current")[:1]), then=Value("current")),
            default=Value(""),
        )
    ).exclude(revision="")
    if dimension is not None:
        rows = rows.filter(rating__dimension__key=dimension)
    if rater is not None:
        rows = rows.filter(rating__rater__code=rater)
    if own is not None:
        mine = Q(rating__rater__user=own)
        rows = rows.filter(mine | ~Q(rating__round__in=own_round_ids) if own_round_ids else mine)
    asked = rows.order_by("pk").values(
        "pk",
        "where",
        "start",
        "end",
        "quote",
        "revision",
        item=F("rating__item__identifier"),
        part=F("rating__part"),
        round=F("rating__round__number"),
        rater=F("rating__rater__code"),
        dimension=F("rating__dimension__key"),
        category=F("rating__category__key"),
        proposal=F("rating__proposal"),
        n=Subquery(PLACE),
        snapshot=F("rating__annotation__snapshot__sha256"),
    )
    while chunk := list(asked.filter(pk__gt=after)[:CHUNK]):
        for row in chunk:
            said: dict[str, Any] = {**row, "comment": row["n"]}
            if row["proposal"] is not None:
                said["category"] = PENDING
            after = row["pk"]
            yield after, {name: said[name] for name in COLUMNS}
