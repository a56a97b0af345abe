"""Answers to proposals: accepted into the draft, mapped to a category, or declined; only appended."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.assignments.actions.reading_locks import wait_for_assignments
from annotation.core.access import OWNER, Seat, hold_state
from annotation.core.audit import record
from annotation.core.errors import Forbidden, Invalid, NotFound, Stale, WrongState
from annotation.labels.queries.proposal_states import with_states
from annotation.models import Assignment, Proposal, ProposalOutcome, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import EXTRA_RATERS
from annotation.proposals.queries import (
    FULL,
    ProposalLine,
    newest_draft,
    newest_tree,
    with_outcomes,
    without_drafts,
)
from shared.storable_json import check_storable
from taxonomy.access import may_maintain
from taxonomy.actions import replace_draft, start_draft
from taxonomy.errors import InvalidDocument
from taxonomy.migration import BlockedValue
from taxonomy.models import Category, Taxonomy, TaxonomyVersion
from taxonomy.queries import document, published_version, route
from taxonomy.schema import NAME_MAX, CategorySpec, DimensionSpec, Document, dump, is_key, key_of
from taxonomy.tree import VersionTree

MOST = 1000
"""So many proposals are answered at once."""
LONGEST_REASON = 2000
LONGEST_TEXT = 20_000
SPEC_FIELDS = ("key", "name", "definition", "parent", "include", "exclude", "examples")
NOT_TAKEN = "Proposal not answered."
NO_REASON = f"Give a reason of at most {LONGEST_REASON} characters. The rater reads it."


@dataclass(frozen=True)
class NewOutcome:
    """What is to be written for one proposal."""

    outcome: str
    version_number: int | None = None
    category_key: str = ""
    category_name: str = ""
    reason: str = ""

    def is_that_of(self, given: ProposalOutcome | None) -> bool:
        return given is not None and self == NewOutcome(
            given.outcome, given.version_number, given.category_key, given.category_name, given.reason
        )


@transaction.atomic
def settle_proposals(
    *,
    seat: Seat,
    proposals: Collection[object],
    accept: object = None,
    map_to: str | None = None,
    decline: str | None = None,
    expected: Collection[object] = (),
) -> list[ProposalOutcome]:
    """Gives proposals (by public ID, of one dimension) the same answer; returns the answers, the oldest proposal first.

    Just one of: `accept`, a category {"name", and optionally "key", "definition", "parent", "include", "exclude",
    "examples"} for the newest draft of the study's taxonomy, or for a new draft where there is none; `map_to`, the key
    (or name, or path) of a category of the round's version, the newest published one or the draft; `decline`, a reason.

    `expected` holds the public IDs of the answers that were seen: where a proposal has another one, this raises Stale
    with the newer. The same answer again changes nothing. An answer given anew is appended; a category that was
    accepted stays in the draft. Raises NotFound, Forbidden, Blind, WrongState where the rater took the proposal back,
    Invalid with the fields.
    """
    seat.require(OWNER)
    _check_one_answer(accept, map_to, decline)
    check_storable({"accept": accept, "map_to": map_to, "decline": decline})
    found = _locked(seat, proposals)
    dimension = _dimension(found)
    try:
        if accept is not None:
            _require_no_maintainer_blind(seat, found)
            answers = [_accept(seat, dimension, accept)] * len(found)
        elif map_to is not None:
            answers = _map(seat, found, dimension, map_to)
        else:
            answers = [NewOutcome(ProposalOutcome.Outcome.DECLINED, reason=_reason(decline or ""))] * len(found)
    except Invalid:
        _check_seen(seat, found, expected)  # the page that is drawn again tells the answers of now as seen
        raise
    changed = [
        (each, answer) for each, answer in zip(found, answers, strict=True) if not answer.is_that_of(each.outcome)
    ]
    _check_seen(seat, [each for each, _ in changed], expected)
    _write(seat, dimension, changed)
    return [each.outcome for each in with_outcomes(_rows(seat, [each.id for each in found])) if each.outcome]


def _check_one_answer(accept: object, map_to: object, decline: object) -> None:
    if sum(each is not None for each in (accept, map_to, decline)) != 1:
        sentence = "Send exactly one of accept, map_to and decline."
        raise Invalid(NOT_TAKEN, fields={name: [sentence] for name in ("accept", "map_to", "decline")})


def _rows(seat: Seat, ids: Collection[int]) -> Any:
    rows = Proposal.objects.filter(pk__in=ids, round__study=seat.study)
    return with_states(rows).select_related(*FULL).order_by("pk")


def _locked(seat: Seat, proposals: Collection[object]) -> list[ProposalLine]:
    """The proposals as they stand, held until the commit: who answers one of them at the same time waits."""
    if not proposals or len(proposals) > MOST:
        raise Invalid(NOT_TAKEN, fields={"also": [f"Answer at least one proposal, and at most {MOST} at once."]})
    numbers = {number for each in proposals if (number := Proposal.number_of(each)) is not None}
    rows = Proposal.objects.filter(pk__in=numbers, round__study=seat.study).order_by("round")
    for round_id in rows.values_list("round", flat=True).distinct():
        hold_state(round_id)  # so that no deletion of the study overlooks an answer
    seat.require_again()
    list(Proposal.objects.select_for_update().filter(pk__in=numbers).order_by("pk").values_list("pk"))
    found = with_outcomes(_rows(seat, numbers))
    if len(found) < len({str(each) for each in proposals}):
        raise NotFound(f"Some of these proposals are not in the study “{seat.study.slug}”.")
    for each in found:
        seat.require_sight_of(each.round, each.item)
    for each in found:
        if each.round.state == Round.State.UNDONE:
            raise WrongState(
                f"Round {each.round.number} was undone with its migration. Its proposals can't be answered."
            )
        if not each.is_current:
            raise WrongState(f"{each.rater} has changed the label with “{each.name}”. Reload the list.")
    return found


def _check_seen(seat: Seat, found: Sequence[ProposalLine], expected: Collection[object]) -> None:
    """Raises Stale where one was answered otherwise than the caller knows."""
    if len(expected) > MOST:
        raise Invalid(NOT_TAKEN, fields={"expected": [f"Send at most {MOST} IDs of answers that were seen."]})
    seen = {ProposalOutcome.number_of(each) for each in expected}
    for each in found:
        if each.outcome is not None and each.outcome.pk not in seen:
            without_drafts([seat.study.taxonomy_id], [each.outcome], seat.user)
            raise _stale(each.name, each.outcome)


def _stale(name: str, outcome: ProposalOutcome) -> Stale:
    who = outcome.decided_by.signed_name if outcome.decided_by else "someone"
    return Stale(
        f"{who} already answered “{name}” ({outcome.outcome}). Review that answer before you change it.",
        newer={
            "id": outcome.public_id,
            "outcome": outcome.outcome,
            "version": outcome.version_number,
            "category": outcome.category_key or None,
            "reason": outcome.reason,
            "decided_by": who,
        },
    )


def _dimension(found: Sequence[ProposalLine]) -> str:
    keys = sorted({each.dimension for each in found})
    if len(keys) > 1:
        sentence = f"These belong to several dimensions ({', '.join(keys)}). Answer one dimension at a time."
        raise Invalid(NOT_TAKEN, fields={"also": [sentence]})
    return keys[0]


def _reason(given: str) -> str:
    if not given.strip() or len(given) > LONGEST_REASON:
        raise Invalid(NOT_TAKEN, fields={"decline": [NO_REASON]})
    return given.strip()


def _map(seat: Seat, found: Sequence[ProposalLine], dimension: str, given: str) -> list[NewOutcome]:
    """For each its round's version if that has the category, so that it can be chosen at once; else a later one."""
    if not given.strip():
        raise Invalid(NOT_TAKEN, fields={"map_to": ["Name a category by its key."]})
    later = [tree for tree in (newest_tree(seat), _draft_tree(seat)) if tree is not None]
    answers: dict[int, NewOutcome] = {}
    for each in found:
        own = each.round.taxonomy_version_id
        if own not in answers:
            answers[own] = _mapped([published_version(own), *later], dimension, given.strip())
    return [answers[each.round.taxonomy_version_id] for each in found]


