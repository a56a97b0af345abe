"""Drafts of taxonomies: created from a document or the version before, written by revision, discarded."""

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import ProtectedError
from django.utils import timezone

from accounts.actions import hold_account
from accounts.audit import record
from accounts.models import User
from accounts.permissions import is_shell_command
from shared.rate_limits import UNAVAILABLE_IDS, require_tries, require_tries_left
from taxonomy.actions.rows import lock_taxonomy, lock_version, no_draft, require_revision, write, write_changes
from taxonomy.checking import load
from taxonomy.editing import has_shape
from taxonomy.errors import InvalidDocument, TaxonomyConflict
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import document as document_of
from taxonomy.queries import newest_published, stored_as, stored_ones, version_of
from taxonomy.schema import KEY_MAX, DimensionSpec, Document, dump, key_of, plain, without_was

IGNORED = (
    "number",
    "state",
    "revision",
    *(f"{what}_{by}" for what in ("created", "edited", "published", "retired") for by in ("by", "at")),
)
"""Fields of the API's answers, which may come back with a document and say nothing."""


@transaction.atomic
def load_document(*, user: User | None, text: str | bytes) -> TaxonomyVersion:
    """Makes a taxonomy from a document (YAML or JSON), maintained by this person, with its draft version 1.

    Without a person (from the shell of a house without people) only staff can see the draft.
    Raises UnreadableDocument, InvalidDocument, or TaxonomyConflict where the slug is taken; TooMany after some such
    tries of someone who does not see all taxonomies.
    """
    return _first_draft(user, load(text, ignored=IGNORED))


def _first_draft(user: User | None, document: Document) -> TaxonomyVersion:
    """A new taxonomy with its draft version 1. Raises TaxonomyConflict and TooMany as `load_document` does."""
    if tried_by := _tried_by(user):
        require_tries_left(UNAVAILABLE_IDS, tried_by)
    try:
        with transaction.atomic():
            if user is not None:
                hold_account(user)
            taxonomy = Taxonomy.objects.create(slug=document.slug, title=document.title, created_by=user)
    except IntegrityError:
        count_try(user)
        raise TaxonomyConflict(
            "Taxonomy not created: this ID is not available. Choose another, or add a version to your taxonomy.",
            code="slug_taken",
            fields={"slug": ["This ID is not available. Choose another."]},
        ) from None
    if user is not None:
        taxonomy.maintainers.add(user)
    version = TaxonomyVersion.objects.create(taxonomy=taxonomy, number=1, title=document.title, created_by=user)
    write(version, document, user)
    record(verb="taxonomy made", user=user, taxonomy=taxonomy.slug, version=1)
    return version


def _tried_by(user: User | None) -> str:
    """Whose tries of IDs are counted; empty for staff, who see all taxonomies, and the shell."""
    return str(user.pk) if user is not None and not (user.is_staff or is_shell_command()) else ""


def count_try(user: User | None) -> None:
    """Counts an ID that this person asked for, and that is not available. Raises TooMany."""
    if tried_by := _tried_by(user):
        require_tries(UNAVAILABLE_IDS, tried_by)


def free_slug(user: User, slug: str) -> str:
    """The slug, or with the next number behind it where it is taken, which counts as a try. Raises TooMany."""
    number, free = 1, slug
    while Taxonomy.objects.filter(slug=free).exists():
        number += 1
        free = f"{slug[: KEY_MAX - 6].rstrip('-_')}-{number}"
    if number > 1:
        count_try(user)
    return free


def load_ready_made(*, user: User, asked: Document) -> TaxonomyVersion:
    """A ready-made document as a new draft, under the next free ID where its own has another one.

    Raises TaxonomyConflict where the person reads it here already, and what load_document raises.
    """
    slug = asked.slug if stored_ones(user, [asked], drafts=True) else free_slug(user, asked.slug)
    return load_document(user=user, text=dump(replace(asked, slug=slug)))


