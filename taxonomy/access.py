"""Access to taxonomies: from a user and a URL to a taxonomy or version, and who may change it."""

from accounts.models import User
from shared.errors import Forbidden
from taxonomy.errors import TaxonomyNotFound
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import PEOPLE


def get_taxonomy(user: User, slug: str) -> Taxonomy:
    """A taxonomy of which this person may read at least one version; raises TaxonomyNotFound."""
    found = Taxonomy.objects.readable_by(user).filter(slug=slug).first()
    if found is None:
        raise TaxonomyNotFound(f"Taxonomy {slug} not found.")
    return found


def get_version(user: User, slug: str, number: int) -> TaxonomyVersion:
    """One version, with its taxonomy and its people; one query. Raises TaxonomyNotFound.

    A draft is there only for who maintains it and for staff.
    """
    found = None
    if number < 2**31:
        rows = TaxonomyVersion.objects.readable_by(user).select_related("taxonomy", *PEOPLE)
        found = rows.filter(taxonomy__slug=slug, number=number).first()
    if found is None:
        raise TaxonomyNotFound(f"Version {number} of taxonomy {slug} not found.")
    return found


def get_maintained_taxonomy(user: User, slug: str) -> Taxonomy:
    """A taxonomy that this person may change; raises TaxonomyNotFound, or Forbidden where they may only read."""
    found = get_taxonomy(user, slug)
    require_maintainer(user, found)
    return found


def get_maintained_version(user: User, slug: str, number: int) -> TaxonomyVersion:
    """A version that this person may change or publish; raises TaxonomyNotFound or Forbidden."""
    found = get_version(user, slug, number)
    require_maintainer(user, found.taxonomy)
    return found


def may_maintain(user: User, taxonomy: Taxonomy) -> bool:
    """Whether this person writes its versions; one query unless they are staff."""
    return user.is_staff or taxonomy.maintainers.filter(pk=user.pk).exists()


def require_maintainer(user: User, taxonomy: Taxonomy) -> None:
    """Raises Forbidden for who may not write its versions."""
    if not may_maintain(user, taxonomy):
        raise Forbidden(f"Only maintainers can change the taxonomy {taxonomy.slug}. You can read it or load a copy.")
