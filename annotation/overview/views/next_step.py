"""Next step of a study's overview: what this person can do next."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from annotation.calibration.queries.training import held_raters, is_held
from annotation.core.access import ADJUDICATOR, OWNER, Seat, may_decide
from annotation.labels.queries.label_version import stands_at
from annotation.models import Round
from annotation.resolving.queries.queue import DisagreementCounts, open_disagreements
from annotation.rounds.queries import RaterLine, RoundLine
from shared.wording import plural, series
from taxonomy.queries import newest_published


@dataclass(frozen=True)
class NextStep:
    """A sentence, the button that leads there, and what else there is to know.

    `is_own`: items or disagreements wait for this person.
    """

    words: str
    button: str = ""
    address: str = ""
    hint: str = ""
    is_work: bool = True
    is_own: bool = False


def next_step(seat: Seat, lines: Sequence[RoundLine], *, n_raters: int, n_samples: int) -> NextStep:
    """What is next in a study; own labelling first, then decisions, then what moves a round on.

    `lines` are the study's rounds with their raters, newest first. Reads the disagreements of one round at most, and
    for the owner of one whose rounds are all over where its labels stand.
    """
    slug = seat.study.slug
    lines = [line for line in lines if line.round.state != Round.State.UNDONE]
    held = None
    for line in reversed(lines):
        if own := _own(seat, line):
            if own.rater.is_away:
                return _away(own, slug)
            if not is_held(line.round, own.rater):
                return _label(line.round, own, slug)
            held = held or line.round
        if n := sum(pk == line.round.pk for pk, _ in seat.arbitrated):
            return _third(line.round, n, slug)
    if seat.has_role(OWNER, ADJUDICATOR):
        for line in reversed(lines):
            if may_decide(seat, line.round) and (waiting := open_disagreements(seat, line.round)).n:
                return _resolve(line.round, waiting, slug)
    if held is not None:
        return _held(held, slug)
    if not lines:
        return _first_round(seat, n_raters, n_samples)
    return _move_on(seat, lines)


def _own(seat: Seat, line: RoundLine) -> RaterLine | None:
    """The person's own line in an open round in which something is left for them."""
    if line.round.state != Round.State.OPEN or seat.membership is None:
        return None
    own = next((each for each in line.raters if each.rater.pk == seat.membership.pk), None)
    if own is None:
        return None
    is_pool = line.round.mode == Round.Mode.POOL
    return own if own.n_left or (is_pool and line.n_left and own.may_take_more) else None


def _away(own: RaterLine, slug: str) -> NextStep:
    words = f"You are away until {own.rater.away_until:%-d %B %Y}"
    return NextStep(words, "End your absence", reverse("members", args=[slug]), "Your assignments are kept for you.")


def _label(round_: Round, own: RaterLine, slug: str) -> NextStep:
    number = round_.number
    due = f" Due on {round_.due_on:%-d %B %Y}." if round_.due_on else ""
    is_screening = round_.kind == Round.Kind.SCREENING
    address = reverse("screen" if is_screening else "label", args=[slug, number])
    skipped = f", {own.n_skipped} of them skipped" if own.n_skipped else ""
    hint = f"{own.n_finished} finished so far{skipped}.{due}"
    verb = "waits" if own.n_left == 1 else "wait"
    if round_.kind == Round.Kind.RELABEL:
        words = f"Relabeling queue: {_items(own.n_left)} {verb} for you"
        return NextStep(words, "Start relabeling", address, hint, is_own=True)
    words = f"{_items(own.n_left)} {verb} for you in round {number}" if own.n_left else f"Round {number} is open"
    button = f"Screen round {number}" if is_screening else f"Label round {number}"
    return NextStep(words, button, address, hint, is_own=True)


def _held(round_: Round, slug: str) -> NextStep:
    return NextStep(
        f"You are below the minimum on calibration items of round {round_.number}",
        "Show your results",
        f"{reverse('round', args=[slug, round_.number])}#training",
        "The owner of the study can assign you other calibration items, or let you in.",
        is_work=False,
    )


def _third(round_: Round, n: int, slug: str) -> NextStep:
    return NextStep(
        f"{_items(n)} of round {round_.number} {'waits' if n == 1 else 'wait'} for your labels as a third rater",
        f"Answer {_items(n)}",
        reverse("screen" if round_.kind == Round.Kind.SCREENING else "label", args=[slug, round_.number]),
        "Other raters disagree on them. Their labels stay hidden until you submit yours.",
        is_own=True,
    )


def _items(n: int) -> str:
    return f"{n} item" if n == 1 else f"{n} items"