def _draft_tree(seat: Seat) -> VersionTree | None:
    draft = newest_draft(seat) if may_maintain(seat.user, seat.study.taxonomy) else None
    return published_version(draft.pk) if draft else None


def _mapped(trees: Sequence[VersionTree], dimension: str, given: str) -> NewOutcome:
    """The category in the first version that has it, unless the words mean another one by now. Raises Invalid."""
    sentence = f"“{dimension}” has no category “{given[:NAME_MAX]}” in any version."
    for tree in trees:
        asked = tree.by_key.get(dimension)
        meant = asked.find(given) if asked else ()
        if len(meant) > 1:
            sentence = f"“{given}” can mean {' or '.join(each.path for each in meant)}. Use its path or its key."
            break
        if meant and meant[0].selectable:
            if tree is trees[0] and any(_means_another(tree, each, dimension, meant[0].key, given) for each in trees):
                continue
            return NewOutcome(ProposalOutcome.Outcome.MAPPED, tree.number, meant[0].key, meant[0].name)
        if meant:
            sentence = f"“{meant[0].name}” only groups others. Choose one of its subcategories."
    raise Invalid(NOT_TAKEN, fields={"map_to": [sentence]})


def _means_another(own: VersionTree, later: VersionTree, dimension: str, key: str, given: str) -> bool:
    """Whether a later version has the key for something that did not come of the category of a round's version."""
    asked = later.by_key.get(dimension)
    if own.id == later.id or asked is None or [each.key for each in asked.find(given)] != [key]:
        return False
    way = route(own.id, later.id)
    became = way.follow(dimension, key) if way is not None else key
    return key not in became.into if isinstance(became, BlockedValue) else became != key


