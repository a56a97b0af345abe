"""Desk of a rater: the current issue, its draft, and its position among their items."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.urls import reverse

from annotation.calibration.queries import training
from annotation.core.access import Seat
from annotation.labeling.queries import assignments
from annotation.labeling.queries.earlier_answers import PrefilledAnswer, prefilled_answer
from annotation.labels.queries.item_history import reads_otherwise
from annotation.models import Assignment, Membership, Round, RoundItem, Study
from annotation.proposals import queries as proposal_queries
from ingest.models import Snapshot
from taxonomy.queries import published_version


@dataclass(frozen=True)
class OwnListLine:
    """One of the rater's own items in the list; without a URL where it is yet to come."""

    position: int
    identifier: str
    state: str
    is_flagged: bool
    mark: str
    url: str
    is_here: bool

    @property
    def name(self) -> str:
        """The identifier without the owner: the list is narrow."""
        return self.identifier.rpartition("/")[2] or self.identifier


@dataclass(frozen=True)
class DeskTurn:
    """An assignment for the script of the page; one that is only looked ahead at holds nothing of the rater's own."""

    round: Round
    assignment: Assignment
    snapshot: Snapshot | None
    answer: assignments.CurrentAnswer | None = None
    draft: dict[str, object] | None = None
    carried: PrefilledAnswer | None = None
    outcomes: Sequence[proposal_queries.AnsweredProposal] = ()

    @property
    def may_change(self) -> bool:
        return may_change(self.round, self.assignment)

    @property
    def reading(self) -> str:
        """Names what stands in the column of the issue: the item and its snapshot; nothing for what can't be kept."""
        if self.snapshot is None or self.assignment.state not in Assignment.UNFINISHED:
            return ""
        return f"{self.assignment.item_id}:{self.snapshot.sha256}"

    def as_json(self) -> dict[str, object]:
        assignment, answer = self.assignment, self.answer
        shown = {
            "assignment": assignment.public_id if assignment.pk else None,
            "name": assignment.item.identifier,
            "position": assignment.position,
            "snapshot": self.snapshot.sha256 if self.snapshot else None,
            "reading": self.reading,
        }
        if assignment.pk is None:
            return shown
        place = [self.round.study.slug, self.round.number, assignment.public_id]
        return {
            **shown,
            "submit_url": reverse("label_one", args=place),
            "draft_url": reverse("keep_draft", args=place),
            "after_url": reverse("label_after", args=place),
            "revision": answer["revision"] if answer else 0,
            "key": assignment.current.idempotency_key if assignment.current else "",
            "answer": answer,
            "draft": self.draft,
            "carried": self.carried.draft if self.carried else None,
            "before": self.carried.before_as_documents if self.carried else [],
            "may_change": self.may_change,
            "outcomes": [asdict(each) for each in self.outcomes],
        }


@dataclass(frozen=True)
class DeskIssue:
    """The issue of an assignment, unless the page has it at hand, and what the script has to know of it.

    `answered_on` is the snapshot of an answer that was given to another one; `trained` is what is right of a training
    item that was answered.
    """

    study: Study
    round: Round
    assignment: Assignment | None
    lines: Sequence[OwnListLine]
    turn: DeskTurn | None = None
    is_at_hand: bool = False
    answered_on: int | None = None
    trained: training.Feedback | None = None
    is_excluded: bool = False

    @property
    def is_first_answer(self) -> bool:
        return self.assignment is not None and self.assignment.state in Assignment.UNFINISHED

    @property
    def context(self) -> dict[str, Any]:
        """What the templates of the page read."""
        return {
            **vars(self),
            "turn": self.turn.as_json() if self.turn else None,
            "item": self.assignment.item if self.assignment else None,
            "is_first_answer": self.is_first_answer,
            "may_change": self.turn is not None and self.turn.may_change,
        }


@dataclass(frozen=True, kw_only=True)
class Desk(DeskIssue):
    """What changes from one issue to the next: the issue, progress, and the list at the left.

    `before` and `after` are the places before and after which there are more items; `came_back` are those whose
    proposals were answered.
    """

    rater: Membership
    progress: assignments.RaterProgress
    time_left: str
    here: str | None
    before: int | None
    after: int | None
    came_back: proposal_queries.ReturnedItems | None
    previous_url: str | None
    show: str = "all"


def desk(seat: Seat, round_: Round, assignment: Assignment | None, at_hand: Sequence[str] = ()) -> Desk:
    """The desk with an assignment, or without one; `at_hand` are the readings that the page has already."""
    rater = seat.membership
    assert rater is not None
    near = assignments.nearby_assignments(round_, rater, assignment.position if assignment else None)
    progress = assignments.progress(round_, rater)
    own = list_lines(near, seat.study.slug, round_, assignment.pk if assignment else None)
    here = next((number for number, line in enumerate(own.lines) if line.is_here), len(own.lines))
    finished = [line.url for line in own.lines[:here] if line.state in Assignment.FINISHED]
    asks_back = assignment is None or any(each.current is not None and each.current.n_proposals for each in near)
    return Desk(
        **vars(reading(seat.study, round_, assignment, own.lines, at_hand)),
        rater=rater,
        progress=progress,
        time_left=_time_left(assignments.usual_seconds(near), progress.n_left) if assignment else "",
        here=assignment.public_id if assignment else None,
        before=own.before,
        after=own.after,
        came_back=next(iter(proposal_queries.came_back(seat.user, round_)), None) if asks_back else None,
        previous_url=finished[-1] if finished else None,
    )


