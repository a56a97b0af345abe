"""Numbers within a study: each is given once, so it means the same in links, pages and lines of the audit log."""

from typing import Any

from django.db.models import IntegerField, Max, QuerySet
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from annotation.models import Analysis, AuditEvent, Round, Study

ROUND_REMOVED, ANALYSIS_REMOVED = "draft round removed", "removed an analysis"
"""What the audit log says of a row that was deleted, with its number."""


def next_round_number(study: Study) -> int:
    """The number of the next round; call it with the study locked. Two queries."""
    return _next(study, Round.objects.filter(study=study), ROUND_REMOVED, "round")


def next_analysis_number(study: Study) -> int:
    """The number of the next saved analysis; call it with the study locked. Two queries."""
    return _next(study, Analysis.objects.filter(study=study), ANALYSIS_REMOVED, "analysis")


def _next(study: Study, rows: QuerySet[Any], removed: str, name: str) -> int:
    lines = AuditEvent.objects.filter(study=study, verb=removed).order_by()
    number = Cast(KeyTextTransform(name, "detail"), IntegerField())
    gone = lines.aggregate(newest=Max(number))["newest"] or 0
    there = rows.order_by().aggregate(newest=Max("number"))["newest"] or 0
    return max(there, gone) + 1
