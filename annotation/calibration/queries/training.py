"""Training results: raters' first answers to training items against the gold answers."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q

from agreement import COEFFICIENTS
from annotation.calibration.calibration import Criterion, GoldComparison, Score, compare, criteria, scores
from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.member_lists import code_order
from annotation.labels.answers import applies
from annotation.labels.consensus import Values
from annotation.labels.queries.rows import label_rows
from annotation.labels.queries.verdicts import read_values, round_verdicts
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.labels.registration import primary_of
from annotation.models import Annotation, Assignment, Item, Membership, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import EXTRA_RATERS, RATERS
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version
from taxonomy.tree import TreeCategory, TreeDimension, VersionTree


def gold_parts(known: Mapping[str, Any]) -> list[dict[str, Values]]:
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
    version_mapping = VersionMapping(version)
    for each in round_verdicts(round_):
        rows = label_rows(round_, each, version_mapping)
        if not rows or not each.is_complete or any(row.unmapped for row in rows):
            continue
        if any(verdict.state == "open" for verdict in each.verdicts):
            continue
        parts: dict[int, dict[str, Any]] = defaultdict(dict)
        for row in rows:
            dimension = version_mapping.tree.by_key[row.dimension]
            if dimension.has_categories:
                parts[row.part][row.dimension] = row.values
            elif row.values:
                parts[row.part][row.dimension] = row.values[0]
        rationales = [verdict.decision.notes.rationale for verdict in each.verdicts if verdict.decision]
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
class FeedbackLine:
    """One part and dimension of the feedback in words; `at_stake` are the categories on either side, to be read."""

    compared: GoldComparison
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
    sides: Sequence[FeedbackLine]
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
        n_wrong = sum(not side.right and not side.compared.follows for side in self.sides)
        n = sum(not side.compared.follows for side in self.sides)
        if not n_wrong:
            return "your labels match the gold answers"
        return "your label differs" if n == 1 else f"{n_wrong} of {n} labels differ{'s' if n_wrong == 1 else ''}"

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
                    "missing": each.compared.missing or None,
                }
                for each in self.sides
            ],
            "why": self.why,
        }


def _feedback(assignment: Assignment, annotation: Annotation, known: Mapping[str, Any] | None) -> Feedback | None:
    """An answer against what is known of its item, None where nothing is; two queries where something is.

    It is for the rater who gave the answer: nobody else is told by it what is known. Nothing while the rater has the
    item in another open round, or is asked about it there as a third rater: what is known may be what others said.
    """
    if known is None or rated_elsewhere(assignment.round, [assignment.item_id], assignment.rater):
        return None
    tree = published_version(assignment.round.taxonomy_version_id)
    given = [] if annotation.skip_reason else _parts_of(annotation, read_values(tree, [annotation.pk]))
    compared = compare(list(tree.by_key), given, gold_parts(known), partial(applies, tree))
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


def visible_feedback(assignment: Assignment) -> Feedback | None:
    """What the rater was told of an answer they look at again; none before they answered. One query, three for more."""
    if assignment.current is None:
        return None
    place = RoundItem.objects.filter(round=assignment.round_id, item=assignment.item_id, known__isnull=False)
    return _feedback(assignment, assignment.current, place.values_list("known", flat=True).first())


def _parts_of(annotation: Annotation, values: Mapping[tuple[int, int], dict[str, Values]]) -> list[dict[str, Values]]:
    return [values.get((annotation.pk, part), {}) for part in range(1, annotation.n_parts + 1)]


def _side(dimension: TreeDimension, compared: GoldComparison) -> FeedbackLine:
    keys = dict.fromkeys([*(compared.known or ()), *(compared.given or ())])
    at_stake = [] if compared.right else [dimension.by_key[str(key)] for key in keys if str(key) in dimension.by_key]
    given, known = (words(dimension, side, compared.missing) for side in (compared.given, compared.known))
    return FeedbackLine(compared, dimension, given, known, at_stake)


def words(dimension: TreeDimension, values: Values | None, missing: str = "") -> str:
    """Values as a page says them; of none why they are missing."""
    if values is None:
        return missing or "no answer"
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
    in another round.

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
        for number, part in enumerate(gold_parts(place.known), start=1)
        for key, values in sorted(part.items(), key=lambda entry: tree.by_key[entry[0]].position)
    ]
    return TrainingItem(place.item, title, labels, place.known["why"], place.known)


def rated_elsewhere(round_: Round, items: Sequence[int], rater: Membership | None) -> set[int]:
    """Those of the items that a rater also has in another open round, or has still to answer as a third rater there.

    Of rounds under the same taxonomy; one query. Who was withdrawn there and has an answer can still revise it.
    """
    if rater is None or not items:
        return set()
    there = {"round": OuterRef("pk"), "rater": rater}
    answers = Assignment.objects.filter(**there).exclude(state=Assignment.State.WITHDRAWN)
    others = Round.objects.filter(
        Exists(RoundRater.objects.filter(**there, left_at=None)) | Exists(answers),
        study=round_.study_id,
        state=Round.State.OPEN,
        taxonomy_version__taxonomy=round_.taxonomy_version.taxonomy_id,
    )
    others = others.exclude(pk=round_.pk).exclude(kind=Round.Kind.RELABEL)
    places = RoundItem.objects.filter(round__in=others, item__in=list(items)).order_by()
    asked = Assignment.objects.filter(
        EXTRA_RATERS,
        rater=rater,
        item__in=list(items),
        state__in=Assignment.UNFINISHED,
        round__taxonomy_version__taxonomy=round_.taxonomy_version.taxonomy_id,
    ).exclude(round=round_)
    return set(places.values_list("item_id", flat=True).union(asked.order_by().values_list("item_id", flat=True)))


def _unanswered(seat: Seat, round_: Round, items: Sequence[int]) -> set[int]:
    """Those of the items that this person rates in the round and has not answered."""
    if seat.membership is None or round_.state not in (Round.State.DRAFT, Round.State.OPEN):
        return set()
    if not RoundRater.objects.filter(round=round_, rater=seat.membership).exists():
        return set()
    answered = Assignment.objects.filter(round=round_, rater=seat.membership, current__isnull=False)
    return set(items) - set(answered.filter(item__in=list(items)).values_list("item_id", flat=True))


@dataclass(frozen=True)
class TrainingResult:
    """How one rater did on the training items of a round, by their first answers; `after` the feedback where revised.

    `minimum` is what the round asks for, if anything: its criteria with the result of each.
    """

    rater: Membership
    round: Round
    n_items: int
    n_right: int
    scores: Sequence[Score]
    last_at: datetime
    n_revised: int = 0
    after: "TrainingResult | None" = None
    n_asked: int = 0
    n_skipped: int = 0
    minimum: Sequence[Criterion] = ()

    @property
    def share(self) -> float:
        """Of the items that were answered or skipped, those with every known label right."""
        return self.n_right / self.n_items

    @property
    def is_whole(self) -> bool:
        """Whether every training item that the rater has there is answered or skipped."""
        return self.n_items >= self.n_asked

    @property
    def reached(self) -> bool:
        """Whether the minimum is reached with all items."""
        return self.is_whole and all(each.reached for each in self.minimum)

    def score(self, dimension: str) -> Score | None:
        return next((each for each in self.scores if each.dimension == dimension), None)

    def held_against(self, minimum: Mapping[str, Any] | None) -> "TrainingResult":
        """The same with the result by criterion."""
        return replace(self, minimum=criteria(minimum or {}, self.n_right, self.n_items, self.scores))


def training_results(seat: Seat, round_: Round) -> list[TrainingResult]:
    """How raters did: all of them for an owner who is not blind in the round, else only the person asking.

    Without the items that the person asking is to answer in another round. Six queries where the round has training
    items, one where it has none.
    """
    known = _known_of(round_)
    for item in rated_elsewhere(round_, list(known), seat.membership):
        del known[item]
    if not known:
        return []
    mine = (not seat.has_role(OWNER) and not seat.user.is_staff) or round_.pk in seat.sealed_round_ids
    whose = Q(assignment__rater__user=seat.user) if mine else Q()
    return [each.held_against(round_.gold_minimum) for each in _trained(round_, known, whose)]


def _known_of(round_: Round) -> dict[int, Any]:
    places = RoundItem.objects.filter(round=round_, known__isnull=False).order_by()
    return dict(places.values_list("item_id", "known"))


def _trained(round_: Round, known: Mapping[int, Any], whose: Q) -> list[TrainingResult]:
    """Everybody (of `whose` annotations) who answered one of these training items, in the order of codes."""
    asked = Assignment.objects.filter(round=round_, item__in=list(known)).exclude(state=Assignment.State.WITHDRAWN)
    n_asked = dict(asked.order_by().values_list("rater").annotate(n=Count("pk")))
    given = Annotation.objects.filter(whose, assignment__round=round_, assignment__item__in=list(known))
    given = given.select_related("assignment__rater__user").order_by("pk")
    first = list(given.filter(revision=1))
    revised = {each.assignment_id: each for each in given.filter(revision__gt=1)}
    tree = published_version(round_.taxonomy_version_id)
    values = read_values(tree, [each.pk for each in [*first, *revised.values()]])
    by_rater: dict[int, list[Annotation]] = defaultdict(list)
    for each in first:
        by_rater[each.assignment.rater_id].append(each)
    found = []
    for pk, answers in by_rater.items():
        newest = [revised.get(each.assignment_id, each) for each in answers]
        n_revised = sum(each.revision > 1 for each in newest)
        after = _result(round_, tree, known, newest, values) if n_revised else None
        of_first = _result(round_, tree, known, answers, values)
        found.append(replace(of_first, n_revised=n_revised, after=after, n_asked=n_asked.get(pk, 0)))
    return sorted(found, key=lambda each: code_order(each.rater.code))


def _result(
    round_: Round,
    tree: VersionTree,
    known: Mapping[int, Any],
    answers: Sequence[Annotation],
    values: Mapping[tuple[int, int], dict[str, Values]],
) -> TrainingResult:
    compared: list[list[GoldComparison]] = []
    for each in answers:
        given = [] if each.skip_reason else _parts_of(each, values)
        right = gold_parts(known[each.assignment.item_id])
        compared.append(compare(list(tree.by_key), given, right, partial(applies, tree)))
    primary = round_.study.primary
    coefficients = {
        each.key: entry["coefficient"]
        for each in tree.dimensions
        if (entry := primary_of(primary, each.key, each.kind))
    }
    return TrainingResult(
        rater=answers[0].assignment.rater,
        round=round_,
        n_items=len(answers),
        n_skipped=sum(bool(each.skip_reason) for each in answers),
        n_right=sum(all(one.right for one in here) for here in compared),
        scores=scores(tree.dimensions, [one for here in compared for one in here], coefficients),
        last_at=max(each.created_at for each in answers),
    )


def _with_training(study_id: int, taxonomy_id: int) -> Any:
    training = RoundItem.objects.filter(round=OuterRef("pk"), known__isnull=False)
    rounds = Round.objects.filter(Exists(training), study=study_id, taxonomy_version__taxonomy=taxonomy_id)
    rounds = rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    return rounds.select_related("study", "taxonomy_version").order_by("number")


def tries(seat: Seat, round_: Round) -> list[TrainingResult]:
    """Every try of every rater on training items of the study, as far as this person reads results; oldest first.

    Each is held against the minimum of `round_`, if it has one. Six queries for each round with training items.
    """
    found = []
    for each in _with_training(round_.study_id, round_.taxonomy_version.taxonomy_id):
        minimum = round_.gold_minimum or each.gold_minimum
        found += [one.held_against(minimum) for one in training_results(seat, each)]
    return sorted(found, key=lambda one: (code_order(one.rater.code), one.round.number))


def raters_with_hidden_tries(seat: Seat, round_: Round) -> frozenset[int]:
    """The raters (ids of members) of whom this person does not read every try that the minimum of a round looks at.

    They have training items in rounds whose answers are hidden from the person. Whether and how they came in would
    show what they answered there. One query; none where there is no minimum, or no answers are hidden.
    """
    hidden = seat.sealed_round_ids | seat.unsettled_round_ids if round_.gold_minimum else ()
    if not hidden:
        return frozenset()
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    taxonomy = round_.taxonomy_version.taxonomy_id
    trained = Assignment.objects.filter(
        Exists(training), round__in=hidden, round__taxonomy_version__taxonomy=taxonomy
    ).order_by()
    if round_.closed_at is not None:  # nobody comes in after that
        trained = trained.filter(round__opened_at__lt=round_.closed_at)
    return frozenset(trained.values_list("rater", flat=True))


def sees_tries(seat: Seat, row: RoundRater, hidden: Collection[int]) -> bool:
    """Whether a person reads how a rater came into a round, and by which try: of themself, else as its owner or staff.

    `hidden` are the `raters_with_hidden_tries` of the round.
    """
    if seat.membership is not None and seat.membership.pk == row.rater_id:
        return True
    may_know = seat.has_role(OWNER) or seat.user.is_staff
    return may_know and seat.sees_all_answers(row.round_id) and row.rater_id not in hidden


def minimum_words(round_: Round) -> str:
    """The minimum of a round in words: `80% of the items right; Symptom: Cohen's kappa of at least 0.60`."""
    minimum = round_.gold_minimum or {}
    tree = published_version(round_.taxonomy_version_id)
    told = [f"{minimum['share'] * 100:.10g}% of the items correct"] if minimum.get("share") is not None else []
    for key, one in minimum.get("dimensions", {}).items():
        told.append(
            f"{tree.by_key[key].title}: {COEFFICIENTS[one['coefficient']].title} of at least {one['minimum']:g}"
        )
    return "; ".join(told)


def tries_of_people(rounds: Sequence[Round], which: Q) -> list[TrainingResult]:
    """How people did on the training items (places of `which`) of these rounds, in the order of rounds.

    One query where there are none, five more for each round that has some.
    """
    known: dict[int, dict[int, Any]] = defaultdict(dict)
    places = RoundItem.objects.filter(which, round__in=rounds, known__isnull=False).order_by()
    for round_id, item, right in places.values_list("round", "item", "known"):
        known[round_id][item] = right
    people = Q(assignment__rater__kind=Membership.Kind.PERSON)
    in_order = sorted((each for each in rounds if each.pk in known), key=lambda each: each.number)
    return [one for each in in_order for one in _trained(each, known[each.pk], people)]


def visible_gold(seat: Seat, rounds: Sequence[Round]) -> dict[int, dict[int, Any]]:
    """By round the known answers of its training items by item, excluded ones left out; one query, and two per round.

    Without those of items that this person is to answer in another round.
    """
    found: dict[int, dict[int, Any]] = defaultdict(dict)
    places = RoundItem.objects.present().filter(round__in=rounds, known__isnull=False).order_by("round", "position")
    for round_id, item, known in places.values_list("round", "item", "known"):
        found[round_id][item] = known
    for each in rounds:
        for item in rated_elsewhere(each, list(found.get(each.pk, ())), seat.membership):
            del found[each.pk][item]
    return {pk: known for pk, known in found.items() if known}


def results_of(rounds: Sequence[Round], known: Mapping[int, Mapping[int, Any]]) -> list[TrainingResult]:
    """How everybody did on these known answers (by round and item), round by round; six queries for each."""
    return [one for each in rounds if each.pk in known for one in _trained(each, known[each.pk], Q())]


def newest_try(round_: Round, rater: Membership) -> TrainingResult | None:
    """A rater's newest try on training items of the study, among those that they finished; held against the minimum.

    Where they finished none, one that they began; None where they answered none.
    """
    begun = None
    for each in reversed(_with_training(round_.study_id, round_.taxonomy_version.taxonomy_id)):
        known = _known_of(each)
        for one in _trained(each, known, Q(assignment__rater=rater)):
            one = replace(one, n_asked=max(one.n_asked, one.n_items)).held_against(round_.gold_minimum)
            if one.is_whole:
                return one
            begun = begun or one
    return begun


def held_raters(seat: Seat, round_: Round) -> list[Membership]:
    """The raters whose newest finished try is below the round's minimum, and who were not let in.

    Only those of whom this person reads every try. No query where there is no minimum.
    """
    if not round_.gold_minimum:
        return []
    hidden = raters_with_hidden_tries(seat, round_)
    rows = RoundRater.objects.filter(round=round_, admission__isnull=True, left_at__isnull=True)
    rows = rows.filter(rater__kind=Membership.Kind.PERSON).select_related("rater__user").order_by("pk")
    tried = [(row.rater, newest_try(round_, row.rater)) for row in rows if sees_tries(seat, row, hidden)]
    return [rater for rater, each in tried if each is not None and each.is_whole and not each.reached]


def still_asked(round_: Round, rater: Membership) -> str:
    """A training item of the study that this rater has yet to answer as a third rater, or an empty string; one query.

    Whether their tries reach a minimum would tell what others said of it.
    """
    training = RoundItem.objects.filter(round__study=round_.study_id, item=OuterRef("item"), known__isnull=False)
    taxonomy = round_.taxonomy_version.taxonomy_id
    asked = Assignment.objects.filter(Exists(training), EXTRA_RATERS, rater=rater, state__in=Assignment.UNFINISHED)
    asked = asked.filter(round__taxonomy_version__taxonomy=taxonomy).order_by("pk")
    return asked.values_list("item__identifier", flat=True).first() or ""


def is_held(round_: Round, rater: Membership) -> bool:
    """Whether an open round has nothing for this rater before its owner acts: they are below its minimum.

    Who has training items of the round left, or is `still_asked`, is not held yet. No query where there is no minimum.
    """
    if not round_.gold_minimum or round_.state != Round.State.OPEN or rater.is_machine:
        return False
    if not RoundRater.objects.filter(round=round_, rater=rater, admission__isnull=True, left_at__isnull=True).exists():
        return False
    training = RoundItem.objects.filter(round=round_, item=OuterRef("item"), known__isnull=False)
    own = Assignment.objects.filter(round=round_, rater=rater, state__in=Assignment.UNFINISHED)
    if own.filter(Exists(training)).exists() or still_asked(round_, rater):
        return False
    tried = newest_try(round_, rater)
    return tried is None or not tried.reached


def seen_answers(round_: Round, raters: Collection[int], items: Collection[int]) -> set[tuple[int, int]]:
    """Item and rater (by the membership's id) where the rater may know what is right of the item; four queries.

    It was assigned to them as a training item before, or another round that is over has it, and they were a rater
    there. What another round has is known to adjudicators, who resolve it, and to owners until the round is closed.

    Who labeled it there does not count, nor to whom it was reassigned, third answers, remarks and resolutions: who gets
    the item is no secret to its raters, who are blind there. What is in a relabeling round follows from labels, and its
    raters had the items before.
    """
    if not raters or not items:
        return set()
    elsewhere = RoundItem.objects.filter(round__study=round_.study_id, item__in=list(items))
    elsewhere = elsewhere.filter(round__state__in=(Round.State.OPEN, *Round.OVER)).order_by()
    elsewhere = elsewhere.exclude(Q(round=round_) | Q(round__kind=Round.Kind.RELABEL))
    has_role = Membership.objects.filter(pk__in=list(raters)).values_list("pk", "roles")
    roles = {rater: set(each) for rater, each in has_role}
    known = set()
    for item, state in elsewhere.values_list("item", "round__state"):
        reading = {ADJUDICATOR} if state == Round.State.CLOSED else {ADJUDICATOR, OWNER}
        known |= {(item, rater) for rater, held in roles.items() if held & reading}
    taxonomy = round_.taxonomy_version.taxonomy_id
    over = elsewhere.filter(round__state__in=Round.OVER, round__taxonomy_version__taxonomy=taxonomy)
    members = over.filter(round__round_raters__rater__in=list(raters))
    known |= set(members.values_list("item", "round__round_raters__rater").distinct())
    known |= _trained_before(round_, raters, items)
    return {(item, rater) for item, rater in known if rater in roles}


def _trained_before(round_: Round, raters: Collection[int], items: Collection[int]) -> set[tuple[int, int]]:
    """Item and rater where the rater had it as a training item in another round."""
    training = RoundItem.objects.filter(round=OuterRef("round"), item=OuterRef("item"), known__isnull=False)
    had = Assignment.objects.filter(
        RATERS,
        Exists(training),
        rater__in=list(raters),
        item__in=list(items),
        round__study=round_.study_id,
        round__taxonomy_version__taxonomy=round_.taxonomy_version.taxonomy_id,
    ).exclude(round=round_)
    return set(had.order_by().values_list("item", "rater"))
