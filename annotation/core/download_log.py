"""Download log: an audit entry for each file that leaves a study."""

from collections.abc import Mapping
from typing import Any

from annotation.core.access import Seat
from annotation.core.audit import record
from annotation.models import AuditEvent
from shared.foreign_requests import require_opened_here

LONGEST_VALUE = 300


def record_download(*, seat: Seat, what: str, format: str, method: str | None = "GET", **asked: object) -> None:
    """Appends who downloads what, with the filters that are set; call it once the request is known to be allowed.

    Never records how much the file holds: the log is also read by people who are blind in a round. Whoever reads by a
    link is recorded by the link. HEAD requests send no data and leave no line, nor do files that a page of another site
    opens: they raise OpenedElsewhere.
    """
    require_opened_here()
    if method == "HEAD":
        return
    filters = {name: _short(value) for name, value in asked.items() if value not in (None, "", [], ())}
    if seat.link is not None:
        filters |= {"link": seat.link.number, "label": seat.link.label}
    user = seat.user if seat.user.pk and seat.link is None else None
    record(study=seat.study, user=user, verb=AuditEvent.DOWNLOADED, what=what, format=format, **filters)


def filters_of(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file of rows under the names that the audit uses, so that `round 2` finds them."""
    return {("round" if name == "round_number" else name): value for name, value in asked.items()}


def _short(value: object) -> object:
    if isinstance(value, str):
        return value.replace("\x00", "")[:LONGEST_VALUE]
    return [_short(each) for each in value] if isinstance(value, list | tuple) else value