def take_ready_made(*, user: User, asked: Document) -> TaxonomyVersion:
    """The version of a ready-made document to make a study with: published by someone, else a new draft."""
    if (stored := stored_as(user, asked)) is not None:
        return stored
    return load_document(user=user, text=dump(replace(asked, slug=free_slug(user, asked.slug))))


@transaction.atomic
def new_taxonomy(*, user: User, title: str) -> TaxonomyVersion:
    """A taxonomy with one dimension without categories, to be written in the editor. Raises Invalid, TooMany."""
    dimension = DimensionSpec(key="category", title="Category", kind="single")
    whole = replace(load(json.dumps(_titled({"dimensions": [{**ANY_DIMENSION}]}, title, "a"))), dimensions=(dimension,))
    version = _with_free_slug(user, title, lambda slug: _first_draft(user, replace(whole, slug=slug)))
    version.unfinished = plain(replace(whole, slug=version.taxonomy.slug))
    version.save(update_fields=["unfinished"])
    return version


@transaction.atomic
def add_taxonomy(*, user: User, title: str, document: Mapping[str, Any]) -> TaxonomyVersion:
    """A document without slug as a new taxonomy of this title, whose slug is made of the title.

    Raises what load_document raises.
    """
    return _with_free_slug(
        user, title, lambda slug: load_document(user=user, text=json.dumps(_titled(document, title, slug)))
    )


def copy_taxonomy(*, user: User, taxonomy: Taxonomy, title: str) -> TaxonomyVersion:
    """The newest published version of a taxonomy as the first draft of another one. Raises what start_draft raises."""
    parent = newest_published(taxonomy)
    if parent is None:
        raise TaxonomyConflict(f"{taxonomy.slug} has no published version to copy.", code="nothing_published")
    return add_taxonomy(user=user, title=title, document=plain(without_was(document_of(parent))))


ANY_DIMENSION: Mapping[str, str] = {"key": "category", "title": "Category", "kind": "boolean"}


def _titled(document: Mapping[str, Any], title: str, slug: str) -> dict[str, Any]:
    return {**document, "title": " ".join(title.split()), "slug": slug}


def _with_free_slug(user: User, title: str, make: Callable[[str], TaxonomyVersion]) -> TaxonomyVersion:
    slug = key_of(title)[:80].strip("-_") or "codebook"
    try:
        return make(slug)
    except TaxonomyConflict as error:
        if error.code != "slug_taken":
            raise
    return make(f"{slug}-{secrets.token_hex(3)}")


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
    taxonomy = lock_taxonomy(user, taxonomy.pk)
    parent = newest_published(taxonomy)
    before = document_of(parent) if parent else None
    document = load(text, slug=taxonomy.slug, before=before, ignored=IGNORED)
    return _next_draft(user, taxonomy, parent, before, document)


@transaction.atomic
def start_draft(*, user: User | None, taxonomy: Taxonomy) -> TaxonomyVersion:
    """The newest published version once more, as the next draft; its `was` stay behind, for they told the step before.

    Raises TaxonomyConflict where nothing is published.
    """
    taxonomy = lock_taxonomy(user, taxonomy.pk)
    parent = newest_published(taxonomy)
    if parent is None:
        raise TaxonomyConflict(
            f"{taxonomy.slug} has no published version to start from. Publish its draft, or load a document.",
            code="nothing_published",
        )
    before = document_of(parent)
    return _next_draft(user, taxonomy, parent, before, without_was(before))


def _next_draft(
    user: User | None, taxonomy: Taxonomy, parent: TaxonomyVersion | None, before: Document | None, document: Document
) -> TaxonomyVersion:
    """Writes a draft under the next number; the taxonomy's row is locked."""
    newest = taxonomy.versions.order_by("-number").values_list("number", flat=True).first() or 0
    version = TaxonomyVersion.objects.create(
        taxonomy=taxonomy,
        number=max(newest, taxonomy.discarded_number) + 1,
        title=document.title,
        parent=parent,
        created_by=user,
    )
    write(version, document, user)
    write_changes(version, before, document)
    record(verb="taxonomy draft made", user=user, taxonomy=taxonomy.slug, version=version.number)
    return version