def _resolve(round_: Round, waiting: DisagreementCounts, slug: str) -> NextStep:
    verb = "waits" if waiting.n == 1 else "wait"
    return NextStep(
        f"{waiting} {verb} in round {round_.number}",
        "Resolve",
        reverse("resolve", args=[slug, round_.number]),
        "Items on which all raters agree already have an agreed label.",
        is_own=True,
    )


def _first_round(seat: Seat, n_raters: int, n_samples: int) -> NextStep:
    slug = seat.study.slug
    if not seat.has_role(OWNER):
        return NextStep("No rounds yet", hint="The owner is preparing the first one.", is_work=False)
    if not n_raters:
        return NextStep(
            "Add raters", "Add raters", reverse("start_people", args=[slug]), "Usually two. You can be one of them."
        )
    if not n_samples:
        hint = "Concord draws 20 issues at random. To choose them otherwise, draw a sample of your own under Rounds."
        return NextStep("Open the first round", "Prepare a pilot", reverse("start_round", args=[slug]), hint)
    hint = "A pilot of about 20 items shows where the taxonomy is unclear."
    return NextStep("Create the first round", "Create a round", reverse("new_round", args=[slug]), hint)


def _move_on(seat: Seat, lines: Sequence[RoundLine]) -> NextStep:
    """The oldest round that is not over and can be moved on; where all are over, the newest."""
    slug = seat.study.slug
    is_owner = seat.has_role(OWNER)
    for line in reversed(lines):
        number, state = line.round.number, line.round.state
        address = reverse("round", args=[slug, number])
        if state == Round.State.RESOLVING:
            if is_owner:
                return NextStep(
                    f"All disagreements of round {number} are resolved",
                    "Close round",
                    address,
                    "Closing makes its agreed labels final.",
                )
            if seat.has_role(ADJUDICATOR):
                return NextStep(
                    f"All disagreements of round {number} are resolved", hint="Its owner closes it.", is_work=False
                )
            return NextStep(f"Round {number} is being resolved", is_work=False)
        if state == Round.State.DRAFT and is_owner:
            asks = "under version" if line.round.kind != Round.Kind.SCREENING else "to screen: in or out"
            version = f" {line.round.taxonomy_version.number}" if line.round.kind != Round.Kind.SCREENING else ""
            hint = f"{_items(line.n_items)} {asks}{version}."
            return NextStep(f"Round {number} is a draft", "Review and open the round", address, hint)
        sees_tries = is_owner and seat.sees_all_answers(line.round.pk)
        if state == Round.State.OPEN and sees_tries and (held := held_raters(seat, line.round)):
            who = f"{series([str(each) for each in held])} {'is' if len(held) == 1 else 'are'}"
            words = f"{who} below the minimum on calibration items of round {number}"
            return NextStep(
                words, "Assign others, or let raters in", f"{address}#training", "Until then they get no other items."
            )
        if state == Round.State.OPEN:
            return NextStep(
                _who_is_out(line),
                "View progress by rater" if is_owner else "",
                address if is_owner else "",
                "When all assignments are finished, the round moves to resolving automatically.",
                is_work=False,
            )
    newest = lines[0].round
    if newest.state == Round.State.DRAFT:
        return NextStep(f"Round {newest.number} is being prepared", is_work=False)
    if is_owner and (step := _next_version(seat)):
        return step
    if is_owner and newest.kind == Round.Kind.SCREENING:
        hint = "New rounds include issues that were screened in and omit those that are out."
        return NextStep(
            f"Round {newest.number} has screened its items", "Create a round", reverse("new_round", args=[slug]), hint
        )
    return NextStep(
        f"Round {newest.number} is closed",
        "Show agreement",
        reverse("agreement", args=[slug]),
        f"{'Compare the rounds, and download' if len(lines) > 1 else 'Download'} the agreed labels under Exports.",
    )


def _next_version(seat: Seat) -> NextStep | None:
    """The move to a version that was published since the labels were given; three queries."""
    at = stands_at([seat.study]).get(seat.study.pk)
    version = newest_published(seat.study.taxonomy)
    if at is None or version is None or version.number <= at:
        return None
    return NextStep(
        f"Version {version.number} is published. The labels are mapped to version {at}",
        "Preview migration",
        f"{reverse('plans', args=[seat.study.slug])}?to={version.number}",
        "A preview counts the effect on each label and changes nothing.",
    )


def _who_is_out(line: RoundLine) -> str:
    out = line.unfinished_raters
    if line.round.mode == Round.Mode.POOL or not out:
        left = plural(line.n_left, "assignment is", "assignments are")
        return f"Round {line.round.number} is open: {left} unfinished"
    names = [each.rater.signed_name for each in out[:3]]
    who = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    if len(out) > 3:
        who = f"{', '.join(names)} and {len(out) - 3} more"
    n = sum(each.n_left for each in out)
    return f"{who} {'has' if len(out) == 1 else 'have'} {_items(n)} left in round {line.round.number}"
