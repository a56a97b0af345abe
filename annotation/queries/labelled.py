"""The agreed labels of a study as columns: where nobody differs they are read set by set, elsewhere item by item.

Whatever `queries.results.labels` tells stands here, too: both ask consensus and tell values in the same way. Items of
which all raters said the same are judged once for each different answer, and not once for each item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from django.db.models import Count, Max, Min, Q

from annotation.analysis.columns import NONE, NOT_AGREED, UNMAPPED, Categories, Columns, Ints, Multi, Number, Single
from annotation.answers import applies
from annotation.consensus import Answer, Values, verdicts
from annotation.models import Assignment, Resolution, Round
from annotation.queries.binary import read_binary
from annotation.queries.plans.standing import label_version
from annotation.queries.results import settled_here, settled_verdicts, told_verdicts
from annotation.queries.telling import Telling
from annotation.queries.verdicts import COUNTS, disputed_items, questions, round_verdicts
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension, VersionTree

MARK = Categories(("false", "true"), ("no", "yes"))
RATINGS = """
    SELECT r.item_id::bigint, r.part::int, r.dimension_id::bigint,
        coalesce(r.category_id, r.boolean::int, -1)::bigint, coalesce(r.number, 'NaN')::float8
    FROM annotation_rating r WHERE r.annotation_id IN ({})"""
_FIELDS = {"item": "bigint", "part": "int", "dimension": "bigint", "value": "bigint", "number": "float8"}


@dataclass(frozen=True)
class Found:
    """Columns of agreed labels, in terms of which versions they stand, and what is not in them.

    `rounds` has of each row the number of the round that gave it. `n_waiting` counts the items of these rounds that
    their raters are not done with yet.
    """

    columns: Columns
    rounds: Ints
    versions: Mapping[int, int]
    n_waiting: int = 0


@dataclass(frozen=True)
class Asking:
    """A dimension as the columns have it: as the newest version says, categories that only others have at the end."""

    key: str
    title: str
    kind: str
    categories: Categories


def labelled(
    rounds: Sequence[Round], *, version: TaxonomyVersion | None = None, standing: TaxonomyVersion | None = None
) -> Found:
    """The agreed labels of these rounds (with their taxonomy_version), in the order of rounds and of items in them.

    What counts and how it is told is as in `queries.results.labels`. Dimensions that are texts have no column. Cost:
    about five queries for each round, and those of `round_verdicts` for its items that were disputed.
    """
    told_in = {each.pk: version or label_version(each, standing) for each in rounds}
    asking = dimensions_in(told_in.values())
    tellings: dict[int, Telling] = {}
    gathered = [
        _round(each, rounds, tellings.setdefault(told_in[each.pk].pk, Telling(told_in[each.pk])), asking)
        for each in sorted(rounds, key=lambda each: each.number)
    ]
    versions = {each.number: told_in[each.pk].number for each in rounds}
    return _whole(asking, gathered, versions)


def no_labels(version: TaxonomyVersion) -> Columns:
    """The columns of a version without a row."""
    return _whole(dimensions_in([version]), [], {}).columns


def dimensions_in(versions: Iterable[TaxonomyVersion]) -> dict[str, Asking]:
    """The dimensions of some versions by key, without texts; a key is of the kind that the newest version says."""
    trees = [published_version(each.pk) for each in sorted({*versions}, key=lambda each: (-each.number, each.pk))]
    gathered: dict[str, list[TreeDimension]] = {}
    for tree in trees:
        for dimension in tree.dimensions:
            gathered.setdefault(dimension.key, []).append(dimension)
    return {key: _asking(same) for key, same in gathered.items() if same[0].kind != "text"}


def _asking(same: Sequence[TreeDimension]) -> Asking:
    newest = same[0]
    if newest.kind == "boolean":
        return Asking(newest.key, newest.title, newest.kind, MARK)
    kept = {category.key: category for dimension in reversed(same) for category in dimension.categories}
    keys = [*newest.by_key, *(key for key in kept if key not in newest.by_key)]
    place = {key: code for code, key in enumerate(keys)}
    shown = [kept[key].name for key in keys]
    names = [kept[key].path if shown.count(name) > 1 else name for key, name in zip(keys, shown, strict=True)]
    parents = [place.get(kept[key].parent or "", -1) for key in keys]
    return Asking(newest.key, newest.title, newest.kind, Categories(tuple(keys), tuple(names), tuple(parents)))


@dataclass
class _Gathered:
    """The rows of one round while they come together: places, and of each dimension what stands there."""

    number: int
    items: Ints
    order: Ints
    parts: Ints
    codes: dict[str, Ints]
    numbers: dict[str, np.ndarray]
    pairs: dict[str, tuple[Ints, Ints]]
    n_waiting: int = 0


def _round(round_: Round, rounds: Sequence[Round], telling: Telling, asking: Mapping[str, Asking]) -> _Gathered:
    here = settled_here(round_, rounds).order_by("position").values_list("item_id", flat=True)
    items = np.fromiter(here, dtype=np.int64)
    ready, apart = items, np.zeros(0, dtype=np.int64)
    if round_.state == Round.State.OPEN:
        ready = items[np.isin(items, _complete(round_))]
    if round_.kind == Round.Kind.RELABEL:
        apart = ready
    else:
        disputed = np.fromiter(disputed_items(round_).values_list("item", flat=True), np.int64)
        # A sheet may bring decisions on items that nobody rated.
        decided = np.fromiter(Resolution.objects.filter(round=round_).values_list("item", flat=True), np.int64)
        apart = np.intersect1d(ready, np.concatenate([disputed, decided]))
    plain = ready[~np.isin(ready, apart)]
    place = {int(item): at for at, item in enumerate(items)}
    tree = published_version(round_.taxonomy_version_id)
    one = _together(round_, tree, plain, items, telling, asking)
    other = _one_by_one(round_, apart, place, telling, asking)
    found = _joined(one, other)
    found.n_waiting = len(items) - len(ready)
    return found


def _complete(round_: Round) -> Ints:
    """The items of an open round whose raters are all done; one query."""
    mine = Assignment.objects.filter(COUNTS, round=round_).exclude(state=Assignment.State.WITHDRAWN).order_by()
    done = Q(state__in=Assignment.FINISHED, current__isnull=False)
    counted = mine.values("item").annotate(
        n_done=Count("slot", filter=done),
        n_left=Count("slot", filter=Q(state__in=Assignment.UNFINISHED)),
        n_planned=Max("item__round_items__n_raters", filter=Q(item__round_items__round=round_)),
    )
    rows = counted.values_list("item", "n_done", "n_left", "n_planned")
    return np.array([item for item, n_done, n_left, n in rows if not n_left and n_done >= (n or 0)], dtype=np.int64)


# Items of which all raters said the same


@dataclass(frozen=True)
class _Said:
    """What was said on one dimension of a round: D different answers, and of each row which it is, −1 for none."""

    different: Sequence[Values]
    which: Ints
    numbers: np.ndarray | None = field(default=None, repr=False)


def _together(
    round_: Round, tree: VersionTree, plain: Ints, items: Ints, telling: Telling, asking: Mapping[str, Asking]
) -> _Gathered:
    answers = Assignment.objects.filter(COUNTS, round=round_, state__in=Assignment.FINISHED, current__isnull=False)
    firsts = answers.order_by().values("item").annotate(first=Min("current")).values("first")
    sql, params = firsts.query.sql_with_params()
    rows = read_binary(RATINGS.format(sql), params, **_FIELDS)
    rows = rows[np.isin(rows["item"], plain)]
    at = _places_of(rows["item"], items)
    most = int(rows["part"].max()) + 1 if len(rows) else 1
    places, inverse = np.unique(at * most + rows["part"], return_inverse=True)
    said = {
        dimension.key: _said(dimension, rows[mine], inverse[mine], len(places))
        for dimension in tree.dimensions
        for mine in [rows["dimension"] == dimension.id]
    }
    found = _empty(round_, len(places), asking)
    found.order = places // most
    found.items, found.parts = items[found.order], places % most
    has_any = np.zeros(len(places), dtype=bool)
    for dimension in tree.dimensions:
        has_any |= _tell(found, round_, tree, dimension, said, telling, asking)
    return _taken(found, np.flatnonzero(has_any))


def _places_of(wanted: Ints, among: Ints) -> Ints:
    """Where each of some numbers stands among others, all of which are there."""
    order = np.argsort(among, kind="stable")
    found: Ints = order[np.searchsorted(among, wanted, sorter=order)]
    return found


def _said(dimension: TreeDimension, rows: np.ndarray, places: Ints, n: int) -> _Said:
    which = np.full(n, NONE, dtype=np.int64)
    if dimension.kind == "boolean":
        which[places] = rows["value"]
        return _Said([(False,), (True,)], which)
    if not dimension.has_categories:
        which[places] = 0
        if dimension.kind != "number":
            return _Said([("",)], which)
        numbers = np.full(n, np.nan)
        numbers[places] = rows["number"]
        return _Said([(0.0,)], which, numbers)
    keys = [category.key for category in dimension.categories]
    ids = np.array([-1, *(category.id for category in dimension.categories)], dtype=np.int64)
    codes = _places_of(rows["value"], ids) - 1
    if dimension.kind != "multi":
        which[places] = codes
        return _Said([(key,) for key in keys], which)
    # Of each row the set as the sorted codes of its categories; the empty set is a row without a category.
    sets: dict[int, list[int]] = {place: [] for place in places.tolist()}
    for place, code in zip(places.tolist(), codes.tolist(), strict=True):
        if code >= 0:
            sets[place].append(code)
    number: dict[Values, int] = {}
    for place, given in sets.items():
        which[place] = number.setdefault(tuple(sorted(keys[code] for code in given)), len(number))
    return _Said(list(number), which)


def _tell(
    found: _Gathered,
    round_: Round,
    tree: VersionTree,
    dimension: TreeDimension,
    said: Mapping[str, _Said],
    telling: Telling,
    asking: Mapping[str, Asking],
) -> np.ndarray:
    """Writes what one dimension says, judged once for each answer that differs in what it hangs on; N: where so."""
    above = _above(dimension.key, tree, telling.tree)
    asked = [question for question in questions(tree) if question.key in above]
    patterns, inverse = _patterns([said[question.key].which for question in asked], len(found.items))
    told: list[Values | str | None] = []
    for pattern in patterns:
        part = {
            question.key: said[question.key].different[code]
            for question, code in zip(asked, pattern, strict=True)
            if code >= 0
        }
        judged = verdicts(asked, partial(applies, tree), [Answer("", [part])], {}, 1)
        settled = [each for each in judged if each.values is not None and each.state != "open"]
        values = {one.dimension: value for one, value in told_verdicts(round_, settled, telling)}
        told.append(values.get(dimension.key))
    has_any: np.ndarray = np.array([value is not None for value in told], dtype=bool)[inverse]
    if dimension.key in asking:
        _write(found, asking[dimension.key], told, inverse, said[dimension.key].numbers)
    return has_any


def _above(key: str, *trees: VersionTree) -> set[str]:
    """A dimension and all that decides, in one version or another, whether it applies."""
    found = {key}
    left = [key]
    while left:
        at = left.pop()
        for tree in trees:
            condition = tree.by_key[at].applies_when if at in tree.by_key else None
            if condition is not None and condition.dimension not in found:
                found.add(condition.dimension)
                left.append(condition.dimension)
    return found


def _patterns(columns: Sequence[Ints], n: int) -> tuple[list[tuple[int, ...]], Ints]:
    """The different rows of some columns, and of each row which of them it is."""
    inverse = np.zeros(n, dtype=np.int64)
    for column in columns:
        inverse = np.unique(inverse * (int(column.max(initial=0)) + 2) + column + 1, return_inverse=True)[1]
    _, first = np.unique(inverse, return_index=True)
    return [tuple(int(column[at]) for column in columns) for at in first], inverse


def _write(
    found: _Gathered,
    asking: Asking,
    told: Sequence[Values | str | None],
    which: Ints,
    numbers: np.ndarray | None,
) -> None:
    key, place = asking.key, asking.categories.place
    states = np.array([_code(asking, value) for value in told], dtype=np.int64)
    if asking.kind == "number":
        if numbers is not None and len(told):
            is_told = np.array([isinstance(value, tuple) for value in told])[which]
            found.numbers[key] = np.where(is_told, numbers, np.nan)
    elif asking.kind == "multi":
        sets = [tuple(place[str(each)] for each in value) if isinstance(value, tuple) else () for value in told]
        sizes = np.array([len(each) for each in sets], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(sets) else sizes
        flat = np.array([code for each in sets for code in each], dtype=np.int64)
        rows = np.repeat(np.arange(len(which)), sizes[which]) if len(sets) else sizes
        within = (
            np.arange(len(rows)) - np.repeat(np.cumsum(sizes[which]) - sizes[which], sizes[which])
            if len(sets)
            else rows
        )
        found.pairs[key] = (rows, flat[starts[which][rows] + within] if len(rows) else rows)
        found.codes[key] = states[which] if len(told) else found.codes[key]
    elif len(told):
        found.codes[key] = states[which]


def _code(asking: Asking, value: Values | str | None) -> int:
    """What stands in a column for an answer: a code, 0 for a set, or why there is none."""
    if value is None:
        return NONE
    if isinstance(value, str):
        return UNMAPPED
    if asking.kind == "boolean":
        return int(value[0] is True)
    if asking.kind in ("multi", "number"):
        return 0
    return asking.categories.place.get(str(value[0]), UNMAPPED) if len(value) == 1 else UNMAPPED


# Items that were disputed or decided, and those of worklists


def _one_by_one(
    round_: Round, apart: Ints, place: Mapping[int, int], telling: Telling, asking: Mapping[str, Asking]
) -> _Gathered:
    rows: dict[tuple[int, int], dict[str, Values | str | int]] = {}
    for each in round_verdicts(round_, items=apart.tolist()) if len(apart) else ():
        item = each.round_item.item_id
        for verdict, told in told_verdicts(round_, settled_verdicts(round_, each), telling):
            rows.setdefault((item, verdict.part), {})[verdict.dimension] = told
        for verdict in each.verdicts:
            if verdict.state == "open":
                rows.setdefault((item, verdict.part), {}).setdefault(verdict.dimension, NOT_AGREED)
    found = _empty(round_, len(rows), asking)
    pairs: dict[str, list[tuple[int, int]]] = {key: [] for key in found.pairs}
    for at, ((item, part), said) in enumerate(rows.items()):
        found.items[at], found.order[at], found.parts[at] = item, place[item], part
        for key, value in said.items():
            if key not in asking:
                continue
            if key in pairs and isinstance(value, tuple):
                pairs[key] += [(at, asking[key].categories.place[str(each)]) for each in value]
            if key in found.numbers:
                found.numbers[key][at] = value[0] if isinstance(value, tuple) else np.nan
            else:
                found.codes[key][at] = value if isinstance(value, int) else _code(asking[key], value)
    for key, listed in pairs.items():
        both = np.array(listed, dtype=np.int64).reshape(-1, 2)
        found.pairs[key] = (both[:, 0], both[:, 1])
    return found


# Putting together


def _empty(round_: Round, n: int, asking: Mapping[str, Asking]) -> _Gathered:
    none = np.zeros(0, dtype=np.int64)
    return _Gathered(
        number=round_.number,
        items=np.zeros(n, dtype=np.int64),
        order=np.zeros(n, dtype=np.int64),
        parts=np.zeros(n, dtype=np.int64),
        codes={key: np.full(n, NONE, dtype=np.int64) for key, each in asking.items() if each.kind != "number"},
        numbers={key: np.full(n, np.nan) for key, each in asking.items() if each.kind == "number"},
        pairs={key: (none, none) for key, each in asking.items() if each.kind == "multi"},
    )


def _taken(found: _Gathered, rows: Ints) -> _Gathered:
    place = np.full(len(found.items), -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    pairs: dict[str, tuple[Ints, Ints]] = {}
    for key, (at, codes) in found.pairs.items():
        kept = place[at] >= 0
        order = np.lexsort((codes[kept], place[at[kept]]))
        pairs[key] = (place[at[kept]][order], codes[kept][order])
    return _Gathered(
        number=found.number,
        items=found.items[rows],
        order=found.order[rows],
        parts=found.parts[rows],
        codes={key: each[rows] for key, each in found.codes.items()},
        numbers={key: each[rows] for key, each in found.numbers.items()},
        pairs=pairs,
        n_waiting=found.n_waiting,
    )


def _joined(one: _Gathered, other: _Gathered) -> _Gathered:
    """Both in the order of items and parts."""
    n = len(one.items)
    pairs: dict[str, tuple[Ints, Ints]] = {
        key: (np.concatenate([rows, other.pairs[key][0] + n]), np.concatenate([codes, other.pairs[key][1]]))
        for key, (rows, codes) in one.pairs.items()
    }
    both = _Gathered(
        number=one.number,
        items=np.concatenate([one.items, other.items]),
        order=np.concatenate([one.order, other.order]),
        parts=np.concatenate([one.parts, other.parts]),
        codes={key: np.concatenate([each, other.codes[key]]) for key, each in one.codes.items()},
        numbers={key: np.concatenate([each, other.numbers[key]]) for key, each in one.numbers.items()},
        pairs=pairs,
    )
    order = np.lexsort((both.parts, both.order))
    # `_taken` keeps the order of its rows, so pairs follow them.
    return _taken(both, order)


def _whole(asking: Mapping[str, Asking], gathered: Sequence[_Gathered], versions: Mapping[int, int]) -> Found:
    """The rounds below each other, in types as small as their values allow: this is what is kept."""
    starts = np.cumsum([0, *(len(each.items) for each in gathered)])
    singles, multis, numbers = {}, {}, {}
    for key, each in asking.items():
        if each.kind == "number":
            numbers[key] = Number(key, each.title, _stacked([one.numbers[key] for one in gathered], np.float64))
            continue
        codes = _stacked([one.codes[key] for one in gathered], _small(len(each.categories)))
        if each.kind == "multi":
            rows = [one.pairs[key][0] + start for one, start in zip(gathered, starts, strict=False)]
            said = [one.pairs[key][1] for one in gathered]
            small = _small(len(each.categories))
            multis[key] = Multi(
                key, each.title, each.categories, _stacked(rows, np.int32), _stacked(said, small), codes
            )
        else:
            singles[key] = Single(key, each.title, each.kind, each.categories, codes)
    columns = Columns(
        _stacked([each.items for each in gathered], np.int64),
        _stacked([each.parts for each in gathered], np.int16),
        singles,
        multis,
        numbers,
    )
    rounds = _stacked([np.full(len(each.items), each.number) for each in gathered], np.int16)
    return Found(columns, rounds, versions, sum(each.n_waiting for each in gathered))


def _stacked(arrays: Sequence[np.ndarray], kind: type) -> np.ndarray:
    return np.concatenate([np.zeros(0), *arrays]).astype(kind)


def _small(n: int) -> type:
    return np.int8 if n < 127 else np.int16 if n < 32_000 else np.int32
