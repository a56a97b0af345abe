"""Queries on taxonomies: lists, a version as a tree or document, and changes between two versions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.utils.formats import date_format
from django.utils.timezone import localtime

from accounts.models import User
from accounts.permissions import is_public_account, public_names
from taxonomy import appendix, comparison, migration, side_by_side, tree
from taxonomy.comparison import Change, DimensionChange, Sources
from taxonomy.errors import TaxonomyNotFound
from taxonomy.migration import Link, Route, VersionChanges
from taxonomy.models import Category, CategoryChange, Dimension, Taxonomy, TaxonomyQuerySet, TaxonomyVersion
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document
from taxonomy.tree import TreeDimension, VersionTree

PEOPLE = ("created_by", "edited_by", "published_by", "retired_by")
"""Who did what to a version; pages and answers name them all."""


def with_versions(rows: TaxonomyQuerySet, user: User) -> QuerySet[Taxonomy]:
    """The same with maintainers, `mark`, and as `readable_versions` those that this person may read, newest first."""
    readable = TaxonomyVersion.objects.readable_by(user).select_related(*PEOPLE).order_by("-number")
    return rows.marked().prefetch_related(Prefetch("versions", readable, to_attr="readable_versions"), "maintainers")


def taxonomies(user: User) -> QuerySet[Taxonomy]:
    """The taxonomies this person may read, by slug, with their readable versions; three queries."""
    return with_versions(Taxonomy.objects.readable_by(user), user).order_by("slug")


def taxonomy_with_versions(taxonomy: Taxonomy, user: User) -> Taxonomy:
    """One of them; three queries. Raises TaxonomyNotFound where its only draft was discarded since."""
    found = with_versions(Taxonomy.objects.filter(pk=taxonomy.pk), user).first()
    if found is None or not found.readable_versions:  # type: ignore[attr-defined]  # by the prefetch
        raise TaxonomyNotFound(f"Taxonomy “{taxonomy.slug}” not found.")
    return found


def version_before(version: TaxonomyVersion, user: User) -> TaxonomyVersion | None:
    """The readable version with the next lower number."""
    rows = TaxonomyVersion.objects.readable_by(user).filter(taxonomy_id=version.taxonomy_id)
    return rows.filter(number__lt=version.number).order_by("-number").first()


MOST_COMPARED = 10
"""So many taxonomies of similar IDs are compared with a ready-made one at most."""


def stored_as(user: User, asked: Document) -> TaxonomyVersion | None:
    """The newest published version of a taxonomy that says just what a ready-made document says, as `stored_ones`."""
    return stored_ones(user, [asked]).get(asked.slug)


def written_by_everyone(user: User) -> QuerySet[Any, Any]:
    """Taxonomies (by key) that an account maintains as which anyone can act; of these people themselves none.

    Nobody else makes a study of one: whoever comes by can rewrite it, and reads what its drafts say.
    """
    by_them = Taxonomy.maintainers.through.objects.filter(user__username__in=public_names())
    return by_them.none().values("taxonomy") if is_public_account(user) else by_them.values("taxonomy")


def stored_ones(user: User, asked: Sequence[Document], *, drafts: bool = False) -> dict[str, TaxonomyVersion]:
    """Of ready-made documents, by ID, the versions that this person may read, whoever stored them.

    Each is the newest published one (with `drafts` the newest one) of its taxonomy, and says just the same. Its ID is
    that of the document, or that with a number behind it: an ID alone tells nothing of what someone stored under it.
    Those that `written_by_everyone` are none. One query, and three for each that is compared.
    """
    versions = TaxonomyVersion.objects.readable_by(user).exclude(taxonomy__in=written_by_everyone(user))
    if not drafts:
        versions = versions.filter(state=TaxonomyVersion.State.PUBLISHED)
    newest = versions.filter(taxonomy=OuterRef("taxonomy")).order_by("-number").values("pk")[:1]
    alike = Q()
    for each in asked:
        of_the_name = Q(taxonomy__slug=each.slug) | Q(taxonomy__slug__startswith=f"{each.slug}-")
        alike |= of_the_name & Q(title=each.title, note=each.note)
    rows = list(versions.filter(alike, pk=Subquery(newest)).select_related("taxonomy").order_by("taxonomy"))
    found = {}
    for each in asked:
        own = [row for row in rows if (row.title, row.note) == (each.title, each.note)][:MOST_COMPARED]
        same = (row for row in own if replace(document(row), slug=each.slug) == each)
        if version := next(same, None):
            found[each.slug] = version
    return found


def newest_published(taxonomy: Taxonomy) -> TaxonomyVersion | None:
    """The published version with the highest number; retired ones don't count."""
    return taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).order_by("-number").first()