def reading(
    study: Study,
    round_: Round,
    assignment: Assignment | None,
    lines: Sequence[OwnListLine],
    at_hand: Sequence[str] = (),
) -> DeskIssue:
    """The issue of an assignment; that of one without an id is only looked ahead at."""
    if assignment is None:
        return DeskIssue(study, round_, None, lines)
    snapshot = assignments.snapshot_to_read(assignment.item)
    answer, turn = assignment.current, _turn(round_, assignment, snapshot)
    return DeskIssue(
        study,
        round_,
        assignment,
        lines,
        turn=turn,
        is_at_hand=turn.reading in at_hand,
        answered_on=answer.snapshot_id if answer and reads_otherwise(answer, assignment.item) else None,
        trained=training.visible_feedback(assignment),
        is_excluded=assignment.state == Assignment.State.WITHDRAWN
        and RoundItem.objects.filter(round=round_, item=assignment.item_id, excluded=True).exists(),
    )


def _turn(round_: Round, assignment: Assignment, snapshot: Snapshot | None) -> DeskTurn:
    if assignment.pk is None:
        return DeskTurn(round_, assignment, snapshot)
    tree, answer = published_version(round_.taxonomy_version_id), assignment.current
    said = assignments.answer_of(assignment, tree)
    assignment.round = round_
    return DeskTurn(
        round_,
        assignment,
        snapshot,
        answer=said,
        carried=prefilled_answer(assignment, tree),
        draft=assignments.draft_of(assignment),
        outcomes=proposal_queries.answers_in([round_.study.taxonomy_id], answer.pk, tree)
        if answer is not None and answer.n_proposals
        else (),
    )


def may_change(round_: Round, assignment: Assignment) -> bool:
    """Whether the rater may answer, or answer otherwise."""
    if assignment.state == Assignment.State.WITHDRAWN:
        return False
    if assignment.state in Assignment.UNFINISHED:
        is_asked = assignment.is_arbiter and round_.state == Round.State.RESOLVING
        return round_.state == Round.State.OPEN or is_asked
    return round_.state in (Round.State.OPEN, Round.State.RESOLVING)


@dataclass(frozen=True)
class OwnList:
    """Lines of the list, and the places before and after which there may be more."""

    lines: Sequence[OwnListLine]
    before: int | None
    after: int | None


def list_lines(
    near: Sequence[Assignment],
    slug: str,
    round_: Round,
    here: int | None,
    most: int = assignments.NEAR + assignments.AHEAD,
) -> OwnList:
    """The lines of the first `most` of these assignments."""
    few = near[:most]
    after = few[-1].position if len(near) > most else None
    return OwnList(lines_of(few, slug, round_, here), place_before(few), after)


def lines_of(near: Sequence[Assignment], slug: str, round_: Round, here: int | None) -> list[OwnListLine]:
    """Finished items, the one at hand and, of a planned round, those to come; the next one leads to its page.

    A pool assigns an item when its rater gets there.
    """
    lines = []
    next_url = reverse("label", args=[slug, round_.number])
    for each in near:
        is_finished, is_here = each.state in Assignment.FINISHED, each.pk == here
        if not (is_finished or is_here or round_.mode == Round.Mode.PLANNED):
            continue
        url = reverse("label_one", args=[slug, round_.number, each.public_id]) if is_finished or is_here else next_url
        lines.append(
            OwnListLine(
                position=each.position,
                identifier=each.item.identifier,
                state=each.state if is_finished else "now" if is_here or next_url else "later",
                is_flagged=each.current is not None and each.current.is_flagged,
                mark=_mark(each),
                url=url,
                is_here=is_here,
            )
        )
        if not is_finished:
            next_url = ""
    return lines


def place_before(listed: Sequence[Assignment], show: str = "all") -> int | None:
    """The place before which there may be more; of a part of the list only where this page of it is full."""
    if not listed or listed[0].position <= 1 or (show != "all" and len(listed) < assignments.BEHIND):
        return None
    return listed[0].position


def _mark(assignment: Assignment) -> str:
    answer = assignment.current
    if answer is None:
        return ""
    if answer.n_proposals:
        return "a category is proposed"
    return "unsure" if answer.confidence == 1 else ""


def _time_left(usual_seconds: float | None, n_left: int) -> str:
    if usual_seconds is None or n_left == 0:
        return ""
    minutes = usual_seconds * n_left / 60
    if minutes < 55:
        return f"about {max(5, round(minutes / 5) * 5)} min left" if minutes >= 3 else "a few minutes left"
    return f"about {round(minutes / 60)} h left"
