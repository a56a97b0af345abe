"""Answers of raters: submit, skip, and draft."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import finish_if_done
from annotation.calibration.actions.training import admit_elsewhere, require_admission
from annotation.core.access import Seat, get_own_assignment
from annotation.core.errors import Conflict, Invalid, Stale, WrongState
from annotation.core.imported import MARK
from annotation.core.issue_states import states_of_members
from annotation.core.row_checks import DRAFT
from annotation.labels.actions.part_matches import carry_match
from annotation.labels.answers import AnswerPart, answers_digest, digest, read_parts
from annotation.labels.consensus import PENDING
from annotation.labels.evidence import BODY, COMMENT, TITLE, Places, Quote, Source
from annotation.labels.queries.evidence import texts_of
from annotation.labels.screening import refuse_proposals
from annotation.labels.value_rows import value_columns
from annotation.models import Annotation, Assignment, Draft, Evidence, Proposal, Rating, Round, RoundItem
from ingest.models import Snapshot
from shared.compiled_queries import CompiledQuery
from shared.storable_json import check_storable
from taxonomy.kinds import LONGEST_TEXT
from taxonomy.queries import published_version
from taxonomy.tree import VersionTree

LONGEST_REASON = 2000


@dataclass(frozen=True)
class SubmitResult:
    """What became of a submit: the revision, whether it is a new one, and the assignment as it stands."""

    annotation: Annotation
    assignment: Assignment
    is_new: bool


def submit_annotation(
    *,
    seat: Seat,
    assignment: object,
    body: Mapping[str, object],
    idempotency_key: str = "",
    expected: int | None = None,
    round_number: int | None = None,
    parts_stay: bool = False,
) -> SubmitResult:
    """Appends a revision of the rater's answer for an assignment: labels, parts, or a skip with its reason.

    The same key and request again give the stored revision; the same key with another request is a Conflict. A first
    submit needs an open round, a further revision an open or resolving one. `expected` is the number of the revision
    the rater saw (0: none): another one since then, from a second tab or device, is Stale. `snapshot` in the request is
    the SHA-256 of the state that was read; the pinned one where it says none. With `parts_stay` the parts are the bugs
    that they were in the revision before, whatever they say now. Raises Invalid with the fields; then nothing is
    stored.

    The study's rules are never applied here: what a submit does, and how long it takes, must not depend on what the
    other raters answered. The end of the round is checked for a resend, too: the process may have died between the two.
    """
    check_storable(body)
    if idempotency_key.startswith(MARK):
        sentence = f"It must not begin with “{MARK}”, which marks imported labels."
        raise Invalid("The Idempotency-Key is not valid.", fields={"Idempotency-Key": [sentence]})
    if len(idempotency_key) > 200:
        raise Invalid("The Idempotency-Key is longer than 200 characters.", fields={"Idempotency-Key": ["Too long."]})
    try:
        submitted = _submit(seat, assignment, body, idempotency_key, expected, round_number, parts_stay)
    except IntegrityError as error:
        if "an_idempotency_key_is_used_once_by_a_rater" not in str(error):
            raise
        raise _reused_key() from error
    if finish_if_done(submitted.assignment.round_id):
        submitted.assignment.round.state = Round.State.RESOLVING
    return submitted


def _reused_key() -> Conflict:
    return Conflict("This Idempotency-Key was used for another request. Use a new one.", code="idempotency_key_reused")


@transaction.atomic
def _submit(
    seat: Seat,
    identifier: object,
    body: Mapping[str, object],
    key: str,
    expected: int | None,
    round_number: int | None,
    parts_stay: bool,
) -> SubmitResult:
    assignment = get_own_assignment(seat, identifier, lock=True, round_number=round_number)
    request_digest = digest({"assignment": str(assignment.pk), **{k: v for k, v in body.items() if k != "assignment"}})
    stored = _stored(assignment, key, request_digest)
    if stored is not None:
        return SubmitResult(stored, assignment, is_new=False)
    round_ = assignment.round
    _check_state(assignment, round_)
    if assignment.state in Assignment.UNFINISHED and getattr(assignment, "known", None) is None:
        require_admission(round_, assignment.rater, assignment)
    _check_expected(assignment, expected)
    tree = published_version(round_.taxonomy_version_id)
    answer = _read(assignment, tree, body)
    annotation = Annotation.objects.create(
        assignment=assignment,
        rater=assignment.rater,
        revision=_revision(assignment),
        snapshot_id=answer.snapshot,
        skip_reason=answer.skip_reason,
        n_parts=max(len(answer.parts), 1),
        memo=answer.memo,
        part_memos=[part.memo for part in answer.parts] if answer.is_in_parts else [],
        confidence=answer.confidence,
        seconds=answer.seconds,
        is_flagged=answer.is_flagged,
        n_proposals=sum(len(part.proposals) for part in answer.parts),
        answers_digest=answers_digest([part.values for part in answer.parts]),
        idempotency_key=key,
        request_digest=request_digest,
        submitted_by=seat.user,
    )
    _write_ratings(assignment, annotation, tree, answer)
    may_be_matched = round_.state == Round.State.RESOLVING or seat.study.is_resolved_by_item
    if answer.parts and may_be_matched and assignment.current_id is not None:
        carry_match(assignment.current, annotation, parts_stay=parts_stay)
    assignment_states.submit(assignment, annotation, seat)
    if annotation.revision == 1 and getattr(assignment, "known", None) is not None:
        admit_elsewhere(assignment)
    return SubmitResult(annotation, assignment, is_new=True)


@dataclass(frozen=True)
class Answer:
    """An answer of a rater as it is stored; `quoted` is by part and place in its list."""

    skip_reason: str
    parts: list[AnswerPart]
    is_in_parts: bool
    memo: str
    confidence: int | None
    seconds: int | None
    is_flagged: bool
    snapshot: int | None
    quoted: Mapping[tuple[int, int], Evidence]


def _read(assignment: Assignment, tree: VersionTree, body: Mapping[str, object]) -> Answer:
    """The answer that a request holds, from a page or REST. Raises Invalid with the fields."""
    fields: dict[str, list[str]] = {}
    is_in_parts = body.get("parts") is not None
    skip_reason = _skip_reason(body, fields)
    parts = [] if skip_reason or fields else read_parts(tree, body, fields)
    if assignment.round.kind == Round.Kind.SCREENING:
        refuse_proposals(parts, fields, in_parts=is_in_parts)
    confidence, seconds = _whole(body, "confidence", 1, 3, fields), _whole(body, "seconds", 0, 10**7, fields)
    memo, is_flagged = _memo(body, fields), _flag(body, fields)
    snapshot = _snapshot_read(assignment, body, fields)
    quoted = _quoted(parts, snapshot, fields, in_parts=is_in_parts) if not fields else {}
    if fields:
        raise Invalid("Labels not saved.", fields=fields)
    return Answer(skip_reason, parts, is_in_parts, memo, confidence, seconds, is_flagged, snapshot, quoted)


def _stored(assignment: Assignment, key: str, request_digest: str) -> Annotation | None:
    """The revision that this very request made before. Without a key, only the current revision is looked at."""
    if key:
        stored = _by_key.first(assignment.rater_id, key)
        if stored and stored.request_digest != request_digest:
            raise _reused_key()
        return stored
    if assignment.current_id is None:
        return None
    return Annotation.objects.filter(pk=assignment.current_id, request_digest=request_digest).first()


_by_key = CompiledQuery(
    lambda rater, key: Annotation.objects.filter(rater=rater, idempotency_key=key).order_by(), int, str
)


def _check_state(assignment: Assignment, round_: Round) -> None:
    if assignment.state == Assignment.State.WITHDRAWN:
        place = RoundItem.objects.filter(round=round_, item=assignment.item_id, excluded=True)
        if place.exists():
            raise WrongState(
                "This item was screened out of the study, so your answer was not saved. Ask for the next item."
            )
        raise WrongState("This assignment was withdrawn. Request the next one.")
    is_asked = assignment.kind != Assignment.Kind.RATER and round_.state == Round.State.RESOLVING
    if assignment.state in Assignment.UNFINISHED and round_.state != Round.State.OPEN and not is_asked:
        raise WrongState(f"Round {round_.number} is {round_.state} and accepts no new labels.")
    if round_.state not in (Round.State.OPEN, Round.State.RESOLVING):
        raise WrongState(f"Round {round_.number} is {round_.state}. Its labels can't be changed.")


def _check_expected(assignment: Assignment, expected: int | None) -> None:
    if expected is None or assignment.current_id is None:
        return
    newest = Annotation.objects.get(pk=assignment.current_id)
    if newest.revision != expected:
        raise Stale(
            "You submitted labels for this issue in another tab or on another device after you opened it here.",
            newer={"revision": newest.revision, "key": newest.idempotency_key, "at": newest.created_at},
        )


def _revision(assignment: Assignment) -> int:
    if assignment.current_id is None:
        return 1
    return assignment.annotations.order_by("-revision").values_list("revision", flat=True)[0] + 1


def _snapshot_read(assignment: Assignment, body: Mapping[str, object], fields: dict[str, list[str]]) -> int | None:
    """The state that stood before the rater: what the request names, so that a pin moved on meanwhile is no matter.

    It is one that this rater may have read here: pinned at some time since the round opened and they are a member, or
    that of their own answer, which they revise.
    """
    item, named = assignment.item, body.get("snapshot")
    if named is None:
        return item.snapshot_id
    found = None
    if isinstance(named, str) and item.issue_id is not None:
        since = max(assignment.round.opened_at or assignment.round.created_at, assignment.rater.created_at)
        own = Annotation.objects.filter(pk=assignment.current_id or 0).order_by().values("snapshot")
        states = states_of_members(item, since) | Snapshot.objects.filter(pk__in=own)
        known = set(states.filter(sha256=named.lower()).values_list("pk", flat=True))
        found = item.snapshot_id if item.snapshot_id in known else max(known, default=None)
    if found is None:
        fields["snapshot"] = [
            "The study has not pinned this snapshot of the issue. Send `snapshot` of the issue that was "
            "read, or omit it."
        ]
    return found


def _skip_reason(body: Mapping[str, object], fields: dict[str, list[str]]) -> str:
    if body.get("skip") is None:
        if "labels" not in body and "parts" not in body and not body.get("proposals"):
            fields["labels"] = ["Send labels, parts, or skip with a reason."]
        return ""
    reason = body["skip"]
    if not isinstance(reason, str) or not reason.strip() or len(reason) > LONGEST_REASON:
        fields["skip"] = [f"Give a reason of at most {LONGEST_REASON} characters."]
        return ""
    if body.get("labels") or body.get("parts"):
        fields["skip"] = ["Either skip or label, not both."]
    return reason.strip()


def _memo(body: Mapping[str, object], fields: dict[str, list[str]]) -> str:
    memo = "" if body.get("memo") is None else body["memo"]
    if isinstance(memo, str) and len(memo) <= LONGEST_TEXT:
        return memo
    fields["memo"] = [f"A memo has at most {LONGEST_TEXT} characters."]
    return ""


def _flag(body: Mapping[str, object], fields: dict[str, list[str]]) -> bool:
    flag = body.get("flag")
    if flag is None or isinstance(flag, bool):
        return bool(flag)
    fields["flag"] = ["Use true to flag this item for discussion. Otherwise use false or omit it."]
    return False


def _whole(body: Mapping[str, object], name: str, least: int, most: int, fields: dict[str, list[str]]) -> int | None:
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, float):
        value = round(value) if value == value and abs(value) < 10**9 else -1
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        fields[name] = [f"Enter a whole number from {least} to {most}."]
        return None
    return value


def _quoted(
    parts: list[AnswerPart], snapshot: int | None, fields: dict[str, list[str]], *, in_parts: bool
) -> dict[tuple[int, int], Evidence]:
    """By part and place in its list the quotes as rows without their rating, found in the state that was read.

    Texts are read only where something is quoted.
    """
    asked = {(n, m): quote for n, part in enumerate(parts, start=1) for m, quote in enumerate(part.evidence, start=1)}
    if not asked:
        return {}

    def refuse(place: tuple[int, int], sentence: str) -> None:
        fields[f"{f'parts[{place[0]}].' if in_parts else ''}evidence[{place[1]}]"] = [sentence]

    if snapshot is None:
        for place in asked:
            refuse(place, "This item was imported without an issue, so it has no text to quote.")
        return {}
    read, comments = texts_of(snapshot, {quote.comment for quote in asked.values() if quote.comment})
    repository = read.issue.repository.full_name
    sources: dict[tuple[str, int | None], Source] = {}
    places = Places()
    found: dict[tuple[int, int], Evidence] = {}
    for place, quote in asked.items():
        comment = comments.get(quote.comment) if quote.comment else None
        if quote.where == COMMENT and comment is None:
            refuse(place, f"The thread has no comment {quote.comment}.")
            continue
        source = sources.get((quote.where, quote.comment))
        if source is None:
            text = comment.body if comment else {TITLE: read.title, BODY: read.body}[quote.where]
            source = sources[quote.where, quote.comment] = Source(text, repository, places)
        found[place] = _evidence(quote, source, comment.pk if comment else None)
    return found


def _evidence(quote: Quote, source: Source, comment: int | None) -> Evidence:
    start, end = source.locate(quote) or (None, None)
    return Evidence(
        where=quote.where,
        comment_id=comment,
        start=start,
        end=end,
        quote=quote.quote,
        before=quote.before,
        after=quote.after,
    )


def _write_ratings(assignment: Assignment, annotation: Annotation, tree: VersionTree, answer: Answer) -> None:
    """Stores the proposals, ratings and quotes of all parts in three statements at most."""
    parts, quoted = answer.parts, answer.quoted
    asked = [
        (number, dimension, part.proposals[dimension.key])
        for number, part in enumerate(parts, start=1)
        for dimension in tree.dimensions
        if dimension.key in part.proposals
    ]
    made = Proposal.objects.bulk_create(
        [
            Proposal(
                annotation=annotation,
                round_id=assignment.round_id,
                item_id=assignment.item_id,
                proposed_by_id=assignment.rater_id,
                part=number,
                dimension_id=dimension.id,
                name=each.name,
                memo=each.memo,
            )
            for number, dimension, each in asked
        ]
    )
    proposals = {(number, dimension.key): row.pk for (number, dimension, _), row in zip(asked, made, strict=True)}
    ratings = Rating.objects.bulk_create(
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
    if not quoted:
        return
    rated: dict[tuple[int, str, str], Rating] = {}
    for row in ratings:
        dimension = tree.by_id[row.dimension_id]
        category = dimension.by_id[row.category_id].key if row.category_id else PENDING if row.proposal_id else ""
        rated[row.part, dimension.key, category] = row
    for (number, place), evidence in quoted.items():
        quote = parts[number - 1].evidence[place - 1]
        evidence.rating = rated[number, quote.dimension, quote.category]
    Evidence.objects.bulk_create(quoted.values())


def keep_draft(*, seat: Seat, assignment: object, body: Mapping[str, object], round_number: int | None = None) -> Draft:
    """Keeps what was typed so far; it is thrown away by the submit.

    A draft may say `by` whom it was typed (a name for one open page), which draft it goes on from (`seen`, that one's
    `at`) and the revision it began with (`base`). Then it takes the place of what the same page kept, of the draft that
    was seen, and of one for an earlier revision; another one is left as it is and handed back as Stale. Without `by`
    the last one wins.
    """
    found = get_own_assignment(seat, assignment, round_number=round_number)
    _check_state(found, found.round)
    check_storable(body)
    if len(str(body)) > 200_000:
        raise Invalid("The draft is too long to save.", fields={"draft": ["At most 200,000 characters."]})
    if not DRAFT(body):  # a study's file with it would be rejected
        sentence = "Send labels, proposals, memo and evidence, or parts with these, as the labeling page does."
        raise Invalid("The draft was not saved.", fields={"draft": [sentence]})
    with transaction.atomic():
        kept = Draft.objects.select_for_update()
        draft, is_new = kept.get_or_create(assignment=found, defaults={"body": dict(body)})
        if is_new:
            return draft
        if not _may_replace(draft.body, body):
            message = "A draft of this issue was saved in another tab or on another device."
            raise Stale(message, newer=draft.body)
        draft.body = dict(body)
        draft.save()
    return draft


def _may_replace(stands: Mapping[str, object], body: Mapping[str, object]) -> bool:
    if "by" not in body or stands.get("by") in (None, body["by"]):
        return True
    ours, theirs = body.get("base"), stands.get("base")
    if isinstance(ours, int) and isinstance(theirs, int) and ours != theirs:
        return ours > theirs
    return body.get("seen") == stands.get("at")