def version_of(slug: str, number: int | None = None) -> TaxonomyVersion | None:
    """A version by its number, or the newest one in any state; for the shell, which may read all."""
    rows = TaxonomyVersion.objects.filter(taxonomy__slug=slug).select_related("taxonomy").order_by("-number")
    return (rows if number is None else rows.filter(number=number)).first()


@dataclass(frozen=True)
class _Rows:
    """All rows of a version."""

    version: TaxonomyVersion
    dimensions: Sequence[Dimension]
    categories: dict[int, list[Category]]


def _rows(version_id: int) -> _Rows:
    version = TaxonomyVersion.objects.select_related("taxonomy").get(pk=version_id)
    dimensions = list(Dimension.objects.filter(version_id=version_id).order_by("position"))
    categories: dict[int, list[Category]] = defaultdict(list)
    for category in Category.objects.filter(dimension__version_id=version_id).order_by("dimension_id", "position"):
        categories[category.dimension_id].append(category)
    return _Rows(version, dimensions, categories)


TREES_MAX = 256
_trees: dict[int, VersionTree] = {}
_told: dict[int, VersionChanges] = {}


def published_version(version_id: int) -> VersionTree:
    """The tree of a version. No query where it was read before in this process, else three; drafts are read anew.

    Raises TaxonomyVersion.DoesNotExist. That it is published is the caller's rule: a draft is given as it stands.
    """
    if version_id in _trees:
        return _trees[version_id]
    rows = _rows(version_id)
    found = _tree(rows)
    if not rows.version.is_draft:
        if len(_trees) >= TREES_MAX:
            _trees.clear()
        _trees[version_id] = found
    return found


def forget_trees() -> None:
    """Empties the memory of trees and changes: a publication that is rolled back must not leave one behind."""
    _trees.clear()
    _told.clear()


def route(old: int, new: int) -> Route | None:
    """The way of values from a version to another by their ids, in either direction; None where no mapping joins them.

    Three queries for each version on the way that was not read before in this process; drafts are read anew.
    """
    if old == new:
        return Route()
    told: dict[int, VersionChanges] = {}
    for version_id in (old, new):
        at: int | None = version_id
        while at is not None and at not in told:
            told[at] = found = _read_told(at)
            at = found.parent_id
    return migration.route(told, old, new)


def _read_told(version_id: int) -> VersionChanges:
    if version_id in _told:
        return _told[version_id]
    version = TaxonomyVersion.objects.get(pk=version_id)
    rows = CategoryChange.objects.filter(version_id=version_id).order_by("pk")
    links = [
        Link(kind, dimension or old_dimension, old, new, tuple(also))
        for kind, also, dimension, old_dimension, old, new in rows.values_list(
            "kind", "also", "new__dimension__key", "old__dimension__key", "old__key", "new__key"
        )
    ]
    kinds = dict(Dimension.objects.filter(version_id=version_id).values_list("key", "kind"))
    found = VersionChanges(version.number, version.parent_id, links, kinds)
    if not version.is_draft:
        _told[version_id] = found
    return found


