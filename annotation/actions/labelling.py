"""What a rater does: takes the next item, submits, skips, keeps a draft."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from accounts.storable import check_storable
from annotation.access import RATER, Seat, get_own_assignment, hold_state
from annotation.actions.rounds import finish_if_done
from annotation.actions.rows import value_columns
from annotation.answers import LONGEST_TEXT, PartRead, answers_digest, digest, read_parts
from annotation.errors import Conflict, Forbidden, Invalid, Stale, WrongState
from annotation.models import (
    Annotation,
    Assignment,
    Draft,
    Proposal,
    Rating,
    Round,
    RoundItem,
    RoundRater,
)
from annotation.queries.labelling import peek, waiting_assignment
from ingest.models import Snapshot
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

LEASE = timedelta(hours=2)
LONGEST_REASON = 2000


@dataclass(frozen=True)
class Submitted:
    """What became of a submit: the revision, whether it is a new one, and the assignment as it stands."""

    annotation: Annotation
    assignment: Assignment
    is_new: bool


def take_next(*, seat: Seat, round_: Round, after: str | None = None) -> Assignment | None:
    """The assignment to work on now, or None; asked again, the same one until it is submitted or skipped.

    In a pool this takes or renews a lease. `after` looks ahead of that assignment and takes none; then the assignment
    handed back may be one that does not exist yet (without an id).
    """
    seat.require(RATER)
    assert seat.membership is not None
    if round_.state != Round.State.OPEN:
        if RoundRater.objects.filter(round=round_, rater=seat.membership).exists():
            return None
        raise Forbidden(f"You are not a rater of round {round_.number}.")
    if after is not None:
        return peek(round_, get_own_assignment(seat, after))
    found = waiting_assignment(round_, seat.membership)
    if round_.mode == Round.Mode.POOL and (found is None or not _renew(found)):
        _free_expired(round_)
        found = _take_from_pool(seat, round_)
    if found is None:
        if not RoundRater.objects.filter(round=round_, rater=seat.membership).exists():
            raise Forbidden(f"You are not a rater of round {round_.number}.")
        finish_if_done(round_.pk)
    return found


def _renew(assignment: Assignment) -> bool:
    """Lengthens a lease, at most once a minute; False where it ran out and was given back meanwhile."""
    until = timezone.now() + LEASE
    if assignment.lease_until is not None and until - assignment.lease_until <= timedelta(minutes=1):
        return True
    assignment.lease_until = until
    return bool(Assignment.objects.filter(pk=assignment.pk, state__in=Assignment.UNFINISHED).update(lease_until=until))


@transaction.atomic
def _take_from_pool(seat: Seat, round_: Round) -> Assignment | None:
    """Takes the next free slot in the round's order that this rater has not had.

    The rater walks through the order once, so the cost does not grow with what lies behind; slots that came free
    behind them are looked for at the end.
    """
    if hold_state(pk=round_.pk) != Round.State.OPEN:
        return None
    walker = (
        RoundRater.objects.select_for_update(of=("self",))
        .select_related("rater")
        .filter(round=round_, rater=seat.membership)
        .first()
    )
    if walker is None:
        raise Forbidden(f"You are not a rater of round {round_.number}.")
    if found := waiting_assignment(round_, walker.rater):
        return found
    free = RoundItem.objects.filter(round=round_, n_free__gt=0).order_by("position")
    place = free.select_for_update(skip_locked=True).filter(position__gt=walker.walked).first()
    if place is None:
        had = Assignment.objects.filter(round=round_, rater=walker.rater).exclude(state=Assignment.State.WITHDRAWN)
        place = free.select_for_update().exclude(item__in=had.values("item")).first()
    if place is None:
        return None
    held = set(
        Assignment.objects.filter(round=round_, item=place.item_id)
        .exclude(state=Assignment.State.WITHDRAWN)
        .values_list("slot", flat=True)
    )
    slot = next(n for n in range(1, place.n_raters + 1) if n not in held)
    lease = {"slot": slot, "state": Assignment.State.LEASED, "lease_until": timezone.now() + LEASE}
    withdrawn = Assignment.objects.filter(round=round_, item=place.item_id, rater=walker.rater_id)
    if place.position > walker.walked or not withdrawn.update(**lease):
        walker.n_assigned += 1
        Assignment.objects.create(
            round=round_, item_id=place.item_id, rater_id=walker.rater_id, position=walker.n_assigned, **lease
        )
    RoundItem.objects.filter(pk=place.pk).update(n_free=F("n_free") - 1)
    walker.walked = max(walker.walked, place.position)
    walker.save(update_fields=["walked", "n_assigned"])
    return waiting_assignment(round_, walker.rater)


def _free_expired(round_: Round) -> None:
    """Gives back the slots of leases that ran out; in a transaction of its own, so takers do not wait in a ring."""
    expired = Assignment.objects.filter(
        round=round_, state=Assignment.State.LEASED, lease_until__lt=timezone.now()
    ).order_by("lease_until")
    if not expired.exists():
        return
    with transaction.atomic():
        if hold_state(pk=round_.pk) != Round.State.OPEN:
            return
        found = list(expired.select_for_update(skip_locked=True)[:100])
        for assignment in sorted(found, key=lambda each: each.item_id):
            Assignment.objects.filter(pk=assignment.pk).update(state=Assignment.State.WITHDRAWN, lease_until=None)
            RoundItem.objects.filter(round=round_, item=assignment.item_id).update(n_free=F("n_free") + 1)


def submit_annotation(
    *,
    seat: Seat,
    assignment: object,
    body: Mapping[str, object],
    idempotency_key: str = "",
    expected: int | None = None,
) -> Submitted:
    """Appends a revision of the rater's answer for an assignment: labels, parts, or a skip with its reason.

    The same key and request again give the stored revision; the same key with another request is a Conflict. A first
    submit needs an open round, a further revision an open or resolving one. `expected` is the number of the revision
    the rater saw (0: none): another one since then, from a second tab or device, is Stale. `snapshot` in the request is
    the SHA-256 of the state that was read; the pinned one where it says none. Raises Invalid with the fields; then
    nothing is stored.
    """
    check_storable(body)
    if len(idempotency_key) > 200:
        raise Invalid("The Idempotency-Key is longer than 200 characters.", fields={"Idempotency-Key": ["Too long."]})
    try:
        submitted = _submit(seat, assignment, body, idempotency_key, expected)
    except IntegrityError as error:
        if "an_idempotency_key_is_used_once_by_a_rater" not in str(error):
            raise
        raise _reused_key() from error
    if submitted.is_new:
        finish_if_done(submitted.assignment.round_id)
    return submitted


def _reused_key() -> Conflict:
    return Conflict("This Idempotency-Key was used for another request; make a new one.", code="idempotency_key_reused")


@transaction.atomic
def _submit(seat: Seat, identifier: object, body: Mapping[str, object], key: str, expected: int | None) -> Submitted:
    assignment = get_own_assignment(seat, identifier, lock=True)
    request_digest = digest({"assignment": str(assignment.pk), **{k: v for k, v in body.items() if k != "assignment"}})
    stored = _stored(assignment, key, request_digest)
    if stored is not None:
        return Submitted(stored, assignment, is_new=False)
    round_ = assignment.round
    _check_state(assignment, round_)
    _check_expected(assignment, expected)
    tree = published_version(round_.taxonomy_version_id)
    fields: dict[str, list[str]] = {}
    skip_reason = _skip_reason(body, fields)
    parts = [] if skip_reason or fields else read_parts(tree, body, fields)
    confidence, seconds = _whole(body, "confidence", 1, 3, fields), _whole(body, "seconds", 0, 10**7, fields)
    memo = _memo(body, fields)
    snapshot = _snapshot_read(assignment, body, fields)
    if fields:
        raise Invalid("The answer could not be taken.", fields=fields)
    annotation = Annotation.objects.create(
        assignment=assignment,
        rater=assignment.rater,
        revision=_revision(assignment),
        snapshot_id=snapshot,
        skip_reason=skip_reason,
        n_parts=max(len(parts), 1),
        memo=memo,
        part_memos=[part.memo for part in parts] if body.get("parts") is not None else [],
        confidence=confidence,
        seconds=seconds,
        n_proposals=sum(len(part.proposals) for part in parts),
        answers_digest=answers_digest([part.values for part in parts]),
        idempotency_key=key,
        request_digest=request_digest,
        submitted_by=seat.user,
    )
    _write_ratings(assignment, annotation, tree, parts)
    _point_to(assignment, annotation, round_)
    return Submitted(annotation, assignment, is_new=True)


def _stored(assignment: Assignment, key: str, request_digest: str) -> Annotation | None:
    """The revision that this very request made before. Without a key, only the current revision is looked at."""
    if key:
        stored = Annotation.objects.filter(rater=assignment.rater_id, idempotency_key=key).first()
        if stored and stored.request_digest != request_digest:
            raise _reused_key()
        return stored
    if assignment.current_id is None:
        return None
    return Annotation.objects.filter(pk=assignment.current_id, request_digest=request_digest).first()


def _check_state(assignment: Assignment, round_: Round) -> None:
    if assignment.state == Assignment.State.WITHDRAWN:
        raise WrongState("This assignment was withdrawn; ask for the next one.")
    if assignment.state in Assignment.UNFINISHED and round_.state != Round.State.OPEN:
        raise WrongState(f"Round {round_.number} is {round_.state}; it takes no new answers.")
    if round_.state not in (Round.State.OPEN, Round.State.RESOLVING):
        raise WrongState(f"Round {round_.number} is {round_.state}; its answers stay as they are.")


def _check_expected(assignment: Assignment, expected: int | None) -> None:
    if expected is None or assignment.current_id is None:
        return
    newest = Annotation.objects.get(pk=assignment.current_id)
    if newest.revision != expected:
        raise Stale(
            "This issue was answered in another tab or on another device since you opened it here.",
            newer={"revision": newest.revision, "key": newest.idempotency_key, "at": newest.created_at},
        )


def _revision(assignment: Assignment) -> int:
    if assignment.current_id is None:
        return 1
    return assignment.annotations.order_by("-revision").values_list("revision", flat=True)[0] + 1


def _snapshot_read(assignment: Assignment, body: Mapping[str, object], fields: dict[str, list[str]]) -> int | None:
    """The state that stood before the rater: what the request names, so that a pin moved on meanwhile is no matter."""
    item, named = assignment.item, body.get("snapshot")
    if named is None:
        return item.snapshot_id
    found = None
    if isinstance(named, str) and item.issue_id is not None:
        of_issue = Snapshot.objects.filter(issue=item.issue_id, sha256=named.lower())
        found = of_issue.values_list("pk", flat=True).first()
    if found is None:
        fields["snapshot"] = ["This is no state of the issue. Send `snapshot` of the issue that was read, or nothing."]
    return found


def _skip_reason(body: Mapping[str, object], fields: dict[str, list[str]]) -> str:
    if body.get("skip") is None:
        if "labels" not in body and "parts" not in body and not body.get("proposals"):
            fields["labels"] = ["Give labels, parts, or skip with a reason."]
        return ""
    reason = body["skip"]
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        fields["skip"] = [f"Say why, in at most {LONGEST_REASON} characters."]
        return ""
    if body.get("labels") or body.get("parts"):
        fields["skip"] = ["Either skip or label; not both."]
    return reason.strip()


def _memo(body: Mapping[str, object], fields: dict[str, list[str]]) -> str:
    memo = "" if body.get("memo") is None else body["memo"]
    if isinstance(memo, str) and len(memo) <= LONGEST_TEXT:
        return memo
    fields["memo"] = [f"A memo is text of at most {LONGEST_TEXT} characters."]
    return ""


def _whole(body: Mapping[str, object], name: str, least: int, most: int, fields: dict[str, list[str]]) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, float):
        value = round(value) if value == value and abs(value) < 10**9 else -1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        fields[name] = [f"Write a whole number from {least} to {most}."]
        return None
    return value


def _write_ratings(assignment: Assignment, annotation: Annotation, tree: VersionTree, parts: list[PartRead]) -> None:
    """Stores the proposals and ratings of all parts in two statements at most."""
    asked = [
        (number, dimension, part.proposals[dimension.key])
        for number, part in enumerate(parts, start=1)
        for dimension in tree.dimensions
        if dimension.key in part.proposals
    ]
    made = Proposal.objects.bulk_create(
        [Proposal(annotation=annotation, dimension_id=d.id, name=each.name, memo=each.memo) for _, d, each in asked]
    )
    proposals = {(number, dimension.key): row.pk for (number, dimension, _), row in zip(asked, made, strict=True)}
    Rating.objects.bulk_create(
        [
            Rating(
                annotation=annotation,
                round_id=assignment.round_id,
                item_id=assignment.item_id,
                rater_id=assignment.rater_id,
                part=number,
                dimension_id=dimension.id,
                **value,
            )
            for number, part in enumerate(parts, start=1)
            for dimension in tree.dimensions
            if dimension.key in part.values
            for value in value_columns(dimension, part.values[dimension.key], proposals.get((number, dimension.key)))
        ]
    )


def _point_to(assignment: Assignment, annotation: Annotation, round_: Round) -> None:
    """Moves the assignment's pointers: the blind one only while the round is open and its raters see nothing."""
    is_first = assignment.state in Assignment.UNFINISHED
    assignment.current = annotation
    if round_.state == Round.State.OPEN:
        assignment.blind = annotation
    assignment.state = Assignment.State.SKIPPED if annotation.skip_reason else Assignment.State.SUBMITTED
    assignment.lease_until = None
    assignment.save(update_fields=["current", "blind", "state", "lease_until"])
    if is_first:
        RoundRater.objects.filter(round=round_, rater=assignment.rater_id).update(n_finished=F("n_finished") + 1)
    Draft.objects.filter(assignment=assignment).delete()


def keep_draft(*, seat: Seat, assignment: object, body: Mapping[str, object]) -> Draft:
    """Keeps what was typed so far; the last one wins, and it is thrown away by the submit."""
    found = get_own_assignment(seat, assignment)
    _check_state(found, found.round)
    check_storable(body)
    if len(str(body)) > 200_000:
        raise Invalid("The draft is too long to keep.", fields={"draft": ["At most 200,000 characters."]})
    draft, _ = Draft.objects.update_or_create(assignment=found, defaults={"body": dict(body)})
    return draft
