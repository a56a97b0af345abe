"""What is known of training items, and how raters did on them: their first answers against the known ones."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotation.access import OWNER, Seat
from annotation.calibration import Compared, Score, compare, scores
from annotation.consensus import Values
from annotation.models import Annotation, Assignment, Item, Membership, Round, RoundItem, RoundRater
from annotation.queries.results import label_rows
from annotation.queries.telling import Telling
from annotation.queries.verdicts import code_order, read_values, round_verdicts
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree


def known_parts(known: Mapping[str, Any]) -> list[dict[str, Values]]:
    """The values of each part of a known answer, as consensus writes them."""
    return [
        {
            key: tuple(sorted(value, key=str)) if isinstance(value, list) else (value,)
            for key, value in part["labels"].items()
        }
        for part in known["parts"]
    ]


def agreed_answers(round_: Round, version: TaxonomyVersion) -> Iterator[tuple[Item, dict[str, Any]]]:
    """Item by item what was agreed in a round, in the shape of an answer under `version`; in the round's order.

    Left out are items with something undecided, or with a label that can't be followed there.
    """
    telling = Telling(version)
    for each in round_verdicts(round_):
        rows = label_rows(round_, each, telling)
        if not rows or not each.is_complete or any(row.unmapped for row in rows):
            continue
        if any(verdict.state == "open" for verdict in each.verdicts):
            continue
        parts: dict[int, dict[str, Any]] = defaultdict(dict)
        for row in rows:
            dimension = telling.tree.by_key[row.dimension]
            if dimension.has_categories:
                parts[row.part][row.dimension] = row.values
            elif row.values:
                parts[row.part][row.dimension] = row.values[0]
        rationales = [verdict.decision.rationale for verdict in each.verdicts if verdict.decision]
        why = "\n\n".join(dict.fromkeys(words for words in rationales if words))
        yield each.round_item.item, {"parts": [{"labels": labels} for _, labels in sorted(parts.items())], "why": why}


def items_to_train(round_: Round, most: int) -> Any:
    """The identifiers of a round's items that are no training items yet, in its order; one query."""
    rows = RoundItem.objects.counting().filter(round=round_).order_by("position")
    return rows.values_list("item__identifier", flat=True)[:most]


def training_rounds(study_rounds: Any) -> list[Round]:
    """The closed rounds whose agreed labels can be made known answers, newest first; one query."""
    closed = study_rounds.filter(state=Round.State.CLOSED).exclude(kind=Round.Kind.SCREENING)
    return list(closed.select_related("taxonomy_version").order_by("-number"))


@dataclass(frozen=True)
class Side:
    """One part and dimension of the feedback in words; `at_stake` are the categories on either side, to be read."""

    compared: Compared
    dimension: TreeDimension
    given: str
    known: str
    at_stake: Sequence[TreeCategory]

    @property
    def right(self) -> bool:
        return self.compared.right


@dataclass(frozen=True)
class Feedback:
    """What a rater is told of their answer to a training item."""

    identifier: str
    sides: Sequence[Side]
    why: str
    skipped: bool
    n_parts: int

    @property
    def right(self) -> bool:
        return all(side.right for side in self.sides)

    @property
    def words(self) -> str:
        """The outcome in a few words."""
        if self.skipped:
            return "you skipped it"
        n_wrong, n = sum(not side.right for side in self.sides), len(self.sides)
        if not n_wrong:
            return "your answer is the known one"
        return "your answer differs" if n == 1 else f"{n_wrong} of {n} answers differ{'s' if n_wrong == 1 else ''}"

    @property
    def at_stake(self) -> list[TreeCategory]:
        """The categories that were taken for each other, each once."""
        return list({category.key: category for side in self.sides for category in side.at_stake}.values())

    def as_document(self) -> dict[str, Any]:
        """The same for scripts."""
        return {
            "right": self.right,
            "dimensions": [
                {
                    "part": each.compared.part,
                    "dimension": each.compared.dimension,
                    "given": None if each.compared.given is None else list(each.compared.given),
                    "known": None if each.compared.known is None else list(each.compared.known),
                    "right": each.right,
                }
                for each in self.sides
            ],
            "why": self.why,
        }


