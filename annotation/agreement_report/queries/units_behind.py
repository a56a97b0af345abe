"""Units behind a number of agreement: items and the labels of their raters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agreement import category_label
from annotation.agreement_report.queries.across_rounds import (
    AgreementQuery,
    DimensionPatterns,
    RoundPatterns,
    at_level,
    dimensions_of,
    map_to_version,
    no_such_dimension,
    rater_codes,
)
from annotation.agreement_report.queries.exclusions import BECAUSE, units_left_out
from annotation.agreement_report.queries.intra_rater import TWICE
from annotation.agreement_report.queries.mapped_patterns import LostValue, MappedDimension
from annotation.agreement_report.queries.model_raters import machines_in
from annotation.agreement_report.queries.patterns import PatternRow, Unit, Value, units
from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.labels.consensus import PENDING
from annotation.labels.queries.label_version import way
from annotation.models import Item, Round
from taxonomy.queries import published_version
from taxonomy.tree import TreeDimension

PAGE = 50
SHOWS = ("compared", "differ", "agree", "left_out", "decided", "twice")
OF_ONE = ("decided", "twice")
"""Shown of one rater: what was decided beside what they said, and what they labelled in more than one round."""
DECIDED = """EXISTS (
    SELECT FROM annotation_resolution d
    WHERE d.item_id = r.item_id AND d.round_id + 0 = %s AND d.dimension_id + 0 = %s OFFSET 0)"""
"""Looked up by the item of a rating: where the planner expects few rows it would read all resolutions for each."""
Place = tuple[int, int, int]


@dataclass(frozen=True)
class DrillDown:
    """Which units of a dimension: with a category (a), with a pair (a, b), of two raters, differing, left out.

    With a pair of raters, a is what the first of them said and b what the second said; without, any two raters in any
    order. `rater` is one who is among those who answered.
    """

    a: str = ""
    b: str = ""
    raters: tuple[str, ...] = ()
    show: str = "compared"
    because: str = ""
    rater: str = ""
    after: Place = (0, 0, 0)

    @classmethod
    def read(cls, given: dict[str, str]) -> "DrillDown":
        """From the words of an address. Raises Invalid."""
        fields = {}
        if given.get("show", SHOWS[0]) not in SHOWS:
            fields["show"] = [f"Use one of {', '.join(SHOWS)}."]
        if given.get("because") and (given["because"] not in BECAUSE or given.get("show") != "left_out"):
            fields["because"] = [f"With show=left_out, use one of {', '.join(BECAUSE)}."]
        pair = given.get("pair") or given.get("raters", "")  # a slice of two raters is compared as their pair
        raters = tuple(code for code in pair.split(",") if code)
        if len(raters) not in (0, 2) or len(set(raters)) != len(raters):
            fields["pair" if given.get("pair") else "raters"] = ["Name two raters, as R1,R2."]
        if given.get("show") in OF_ONE and not given.get("rater"):
            fields["rater"] = ["Name the rater, as R1."]
        if given.get("b") and not given.get("a"):
            fields["a"] = ["Send a, too: the pair needs both."]
        if not given.get("dimension"):
            fields["dimension"] = ["Name a dimension."]
        if fields:
            raise Invalid("Items not valid.", fields=fields)
        return cls(
            given.get("a", ""),
            given.get("b", ""),
            raters,
            given.get("show", SHOWS[0]),
            given.get("because", ""),
            given.get("rater", ""),
            _place(given),
        )

    def address(self, *, show: str) -> dict[str, str]:
        """The same in an address, shown otherwise."""
        found = {"a": self.a, "b": self.b, "pair": ",".join(self.raters), "rater": self.rater, "show": show}
        return {name: value for name, value in found.items() if value}

    def wants(self, given: Sequence[tuple[str, Value]]) -> bool:
        """Whether a unit is meant, given (rater's code, value) in the order of the codes."""
        by_code = dict(given)
        if self.rater and self.rater not in by_code:
            return False
        if self.show in OF_ONE:
            return True
        if self.raters:
            if not all(code in by_code for code in self.raters):
                return False
            given = [(code, by_code[code]) for code in self.raters]
        if len(given) < 2:
            return False
        labels = [category_label(value) for _, value in given]
        if self.show in ("differ", "agree") and (len(set(labels)) > 1) != (self.show == "differ"):
            return False
        if self.a and self.b and self.raters:
            return labels == [self.a, self.b]
        if self.a and self.b:
            return labels.count(self.a) > 1 if self.a == self.b else self.a in labels and self.b in labels
        return not self.a or any(
            self.a == label or (isinstance(value, frozenset) and self.a in value)
            for label, (_, value) in zip(labels, given, strict=True)
        )


def _place(given: dict[str, str]) -> Place:
    parts = given.get("after", "").split(".")
    if len(parts) == 3 and all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        return int(parts[0]), int(parts[1]), int(parts[2])
    return (0, 0, 0)


@dataclass(frozen=True)
class UnitLine:
    """A unit with its item and what each rater gave, in the order of their codes.

    A value that can't be told in terms of the version asked for stands as it was given (under the dimension `own`),
    with the reason by code in `unmapped`.
    """

    item: Item
    title: str
    part: int
    round: Round
    dimension: TreeDimension
    given: Sequence[tuple[str, tuple[str | bool | float, ...]]]
    own: TreeDimension
    unmapped: Mapping[str, str] = field(default_factory=dict)

    def dimension_of(self, code: str) -> TreeDimension:
        """The dimension as the version says in whose terms a rater's value stands here."""
        return self.own if code in self.unmapped else self.dimension


@dataclass(frozen=True)
class UnitPage:
    """A page of units; `next` is where the following one begins, empty at the end."""

    across: DimensionPatterns
    lines: Sequence[UnitLine]
    next: str


def drill_down_units(
    seat: Seat, rounds: Sequence[Round], asked: AgreementQuery, behind: DrillDown, *, size: int = PAGE
) -> UnitPage:
    """The units of a dimension that are meant, round by round in their order; rounds must be such as may be seen.

    They are those that the numbers in terms of `asked.version` rest on, without items that this person is yet to answer
    as a third rater. Raises Invalid for a dimension that no round has. Cost: at most two queries per round, one for the
    raters, one for the items.
    """
    codes = rater_codes(seat)
    asked = _with_machines(rounds, asked, behind)
    having = _having(rounds, asked)
    if not having.counted:
        raise no_such_dimension(asked.dimension or "")
    gathered: list[tuple[RoundPatterns, Unit]] = []
    for each in sorted(having.counted, key=lambda each: each.round.number):
        number, position, part = behind.after
        if each.round.number < number:
            continue
        after = (position, part) if each.round.number == number else (0, 0)
        tree = published_version(each.round.taxonomy_version_id)
        limit = size + 1 - len(gathered)
        if behind.show == "left_out":
            told = None if each.told.route.is_empty else each.told.row
            own = each.told.own
            found = units_left_out(
                each.round.pk, tree, own, asked.slice, told=told, because=behind.because, after=after, limit=limit
            )
        else:
            wanted = _wanted(each.told, asked.level, codes, behind)
            among = _among(each, having, behind)
            found = units(
                each.round.pk, tree, each.told.own, asked.slice, wanted=wanted, among=among, after=after, limit=limit
            )
        gathered.extend((each, unit) for unit in found)
        if len(gathered) > size:
            break
    page, has_more = gathered[:size], len(gathered) > size
    items = Item.objects.select_related("snapshot").defer("snapshot__body").in_bulk([unit.item_id for _, unit in page])
    seen = [(each, unit) for each, unit in page if not seat.hides(each.round, unit.item_id)]
    lines = [_line(each, unit, items[unit.item_id], codes) for each, unit in seen]
    following = ""
    if has_more:
        each, unit = page[-1]
        following = f"{each.round.number}.{unit.position}.{unit.part}"
    return UnitPage(having, lines, following)


def _with_machines(rounds: Sequence[Round], asked: AgreementQuery, behind: DrillDown) -> AgreementQuery:
    """The machines that are asked for by name count beside those who hold a slot; one query where one is named."""
    named = {behind.rater, *behind.raters} - {""}
    machines = tuple(each.pk for each in machines_in(rounds) if each.code in named) if named else ()
    return replace(asked, slice=replace(asked.slice, machines=machines)) if machines else asked


def _among(each: RoundPatterns, having: DimensionPatterns, behind: DrillDown) -> tuple[str, list[Any]] | None:
    """The items of a round that are meant, where they are not all of them."""
    if behind.show == "decided":
        return DECIDED, [each.round.pk, each.told.own.id]
    if behind.show == "twice":
        return TWICE, [[one.round.pk for one in having.counted]]
    return None


def _having(rounds: Sequence[Round], asked: AgreementQuery) -> DimensionPatterns:
    """The dimension in the rounds that have it, without its patterns."""
    key = asked.dimension or ""
    dimensions = dimensions_of(rounds, asked.version)
    if key not in dimensions:
        raise no_such_dimension(key)
    found = []
    for round_ in sorted(rounds, key=lambda each: -each.number):
        told = map_to_version(round_, way(round_, asked.version), dimensions[key], asked)
        if told is not None:
            found.append(RoundPatterns(round_, told, asked))
    return DimensionPatterns(dimensions[key], found)


def _wanted(
    told: MappedDimension, level: str, codes: dict[int, str], behind: DrillDown
) -> Callable[[PatternRow], bool]:
    def wanted(row: PatternRow) -> bool:
        (lifted,) = at_level(told.dimension, [told.row(row)], level)
        said = dict(zip(lifted.raters, lifted.values, strict=True))
        return behind.wants([(code, said[pk]) for pk, code in codes.items() if pk in said])

    return wanted


def _line(each: RoundPatterns, unit: Unit, item: Item, codes: dict[int, str]) -> UnitLine:
    said = dict(zip(unit.raters, unit.values, strict=True))
    given, unmapped = [], {}
    for pk, code in codes.items():
        if pk not in said:
            continue
        told = each.told.value(said[pk])
        if isinstance(told, LostValue):
            unmapped[code] = told.words
            given.append((code, _plain(each.told.own, said[pk])))
        else:
            given.append((code, _plain(each.dimension, told)))
    return UnitLine(
        item=item,
        title=item.snapshot.title if item.snapshot else "",
        part=unit.part,
        round=each.round,
        dimension=each.dimension,
        given=given,
        own=each.told.own,
        unmapped=unmapped,
    )


def _plain(dimension: TreeDimension, value: Value) -> tuple[str | bool | float, ...]:
    """A value as labels have them."""
    if isinstance(value, frozenset):
        return tuple(sorted(value, key=lambda key: (key == PENDING, key)))
    return (value == "true",) if dimension.is_two_valued and value in ("true", "false") else (value,)
