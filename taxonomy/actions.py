"""What changes taxonomies: a document becomes a draft, a draft is replaced or published."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from taxonomy import comparison
from taxonomy.checking import load
from taxonomy.errors import TaxonomyConflict
from taxonomy.models import Category, CategoryChange, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.queries import document as document_of
from taxonomy.queries import forget_trees, newest_published, version_of
from taxonomy.schema import CategorySpec, Document

IGNORED = ("number", "state", "published_at")
"""Fields of the API's answers, which may come back with a document and say nothing."""


@transaction.atomic
def load_document(*, user: User | None, text: str | bytes) -> TaxonomyVersion:
    """Makes a taxonomy from a document (YAML or JSON), maintained by this person, with its draft version 1.

    Without a person (from the shell of a house without people) only staff can see the draft.
    Raises UnreadableDocument, InvalidDocument, or TaxonomyConflict where the slug is taken.
    """
    document = load(text, ignored=IGNORED)
    try:
        with transaction.atomic():
            taxonomy = Taxonomy.objects.create(slug=document.slug, title=document.title, created_by=user)
    except IntegrityError:
        raise TaxonomyConflict(
            f"There is a taxonomy {document.slug} already; add a version to it, or choose another slug.",
            code="slug_taken",
            fields={"slug": ["This slug is taken."]},
        ) from None
    if user is not None:
        taxonomy.maintainers.add(user)
    version = TaxonomyVersion.objects.create(taxonomy=taxonomy, number=1, title=document.title, created_by=user)
    _write(version, document)
    return version


def add_document(*, user: User | None, text: str | bytes) -> tuple[TaxonomyVersion, bool]:
    """Loads a document as a new taxonomy or, where there is one of its slug, as its next draft; and whether it is new.

    A document that says just what the newest version says adds nothing: that version comes back. Raises what
    load_document and new_draft raise.
    """
    document = load(text, ignored=IGNORED)
    newest = version_of(document.slug)
    if newest is None:
        return load_document(user=user, text=text), True
    if document_of(newest) == document:
        return newest, False
    return new_draft(user=user, taxonomy=newest.taxonomy, text=text), True


@transaction.atomic
def new_draft(*, user: User | None, taxonomy: Taxonomy, text: str | bytes) -> TaxonomyVersion:
    """The next version of a taxonomy as a draft, with what became of each category of the newest published version.

    Raises UnreadableDocument, or InvalidDocument: also where `was` names what isn't there, or the slug is another.
    """
    taxonomy = Taxonomy.objects.select_for_update().get(pk=taxonomy.pk)
    parent = newest_published(taxonomy)
    before = document_of(parent) if parent else None
    document = load(text, slug=taxonomy.slug, before=before, ignored=IGNORED)
    newest = taxonomy.versions.order_by("-number").values_list("number", flat=True).first()
    version = TaxonomyVersion.objects.create(
        taxonomy=taxonomy, number=(newest or 0) + 1, title=document.title, parent=parent, created_by=user
    )
    _write(version, document)
    _write_changes(version, before, document)
    return version


@transaction.atomic
def replace_draft(*, version: TaxonomyVersion, text: str | bytes) -> TaxonomyVersion:
    """Puts another document in the place of a draft.

    Raises TaxonomyConflict where it is no draft any more, and what new_draft raises.
    """
    version = _locked(version)
    if not version.is_draft:
        raise _no_draft(version, "changed")
    before = document_of(version.parent) if version.parent else None
    document = load(text, slug=version.taxonomy.slug, before=before, ignored=IGNORED)
    version.changes.all().delete()
    version.dimensions.all().delete()
    _write(version, document)
    _write_changes(version, before, document)
    return version


@transaction.atomic
def publish_version(*, user: User | None, version: TaxonomyVersion) -> TaxonomyVersion:
    """Freezes a draft for good, so that rounds can use it; its changes are those from the version published last.

    Raises TaxonomyConflict where it is no draft any more, or where a later version was published already, and
    InvalidDocument where another version was published meanwhile that lacks what its `was` names.
    """
    version = _locked(version)
    taxonomy = version.taxonomy
    if not version.is_draft:
        raise _no_draft(version, "published again")
    parent = newest_published(taxonomy)
    if parent and parent.number > version.number:
        raise TaxonomyConflict(
            f"Version {parent.number} is published already, so version {version.number} can't be; "
            "load it as a new draft.",
            code="later_version_published",
        )
    if parent and parent.pk != version.parent_id:
        before, document = document_of(parent), document_of(version)
        version.changes.all().delete()
        version.parent = parent
        _write_changes(version, before, document)
    version.state = TaxonomyVersion.State.PUBLISHED
    version.published_by, version.published_at = user, timezone.now()
    version.save(update_fields=["state", "parent", "published_by", "published_at"])
    taxonomy.title = version.title
    taxonomy.save(update_fields=["title"])
    forget_trees()
    return version


def _locked(version: TaxonomyVersion) -> TaxonomyVersion:
    """The version as it stands now; its taxonomy's row is locked, so that one change goes after the other."""
    taxonomy = Taxonomy.objects.select_for_update().get(pk=version.taxonomy_id)
    found = TaxonomyVersion.objects.select_related("parent__taxonomy").get(pk=version.pk)
    found.taxonomy = taxonomy
    return found


def _no_draft(version: TaxonomyVersion, what: str) -> TaxonomyConflict:
    return TaxonomyConflict(
        f"Version {version.number} of {version.taxonomy.slug} is {version.state} and can't be {what}; "
        "make a new version instead.",
        code="no_draft",
    )


def _write(version: TaxonomyVersion, document: Document) -> None:
    """Writes the rows of a draft that has none; one query per level of the trees."""
    version.title, version.note, version.stated = document.title, document.note, sorted(document.stated)
    version.save(update_fields=["title", "note", "stated"])
    dimensions = Dimension.objects.bulk_create(
        Dimension(
            version=version,
            key=spec.key,
            title=spec.title,
            kind=spec.kind,
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


def _write_changes(version: TaxonomyVersion, before: Document | None, document: Document) -> None:
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
