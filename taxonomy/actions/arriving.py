"""Taxonomy of an imported study: an existing one with equal versions is used, otherwise it is created."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.utils.dateparse import parse_datetime

from accounts.audit import record
from accounts.models import User
from shared.errors import Invalid
from taxonomy.actions.drafts import count_try, free_slug
from taxonomy.actions.rows import write, write_changes
from taxonomy.checking import load
from taxonomy.models import Category, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.queries import document as document_of
from taxonomy.queries import forget_trees, written_by_everyone
from taxonomy.schema import Document, dump, is_key

Row = Mapping[str, Any]


def version_rows(versions: Iterable[TaxonomyVersion]) -> Iterable[dict[str, Any]]:
    """Versions as they leave: the document, who wrote it, and when; people by their ids."""
    for each in versions:
        times = {
            name: value.isoformat() if (value := getattr(each, name)) else None
            for name in ("created_at", "published_at", "edited_at", "retired_at")
        }
        people = {f"{name}_id": getattr(each, f"{name}_id") for name in PEOPLE}
        yield {
            "id": each.pk,
            "taxonomy_id": each.taxonomy_id,
            "parent_id": each.parent_id,
            "number": each.number,
            "state": each.state,
            "revision": each.revision,
            "document": dump(document_of(each)),
            **times,
            **people,
        }


PEOPLE = ("created_by", "published_by", "edited_by", "retired_by")


def take_taxonomy(
    *,
    user: User,
    row: Row,
    versions: Sequence[Row],
    people: Mapping[int, int],
    may_use: Callable[[Taxonomy], bool],
    is_further: bool,
) -> tuple[Taxonomy, dict[int, int], bool]:
    """The taxonomy of a file here, its versions (id there → id here), and whether it is new; in a transaction.

    One of this slug that `may_use` allows, which the person may read and whose versions say the same, is used as it is,
    but for one that is `written_by_everyone`. Else it comes with all its versions, maintained by this person; where the
    slug is taken, under the next free one. A new one that `is_further`, beyond those that a study has to have, counts
    as a try of an ID whether it is taken or not. Raises InvalidDocument or Invalid for what can't be one, TooMany.
    """
    if not versions:
        raise Invalid("The file contains a taxonomy without versions.")
    slug = str(row["slug"])
    there = Taxonomy.objects.filter(slug=slug).first()
    if there is not None and written_by_everyone(user).filter(taxonomy=there.pk).exists():
        there = None
    if there is not None and may_use(there) and (known := _same(there, versions, user)) is not None:
        return there, known, False
    if not is_key(slug):
        raise Invalid("The file contains a taxonomy whose ID is not valid.")
    if is_further:
        count_try(user)
    slug = free_slug(user, slug)
    made = Taxonomy.objects.create(
        slug=slug,
        title=str(row["title"])[:200],
        created_by_id=people.get(row["created_by_id"]),
        discarded_number=row["discarded_number"],
    )
    made.maintainers.add(user)
    Taxonomy.objects.filter(pk=made.pk).update(created_at=_time(row["created_at"]) or made.created_at)
    found: dict[int, int] = {}
    documents: dict[int, Document] = {}
    for each in sorted(versions, key=lambda one: int(one["number"])):
        text = str(each["document"])
        parent = each["parent_id"] if each["parent_id"] in found else None
        document = load(text, before=documents.get(parent) if parent is not None else None)
        version = TaxonomyVersion.objects.create(
            taxonomy=made,
            number=each["number"],
            title=document.title,
            parent_id=found.get(parent) if parent is not None else None,
            created_by_id=people.get(each["created_by_id"]),
        )
        write(version, document, None)
        if parent is not None:
            write_changes(version, documents[parent], document)
        documents[each["id"]], found[each["id"]] = document, version.pk
        if each["state"] not in TaxonomyVersion.State.values:
            raise Invalid(f"The file contains a version with the unknown state “{str(each['state'])[:20]}”.")
        changes: dict[str, Any] = {
            f"{name}_at": _time(each[f"{name}_at"]) for name in ("created", "published", "edited", "retired")
        }
        changes |= {f"{name}_id": people.get(each[f"{name}_id"]) for name in PEOPLE}
        changes |= {"state": each["state"], "revision": each["revision"]}
        TaxonomyVersion.objects.filter(pk=version.pk).update(**changes)
    forget_trees()
    record(verb="taxonomy made", user=user, taxonomy=slug, versions=len(found), from_a_file=True)
    return made, found, True


def _time(text: Any) -> Any:
    return parse_datetime(text) if text else None


def _same(there: Taxonomy, versions: Sequence[Row], user: User) -> dict[int, int] | None:
    """The ids of the same versions here; None where one is missing, says something else or may not be read."""
    readable = TaxonomyVersion.objects.readable_by(user).filter(taxonomy=there)
    here = {each.number: each for each in readable.select_related("taxonomy")}
    found = {}
    for each in versions:
        version = here.get(each["number"])
        if version is None or version.is_draft != (each["state"] == TaxonomyVersion.State.DRAFT):
            return None
        if dump(document_of(version)) != each["document"]:
            return None
        found[each["id"]] = version.pk
    return found


def ids_by_key(versions: Mapping[int, int]) -> dict[tuple[int, str], int]:
    """Of these versions (here), the id of each dimension by version there and key."""
    there = {new: old for old, new in versions.items()}
    rows = Dimension.objects.filter(version__in=list(there)).values_list("version", "key", "pk")
    return {(there[version], key): pk for version, key, pk in rows}


def category_ids(dimensions: Iterable[int]) -> dict[tuple[int, str], int]:
    """The id of each category by dimension and key."""
    rows = Category.objects.filter(dimension__in=list(dimensions)).values_list("dimension", "key", "pk")
    return {(dimension, key): pk for dimension, key, pk in rows}
