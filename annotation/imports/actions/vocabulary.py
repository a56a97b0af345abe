"""Vocabulary of a sheet: a taxonomy for a new study, categories of a new version, confirmed spellings."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from accounts.models import User
from annotation.core.access import Seat, get_seat
from annotation.core.errors import Conflict, Invalid
from annotation.imports.queries.ratings import decided_spellings
from annotation.imports.sheets import GatheredSheet, ValueReader, document_from_values
from annotation.imports.sheets.values import ASKS, NAME_MAX, RejectedValue, loose
from annotation.labels.consensus import PENDING
from annotation.models import Spelling
from annotation.studies.actions.studies import create_study
from shared.names import clean_name
from taxonomy.access import require_maintainer
from taxonomy.actions import free_slug, load_document, new_draft, publish_version, take_ready_made
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document as document_of
from taxonomy.queries import newest_published
from taxonomy.ready_made import preset
from taxonomy.schema import key_of, plain, without_was

READY_MADE = "ready-made:"
SPELLING_MAX = 500


@dataclass(frozen=True)
class NewStudy:
    """A study that an import makes: from the values of the sheet, or with a taxonomy, one that is ready-made too."""

    slug: str
    title: str = ""
    taxonomy: str = ""
    several: Sequence[str] = ()
    levels: Sequence[str] = ()
    scales: Mapping[str, str] = field(default_factory=dict)


def make_study(user: User, new: NewStudy, sheet: GatheredSheet) -> Seat:
    """The study with its taxonomy; raises Invalid and Conflict as `create_study`."""
    title = new.title or " ".join(re.split(r"[-_]+", new.slug)).capitalize() or new.slug
    taxonomy = _ready_made(user, new) if new.taxonomy else _from_values(user, new, title, sheet)
    create_study(user=user, slug=new.slug, title=title, taxonomy=taxonomy)
    return get_seat(user, new.slug)


def _from_values(user: User, new: NewStudy, title: str, sheet: GatheredSheet) -> str:
    note = "Made from the values of an imported sheet."  # everyone reads it, so it does not name the file
    slug = free_slug(user, new.slug)
    document = document_from_values(
        sheet, slug=slug, title=title, note=note, several=new.several, levels=new.levels, scales=new.scales
    )
    publish_version(user=user, version=load_document(user=user, text=json.dumps(document)))
    return slug


def _ready_made(user: User, new: NewStudy) -> str:
    """The slug of the taxonomy chosen; one that is ready-made is loaded and published where it is not there yet."""
    if not new.taxonomy.startswith(READY_MADE):
        return new.taxonomy
    version = take_ready_made(user=user, asked=preset(new.taxonomy.removeprefix(READY_MADE)).document)
    if version.is_draft:
        version = publish_version(user=user, version=version)
    return version.taxonomy.slug


def extend_taxonomy(seat: Seat, added: Sequence[tuple[str, str]]) -> TaxonomyVersion:
    """Publishes a version of the study's taxonomy with further categories, at the top of their dimensions.

    Raises Forbidden for who does not maintain it, Conflict while a newer draft is at work, Invalid for a dimension that
    has no categories.
    """
    taxonomy = seat.study.taxonomy
    require_maintainer(seat.user, taxonomy)
    newest = newest_published(taxonomy)
    if newest is None:
        raise Conflict(f"The taxonomy “{taxonomy.slug}” has no published version. Publish one first.")
    drafts = taxonomy.versions.filter(state=TaxonomyVersion.State.DRAFT, number__gt=newest.number)
    if drafts.exists():
        raise Conflict(
            f"The taxonomy “{taxonomy.slug}” has a draft. Publish or discard it before a sheet adds categories.",
            code="draft_at_work",
        )
    document = plain(without_was(document_of(newest)))
    by_dimension: dict[str, list[str]] = defaultdict(list)
    for name, text in added:
        by_dimension[name].append(text)
    for name, texts in by_dimension.items():
        _add_categories(document, name, texts)
    draft = new_draft(user=seat.user, taxonomy=taxonomy, text=json.dumps(document))
    return publish_version(user=seat.user, version=draft)


def _add_categories(document: dict[str, Any], name: str, texts: Sequence[str]) -> None:
    found = [each for each in document["dimensions"] if loose(name) in {loose(each["key"]), loose(each["title"])}]
    if len(found) != 1 or "categories" not in found[0]:
        raise Invalid(f"“{name}” is not a dimension that can get further categories.", fields={"spellings": [name]})
    categories = found[0]["categories"]
    taken = Counter(_keys(categories))
    for text in texts:
        number, base = 1, key_of(text) or "category"
        key = base
        while taken[key]:
            number += 1
            key = f"{base[:90]}-{number}"
        taken[key] += 1
        categories.append({"key": key, "name": clean_name(text)[:NAME_MAX]})


def _keys(categories: Sequence[Mapping[str, Any]]) -> list[str]:
    return [key for each in categories for key in (each["key"], *_keys(each.get("categories", ())))]


def keep_spellings(seat: Seat, reader: ValueReader, meanings: Mapping[tuple[str, str], str]) -> None:
    """Remembers what values stand for; a decision that stands already, or whose dimension is not there, is passed over.

    Raises Invalid for a meaning that is no category of the newest version.
    """
    before = decided_spellings(seat)
    made: list[Spelling] = []
    wrong: list[str] = []
    for (name, spelling), meaning in meanings.items():
        dimension = reader.dimension(name)
        if dimension is None or len(spelling) > SPELLING_MAX:
            continue
        is_pending = bool(ASKS.fullmatch(meaning))
        key = ""
        if meaning and not is_pending:
            try:
                values = reader.read(dimension, meaning)
            except RejectedValue as refused:
                wrong.append(f"“{spelling}”: {refused}")
                continue
            if not dimension.has_categories or len(values) != 1:
                continue
            key = str(values[0])
        if before.get((dimension.key, spelling)) != (PENDING if is_pending else key):
            made.append(
                Spelling(
                    study=seat.study,
                    dimension_key=dimension.key,
                    spelling=spelling,
                    category_key=key,
                    is_pending=is_pending,
                    decided_by=seat.user,
                )
            )
    if wrong:
        raise Invalid(f"Some resolutions have no category: {wrong[0]}", code="spellings", fields={"spellings": wrong})
    Spelling.objects.bulk_create(made)
