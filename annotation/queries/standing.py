"""In terms of which version of the taxonomy a study's labels stand, and the way of a round's values there."""

from annotation.models import Plan, Round, Study
from taxonomy.migration import Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import route


def standing_plan(study: Study) -> Plan | None:
    """The plan that was run last and not undone."""
    done = Plan.objects.filter(study=study, state=Plan.State.DONE)
    return done.select_related("to_version", "from_version", "worklist").order_by("-done_at", "-pk").first()


def standing_version(study: Study) -> TaxonomyVersion | None:
    """The version to which the study's labels were moved; None: each label stands in its round's own."""
    plan = standing_plan(study)
    return plan.to_version if plan else None


def label_version(round_: Round, standing: TaxonomyVersion | None) -> TaxonomyVersion:
    """The version in whose terms a round's agreed labels are told: that of the last plan, unless the round's is newer.

    Give the round with its taxonomy_version.
    """
    own = round_.taxonomy_version
    return standing if standing is not None and standing.number > own.number else own


def way(round_: Round, version: TaxonomyVersion | None) -> Route | None:
    """The way of a round's values to a version (None: as they are); None where no mapping leads there."""
    if version is None or version.pk == round_.taxonomy_version_id:
        return Route()
    return route(round_.taxonomy_version_id, version.pk)
