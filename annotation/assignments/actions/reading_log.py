"""Reading log: audit entries about who read answers, or results, of rounds under way."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import groupby

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from accounts.models import User
from annotation.assignments.actions.reading_locks import wait_for_assignments
from annotation.assignments.queries import DRAFT_READ, READ
from annotation.core.access import ADJUDICATOR, OWNER, RATER, READER, Seat, get_seat
from annotation.core.audit import record
from annotation.core.errors import Blind, OpenedElsewhere, UnfitLabels
from annotation.labels.answers import digest
from annotation.labels.queries.cached_statistics import standings
from annotation.models import AuditEvent, InboxLine, ProposalOutcome, Round
from shared.foreign_requests import is_opened_elsewhere
from taxonomy.models import Taxonomy

SETTLED_AFTER = timedelta(minutes=5)
"""How old a line is when no assignment can be under way any more that did not see it: no transaction takes as long."""
PAGE, REST, FILE = "page", "REST", "file"
"""The doors that answers are read through."""


def note_reading(seat: Seat, rounds: Iterable[Round], what: str, door: str) -> None:
    """Records that someone reads single answers of open rounds, or, as a rater alone, of rounds that are resolved.

    Raters who only rate and have such a line are not blind any more where a third one is asked. Nothing is recorded of
    rounds that they don't read, or that are closed. Call it when the request is known to be allowed, before the answer
    leaves. There is one line for each person, round and door until an answer comes in or changes; `what` was read
    first. A relabeling queue shows answers of the rounds before it, too. The operator's shell leaves none. No query
    where no round is under way, one for queues, else two; with a new line one for each and about five to see that the
    person still reads as much. Raises Blind.
    """
    if seat.user.pk is None or seat.link is not None:
        return
    read = _under_way(seat, [each for each in rounds if each.pk not in seat.sealed_round_ids])
    if _note(seat, read, what, door):
        _look_again(seat)


def note_results(seat: Seat, what: str, door: str, number: int | None = None) -> None:
    """Records that someone reads results (labels, agreement) of the rounds that are resolved, or of one of them.

    A relabeling queue shows labels of the rounds before it, too, also of one that was opened later.
    Numbers about few items show single answers, so this counts as reading answers for everyone who could still be asked
    there as a third rater. Owners, adjudicators and readers are known by their roles and leave no line. One query
    where no round is resolved, else as above. Raises Blind.
    """
    only_reads = seat.membership is not None and seat.has_role(READER) and not seat.has_role(RATER)
    is_known = seat.has_role(OWNER, ADJUDICATOR) or only_reads
    if seat.user.pk is None or seat.link is not None or is_known:
        return
    rounds = Round.objects.filter(study=seat.study, state=Round.State.RESOLVING)
    if number is not None:
        queue = Round.objects.filter(study=seat.study, number=number, kind=Round.Kind.RELABEL)
        rounds = rounds.filter(Q(number=number) | Exists(queue.filter(number__gt=OuterRef("number"))))
    if _note(seat, rounds, what, door):
        _look_again(seat)


@contextmanager
def noting_results(seat: Seat, what: str, door: str, number: int | None = None) -> Iterator[None]:
    """The same after the block, which makes the answer, and where it is refused by what the labels are."""
    try:
        yield
    except UnfitLabels:
        note_results(seat, what, door, number)
        raise
    note_results(seat, what, door, number)


def note_inbox(user: User, lines: Iterable[InboxLine], door: str) -> None:
    """Records that someone reads remarks in the inbox: each counts as reading the discussion of its round.

    The inbox shows no remark of a round that is sealed. Two queries for each study of such a remark, as above.
    """
    told = sorted((line for line in lines if line.remark is not None), key=lambda line: line.member_id)
    for _, of_member in groupby(told, key=lambda line: line.member_id):
        found = list(of_member)
        seat = Seat(user, found[0].round.study, found[0].member)
        if not _note(seat, _under_way(seat, {line.round for line in found}), "inbox", door):
            continue
        sealed, withheld = get_seat(user, seat.study.slug).hidden_answers
        if any(line.round_id in sealed or (line.round_id, line.item_id) in withheld for line in found):
            raise Blind("You were assigned to items of this page just now. Open it again.")


def note_drafts(users: Iterable[User], taxonomy: Taxonomy) -> None:
    """Records that people who stop maintaining a taxonomy could read in its drafts what others proposed.

    Of each open or resolving round with a proposal that was accepted; who maintains it is known by that. Call it in the
    transaction that ends their part. One query for each person, more only where there is such a round.
    """
    accepted = ProposalOutcome.objects.filter(outcome=ProposalOutcome.Outcome.ACCEPTED, proposal__round=OuterRef("pk"))
    under_way = Round.objects.filter(
        taxonomy_version__taxonomy=taxonomy, state__in=(Round.State.OPEN, Round.State.RESOLVING)
    )
    for user in users:
        others = accepted.exclude(proposal__proposed_by__user=user)
        found = under_way.filter(Exists(others)).select_related("study").order_by("study", "pk")
        for study, rounds in groupby(found, key=lambda each: each.study):
            read = list(rounds)
            _note(Seat(user, study, None), read, DRAFT_READ, PAGE)
            wait_for_assignments(read)


def _under_way(seat: Seat, rounds: Iterable[Round]) -> list[Round]:
    """Rounds among those read that count, with the rounds before a relabeling queue that are resolved, if they do."""
    read = list(rounds)
    if seat.has_role(OWNER, ADJUDICATOR):
        return [each for each in read if each.state == Round.State.OPEN]
    found = {each.pk: each for each in read if each.state in (Round.State.OPEN, Round.State.RESOLVING)}
    if queues := [each.number for each in read if each.kind == Round.Kind.RELABEL]:
        before = Round.objects.filter(study=seat.study, state=Round.State.RESOLVING, number__lt=max(queues))
        found |= {each.pk: each for each in before if each.pk not in seat.sealed_round_ids}
    return list(found.values())


def _look_again(seat: Seat) -> None:
    """Shows nothing to who was asked as a third rater, or named in a round, before their line: raises Blind."""
    if seat.reads_less_than(*seat.hidden_answers):
        raise Blind("You were assigned to items of this page just now. Open it again.")


def _note(seat: Seat, rounds: Iterable[Round], what: str, door: str) -> bool:
    """Adds the lines that are missing: of rounds whose answers are not those of an earlier line.

    Whether the person, as a rater of the study, may have been assigned before the line was there, so that what they
    read has to be looked at again. It waits while someone is assigning them.

    No line is added for a page of another site, which can open an address without its reader: OpenedElsewhere.

    A line that was added a moment ago, by a request at the same time, settles nothing: this one waits and looks, too.

    Answers are compared by the revisions of the raters, which the database counts up and which never come again.
    """
    now = {each.number: each for each in rounds}
    if not now:
        return False
    revisions = standings(list(now.values()))
    seen = {number: digest(revisions[each.pk])[:12] for number, each in sorted(now.items())}
    lines = AuditEvent.objects.filter(study=seat.study, user=seat.user, verb=READ, detail__door=door)
    lines = lines.filter(detail__round__in=list(seen), detail__answers_hash__in=list(seen.values()))
    added_at: dict[tuple[int, str], datetime] = {}
    for number, answers, at in lines.order_by("at").values_list("detail__round", "detail__answers_hash", "at"):
        added_at.setdefault((number, answers), at)
    missing = {number: answers for number, answers in seen.items() if (number, answers) not in added_at}
    if missing and is_opened_elsewhere():
        raise OpenedElsewhere(
            "A page of another site opened this. It shows answers, and that you read them is recorded."
        )
    for number, answers in missing.items():
        record(study=seat.study, user=seat.user, verb=READ, round=number, what=what, door=door, answers_hash=answers)
    settled = timezone.now() - SETTLED_AFTER
    if not seat.has_role(RATER) or all(each in added_at and added_at[each] < settled for each in seen.items()):
        return False
    wait_for_assignments(now.values())
    return True
