"""Usage of the categories of a taxonomy, for its editor."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Q

from accounts.models import User
from annotation.core.access import Seat
from annotation.models import Assignment, Membership, Rating, Round
from annotation.models.assignment_kinds import EXTRA_RATERS
from annotation.studies.queries.studies import visible_studies
from taxonomy.migration import BlockedValue
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import route


@dataclass
class Usage:
    """Current ratings by dimension and category key; `n_lost` are those whose category doesn't lead to the version."""

    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    n_ratings: int = 0
    n_lost: int = 0


def usage(seats: Sequence[Seat], taxonomy: Taxonomy, version: TaxonomyVersion) -> Usage:
    """What was given in the rounds that are over, in these places of one person, in terms of a version.

    A round that is open counts for nobody, one in which the person is blind not for them, nor do items of which what
    others said is withheld, and third answers in rounds with such items. One query, four at most for each study, and
    those of the routes.
    """
    hidden = {round_id for seat in seats for round_id in seat.hidden_round_ids}
    unsettled = {round_id for seat in seats for round_id in seat.unsettled_round_ids}
    third = Assignment.objects.filter(EXTRA_RATERS, round__in=unsettled, current__isnull=False).order_by()
    over = Round.objects.filter(
        study__in=[seat.study.pk for seat in seats], taxonomy_version__taxonomy=taxonomy, state__in=Round.OVER
    ).exclude(pk__in=hidden)
    rows = (
        Rating.objects.filter(round__in=over, category__isnull=False, annotation__assignment__current=F("annotation"))
        .filter(*(seat.not_withheld() for seat in seats if seat.withheld))
        .exclude(annotation__in=third.values("current"))
        .values_list("round__taxonomy_version_id", "dimension__key", "category__key")
        .annotate(n=Count("pk"))
        .order_by()
    )
    found = Usage()
    counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    ways = {}
    for version_id, dimension, key, n in rows:
        if version_id not in ways:
            ways[version_id] = route(version_id, version.pk)
        way = ways[version_id]
        followed = way.follow(dimension, key) if way is not None else None
        found.n_ratings += n
        if followed is None or isinstance(followed, BlockedValue):
            found.n_lost += n
        else:
            counts[dimension][followed] += n
    found.counts = {dimension: dict(sorted(keys.items())) for dimension, keys in sorted(counts.items())}
    return found


def seats_under(user: User, taxonomy: Taxonomy) -> list[Seat]:
    """The person's places in the studies under a taxonomy, or which screen by it; two queries."""
    theirs = Q(taxonomy=taxonomy) | Q(screening_taxonomy=taxonomy)
    studies = list(visible_studies(user).filter(theirs).order_by("slug"))
    mine = {row.study_id: row for row in Membership.objects.filter(user=user, study__in=studies)}
    return [Seat(user, study, mine.get(study.pk)) for study in studies]
