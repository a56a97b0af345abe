"""Exports of a study: request, cancel, and delete."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.core.access import OWNER, Seat
from annotation.core.audit import record
from annotation.core.errors import Conflict, WrongState
from annotation.core.locks import hold_study
from annotation.exports.jobs import EXPORTS, left_after_discarding
from annotation.exports.queries.files import hides_state, require_content
from annotation.exports.queries.kinds import read_export_request
from annotation.models import Export

AT_WORK_MOST = 20


@transaction.atomic
def request_export(
    *, seat: Seat, what: object, format: object = None, options: Mapping[str, Any] | None = None, send: bool = True
) -> Export:
    """Queues the making of a file. The same that this person has at work already is handed back as it is.

    Raises Invalid with the fields, NotFound, Blind for a round that is asked for and hidden, Conflict where too many
    are at work. Without `send` no worker is told.
    """
    seat.require(OWNER)
    asked = read_export_request(seat, what, format, options or {})
    study = hold_study(seat)
    at_work = Export.objects.filter(study=study, created_by=seat.user, state__in=Export.AT_WORK)
    same = at_work.filter(what=asked.what, format=asked.format, asked=dict(asked.options))
    if (found := same.select_related("study").first()) is not None:
        return found
    if at_work.count() >= AT_WORK_MOST:
        raise Conflict(f"{AT_WORK_MOST} of your exports are running. Wait for one of them, or cancel some.")
    newest = study.exports.order_by("-number").values_list("number", flat=True).first()
    export = Export.objects.create(
        study=study,
        number=(newest or 0) + 1,
        what=asked.what,
        format=asked.format,
        asked=dict(asked.options),
        created_by=seat.user,
        worked_at=timezone.now(),
    )
    narrowed = {"options": dict(asked.options)} if asked.options else {}
    said = {"export": export.number, "what": asked.what, "format": asked.format, **narrowed}
    record(study=study, user=seat.user, verb="export asked for", **said)
    if send:
        EXPORTS.send_later(export.pk)
    return export


@transaction.atomic
def cancel_export(*, seat: Seat, export: Export) -> Export:
    """Stops the making of a file; one that is over is handed back as it is. Raises Blind where that is hidden."""
    _require_state_shown(seat, export)
    export = _held(export)
    if not export.is_at_work:
        return export
    EXPORTS.end(export, Export.State.CANCELLED, step="")
    record(study=export.study, user=seat.user, verb="export cancelled", export=export.number)
    transaction.on_commit(lambda: _discard(export))
    return export


@transaction.atomic
def remove_export(*, seat: Seat, export: Export) -> Export:
    """Removes the file of an export; its row keeps the hash.

    Raises WrongState while it is being made, Blind where it is hidden whether it is.
    """
    _require_state_shown(seat, export)
    export = _held(export)
    if export.is_at_work:
        raise WrongState(f"Export {export.number} is running. Cancel it first.")
    if export.state == Export.State.REMOVED:
        return export
    export.state = Export.State.REMOVED
    export.save(update_fields=["state"])
    record(study=export.study, user=seat.user, verb="export removed", export=export.number, sha256=export.sha256)
    transaction.on_commit(lambda: _discard(export))
    return export


def _require_state_shown(seat: Seat, export: Export) -> None:
    seat.require(OWNER)
    if hides_state(seat, export):
        require_content(seat, export)


def _held(export: Export) -> Export:
    return Export.objects.select_for_update(of=("self",)).select_related("study", "created_by").get(pk=export.pk)


def _discard(export: Export) -> None:
    """Takes a file out of the storage; the row names one that can't be reached now, until a later try."""
    if not left_after_discarding(export):
        Export.objects.filter(pk=export.pk).update(file="")
