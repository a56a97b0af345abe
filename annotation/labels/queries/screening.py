"""Screening rounds of a study: their questions, and the state of their items."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, CharField, Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value, When

from annotation.labels.screening import IN, OUT, REASON, SCREENING, SLUG_END, USUAL, fits, reasons_of
from annotation.models import Assignment, Item, Membership, Rating, Round, RoundItem, Study
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import document, newest_published, published_version


def newest_fitting(study: Study) -> TaxonomyVersion | None:
    """The version that the next screening round would ask from; None where there is none, or it asks something else."""
    version = newest_published(study.screening_taxonomy) if study.screening_taxonomy else None
    return version if version is not None and fits(document(version)) else None


def owns_screening(study: Study) -> bool:
    """Whether the study's screening taxonomy is no other study's and not what it labels by; one query."""
    others = Study.objects.filter(screening_taxonomy=study.screening_taxonomy_id).exclude(pk=study.pk)
    return study.screening_taxonomy_id != study.taxonomy_id and not others.exists()


def screening_taxonomies() -> Any:
    """The ids of the taxonomies that screening rounds ask, whose titles tell of their studies.

    They are known by their questions and slug, too, because they stay when their study is deleted.
    """
    published = TaxonomyVersion.objects.filter(taxonomy=OuterRef("pk"), published_at__isnull=False)
    asks = Exists(published.filter(dimensions__key=SCREENING)) & Exists(published.filter(dimensions__key=REASON))
    of_studies = Study.objects.filter(screening_taxonomy=OuterRef("pk"))
    return Taxonomy.objects.filter(Exists(of_studies) | Q(slug__contains=SLUG_END) & asks).order_by().values("pk")


def reasons_to_offer(study: Study) -> tuple[str, ...]:
    """The reasons of the study's newest screening taxonomy, else the usual ones; a few queries."""
    version = newest_fitting(study)
    return reasons_of(document(version)) if version else tuple(USUAL)


@dataclass(frozen=True)
class ScreeningCounts:
    """How many items of a screening round stand in, out (with reasons, the most frequent first), or neither."""

    n: int
    n_in: int
    n_out: int
    reasons: Sequence[tuple[str, int]]

    @property
    def n_open(self) -> int:
        return self.n - self.n_in - self.n_out


def screening_counts(round_: Round) -> ScreeningCounts | None:
    """How the items of a closed screening round stand now; None for any other round. One query."""
    if round_.kind != Round.Kind.SCREENING or round_.state != Round.State.CLOSED:
        return None
    places = RoundItem.objects.filter(round=round_).order_by()
    rows = places.values_list("item__screening", "item__screening_reason").annotate(n=Count("pk"))
    found = [(state, reason, n) for state, reason, n in rows]
    out = [(reason, n) for state, reason, n in found if state == Item.Screening.OUT]
    return ScreeningCounts(
        n=sum(n for _, _, n in found),
        n_in=sum(n for state, _, n in found if state == Item.Screening.IN),
        n_out=sum(n for _, n in out),
        reasons=sorted(out, key=lambda each: (-each[1], each[0])),
    )


def screened_out_of(study: Study) -> list[int]:
    """The ids of the items of a study that are screened out; one query."""
    return list(Item.objects.filter(study=study, screening=Item.Screening.OUT).values_list("pk", flat=True))


def n_screened_out(rounds: Sequence[Round], without: Collection[tuple[int, int]]) -> int:
    """How many items that count in these coding rounds are screened out all the same; one query.

    `without` are places (round and item) that are withheld from who reads.
    """
    places = RoundItem.objects.counting().filter(round__in=rounds, item__screening=Item.Screening.OUT)
    coding = places.exclude(round__kind=Round.Kind.SCREENING).order_by()
    return len(
        {item for round_id, item in coding.values_list("round_id", "item_id") if (round_id, item) not in without}
    )


SHOWN = ("all", "open", "maybe", "in", "out", "skipped")
"""The parts of a rater's list while screening; beside all of it those of a side."""
SIDES = SHOWN[1:]
WINDOW = 200
"""So many lines of the list come at once."""
ABOVE = 20
"""So many of them stand above the one at hand."""


