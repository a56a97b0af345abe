"""Filters for pages of fetches: counts and time left."""

from django import template

register = template.Library()


@register.filter
def thousands(number: int | None) -> str:
    """`12,345`."""
    return "" if number is None else f"{number:,}"


@register.filter
def time_left(seconds: float | None) -> str:
    """`about 3 min left`; empty where it can't be told."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left" if seconds < 5400 else f"about {round(seconds / 3600)} h left"
