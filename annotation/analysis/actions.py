"""Saved analyses: saves one with the study, and deletes it."""

from collections.abc import Mapping, Sequence

from django.db import transaction

from annotation.core.access import ADJUDICATOR, OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import Invalid
from annotation.core.locks import hold_study
from annotation.core.numbers import ANALYSIS_REMOVED, next_analysis_number
from annotation.models import Analysis
from shared.names import wrong_in
from shared.storable_json import check_storable

LONGEST_TITLE = 200
MOST_WORDS = 10_000


@transaction.atomic
def save_analysis(*, seat: Seat, title: str, kind: str, question: Mapping[str, Sequence[str]]) -> Analysis:
    """Keeps a question with the study, under the next number; its answer is computed whenever it is read.

    The audit holds its number and kind alone: a title can tell what came out, which raters who are blind must not read.
    Raises Forbidden for others than owner and adjudicators, Invalid for a title that is missing or too long.
    """
    seat.require(OWNER, ADJUDICATOR)
    title = " ".join(str(title).split())
    if not title or len(title) > LONGEST_TITLE:
        words = f"Enter a title of at most {LONGEST_TITLE} characters."
        raise Invalid("Analysis not saved.", fields={"title": [words]})
    check_storable(title)
    if wrong := wrong_in(title):
        raise Invalid("Analysis not saved.", fields={"title": [wrong]})
    words_kept = {name: [str(value) for value in values] for name, values in question.items()}
    if sum(len(value) for values in words_kept.values() for value in values) > MOST_WORDS:
        raise Invalid("Analysis not saved.", fields={"title": ["Its URL is too long."]})
    hold_study(seat)
    number = next_analysis_number(seat.study)
    made = Analysis.objects.create(
        study=seat.study, number=number, title=title, kind=kind, question=words_kept, created_by=seat.user
    )
    record(study=seat.study, user=seat.user, verb="saved an analysis", analysis=made.number, kind=kind)
    return made


@transaction.atomic
def remove_analysis(*, seat: Seat, analysis: Analysis) -> None:
    """Takes a saved analysis away; an adjudicator who saved it may, and every owner. Raises Forbidden.

    One that another request took away before is left as it is, without a second line in the audit log.
    """
    seat.require(OWNER, *([ADJUDICATOR] if analysis.created_by_id == seat.user.pk else []))
    hold_study(seat)
    if not Analysis.objects.filter(pk=analysis.pk).exists():
        return
    record(study=seat.study, user=seat.user, verb=ANALYSIS_REMOVED, analysis=analysis.number, kind=analysis.kind)
    analysis.delete()