def own_screenings(round_: Round, rater: Membership, show: str = "all") -> QuerySet[Assignment]:
    """What a rater has in a screening round, in their order, with `side` (one of SIDES); `show` is one of SHOWN.

    An issue that was split is in as soon as one of its parts is.
    """
    said_in = Rating.objects.filter(annotation=OuterRef("current"), dimension__key=SCREENING, category__key=IN)
    side = Case(
        When(state=Assignment.State.SKIPPED, then=Value("skipped")),
        When(state=Assignment.State.SUBMITTED, then=Case(When(Exists(said_in), then=Value(IN)), default=Value(OUT))),
        When(maybe=True, then=Value("maybe")),
        default=Value("open"),
        output_field=CharField(),
    )
    own = Assignment.objects.filter(round=round_, rater=rater).exclude(state=Assignment.State.WITHDRAWN)
    if show in ("open", "maybe"):
        own = own.filter(state__in=Assignment.UNFINISHED, maybe=show == "maybe")
    elif show == "skipped":
        own = own.filter(state=Assignment.State.SKIPPED)
    elif show in (IN, OUT):
        own = own.filter(Exists(said_in) if show == IN else ~Exists(said_in), state=Assignment.State.SUBMITTED)
    return own.annotate(side=side).order_by("position", "pk")


@dataclass(frozen=True)
class ScreeningLine:
    """One issue in a rater's list: its title, what the rater said (`side`), and the name of the reason if it is out."""

    assignment: Assignment
    title: str
    side: str
    reason: str

    @property
    def name(self) -> str:
        """The identifier without the owner: the list is narrow."""
        identifier = self.assignment.item.identifier
        return identifier.rpartition("/")[2] or identifier


def reason_names(round_: Round) -> dict[str, str]:
    """The reasons of a screening round by key."""
    return {each.key: each.name for each in published_version(round_.taxonomy_version_id).by_key[REASON].categories}


def with_words(rows: QuerySet[Assignment]) -> QuerySet[Assignment]:
    """Assignments (`own_screenings`) with what `line_of` needs."""
    why = Rating.objects.filter(annotation=OuterRef("current"), dimension__key=REASON).order_by("part", "pk")
    found = rows.select_related("item").annotate(
        title=F("item__snapshot__title"), reason=Subquery(why.values("category__key")[:1])
    )
    return found.only("position", "state", "maybe", "item__identifier")


def screening_lines(round_: Round, rows: QuerySet[Assignment]) -> list[ScreeningLine]:
    """The lines of these assignments (`own_screenings`); one query."""
    names = reason_names(round_)
    return [line_of(each, names) for each in with_words(rows)]


def line_of(each: Any, names: Mapping[str, str]) -> ScreeningLine:
    """The line of a row of `with_words`."""
    reason = names.get(each.reason, each.reason or "") if each.side == OUT else ""
    return ScreeningLine(each, each.title or "", each.side, reason)


@dataclass(frozen=True)
class Window:
    """Some lines of a rater's list, and the places where those before and after them begin (None: there are none)."""

    lines: Sequence[ScreeningLine]
    earlier: int | None
    later: int | None


def window(round_: Round, rater: Membership, show: str, *, start: int | None = None, here: int | None = None) -> Window:
    """The lines from a place on, or around the one at hand (`here`), else from the beginning; three queries at most."""
    rows = own_screenings(round_, rater, show)
    if start is None and here is not None:
        above = list(rows.filter(position__lt=here).order_by("-position").values_list("position", flat=True)[:ABOVE])
        start = above[-1] if above else None
    begun = rows.filter(position__gte=start) if start is not None else rows
    lines = screening_lines(round_, begun[: WINDOW + 1])
    later = lines[WINDOW].assignment.position if len(lines) > WINDOW else None
    earlier = None
    if start is not None:
        before = rows.filter(position__lt=start).order_by("-position").values_list("position", flat=True)[:WINDOW]
        earlier = min(before, default=None)
    return Window(lines[:WINDOW], earlier, later)


def side_counts(round_: Round, rater: Membership) -> dict[str, int]:
    """How many of a rater's issues are of each side; one query."""
    rows: Any = own_screenings(round_, rater).order_by()
    found = dict(rows.values_list("side").annotate(n=Count("pk")))
    return {side: found.get(side, 0) for side in SIDES}


def next_to_screen(round_: Round, rater: Membership, show: str, after: int | None) -> Assignment | None:
    """What comes after a place of a rater's list: what is open, or in another part of the list (`show`) what is there.

    At the end it begins anew, where something is still to be answered.
    """
    rows = own_screenings(round_, rater, "open" if show == "all" else show)
    found = rows.filter(position__gt=after).first() if after is not None else None
    if found is None and (after is None or show in ("all", "open", "maybe")):
        found = rows.first()
    return found


def keywords_of(study: Study, rater: Membership) -> list[str]:
    """What is highlighted for a rater: the study's keywords, and their own."""
    own = {word.casefold(): word for word in [*study.screening_keywords, *rater.screening_keywords]}
    return list(own.values())
