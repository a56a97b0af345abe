"""Rows of a taxonomy version: written from a document, and locked while they change."""

from collections.abc import Sequence

from django.utils import timezone

from accounts.models import User
from accounts.permissions import is_shell_command
from taxonomy import comparison
from taxonomy.access import require_maintainer
from taxonomy.errors import StaleDraft, TaxonomyConflict, TaxonomyNotFound
from taxonomy.models import Category, CategoryChange, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.queries import PEOPLE
from taxonomy.schema import CategorySpec, Document


def lock_taxonomy(user: User | None, taxonomy_id: int) -> Taxonomy:
    """The taxonomy, locked until the commit, for someone who still maintains it; the shell may change all.

    They may have waited here for the one who took it from them. Raises Forbidden.
    """
    taxonomy = Taxonomy.objects.select_for_update().get(pk=taxonomy_id)
    if user is not None and not is_shell_command():
        require_maintainer(user, taxonomy)
    return taxonomy


def lock_version(user: User | None, version: TaxonomyVersion) -> TaxonomyVersion:
    """The version as it stands now; its taxonomy's row is locked, so that one change goes after the other.

    Raises TaxonomyNotFound where it was discarded meanwhile, and Forbidden as `lock_taxonomy` does.
    """
    try:
        taxonomy = lock_taxonomy(user, version.taxonomy_id)
        rows = TaxonomyVersion.objects.select_related("parent__taxonomy", *PEOPLE)
        found = rows.get(pk=version.pk)
    except (Taxonomy.DoesNotExist, TaxonomyVersion.DoesNotExist):
        raise TaxonomyNotFound(f"Version {version.number} was discarded.") from None
    found.taxonomy = taxonomy
    return found


def no_draft(version: TaxonomyVersion, what: str) -> TaxonomyConflict:
    """The error that says of a version which is no draft what can't be done with it, as a participle."""
    return TaxonomyConflict(
        f"Version {version.number} of {version.taxonomy.slug} is {version.state} and can't be {what}. Create "
        "a new version instead.",
        code="no_draft",
    )


def require_revision(version: TaxonomyVersion, expected: int | None) -> None:
    """Raises StaleDraft where someone read another revision of a draft than the one that is stored."""
    if expected is not None and expected != version.revision:
        by = version.edited_by.signed_name if version.edited_by else "someone else"
        raise StaleDraft(
            f"{by} saved version {version.number} after you opened it (revision {version.revision}; you have "
            f"revision {expected}). Your changes were not saved, and theirs are kept.",
            newer={
                "revision": version.revision,
                "edited_by": version.edited_by.username if version.edited_by else None,
                "edited_at": version.edited_at,
            },
        )


def write(version: TaxonomyVersion, document: Document, user: User | None) -> None:
    """Writes the rows of a draft that has none, and who wrote it; one query per level of the trees."""
    version.title, version.note, version.stated = document.title, document.note, sorted(document.stated)
    version.edited_by, version.edited_at, version.unfinished = user, timezone.now(), None
    version.save(update_fields=["title", "note", "stated", "revision", "edited_by", "edited_at", "unfinished"])
    dimensions = Dimension.objects.bulk_create(
        Dimension(
            version=version,
            key=spec.key,
            title=spec.title,
            kind=spec.kind,
            value_column=spec.column,
            is_set=spec.is_set,
            required=spec.required,
            applies_when={"dimension": spec.applies_when.dimension, "is": list(spec.applies_when.values)}
            if spec.applies_when
            else None,
            help=spec.help,
            stated=sorted(spec.stated),
            position=position,
        )
        for position, spec in enumerate(document.dimensions)
    )
    levels: dict[int, list[tuple[Category, Category | None]]] = {}
    for dimension, spec in zip(dimensions, document.dimensions, strict=True):
        by_key: dict[str, Category] = {}
        for position, (category, above) in enumerate(spec.walk()):
            by_key[category.key] = row = _category(dimension, category, position)
            levels.setdefault(len(above), []).append((row, by_key[above[-1].key] if above else None))
    for _, rows in sorted(levels.items()):
        for row, parent in rows:
            row.parent = parent
        Category.objects.bulk_create(row for row, _ in rows)


def _category(dimension: Dimension, spec: CategorySpec, position: int) -> Category:
    return Category(
        dimension=dimension,
        key=spec.key,
        name=spec.name,
        definition=spec.definition,
        include=list(spec.include),
        exclude=list(spec.exclude),
        examples=list(spec.examples),
        shortcut=spec.shortcut,
        selectable=spec.selectable,
        was=list(spec.was),
        stated=sorted(spec.stated),
        position=position,
    )


def write_changes(version: TaxonomyVersion, before: Document | None, document: Document) -> None:
    """Records what became of each category of the version's parent."""
    if before is None or version.parent is None:
        return
    old, new = _ids(version.parent_id), _ids(version.pk)
    changes: Sequence[comparison.Change] = comparison.compare(before, document)
    CategoryChange.objects.bulk_create(
        CategoryChange(
            version=version,
            kind=change.kind,
            also=list(change.also),
            old_id=old[change.dimension, change.old] if change.old else None,
            new_id=new[change.dimension, change.new] if change.new else None,
        )
        for change in changes
    )


def _ids(version_id: int | None) -> dict[tuple[str, str], int]:
    rows = Category.objects.filter(dimension__version_id=version_id).values_list("dimension__key", "key", "pk")
    return {(dimension, key): pk for dimension, key, pk in rows}