def _require_no_maintainer_blind(seat: Seat, found: Collection[ProposalLine]) -> None:
    """Raises WrongState while someone who reads drafts of the taxonomy is blind to one of these proposals.

    They rate in its open round, or in another one with its item, or are still to answer the item as a third rater. The
    draft would show them a category that someone asked for there. Raters who left may come back. Who adds a rater
    waits until the commit, and then sees what was accepted. Four queries.
    """
    wait_for_assignments(Round.objects.filter(study=seat.study, state__in=[Round.State.OPEN, Round.State.RESOLVING]))
    maintainers = seat.study.taxonomy.maintainers.order_by().values("pk")
    reads = Q()
    for account in ("user", "invited_user", "former_user"):
        reads |= Q(**{f"rater__{account}__in": maintainers}) | Q(**{f"rater__{account}__is_staff": True})
    items = {each.item.pk for each in found}
    places = RoundItem.objects.filter(round__taxonomy_version__taxonomy=seat.study.taxonomy_id, item__in=items)
    again = places.exclude(round__kind=Round.Kind.RELABEL).order_by().values("round")
    rated = Q(round__in={each.round.pk for each in found}) | Q(round__in=again)
    rows = RoundRater.objects.filter(reads, rated, round__state=Round.State.OPEN, unblinded=False)
    row = rows.select_related("rater__user", "round").order_by("round__number", "pk").first()
    if row is not None:
        raise _maintainer_blind(
            f"{row.rater} is a rater in round {row.round.number}, which is open,", "the round closes"
        )
    asked = Assignment.objects.filter(EXTRA_RATERS, reads, item__in=items, unblinded=False)
    asked = asked.filter(state__in=Assignment.UNFINISHED, round__in=places.order_by().values("round"))
    third = asked.select_related("rater__user", "round", "item").order_by("round__number", "pk").first()
    if third is not None:
        where = f"about {third.item.identifier} in round {third.round.number}"
        raise _maintainer_blind(f"{third.rater} is asked as a third rater {where}", "they have answered")


