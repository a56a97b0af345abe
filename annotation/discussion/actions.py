"""Comments on disagreements, and labels that a rater changes after discussion."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.access import ADJUDICATOR, OWNER, Seat, get_seat, hold_state
from annotation.core.errors import Forbidden, Invalid, NotFound, Stale, WrongState
from annotation.discussion.mentions import mentioned_members
from annotation.discussion.queries import own_answer, people
from annotation.labeling.actions.answers import keep_draft, submit_annotation
from annotation.labeling.queries.assignments import answer_of
from annotation.labels.answers import MOST_PARTS, applies, read_decision
from annotation.labels.consensus import Values
from annotation.labels.queries.part_matches import matches_of
from annotation.models import Annotation, Assignment, InboxLine, Item, Remark, Round, RoundItem, Study
from annotation.models.assignment_kinds import RATERS
from shared.storable_json import check_storable
from taxonomy.kinds import LONGEST_TEXT
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

NOT_POSTED = "Comment not posted."


@transaction.atomic
def write_remark(*, seat: Seat, round_: Round, item: Item, text: str, part: int = 1, dimension: str = "") -> Remark:
    """Appends a remark on an item, about one dimension or (empty) the item; whom it mentions finds it in the inbox.

    Only members who take part in the discussion are told. Raises Invalid with the fields, Blind, Forbidden, NotFound,
    WrongState.
    """
    check_storable({"text": text})
    round_.state = hold_state(round_.pk) or round_.state
    seat = get_seat(seat.user, seat.study.slug)  # who waited for the round knows only the roles of before
    seat.require_discussion(round_)
    seat.require_sight_of(round_, item)
    assert seat.membership is not None
    _require_own_in_queue(seat, round_, item)
    round_item = RoundItem.objects.counting().filter(round=round_, item=item).first()
    if round_item is None:
        raise NotFound(f"{item.identifier} is not in round {round_.number}.")
    _check_done(seat.study, round_, round_item)
    tree = published_version(round_.taxonomy_version_id)
    fields: dict[str, list[str]] = {}
    if not text.strip():
        fields["text"] = ["Write a comment."]
    elif len(text) > LONGEST_TEXT:
        fields["text"] = [f"A comment has at most {LONGEST_TEXT} characters. This one has {len(text)}."]
    if not 1 <= part <= MOST_PARTS:
        fields["part"] = [f"Enter a whole number from 1 to {MOST_PARTS}."]
    if dimension and dimension not in tree.by_key:
        fields["dimension"] = [f"Dimension “{dimension[:80]}” not found."]
    if fields:
        raise Invalid(NOT_POSTED, fields=fields)
    remark = Remark.objects.create(
        round=round_,
        item=item,
        part=part,
        dimension_id=tree.by_key[dimension].id if dimension else None,
        author=seat.membership,
        text=text.strip(),
    )
    _tell_mentioned(seat, round_, remark)
    return remark


def _require_own_in_queue(seat: Seat, round_: Round, item: Item) -> None:
    """Raises Forbidden where a rater of a relabeling queue did not label this item there.

    Others may see the item and not those that this rater labels: by a comment they would know that there are some.
    """
    if round_.kind != Round.Kind.RELABEL or seat.has_role(OWNER, ADJUDICATOR):
        return
    held = Assignment.objects.filter(RATERS, round=round_, item=item, rater=seat.membership)
    if not held.exclude(state=Assignment.State.WITHDRAWN).exists():
        raise Forbidden(
            f"In round {round_.number}, a relabeling round, raters comment on items that they labeled there."
        )


def _check_done(study: Study, round_: Round, round_item: RoundItem) -> None:
    """An item is talked about when its raters are done, and the round is over or resolved item by item."""
    if round_.state in Round.OVER:
        return
    if round_.state == Round.State.OPEN and study.is_resolved_by_item and not round_item.n_free:
        out = Assignment.objects.filter(round=round_, item=round_item.item_id, state__in=Assignment.UNFINISHED)
        if not out.exists():
            return
    raise WrongState(
        f"Round {round_.number} is {round_.state}. Items can be discussed when their raters have finished."
    )


def _tell_mentioned(seat: Seat, round_: Round, remark: Remark) -> None:
    taking_part = people(seat, round_)
    reachable = {each.pk for each in taking_part.members if each.user_id and not each.is_machine}
    InboxLine.objects.bulk_create(
        [
            InboxLine(
                member_id=member,
                kind=InboxLine.Kind.MENTION,
                round=round_,
                item_id=remark.item_id,
                remark=remark,
            )
            for member in mentioned_members(remark.text, taking_part.by_name)
            if member in reachable and member != remark.author_id
        ],
        ignore_conflicts=True,
    )


@dataclass(frozen=True)
class TakeoverResult:
    """What became of taking over a value: the new revision, or a draft to be completed on the labelling page."""

    assignment: Assignment
    annotation: Annotation | None


def take_over(
    *, seat: Seat, round_: Round, item: Item, part: int, dimension: str, values: object, expected: int | None = None
) -> TakeoverResult:
    """Makes a value one's own by a new revision of one's answer; everything else in the answer is kept.

    The blind answer stays as it was. Where the value makes other required questions apply, nothing is submitted: the
    changed answer becomes a draft (annotation None). `expected` is the number of the revision that was seen. Raises
    Invalid, Stale, WrongState, NotFound.
    """
    seat.require_discussion(round_)
    seat.require_sight_of(round_, item)
    assignment = own_answer(seat, round_, item)
    if assignment is None or assignment.current is None:
        raise NotFound(f"You have not labeled {item.identifier} in round {round_.number}.")
    current = assignment.current
    tree = published_version(round_.taxonomy_version_id)
    if dimension not in tree.by_key:
        raise Invalid("Label not changed.", fields={"dimension": [f"Dimension “{dimension[:80]}” not found."]})
    fields: dict[str, list[str]] = {}
    read = read_decision(tree.by_key[dimension], values, "values", fields)
    if fields:
        raise Invalid("Label not changed.", fields=fields)
    if expected is not None and expected != current.revision:
        raise Stale("You changed this label elsewhere after you opened this page. Reload it.", newer={})
    own_part = _own_part(current, part)
    answer = answer_of(assignment, tree)
    assert answer is not None
    if answer["skip"] or own_part is None:
        raise WrongState("This value can't be entered here. Change your label on the labeling page.")
    body = _with_value(tree, answer, own_part, dimension, read)
    if current.snapshot is not None:
        body["snapshot"] = current.snapshot.sha256
    try:
        submitted = submit_annotation(
            seat=seat, assignment=assignment.public_id, body=body, expected=current.revision, parts_stay=True
        )
    except Invalid:
        now = int(timezone.now().timestamp() * 1000)
        keep_draft(seat=seat, assignment=assignment.public_id, body={**body, "base": current.revision, "at": now})
        return TakeoverResult(assignment, None)
    return TakeoverResult(submitted.assignment, submitted.annotation)


def _own_part(answer: Annotation, part: int) -> int | None:
    """Which part of an answer an agreed bug is; None where its rater did not find that bug."""
    matched = matches_of([answer.pk]).get(answer.pk)
    if matched is None:
        return part if 1 <= part <= answer.n_parts else None
    return next((own for own, agreed in matched.items() if agreed == part), None)


def _with_value(
    tree: VersionTree, answer: Mapping[str, Any], part: int, dimension: str, values: Values
) -> dict[str, object]:
    """An answer as a request with another value in one place, without what does not apply any more.

    The words of the issue that the other value rested on go with it.
    """
    parts = json.loads(json.dumps(answer["parts"]))
    changed = parts[part - 1]
    if values or tree.by_key[dimension].is_set:
        changed["labels"][dimension] = tree.by_key[dimension].question_kind.as_json(values)
    else:
        changed["labels"].pop(dimension, None)
    changed["proposals"].pop(dimension, None)
    for kept in parts:
        known: dict[str, Values] = {}
        for each in tree.dimensions:
            if not applies(tree, each.key, known):
                for name in ("labels", "proposals"):
                    kept[name].pop(each.key, None)
                continue
            given = kept["labels"].get(each.key)
            if given is not None:
                known[each.key] = tuple(given) if isinstance(given, list) else (given,)
        kept["evidence"] = [
            quote
            for quote in kept.get("evidence", ())
            if (quote["dimension"] in kept["labels"] or quote["dimension"] in kept["proposals"])
            and (kept is not changed or quote["dimension"] != dimension or quote["category"] in values)
        ]
    passed_on = {name: value for name, value in answer.items() if name not in ("parts", "skip", "revision")}
    return {"parts": parts, **{name: value for name, value in passed_on.items() if value is not None}}
