"""Item page: the issue, its labels in each round, and the agreed label."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.assignments.actions.reading_log import PAGE, note_reading
from annotation.core.access import get_item_at, may_decide
from annotation.core.pages import study_page
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.labeling.queries.assignments import comments_of
from annotation.labels.queries import item_history
from annotation.labels.queries.label_version import standing_version
from annotation.models import Item
from ingest.queries import closing_changes


@open_to_reader_links
@require_safe
def item(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """One item: the issue, and round by round what was said of it, as far as this person may see."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    found: Item = get_item_at(seat, pk)
    issue = found.issue
    rounds = item_history.item_rounds(seat, found)
    note_reading(seat, [each.round for each in rounds if each.shows_answers], "item", PAGE)
    return study_page(
        request,
        seat,
        "overview/item",
        "items",
        item=found,
        issue=issue,
        snapshot=found.snapshot,
        comments=comments_of(found.snapshot) if seat.sees_issues else [],
        closing_changes=closing_changes(issue) if issue and seat.sees_issues else [],
        rounds=[(each, may_decide(seat, each.round)) for each in rounds],
        histories=item_history.label_histories(rounds, standing_version(seat.study)),
    )