def _feedback(assignment: Assignment, annotation: Annotation, known: Mapping[str, Any] | None) -> Feedback | None:
    """An answer against what is known of its item, None where nothing is; two queries where something is.

    It is for the rater who gave the answer: nobody else is told by it what is known. Nothing while the rater has the
    item in another open round: what is known may be what others said.
    """
    if known is None or rated_elsewhere(assignment.round, [assignment.item_id], assignment.rater):
        return None
    tree = published_version(assignment.round.taxonomy_version_id)
    given = [] if annotation.skip_reason else _parts_of(annotation, read_values(tree, [annotation.pk]))
    compared = compare(list(tree.by_key), given, known_parts(known))
    return Feedback(
        assignment.item.identifier,
        [_side(tree.by_key[each.dimension], each) for each in compared],
        known["why"],
        bool(annotation.skip_reason),
        max(len(given), len(known["parts"])),
    )


def feedback_of(assignment: Assignment, annotation: Annotation) -> Feedback | None:
    """What the answer to a submit says of a training item; no query for an item that is none.

    `assignment` was read with its lock, and so carries what is known.
    """
    return _feedback(assignment, annotation, getattr(assignment, "known", None))


def feedback_seen(assignment: Assignment) -> Feedback | None:
    """What the rater was told of an answer they look at again; none before they answered. One query, three for more."""
    if assignment.current is None:
        return None
    place = RoundItem.objects.filter(round=assignment.round_id, item=assignment.item_id, known__isnull=False)
    return _feedback(assignment, assignment.current, place.values_list("known", flat=True).first())


def _parts_of(annotation: Annotation, values: Mapping[tuple[int, int], dict[str, Values]]) -> list[dict[str, Values]]:
    return [values.get((annotation.pk, part), {}) for part in range(1, annotation.n_parts + 1)]


def _side(dimension: TreeDimension, compared: Compared) -> Side:
    keys = dict.fromkeys([*(compared.known or ()), *(compared.given or ())])
    at_stake = [] if compared.right else [dimension.by_key[str(key)] for key in keys if str(key) in dimension.by_key]
    return Side(compared, dimension, words(dimension, compared.given), words(dimension, compared.known), at_stake)


def words(dimension: TreeDimension, values: Values | None) -> str:
    """Values as a page says them."""
    if values is None:
        return "no answer"
    if not values:
        return "none"
    names = {True: "yes", False: "no"}
    return ", ".join(
        dimension.by_key[value].name
        if isinstance(value, str) and dimension.has_categories and value in dimension.by_key
        else names[value]
        if isinstance(value, bool)
        else str(value)
        for value in values
    )


@dataclass(frozen=True)
class TrainingItem:
    """A training item of a round; without `labels` for whoever is still to answer it."""

    item: Item
    title: str
    labels: Sequence[tuple[int, str, str]] | None
    """Part, dimension and values in words."""
    why: str
    document: dict[str, Any] | None


def training_items(seat: Seat, round_: Round) -> list[TrainingItem]:
    """The training items in order, for the owner; what is known is left out of those this person is to answer, here or
    in another open round.

    Three queries, four for a rater of the round.
    """
    places = list(
        RoundItem.objects.filter(round=round_, known__isnull=False)
        .select_related("item__snapshot")
        .defer("item__snapshot__body")
        .order_by("position")
    )
    items = [place.item_id for place in places]
    hidden = _unanswered(seat, round_, items) | rated_elsewhere(round_, items, seat.membership) if places else set()
    tree = published_version(round_.taxonomy_version_id)
    return [_training_item(tree, place, place.item_id in hidden) for place in places]


