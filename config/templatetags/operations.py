"""Template tags for notices that no worker or no Redis responds."""

from datetime import datetime
from typing import Any

from django import template

from config import operator_queries

register = template.Library()


@register.simple_tag
def troubles() -> list[str]:
    """For staff: what is wrong, in sentences; one call to Redis."""
    return operator_queries.troubles()


@register.inclusion_tag("operations/_no_worker.html")
def waits_for_a_worker(state: Any, since: datetime | None) -> dict[str, bool]:
    """A line on the page of a queued job, where it waits for minutes because no worker is there."""
    return {"is_shown": str(state) == "queued" and operator_queries.no_worker(since)}