def _tree(rows: _Rows) -> VersionTree:
    version = rows.version
    dimensions = tuple(
        TreeDimension(
            id=dimension.pk,
            key=dimension.key,
            title=dimension.title,
            kind=dimension.kind,
            required=dimension.required,
            applies_when=_condition(dimension),
            help=dimension.help,
            position=dimension.position,
            categories=tree.grown(
                (
                    category.pk,
                    category.parent_id,
                    category.key,
                    category.name,
                    {
                        "definition": category.definition,
                        "include": tuple(category.include),
                        "exclude": tuple(category.exclude),
                        "examples": tuple(category.examples),
                        "shortcut": category.shortcut,
                        "selectable": category.selectable,
                    },
                )
                for category in rows.categories[dimension.pk]
            ),
        )
        for dimension in rows.dimensions
    )
    return VersionTree(version.pk, version.taxonomy.slug, version.number, version.title, version.note, dimensions)


def document(version: TaxonomyVersion) -> Document:
    """The document of a version, just as it came in; three queries."""
    rows = _rows(version.pk)
    return Document(
        slug=rows.version.taxonomy.slug,
        title=rows.version.title,
        note=rows.version.note,
        stated=frozenset(rows.version.stated),
        dimensions=tuple(
            DimensionSpec(
                key=dimension.key,
                title=dimension.title,
                kind=dimension.kind,
                required=dimension.required,
                applies_when=_condition(dimension),
                help=dimension.help,
                stated=frozenset(dimension.stated),
                categories=_specs(rows.categories[dimension.pk]),
            )
            for dimension in rows.dimensions
        ),
    )


def _condition(dimension: Dimension) -> AppliesWhen | None:
    condition = dimension.applies_when
    return AppliesWhen(condition["dimension"], tuple(condition["is"])) if condition else None


def _specs(categories: Sequence[Category]) -> tuple[CategorySpec, ...]:
    """The tree of the rows of one dimension, which come in its order."""
    below: dict[int | None, list[Category]] = defaultdict(list)
    for category in categories:
        below[category.parent_id].append(category)

    def specs(parent_id: int | None) -> tuple[CategorySpec, ...]:
        return tuple(
            CategorySpec(
                key=category.key,
                name=category.name,
                definition=category.definition,
                include=tuple(category.include),
                exclude=tuple(category.exclude),
                examples=tuple(category.examples),
                shortcut=category.shortcut,
                selectable=category.selectable,
                was=tuple(category.was),
                categories=specs(category.pk),
                stated=frozenset(category.stated),
            )
            for category in below[parent_id]
        )

    return specs(None)


@dataclass(frozen=True)
class ReadDimension:
    """A dimension as a page shows it: its spec, and its condition in names instead of keys."""

    spec: DimensionSpec
    n_categories: int
    condition_title: str
    condition_names: tuple[str, ...]


