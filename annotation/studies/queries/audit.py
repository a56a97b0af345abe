"""Audit log of a study, as its members may read it."""

from collections.abc import Sequence

from django.db.models import BooleanField, Exists, F, Func, JSONField, Min, OuterRef, Q, QuerySet, Value

from annotation.agreement_report.queries.headline import FIXED
from annotation.core.access import Seat
from annotation.core.drafts import tells_of_draft
from annotation.exports.queries.files import is_hidden
from annotation.models import AuditEvent, Export, Round, RoundItem, Study

TELLS_NOTHING = (
    "round made",
    "round opened",
    "round moved to resolving",
    "round closed",
    "rater withdrawn",
    "rater added",
    "quota changed",
    FIXED,
)
"""What is recorded of a round, or several, without telling what anybody answered there."""


THIRD_WITHDRAWN = "third_raters_withdrawn"
"""Earlier versions told so, in the line about the closing of a round, that its raters had differed."""


LEFT_OPEN = "leave_open"
"""Earlier versions told so, in the line about the closing of a round, whether something was open there."""


SCREENED = "items screened"
"""How every line about items that were screened begins."""


WITHDRAWN_BY_SCREENING = "unanswered_withdrawn"
"""Earlier versions told so, in the line about an item that was screened out, how many raters had not answered it."""


def audit_of(seat: Seat) -> QuerySet[AuditEvent]:
    """The study's audit log, newest first.

    Of rounds of which anything is hidden from this person, single answers included, only entries that reveal nobody's
    answers, also where an entry names several rounds, and no entry that quotes their agreement or the hash of a file
    that holds such answers.
    What a proposal became in a draft, and downloads with its categories, are for people who read the draft.
    Who read answers is not shown of those rounds, because a line more means an answer more.
    """
    rows = AuditEvent.objects.filter(study=seat.study).select_related("user").order_by("-pk")
    removed = Export.objects.filter(study=seat.study, state=Export.State.REMOVED)
    if closed := [export.number for export in removed if is_hidden(seat, export)]:
        rows = rows.exclude(detail__has_key="sha256", detail__export__in=closed)
    rows = rows.exclude(tells_of_draft(AuditEvent, seat.study, seat.user))
    if seat.sealed_round_ids:
        sealed = Round.objects.filter(pk__in=seat.sealed_round_ids).values_list("number", flat=True)
        # The file of a study that came from another server, and how much was unanswered without what is screened out.
        rows = rows.exclude(Q(_names_one_of(list(sealed))), detail__has_key="sha256")
        screened = sealed.filter(Exists(RoundItem.objects.filter(round=OuterRef("pk"), excluded=True)))
        rows = rows.exclude(verb="round moved to resolving", detail__round__in=list(screened))
    unread = seat.sealed_round_ids | seat.unsettled_round_ids
    trained = RoundItem.objects.filter(round__in=unread, known__isnull=False) if unread else RoundItem.objects.none()
    if begun := trained.aggregate(at=Min("round__opened_at"))["at"]:  # tries there count in every round
        rows = rows.exclude(verb="rater let in below the minimum", at__gte=begun)
    blind = seat.blind_round_ids | {round_id for round_id, _ in seat.withheld}
    hidden = seat.sealed_round_ids | blind
    if not hidden:
        return rows
    rounds = dict(Round.objects.filter(pk__in=hidden).values_list("pk", "number"))
    numbers = list(rounds.values())
    rows = rows.exclude(detail__has_key="pilot", detail__pilot__in=numbers)
    rows = rows.exclude(detail__has_key=WITHDRAWN_BY_SCREENING)
    if seat.withheld:  # how many items a relabeling queue has, and whose
        rows = rows.exclude(detail__has_key="items_asked_again")
        rows = rows.exclude(verb__startswith=SCREENED)  # each tells how many of its items had labels
        queues = [rounds[pk] for pk in seat.withheld_queues]
        rows = rows.filter(~Q(detail__has_key="round") | ~Q(detail__round__in=queues) | Q(verb="round closed"))
        if Round.objects.filter(pk__in=hidden, kind=Round.Kind.PILOT).exists():  # which pilot was the last one
            mains = Round.objects.filter(study=seat.study, kind=Round.Kind.MAIN).values_list("number", flat=True)
            rows = rows.exclude(verb="round opened", detail__round__in=list(mains))
    nothing = Q(verb__in=TELLS_NOTHING) & ~Q(detail__has_any_keys=[THIRD_WITHDRAWN, LEFT_OPEN])
    elsewhere = ~Q(detail__has_key="round") | ~Q(detail__round__in=numbers)
    return rows.filter(nothing | elsewhere & ~Q(_names_one_of(numbers)))


def _names_one_of(numbers: Sequence[int]) -> Func:
    """Whether an entry names one of these rounds among several: in a list, or by what a sheet calls them."""
    path, given = Value("$.rounds.** ? (@ == $numbers[*])"), Value({"numbers": [*numbers]}, JSONField())
    return Func(F("detail"), path, given, function="jsonb_path_exists", output_field=BooleanField())


def people_of_audit(study: Study) -> list[str]:
    """User names of its members, to choose from; one query."""
    names = study.memberships.exclude(user=None).order_by("user__username").values_list("user__username", flat=True)
    return [str(name) for name in names]
