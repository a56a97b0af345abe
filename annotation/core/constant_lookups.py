"""Constant lookups: subqueries whose time does not depend on the planner's estimate of a study."""

from collections.abc import Iterable
from typing import Any

from django.db.models import BigIntegerField, Exists, ExpressionWrapper, F, QuerySet

from annotation.models import Item, Round, RoundItem
from annotation.models.rounds import RoundItemQuerySet


class LookupExists(Exists):
    """An EXISTS that PostgreSQL answers by looking up each row, however many rows it expects.

    What it expects of a study may be far too little until its tables are analyzed. It would join then, and compare each
    issue of a sample with each item of the study.
    """

    template = "EXISTS(%(subquery)s OFFSET 0)"


def item_of(issue: Any, study: Any) -> QuerySet[Item]:
    """The item of an issue in a study, found by the issue.

    `study` as it is could be answered by an index of the study's items alone, and each of them would be read.
    """
    in_study = ExpressionWrapper(F("study_id") + 0, output_field=BigIntegerField())
    return Item.objects.alias(in_study=in_study).filter(issue=issue, in_study=study)


def places_of(item: Any, rounds: Iterable[Round]) -> RoundItemQuerySet:
    """The places of an item in some rounds, found by the item and not among all places of these rounds."""
    in_round = ExpressionWrapper(F("round_id") + 0, output_field=BigIntegerField())
    wanted = [each.pk for each in rounds]
    places: RoundItemQuerySet = RoundItem.objects.alias(in_round=in_round).filter(item=item, in_round__in=wanted)
    return places
