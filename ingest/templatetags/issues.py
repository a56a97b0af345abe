"""Template filters for pages with issues: Markdown, times, states."""

from datetime import UTC, datetime

from django import template
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from ingest.errors import Invalid
from ingest.identifiers import parse_identifier
from ingest.models import ClosingChange, Issue, Snapshot
from ingest.rendering.budget import Budget
from ingest.rendering.markdown import render_markdown
from shared.addresses import may_be_linked

register = template.Library()

UNITS = (("year", 365.25 * 86400), ("month", 30.44 * 86400), ("day", 86400), ("hour", 3600), ("minute", 60))
REASONS = {"completed": "completed", "not_planned": "not planned", "duplicate": "duplicate"}


@register.filter
def markdown(text: str, repository: str = "") -> SafeString:
    """Safe HTML of what an author wrote; `repository` (`owner/name`) is where `#12` points."""
    return mark_safe(render_markdown(text or "", str(repository or "")))  # sanitised there


@register.filter
def page_of(issue: Issue, snapshot: Snapshot) -> str:
    """The address of an issue's page."""
    return issue.address_of(snapshot)


@register.simple_tag(takes_context=True)
def page_budget(context: Context) -> Budget:
    """Work that formatting the texts of this page may take: the one that was set further out, else a new one."""
    found = context.get("budget")
    return found if isinstance(found, Budget) else Budget()


@register.simple_tag
def formatted(text: str, repository: str, budget: Budget, address: str = "") -> SafeString:
    """As `markdown`, within the budget of a page: what goes beyond it follows as it was typed.

    `address` is where GitHub shows the text, for what only GitHub draws.
    """
    return mark_safe(render_markdown(text or "", str(repository or ""), budget, str(address or "")))  # sanitised there


@register.filter
def relative(when: datetime | None) -> str:
    """`3 years ago`, `in 2 hours`, `just now`; empty for no date."""
    if when is None:
        return ""
    seconds = (timezone.now() - when).total_seconds()
    for unit, length in UNITS:
        n = int(abs(seconds) // length)
        if n:
            words = f"{n} {unit}{'' if n == 1 else 's'}"
            return f"{words} ago" if seconds > 0 else f"in {words}"
    return "just now"


@register.filter
def full_date(when: datetime | None) -> str:
    """`4 May 2023`."""
    return f"{when.astimezone(UTC):%-d %B %Y}" if when else ""


@register.filter
def moment(when: datetime | None) -> SafeString:
    """A date in full with the time in its title, and how long ago beside it."""
    if when is None:
        return mark_safe("")
    exact = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time> <span class="ago">{}</span>',
        exact.isoformat(timespec="seconds"),
        f"{exact:%-d %B %Y, %H:%M} UTC",
        full_date(when),
        relative(when),
    )


@register.filter
def web_address(text: str) -> str:
    """The address if a text may link to it, else nothing."""
    return text if may_be_linked(str(text)) else ""


@register.filter
def issue_address(identifier: str) -> str:
    """Where an imported identifier is read: itself if it is an address, the page of `owner/name#1`, else nothing."""
    if address := web_address(identifier):
        return address
    try:
        host, owner, name, number = parse_identifier(str(identifier))
    except Invalid:
        return ""
    return web_address(f"https://{host}/{owner}/{name}/issues/{number}")


@register.filter
def state_words(snapshot: Snapshot) -> str:
    """`Open`, `Closed`, `Closed as not planned`, or `State not known`."""
    if not snapshot.state:
        return "State not known"
    reason = REASONS.get(snapshot.state_reason)
    words = snapshot.state.capitalize()
    return f"{words} as {reason}" if reason and snapshot.state == "closed" else words


@register.filter
def state_class(snapshot: Snapshot) -> str:
    """The class of `.state` that goes with it."""
    return {"open": "state-open", "closed": "state-closed"}.get(snapshot.state, "state-off")


@register.filter
def change_name(change: ClosingChange, issue: Issue) -> str:
    """`#4330`, or `owner/name#4330` from elsewhere; a commit by the beginning of its hash."""
    for mark in ("#", "@"):
        home, _, name = change.identifier.rpartition(mark)
        if home:
            short = name if mark == "#" else name[:10]
            is_here = home.lower() == issue.repository.full_name.lower()
            return (f"#{short}" if mark == "#" else short) if is_here else f"{home}{mark}{short}"
    return change.identifier
