"""Version mapping: values in the terms of one taxonomy version, whichever they were given under."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.labels.consensus import PENDING, Values
from annotation.models import Round
from taxonomy.migration import BlockedValue, Route
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version, route
from taxonomy.tree import VersionTree


def target_version(seat: Seat, number: int | None, round_: Round | None = None) -> TaxonomyVersion | None:
    """The version of the study's taxonomy in whose terms is asked for; None for None.

    With a round it is a version of the round's taxonomy, which of a screening round is another one. A draft is there
    for those who may read it. Raises Invalid for a number that no readable version has; one query.
    """
    if number is None:
        return None
    versions = TaxonomyVersion.objects.readable_by(seat.user).filter(taxonomy=_taxonomy_id(seat, round_))
    found = versions.filter(number=number).first()
    if found is None:
        of = "The screening taxonomy" if round_ and round_.kind == Round.Kind.SCREENING else "The taxonomy"
        said = f"{of} of this study has no version {number}."
        raise Invalid("Version not available.", fields={"version": [said]})
    return found


def versions_to_tell_in(seat: Seat, round_: Round | None = None) -> list[TaxonomyVersion]:
    """The versions that someone may ask for (of this round), oldest first; one query."""
    versions = TaxonomyVersion.objects.readable_by(seat.user).filter(taxonomy=_taxonomy_id(seat, round_))
    return list(versions.order_by("number"))


def _taxonomy_id(seat: Seat, round_: Round | None) -> int:
    return round_.taxonomy_version.taxonomy_id if round_ is not None else seat.study.taxonomy_id


@dataclass(frozen=True)
class VersionMapping:
    """In terms of a version; ways of values there are read once for each version that they come from."""

    version: TaxonomyVersion
    _routes: dict[int, Route | None] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def tree(self) -> VersionTree:
        return published_version(self.version.pk)

    def route(self, version_id: int) -> Route | None:
        """The way from a version, None where no mapping leads from there."""
        if version_id not in self._routes:
            self._routes[version_id] = route(version_id, self.version.pk)
        return self._routes[version_id]

    def tell(self, version_id: int, dimension: str, values: Values) -> Values | str:
        """Values given under a version, in terms of this one; or in words why they can't be told so."""
        if version_id == self.version.pk:
            return values
        found = self.route(version_id)
        if found is None:
            return self.no_way
        told = found.values(dimension, values, free=[PENDING])
        if not isinstance(told, BlockedValue) and not told and not self.tree.by_key[dimension].is_set:
            told = BlockedValue("kind", self.version.number)  # The empty set is no answer to a question that takes one.
        return told.words if isinstance(told, BlockedValue) else told

    @property
    def no_way(self) -> str:
        return f"no mapping leads to version {self.version.number}"

    def counts(self, dimension: str, told: Mapping[str, Values]) -> bool:
        """Whether a dimension applies under these agreed values; what is not told speaks against nothing."""
        here = self.tree.by_key.get(dimension)
        condition = here.applies_when if here else None
        if condition is None or condition.dimension not in told:
            return True
        if not self.counts(condition.dimension, told):
            return False
        above = self.tree.by_key[condition.dimension]
        given = set(told[above.key])
        if not above.has_categories:
            return any(value is wanted for value in given for wanted in condition.values)
        return any(given & above.below(value) for value in condition.values if isinstance(value, str))
