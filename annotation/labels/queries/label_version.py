"""Label version: the taxonomy version to which a study's labels are mapped."""

from collections.abc import Sequence

from django.db.models import QuerySet

from accounts.models import User
from annotation.core.access import OWNER
from annotation.models import Membership, Plan, Round, Study
from shared.compiled_queries import CompiledQuery
from taxonomy.migration import Route
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import route

_newest_done = CompiledQuery(
    lambda study: (
        Plan.objects.filter(study=study, state=Plan.State.DONE)
        .select_related("to_version", "from_version", "worklist")
        .order_by("-done_at", "-pk")[:1]
    ),
    int,
)


def standing_plan(study: Study) -> Plan | None:
    """The plan that was run last and not undone."""
    return _newest_done.first(study.pk)


def standing_version(study: Study) -> TaxonomyVersion | None:
    """The version to which the study's labels were moved; None: each label stands in its round's own."""
    plan = standing_plan(study)
    return plan.to_version if plan else None


def label_version(round_: Round, standing: TaxonomyVersion | None) -> TaxonomyVersion:
    """The version in whose terms a round's agreed labels are told: that of the last plan, unless the round's is newer.

    No plan moves what a screening round says, for it speaks in terms of another taxonomy. Give the round with its
    taxonomy_version.
    """
    own = round_.taxonomy_version
    is_newer = standing is not None and standing.taxonomy_id == own.taxonomy_id and standing.number > own.number
    return standing if standing is not None and is_newer else own


def way(round_: Round, version: TaxonomyVersion | None) -> Route | None:
    """The way of a round's values to a version (None: as they are); None where no mapping leads there."""
    if version is None or version.pk == round_.taxonomy_version_id:
        return Route()
    return route(round_.taxonomy_version_id, version.pk)


def labeled_rounds(studies: Sequence[int]) -> QuerySet[Round]:
    """The rounds of studies (by id) whose labels a plan takes along: they count once raters are done with the round."""
    rounds = Round.objects.filter(study__in=studies, state__in=Round.OVER).exclude(kind=Round.Kind.SCREENING)
    return rounds.select_related("taxonomy_version").order_by("number")


def stands_at(studies: Sequence[Study]) -> dict[int, int]:
    """Study id → the lowest version in whose terms its labels stand; left out where it has none yet. Two queries."""
    ids = [each.pk for each in studies]
    done = Plan.objects.filter(study__in=ids, state=Plan.State.DONE).select_related("to_version")
    standing = {plan.study_id: plan.to_version for plan in done.order_by("done_at", "pk")}
    found: dict[int, int] = {}
    for each in labeled_rounds(ids):
        number = label_version(each, standing.get(each.study_id)).number
        found[each.study_id] = min(number, found.get(each.study_id, number))
    return found


def versions_ahead(user: User, taxonomy: Taxonomy, at: int) -> list[TaxonomyVersion]:
    """The versions above `at` that a plan of this person can lead to, newest first; a draft can only be previewed."""
    rows = TaxonomyVersion.objects.readable_by(user).filter(taxonomy=taxonomy, number__gt=at)
    return list(rows.exclude(state=TaxonomyVersion.State.RETIRED).order_by("-number"))


def owned_studies(user: User, taxonomy: Taxonomy) -> QuerySet[Study]:
    """The studies of a taxonomy that this person owns, by title."""
    own = Membership.objects.filter(user=user, roles__contains=[OWNER]).values("study")
    return Study.objects.filter(taxonomy=taxonomy, pk__in=own).order_by("title", "slug")


def plan_of(round_: Round) -> Plan | None:
    """The plan whose worklist a round is; no query for a round of another kind."""
    if round_.kind != Round.Kind.RELABEL:
        return None
    return Plan.objects.filter(worklist=round_).first()
