"""Template filters for pages of fetches: counts, options, progress, durations."""

from datetime import UTC, datetime
from math import ceil

from django import template
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ingest.models import FetchRun

register = template.Library()

NUMBERS_SHOWN = 5


@register.filter
def thousands(number: int | None) -> str:
    """`12,345`."""
    return "" if number is None else f"{number:,}"


@register.filter
def figure(number: int | None) -> SafeString:
    """`12,345`, or a muted dash where it is not known."""
    return format_html('<span class="muted">{}</span>', "–") if number is None else format_html("{}", f"{number:,}")


@register.filter
def spaced(word: str) -> str:
    """`not planned` of `not_planned`."""
    return word.replace("_", " ")


@register.filter
def time_left(seconds: float | None) -> str:
    """`about 3 min left`; empty where it can't be told."""
    if seconds is None:
        return ""
    if seconds < 90:
        return f"about {max(1, round(seconds))} s left"
    return f"about {round(seconds / 60)} min left" if seconds < 5400 else f"about {round(seconds / 3600)} h left"


@register.filter
def countdown(until: datetime) -> str:
    """`1 h 2 min`, `4 min 12 s`, `9 s`, `now`: how long from now, as static/js/run.js counts on."""
    left = max(0, ceil((until - timezone.now()).total_seconds()))
    if not left:
        return "now"
    hours, minutes, seconds = left // 3600, left % 3600 // 60, left % 60
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@register.filter
def asked_for(run: FetchRun) -> str:
    """What a run was asked for, in words that can begin a sentence."""
    asked = run.requested
    if run.kind == FetchRun.Kind.FILE:
        size = f", {filesizeformat(asked['bytes'])}" if asked.get("bytes") else ""
        return f"From the file {asked.get('file') or '(no name)'}{size}".replace("\xa0", " ")
    if run.kind == FetchRun.Kind.WEBHOOK:
        return "From messages of GitHub's webhook"
    if run.what == "presence":
        return f"Whether {_numbers(asked)} still at GitHub"
    if run.what == "closing_changes":
        return f"What closed {_numbers(asked).rpartition(' ')[0]}"
    state = asked.get("state") or "all"
    words = "Open and closed issues" if state == "all" else f"{state.capitalize()} issues"
    if labels := asked.get("labels"):
        words += f" labelled {', '.join(labels)}"
    since = asked.get("since")
    if since == "last" or asked.get("goes_on"):
        words += ", what changed since the last complete fetch"
    if since and since != "last":
        words += f" ({_when(since)})" if asked.get("goes_on") else f", changed since {_when(since)}"
    return words


def _when(since: str) -> str:
    """`21 November 2026, 05:31 UTC` of a moment; a day as it is."""
    moment = parse_datetime(since) if "T" in since else None
    return f"{date_format(moment.astimezone(UTC), 'j F Y, H:i')} UTC" if moment and moment.tzinfo else since


def _numbers(asked: dict[str, list[int]]) -> str:
    """`#1, #2 and 30 more issues are`, `issue #1 is`."""
    numbers = asked.get("numbers") or []
    if len(numbers) == 1:
        return f"issue #{numbers[0]} is"
    if len(numbers) > NUMBERS_SHOWN + 1:
        return f"{len(numbers):,} issues are"
    return f"issues {', '.join(f'#{number}' for number in numbers)} are"