def _maintainer_blind(who: str, until: str) -> WrongState:
    return WrongState(
        f"{who} and can read drafts of the taxonomy. The new category would show them what others proposed. Accept the "
        f"proposal when {until}, or map it to a category.",
        code="maintainer_blind",
    )


def _accept(seat: Seat, dimension: str, given: object) -> NewOutcome:
    """Puts the category into the draft, unless it went there before; the taxonomy is held, so that none is lost."""
    taxonomy = Taxonomy.objects.select_for_update().get(pk=seat.study.taxonomy_id)
    if not may_maintain(seat.user, taxonomy):
        raise Forbidden(
            f"Only maintainers of the taxonomy {taxonomy.slug} can add a category to its draft. Ask one of "
            "them, or map or decline the proposal."
        )
    fields: dict[str, list[str]] = {}
    given = _given(given, fields)
    draft = newest_draft(seat) or start_draft(user=seat.user, taxonomy=taxonomy)
    text = document(draft)
    asked = next((each for each in text.dimensions if each.key == dimension), None)
    if asked is None or not asked.has_categories:
        sentence = f"Version {draft.number} no longer has a dimension “{dimension}” with categories."
        raise Invalid(NOT_TAKEN, fields={"accept": [sentence]})
    published = _published_keys(draft, dimension)
    parent = _parent(asked, str(given.get("parent") or ""), fields)
    name = str(given.get("name", ""))
    siblings = parent.categories if parent else asked.categories
    same = next((each for each in siblings if _folded(each.name) == _folded(name)), None)
    if same is not None and same.key in published:
        fields.setdefault("accept.name", []).append(f"“{same.name}” already exists. Map the proposal to it.")
    if fields:
        raise Invalid(NOT_TAKEN, fields=fields)
    if same is not None and given.get("key") in (None, "", same.key):
        return NewOutcome(ProposalOutcome.Outcome.ACCEPTED, draft.number, same.key, same.name)
    key = _key(given, name, {each.key for each, _ in asked.walk()} | published, fields)
    spec = CategorySpec(
        key=key,
        name=name,
        definition=str(given.get("definition", "")),
        include=tuple(given.get("include", ())),
        exclude=tuple(given.get("exclude", ())),
        examples=tuple(given.get("examples", ())),
    )
    if fields:
        raise Invalid(NOT_TAKEN, fields=fields)
    grown = _with_category(text, dimension, parent.key if parent else None, spec)
    try:
        replace_draft(user=seat.user, version=draft, text=dump(grown), expected=draft.revision)
    except InvalidDocument as error:
        sentences = [problem.sentence for problem in error.problems]
        raise Invalid(NOT_TAKEN, fields={"accept": sentences}) from error
    return NewOutcome(ProposalOutcome.Outcome.ACCEPTED, draft.number, key, name)


def _given(given: object, fields: dict[str, list[str]]) -> dict[str, Any]:
    """The category's fields, trimmed and of the right kind; what is wrong goes into `fields`."""
    if not isinstance(given, Mapping):
        raise Invalid(NOT_TAKEN, fields={"accept": ["Send the category with at least its name."]})
    read: dict[str, Any] = {}
    for field, value in given.items():
        if field not in SPEC_FIELDS:
            fields[f"accept.{field}"] = [f"A category has no field “{field}”. Known: {', '.join(SPEC_FIELDS)}."]
        elif value is None:
            continue
        elif field in ("include", "exclude", "examples"):
            if isinstance(value, list) and all(isinstance(each, str) for each in value):
                read[field] = [each.strip() for each in value if each.strip()]
            else:
                fields[f"accept.{field}"] = ["Send a list of texts."]
        elif not isinstance(value, str) or len(value) > LONGEST_TEXT:
            fields[f"accept.{field}"] = [f"Enter at most {LONGEST_TEXT} characters."]
        else:
            read[field] = value.strip() if field == "definition" else " ".join(value.split())
    if not fields.get("accept.name") and not 0 < len(read.get("name", "")) <= NAME_MAX:
        fields["accept.name"] = [f"A category needs a name of at most {NAME_MAX} characters."]
    return read


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _published_keys(draft: TaxonomyVersion, dimension: str) -> set[str]:
    """The keys that versions before the draft have there: a new category with one of them would pass for that."""
    before = Category.objects.filter(dimension__version__taxonomy=draft.taxonomy_id, dimension__key=dimension)
    drafts = TaxonomyVersion.State.DRAFT
    return set(before.exclude(dimension__version__state=drafts).values_list("key", flat=True))