def _training_item(tree: VersionTree, place: RoundItem, is_hidden: bool) -> TrainingItem:
    title = place.item.snapshot.title if place.item.snapshot else ""
    assert place.known is not None
    if is_hidden:
        return TrainingItem(place.item, title, None, "", None)
    labels = [
        (number, tree.by_key[key].title, words(tree.by_key[key], values))
        for number, part in enumerate(known_parts(place.known), start=1)
        for key, values in sorted(part.items(), key=lambda entry: tree.by_key[entry[0]].position)
    ]
    return TrainingItem(place.item, title, labels, place.known["why"], place.known)


def rated_elsewhere(round_: Round, items: Sequence[int], rater: Membership | None) -> set[int]:
    """Those of the items that a rater also has in another open round under the same taxonomy; one query."""
    if rater is None or not items:
        return set()
    others = Round.objects.filter(
        study=round_.study_id,
        state=Round.State.OPEN,
        taxonomy_version__taxonomy=round_.taxonomy_version.taxonomy_id,
        round_raters__rater=rater,
        round_raters__left_at=None,
    )
    others = others.exclude(pk=round_.pk).exclude(kind=Round.Kind.RELABEL)
    return set(RoundItem.objects.filter(round__in=others, item__in=list(items)).values_list("item_id", flat=True))


def _unanswered(seat: Seat, round_: Round, items: Sequence[int]) -> set[int]:
    """Those of the items that this person rates in the round and has not answered."""
    if seat.membership is None or round_.state not in (Round.State.DRAFT, Round.State.OPEN):
        return set()
    if not RoundRater.objects.filter(round=round_, rater=seat.membership).exists():
        return set()
    answered = Assignment.objects.filter(round=round_, rater=seat.membership, current__isnull=False)
    return set(items) - set(answered.filter(item__in=list(items)).values_list("item_id", flat=True))


@dataclass(frozen=True)
class Trained:
    """How one rater did on the training items of a round, by their first answers."""

    rater: Membership
    n_items: int
    n_right: int
    scores: Sequence[Score]

    def score(self, dimension: str) -> Score | None:
        return next((each for each in self.scores if each.dimension == dimension), None)


def training_results(seat: Seat, round_: Round) -> list[Trained]:
    """How raters did: all of them for an owner who is not blind in the round, else only the person asking.

    Without the items that the person asking has in another open round. Four queries where the round has training items,
    one where it has none.
    """
    places = RoundItem.objects.filter(round=round_, known__isnull=False).order_by()
    known: dict[int, Any] = dict(places.values_list("item_id", "known"))
    for item in rated_elsewhere(round_, list(known), seat.membership):
        del known[item]
    if not known:
        return []
    first = Annotation.objects.filter(
        assignment__round=round_, assignment__item__in=list(known), revision=1
    ).select_related("assignment__rater__user")
    if (not seat.has_role(OWNER) and not seat.user.is_staff) or round_.pk in seat.sealed_round_ids:
        first = first.filter(assignment__rater__user=seat.user)
    answers = list(first.order_by("pk"))
    tree = published_version(round_.taxonomy_version_id)
    values = read_values(tree, [each.pk for each in answers])
    compared: dict[int, list[list[Compared]]] = defaultdict(list)
    raters = {}
    for each in answers:
        rater = each.assignment.rater
        raters[rater.pk] = rater
        given = [] if each.skip_reason else _parts_of(each, values)
        compared[rater.pk].append(compare(list(tree.by_key), given, known_parts(known[each.assignment.item_id])))
    return [
        Trained(
            rater,
            len(compared[pk]),
            sum(all(one.right for one in here) for here in compared[pk]),
            scores(list(tree.by_key), [one for here in compared[pk] for one in here]),
        )
        for pk, rater in sorted(raters.items(), key=lambda entry: code_order(entry[1].code))
    ]
