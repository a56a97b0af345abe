"""Digests of what a page shows, by which a later request knows whether it is still so."""

from typing import Any

from django.contrib.postgres.aggregates import StringAgg
from django.db.models import Value
from django.db.models.functions import MD5


def digest_of(line: Any, *, order_by: str) -> MD5:
    """An aggregate: the MD5 of one line of text for each row, in this order; null where there is no row."""
    return MD5(StringAgg(line, Value("\n"), order_by=order_by))
