"""Studies of a user, for lists and overviews, in a fixed number of queries."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.labels.queries.screening import screening_taxonomies
from annotation.models import Round, Study
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import written_by_everyone


def studies_of(user: User, *, archived: bool = False) -> QuerySet[Study]:
    """The studies a person is a member of, newest first: those that are worked on, or the archived ones."""
    own = Study.objects.filter(memberships__user=user, archived_at__isnull=not archived)
    return own.select_related("taxonomy").order_by("-pk")


def words_of_studies(user: User) -> list[str]:
    """What the studies of a person are called, in titles and IDs."""
    found = Study.objects.filter(memberships__user=user).values_list("title", "slug")
    return [word for both in found for word in both]


def visible_studies(user: User, *, archived: bool = False) -> QuerySet[Study]:
    """The studies a person may open, worked on or archived: their own; staff, all."""
    if not user.is_staff:
        return studies_of(user, archived=archived)
    return Study.objects.filter(deleted_at=None, archived_at__isnull=not archived).select_related("taxonomy")


def usable_taxonomies(user: User) -> QuerySet[Taxonomy]:
    """Taxonomies this person may make a study with: readable, published, and not what a study screens by.

    Nor those of the demo, which everyone can change.
    """
    published = TaxonomyVersion.objects.filter(taxonomy=OuterRef("pk"), state=TaxonomyVersion.State.PUBLISHED)
    readable = Taxonomy.objects.readable_by(user).exclude(pk__in=screening_taxonomies())
    return readable.filter(Exists(published)).exclude(pk__in=written_by_everyone(user)).order_by("title", "slug")


def labeling_has_begun(study: Study) -> bool:
    """Whether a round was opened that labels by the study's taxonomy; one that screens asks something else."""
    return Round.objects.filter(study=study).exclude(Q(state=Round.State.DRAFT) | Q(kind=Round.Kind.SCREENING)).exists()
