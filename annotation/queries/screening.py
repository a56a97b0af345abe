"""What the screening rounds of a study ask, and what became of their items."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count

from annotation.models import Item, Round, RoundItem, Study
from annotation.screening import USUAL, fits, reasons_of
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document, newest_published


def newest_fitting(study: Study) -> TaxonomyVersion | None:
    """The version that the next screening round would ask from; None where there is none, or it asks something else."""
    version = newest_published(study.screening_taxonomy) if study.screening_taxonomy else None
    return version if version is not None and fits(document(version)) else None


def reasons_to_offer(study: Study) -> tuple[str, ...]:
    """The reasons of the study's newest screening taxonomy, else the usual ones; a few queries."""
    version = newest_fitting(study)
    return reasons_of(document(version)) if version else tuple(USUAL)


@dataclass(frozen=True)
class Kept:
    """How many items of a screening round stand in, out (with reasons, the most frequent first), or neither."""

    n: int
    n_in: int
    n_out: int
    reasons: Sequence[tuple[str, int]]

    @property
    def n_open(self) -> int:
        return self.n - self.n_in - self.n_out


def kept(round_: Round) -> Kept | None:
    """How the items of a closed screening round stand now; None for any other round. One query."""
    if round_.kind != Round.Kind.SCREENING or round_.state != Round.State.CLOSED:
        return None
    places = RoundItem.objects.filter(round=round_).order_by()
    rows = places.values_list("item__screening", "item__screening_reason").annotate(n=Count("pk"))
    found = [(state, reason, n) for state, reason, n in rows]
    out = [(reason, n) for state, reason, n in found if state == Item.Screening.OUT]
    return Kept(
        n=sum(n for _, _, n in found),
        n_in=sum(n for state, _, n in found if state == Item.Screening.IN),
        n_out=sum(n for _, n in out),
        reasons=sorted(out, key=lambda each: (-each[1], each[0])),
    )


def screened_out_of(study: Study) -> list[int]:
    """The ids of the items of a study that are screened out; one query."""
    return list(Item.objects.filter(study=study, screening=Item.Screening.OUT).values_list("pk", flat=True))


def n_screened_out(rounds: Sequence[Round]) -> int:
    """How many items that count in these coding rounds are screened out all the same; one query."""
    places = RoundItem.objects.counting().filter(round__in=rounds, item__screening=Item.Screening.OUT)
    coding = places.exclude(round__kind=Round.Kind.SCREENING).order_by()
    return coding.values("item").distinct().count()
