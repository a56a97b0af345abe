"""States of proposals: open, answered, resolved with their place, or withdrawn with their answer."""

from typing import Any

from django.db.models import (
    BooleanField,
    Case,
    CharField,
    Exists,
    ExpressionWrapper,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from annotation.models import (
    Assignment,
    PartMatch,
    Proposal,
    ProposalOutcome,
    Resolution,
    Round,
    RoundItem,
    RoundRater,
)
from taxonomy.models import TaxonomyVersion

OPEN, RESOLVED, WITHDRAWN = "open", "resolved", "withdrawn"


ANSWERED = tuple(ProposalOutcome.Outcome.values)


SETTLED = (*ANSWERED, RESOLVED)


STATES = (OPEN, *SETTLED, WITHDRAWN)


SAME_WORDS = ("round", "item", "proposed_by", "dimension", "name", "memo")


def with_states(proposals: QuerySet[Proposal], own: Q | None = None) -> Any:
    """The same with `outcome_pk` (of the answer that counts), `is_current`, `is_decided` and `state`.

    Open is what stands in its assignment's current answer, or was made while resolving; was not answered; and in an
    answer, whose place was not resolved, nor its part as one that does not exist. The same words in a later revision
    keep their answer; other words are a proposal of their own. Bugs that were matched count where they were matched to.
    An answer that names a draft went with the draft when that was discarded. For those in `own`, which are the
    reader's, decisions in an open round count as not taken, because they say that others answered; and while the reader
    labels the item in another one, because what others said of it is withheld from them.
    """
    named = TaxonomyVersion.objects.filter(
        taxonomy=OuterRef("proposal__round__study__taxonomy"), number=OuterRef("version_number")
    )
    answered = ProposalOutcome.objects.filter(
        Q(version_number=None) | Exists(named),
        **{f"proposal__{name}": OuterRef(name) for name in SAME_WORDS},
    ).order_by("-pk")
    place = {name: OuterRef(name) for name in ("round", "item", "dimension")}
    later = Resolution.objects.filter(revision__gt=OuterRef("revision"), part=OuterRef("part"), **place)
    decided = Resolution.objects.filter(~Exists(later), part=OuterRef("agreed_part"), **place)
    decided = decided.exclude(method=Resolution.Method.REOPENED)
    matched = PartMatch.objects.filter(annotation=OuterRef("annotation"), part=OuterRef("part"))
    of_part = {"round": OuterRef("round"), "item": OuterRef("item"), "part": OuterRef("agreed_part")}
    gone = Resolution.objects.filter(~Exists(later), no_part=True, **of_part)
    is_decided = (Q(Exists(decided)) | Q(Exists(gone))) & Q(annotation__isnull=False)
    if own is not None:
        is_decided &= ~(own & (Q(round__state=Round.State.OPEN) | Exists(_rated_now()) | Exists(_asked_now())))
    return (
        proposals.annotate(agreed_part=Coalesce(Subquery(matched.values("agreed_part")), F("part")))
        .annotate(
            outcome_pk=Subquery(answered.values("pk")[:1]),
            answer=Subquery(answered.values("outcome")[:1]),
            is_current=ExpressionWrapper(
                Q(annotation__isnull=True) | Q(annotation__assignment__current=F("annotation")),
                output_field=BooleanField(),
            ),
            is_decided=ExpressionWrapper(is_decided, output_field=BooleanField()),
        )
        .annotate(
            state=Case(
                When(answer__isnull=False, then=F("answer")),
                When(is_current=False, then=Value(WITHDRAWN)),
                When(is_decided=True, then=Value(RESOLVED)),
                default=Value(OPEN),
                output_field=CharField(),
            )
        )
    )


def _rated_now() -> QuerySet[RoundItem]:
    """The item of a proposal in the open rounds that its rater rates in."""
    of_rater = RoundRater.objects.filter(round=OuterRef("round"), rater=OuterRef(OuterRef("proposed_by")))
    return RoundItem.objects.filter(Exists(of_rater), item=OuterRef("item"), round__state=Round.State.OPEN)


def _asked_now() -> QuerySet[Assignment]:
    """What the rater of a proposal is yet to answer of its item, in whatever round."""
    return Assignment.objects.filter(
        item=OuterRef("item"), rater=OuterRef("proposed_by"), state__in=Assignment.UNFINISHED
    )