def read_dimensions(document: Document) -> tuple[ReadDimension, ...]:
    """The dimensions of a document with what a reader wants to know beside; no query."""
    names: dict[tuple[str, str | bool], str] = {}
    titles: dict[str, str] = {}
    found = []
    for spec in document.dimensions:
        titles[spec.key] = spec.title
        names |= {(spec.key, True): "yes", (spec.key, False): "no"}
        names |= {(spec.key, category.key): category.name for category, _ in spec.walk()}
        condition = spec.applies_when
        found.append(
            ReadDimension(
                spec,
                sum(1 for _ in spec.walk()),
                titles[condition.dimension] if condition else "",
                tuple(names[condition.dimension, value] for value in condition.values) if condition else (),
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class VersionComparison:
    """Two versions of a taxonomy and what became of each dimension and category from the first to the second.

    `is_followed` is false where no recorded changes join the two, so that keys were compared.
    """

    old: TaxonomyVersion
    new: TaxonomyVersion
    old_document: Document
    new_document: Document
    dimensions: tuple[DimensionChange, ...]
    changes: tuple[Change, ...]
    is_followed: bool = True


def compare_versions(old: TaxonomyVersion, new: TaxonomyVersion) -> VersionComparison:
    """What changed between two versions of one taxonomy, in either direction; eight queries, however far apart.

    The recorded changes are followed step by step; between versions of different branches back to the version from
    which both came, and on from there (twelve queries). Where nothing joins them keys are compared.
    """
    before, after = document(old), document(new)
    told = _sources_between(old, new, after)
    return VersionComparison(
        old,
        new,
        before,
        after,
        tuple(comparison.compare_dimensions(before, after)),
        tuple(comparison.compare(before, after, told)),
        told is not None,
    )


def appendix_of(found: VersionComparison) -> str:
    """A comparison as Markdown for the appendix of a paper; no query where the versions came by access.get_version."""
    old, new = found.old_document, found.new_document
    return appendix.appendix(
        new.title,
        new.slug,
        appendix.Heading(found.old.number, _said(found.old), old.note),
        appendix.Heading(found.new.number, _said(found.new), new.note),
        side_by_side.counts(found.changes),
        side_by_side.sections(old, new, found.dimensions, found.changes),
    )


def _said(version: TaxonomyVersion) -> str:
    """What is said of a version in words: "published on 3 May 2026", "draft, written on 4 May 2026"."""
    if version.published_at is None:
        return f"draft, written on {_day(version.edited_at or version.created_at)}"
    retired = f", retired on {_day(version.retired_at)}" if version.retired_at else ""
    return f"published on {_day(version.published_at)}{retired}"


def _day(when: datetime) -> str:
    return date_format(localtime(when), "j F Y")


def _sources_between(old: TaxonomyVersion, new: TaxonomyVersion, after: Document) -> Sources | None:
    """Where each category of the one version comes from in the other by the recorded changes; None without a way."""
    if old.pk == new.pk:
        return {
            (dimension.key, spec.key): (spec.key,) for dimension in after.dimensions for spec, _ in dimension.walk()
        }
    parents = dict(TaxonomyVersion.objects.filter(taxonomy_id=old.taxonomy_id).values_list("pk", "parent_id"))
    lines = [_line(each.pk, parents) for each in (old, new)]
    common = next((each for each in lines[0] if each in lines[1]), None)
    if common is None:
        return None
    back, forth = (line[: line.index(common)] for line in lines)
    if not back:
        return _recorded_sources(forth)
    if not forth:
        return comparison.invert(_recorded_sources(back), after)
    joint = document(TaxonomyVersion(pk=common))
    return comparison.compose(comparison.invert(_recorded_sources(back), joint), _recorded_sources(forth))


def _line(version_id: int, parents: Mapping[int, int | None]) -> list[int]:
    """A version, the one it came from, and so on to the first."""
    found: list[int] = []
    at: int | None = version_id
    while at is not None:
        found.append(at)
        at = parents.get(at)
    return found


def _recorded_sources(chain: Sequence[int]) -> Sources:
    """Where the categories of the first of these versions come from in the parent of the last; one query."""
    steps: dict[int, dict[tuple[str, str], list[str]]] = {version_id: defaultdict(list) for version_id in chain}
    rows = (
        CategoryChange.objects.filter(version_id__in=chain, new__isnull=False)
        .order_by("pk")
        .values_list("version_id", "new__dimension__key", "new__key", "old__key")
    )
    for version_id, dimension, key, source in rows:
        sources = steps[version_id][dimension, key]
        if source is not None:
            sources.append(source)
    told: Sources | None = None
    for version_id in reversed(chain):
        step = {place: tuple(keys) for place, keys in steps[version_id].items()}
        told = step if told is None else comparison.compose(told, step)
    return told or {}


def n_changes(versions: Sequence[TaxonomyVersion]) -> dict[int, int]:
    """How many pairs of categories each version changed of the one it came from, by the version's id; one query."""
    rows = CategoryChange.objects.filter(version__in=versions).exclude(kind="kept").values("version_id")
    return dict(rows.annotate(n=Count("pk")).order_by().values_list("version_id", "n"))