def _parent(asked: DimensionSpec, given: str, fields: dict[str, list[str]]) -> CategorySpec | None:
    """The category above, by key, name or path; None for the top of the tree."""
    if not given:
        return None
    by_text: dict[str, dict[str, CategorySpec]] = {}
    for each, above in asked.walk():
        if each.key == given:
            return each
        for text in {_folded(each.name), _folded(" / ".join(one.name for one in (*above, each)))}:
            by_text.setdefault(text, {})[each.key] = each
    meant = by_text.get(_folded(given), {})
    if len(meant) == 1:
        return next(iter(meant.values()))
    wrong = "is ambiguous. Use its path or its key" if meant else "is not a category of that draft"
    fields["accept.parent"] = [f"“{given[:NAME_MAX]}” {wrong}."]
    return None


def _key(given: Mapping[str, Any], name: str, taken: set[str], fields: dict[str, list[str]]) -> str:
    """The key that was given, or one made from the name that nobody has."""
    if key := given.get("key"):
        if not is_key(key):
            fields["accept.key"] = ["A key has lowercase letters and digits, joined by single hyphens or underscores."]
        elif key in taken:
            fields["accept.key"] = [f"“{key}” is taken. Omit the key, and one is derived from the name."]
        return str(key)
    made = key_of(name) or "category"
    number, key = 2, made
    while key in taken:
        key, number = f"{made[:90]}-{number}", number + 1
    return key


def _with_category(text: Document, dimension: str, parent: str | None, spec: CategorySpec) -> Document:
    """The document with one more category, the last below its parent."""

    def below(categories: tuple[CategorySpec, ...]) -> tuple[CategorySpec, ...]:
        return tuple(
            replace(each, categories=(*each.categories, spec) if each.key == parent else below(each.categories))
            for each in categories
        )

    return replace(
        text,
        dimensions=tuple(
            each
            if each.key != dimension
            else replace(each, categories=below(each.categories) if parent else (*each.categories, spec))
            for each in text.dimensions
        ),
    )


def _write(seat: Seat, dimension: str, changed: Sequence[tuple[ProposalLine, NewOutcome]]) -> None:
    """Appends the answers and, for each round, a line to the audit."""
    newest: dict[int, int] = {}
    rows = ProposalOutcome.objects.filter(proposal__in=[each.id for each, _ in changed])
    for proposal, revision in rows.values_list("proposal_id", "revision"):
        newest[proposal] = max(revision, newest.get(proposal, 0))
    ProposalOutcome.objects.bulk_create(
        ProposalOutcome(
            proposal_id=each.id,
            revision=newest.get(each.id, 0) + 1,
            outcome=answer.outcome,
            version_number=answer.version_number,
            category_key=answer.category_key,
            category_name=answer.category_name,
            reason=answer.reason,
            decided_by=seat.user,
        )
        for each, answer in changed
    )
    by_round: dict[int, list[tuple[ProposalLine, NewOutcome]]] = {}
    for each, answer in changed:
        by_round.setdefault(each.round.number, []).append((each, answer))
    for number, here in sorted(by_round.items()):
        answer = here[0][1]
        said = {"category": answer.category_key, "version": answer.version_number} if answer.category_key else {}
        record(
            study=seat.study,
            user=seat.user,
            verb=f"proposal {answer.outcome}",
            round=number,
            dimension=dimension,
            names=sorted({each.name for each, _ in here}),
            items=sorted({each.item.identifier for each, _ in here}),
            **said,
            **({"reason": answer.reason} if answer.reason else {}),
        )
