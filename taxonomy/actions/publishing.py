"""Publishing of a draft, and retirement of a published version."""

from django.db import transaction
from django.utils import timezone

from accounts.audit import record
from accounts.models import User
from taxonomy.actions.drafts import problems_of
from taxonomy.actions.rows import lock_version, no_draft, require_revision, write_changes
from taxonomy.errors import TaxonomyConflict
from taxonomy.models import TaxonomyVersion, note_in_circles
from taxonomy.queries import document as document_of
from taxonomy.queries import forget_trees, newest_published


@transaction.atomic
def publish_version(*, user: User | None, version: TaxonomyVersion, expected: int | None = None) -> TaxonomyVersion:
    """Freezes a draft for good, so that rounds can use it; its changes are those from the version published last.

    `expected` is the revision that was read: raises StaleDraft where the draft has another one by now. A parent that
    was retired meanwhile stays the parent, for the draft's `was` names what stands there. Raises TaxonomyConflict
    where it is no draft any more, or where a later version was published already, and InvalidDocument where the editor
    left it unfinished, or another version was published meanwhile that lacks what its `was` names.
    """
    version = lock_version(user, version)
    taxonomy = version.taxonomy
    if not version.is_draft:
        raise no_draft(version, "published again")
    require_revision(version, expected)
    if (unfinished := problems_of(version)) is not None:
        raise unfinished
    parent = newest_published(taxonomy)
    if parent and parent.number > version.number:
        raise TaxonomyConflict(
            f"Version {parent.number} is already published, so version {version.number} can't be. Load it as "
            "a new draft.",
            code="later_version_published",
        )
    if parent and (version.parent is None or parent.number > version.parent.number):
        before, document = document_of(parent), document_of(version)
        version.changes.all().delete()
        version.parent = parent
        write_changes(version, before, document)
    version.state = TaxonomyVersion.State.PUBLISHED
    version.published_by, version.published_at = user, timezone.now()
    version.save(update_fields=["state", "parent", "published_by", "published_at"])
    taxonomy.title = version.title
    taxonomy.save(update_fields=["title"])
    forget_trees()
    _record("taxonomy published", user, version)
    return version


@transaction.atomic
def retire_version(*, user: User | None, version: TaxonomyVersion) -> TaxonomyVersion:
    """Takes a published version out of use: no new round is made or opened under it; what was labelled stays.

    Raises TaxonomyConflict unless it is published.
    """
    version = lock_version(user, version)
    if version.state != TaxonomyVersion.State.PUBLISHED:
        raise TaxonomyConflict(
            f"Version {version.number} of {version.taxonomy.slug} is {version.state}. Only a published "
            "version can be retired." + (" Discard the draft instead." if version.is_draft else ""),
            code="not_published",
        )
    version.state = TaxonomyVersion.State.RETIRED
    version.retired_by, version.retired_at = user, timezone.now()
    version.save(update_fields=["state", "retired_by", "retired_at"])
    _record("taxonomy retired", user, version)
    return version


def _record(verb: str, user: User | None, version: TaxonomyVersion) -> None:
    record(verb=verb, user=user, taxonomy=version.taxonomy.slug, version=version.number)
    note_in_circles(version, user, verb)
