"""Inbox lines that a member may see."""

from django.db.models import Exists, OuterRef, Q, QuerySet

from accounts.models import User
from annotation.core.access import ADJUDICATOR, OWNER, resolving_without
from annotation.models import Assignment, InboxLine, Round, RoundItem, RoundRater
from annotation.models.assignment_kinds import EXTRA_RATERS
from shared.compiled_queries import CompiledQuery

OF_OTHERS = (InboxLine.Kind.MENTION, InboxLine.Kind.RESOLVING)
"""Lines that tell of what others said or did; the other kinds tell of one's own work."""
WHILE_OPEN = (InboxLine.Kind.ROUND, InboxLine.Kind.ADMITTED)
UNTIL_CLOSED = (InboxLine.Kind.GIVEN, InboxLine.Kind.ARBITER, InboxLine.Kind.REMINDER, InboxLine.Kind.RESOLVING)
"""Lines that call to work, and how long there is some."""


def lines_of(user: User) -> QuerySet[InboxLine]:
    """The lines that this person may see now. One query, whose conditions look at lines of this person alone."""
    return _lines_of(user.pk)


def _lines_of(user: int) -> QuerySet[InboxLine]:
    """What tells of others in a round that this person is blind in comes later.

    So does what is said, in any round under the same taxonomy, of an item that they are yet to answer as a third rater
    or rate again in an open round, or of a round whose discussion they do not take part in, such as a relabeling queue
    after a round that is being resolved without them. A line that calls to work goes once its round has none any more.
    """
    own = Assignment.objects.filter(round=OuterRef("round"), rater=OuterRef("member"))
    in_round = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef("member"))
    rates = Exists(own.exclude(state=Assignment.State.WITHDRAWN)) | Exists(in_round.filter(left_at__isnull=True))
    taxonomy = "round__taxonomy_version__taxonomy"
    same = {"item": OuterRef("item"), taxonomy: OuterRef(taxonomy)}
    asked = Assignment.objects.filter(EXTRA_RATERS, rater=OuterRef("member"), **same)
    arbitrates = asked.filter(state__in=Assignment.UNFINISHED)
    decides = Q(member__roles__overlap=[OWNER, ADJUDICATOR])
    takes_part = decides | (Q(round__state__in=Round.OVER) & Exists(in_round))
    is_blind = Q(round__state=Round.State.OPEN) & rates
    there = {"round": OuterRef("round"), "rater": OuterRef(OuterRef("member"))}
    answers_there = Assignment.objects.filter(**there).exclude(state=Assignment.State.WITHDRAWN)
    again = RoundItem.objects.filter(
        Exists(RoundRater.objects.filter(**there, left_at=None)) | Exists(answers_there),
        round__state=Round.State.OPEN,
        **same,
    ).exclude(round__kind=Round.Kind.RELABEL)
    place = {"study": OuterRef("round__study"), "before": OuterRef("round__number")}
    earlier = resolving_without(OuterRef(OuterRef("member")), **place)
    is_sealed = Q(round__kind=Round.Kind.RELABEL) & ~decides & Exists(earlier)
    # When a queue's last answer came tells of items that it may hold, so this waits for all rounds rated blind.
    of_member = {"rater": OuterRef("member"), "round__study": OuterRef("round__study")}
    coding = Q(round__state=Round.State.OPEN) & ~Q(round__kind__in=(Round.Kind.RELABEL, Round.Kind.SCREENING))
    rating = RoundRater.objects.filter(coding, left_at=None, **of_member)
    answered = Assignment.objects.filter(coding, **of_member).exclude(state=Assignment.State.WITHDRAWN)
    owed = Assignment.objects.filter(EXTRA_RATERS, state__in=Assignment.UNFINISHED, **of_member)
    is_queue = Q(kind=InboxLine.Kind.RESOLVING, round__kind=Round.Kind.RELABEL)
    is_hidden = is_sealed | is_queue & (Exists(rating) | Exists(answered) | Exists(owed))
    seen = ~Q(kind__in=OF_OTHERS) | (takes_part & ~is_blind & ~is_hidden & ~Exists(arbitrates) & ~Exists(again))
    has_work = ~Q(kind__in=WHILE_OPEN) | Q(round__state=Round.State.OPEN)
    has_work &= ~Q(kind__in=UNTIL_CLOSED) | ~Q(round__state=Round.State.CLOSED)
    lines = InboxLine.objects.filter(member__user=user).exclude(round__state=Round.State.UNDONE)
    return lines.filter(has_work, seen)


_UNREAD = CompiledQuery(lambda user: _lines_of(user).filter(read_at__isnull=True).values_list("pk"), int)
"""Every page counts these: writing the SQL took four times as long as running it."""


def n_unread(user: User) -> int:
    """How many lines were not read yet; one query over the unread ones."""
    return len(_UNREAD.all(user.pk))


def with_places(lines: QuerySet[InboxLine]) -> QuerySet[InboxLine]:
    """The lines with all that is shown of them, newest first."""
    return lines.select_related(
        "member", "round__study", "item", "remark__author__user", "remark__dimension", "remark__round", "remark__item"
    ).order_by("-pk")