@transaction.atomic
def replace_draft(
    *,
    user: User | None,
    version: TaxonomyVersion,
    text: str | bytes,
    expected: int | None = None,
    in_editor: bool = False,
) -> TaxonomyVersion:
    """Puts another document in the place of a draft, as its next revision.

    `expected` is the revision that the writer had read. Only the editor has read what it keeps of a text that is not
    valid yet. Raises StaleDraft where the draft has another one by now, TaxonomyConflict where it is no draft any more
    or such a text would go, TaxonomyNotFound where it was discarded, and what new_draft raises.
    """
    version = lock_version(user, version)
    if not version.is_draft:
        raise no_draft(version, "changed")
    require_revision(version, expected)
    if version.unfinished is not None and not in_editor:
        raise TaxonomyConflict(
            f"The editor has changes to version {version.number} that are not valid yet, and this would delete them. "
            "Finish them in the editor, or delete the draft.",
            code="unfinished",
        )
    before = document_of(version.parent) if version.parent else None
    document = load(text, slug=version.taxonomy.slug, before=before, ignored=IGNORED)
    version.changes.all().delete()
    version.dimensions.all().delete()
    version.revision += 1
    write(version, document, user)
    write_changes(version, before, document)
    return version


@transaction.atomic
def keep_unfinished(
    *, user: User, version: TaxonomyVersion, document: Mapping[str, Any], expected: int
) -> TaxonomyVersion:
    """Stores what the editor has of a draft that is no valid document yet, beside the rows of its last valid one.

    Such a draft can't be published. Raises what replace_draft raises, and InvalidDocument for what the editor could
    not open again.
    """
    version = lock_version(user, version)
    if not version.is_draft:
        raise no_draft(version, "changed")
    require_revision(version, expected)
    if not has_shape(document):
        load(json.dumps(document), slug=version.taxonomy.slug, ignored=IGNORED)
    version.revision += 1
    version.unfinished, version.edited_by, version.edited_at = dict(document), user, timezone.now()
    version.save(update_fields=["unfinished", "revision", "edited_by", "edited_at"])
    return version


def problems_of(version: TaxonomyVersion) -> InvalidDocument | None:
    """What hinders publishing a draft whose editor wrote something unfinished; None where nothing does."""
    if version.unfinished is None:
        return None
    before = document_of(version.parent) if version.parent else None
    try:
        load(json.dumps(version.unfinished), slug=version.taxonomy.slug, before=before, ignored=IGNORED)
    except InvalidDocument as error:
        return error
    return None


@transaction.atomic
def discard_draft(*, user: User | None, version: TaxonomyVersion, expected: int | None = None) -> None:
    """Deletes a draft; its number is not used again, so that no page or script takes a later draft for this one.

    With its only version a taxonomy goes, too, and its slug is free. Raises StaleDraft as replace_draft does, and
    TaxonomyConflict where it is no draft, or where something stands on it.
    """
    version = lock_version(user, version)
    taxonomy = version.taxonomy
    if not version.is_draft:
        raise no_draft(version, "discarded")
    require_revision(version, expected)
    record(verb="taxonomy draft discarded", user=user, taxonomy=taxonomy.slug, version=version.number)
    taxonomy.discarded_number = max(taxonomy.discarded_number, version.number)
    taxonomy.save(update_fields=["discarded_number"])
    try:
        with transaction.atomic():
            version.delete()
            if not taxonomy.versions.exists():
                taxonomy.delete()
    except ProtectedError:
        raise TaxonomyConflict(
            f"A study uses version {version.number} of {taxonomy.slug}, so it can't be discarded.", code="in_use"
        ) from None
