"""Exported files of a study, and which of them a member may download."""

from django.db.models import QuerySet

from annotation.core.access import Seat, hides_version
from annotation.core.errors import Blind, Conflict, Forbidden, NotFound
from annotation.core.issue_states import reads_all_frames
from annotation.exports.queries.kinds import KINDS
from annotation.models import Export, Round, Study

WHOLE = "study"
"""The kind of file that holds a whole study, and what of it only its maker may see."""


def exports_of(study: Study) -> QuerySet[Export]:
    """The exports of a study, the newest first, without those that were removed before they had a file."""
    rows = Export.objects.filter(study=study).exclude(state=Export.State.REMOVED, sha256="")
    return rows.select_related("study", "created_by").order_by("-number")


def rounds_held(export: Export) -> list[Round]:
    """The rounds of which a file holds what each rater gave; none for a file of labels or numbers."""
    if export.what not in KINDS or not KINDS[export.what].has_single_answers:
        return []
    return list(Round.objects.filter(study=export.study_id, number__in=export.rounds).order_by("number"))


def require_download(seat: Seat, export: Export) -> None:
    """Raises NotFound or Conflict where there is no file (any more), and as `require_content` does."""
    if hides_state(seat, export):
        require_content(seat, export)
    if export.state == Export.State.REMOVED:
        raise NotFound(f"The file of export {export.number} was deleted.")
    if export.state != Export.State.DONE:
        raise Conflict(f"Export {export.number} is {export.state}. It has no file to download.")
    require_content(seat, export)


def require_content(seat: Seat, export: Export) -> None:
    """Raises Blind where a file holds what is hidden from this person, Forbidden where it is for others only.

    Another owner may have made it, or it was made before this person was given something in an open round. A whole
    study that someone else had made is Forbidden, and so are single answers that only others read. The number of rows
    and bytes of a file, and its hash, depend on the answers in it: they are for who may open it.
    """
    if export.what == WHOLE and export.created_by_id != seat.user.pk:
        raise Forbidden("Only the person who created a full export can download it. Create your own.")
    if why := _why_blind(seat, export):
        raise Blind(why)
    has_frames = export.what in KINDS and KINDS[export.what].has_frames
    if has_frames and export.created_by_id != seat.user.pk and not reads_all_frames(seat):
        raise Forbidden(
            "This package can contain the frame of a sample with issues of a private repository that you can't see. "
            "Create your own, without it."
        )
    version, number = export.asked.get("version"), export.asked.get("round")
    if version and hides_version(seat, version, export.created_at, number):
        raise Forbidden(
            f"Version {version} was a draft when this file was made, so only those who see drafts can open it. Create "
            "your own file once the version is published."
        )
    for round_ in rounds_held(export) if export.rounds and seat.sealed_round_ids else ():
        seat.require_answers(round_)


def is_hidden(seat: Seat, export: Export) -> bool:
    """Whether this person may neither open a file nor learn how long it is, or its hash."""
    try:
        require_content(seat, export)
    except Forbidden:
        return True
    return False


def shown_error(seat: Seat, export: Export) -> str:
    """Why a file failed, as far as this person may know; empty where it did not."""
    if export.error and is_hidden(seat, export):
        return "Only people who may open the file see why it failed."
    return export.error


def hides_state(seat: Seat, export: Export) -> bool:
    """Whether it is hidden, too, how far a file of someone else is, and when it was finished.

    How long that takes follows from the answers in it: each figure of a package takes a moment, and which figures it
    has depends on labels, also those of analyses that this person saved.
    """
    is_others = export.created_by_id != seat.user.pk
    return is_others and bool(seat.sealed_round_ids or seat.withheld) and is_hidden(seat, export)


def is_closed_to(seat: Seat, export: Export) -> bool:
    """Whether someone else made a file, and this person is blind in any round or for any item.

    Which rounds and items a file leaves out can depend on what its maker is asked as a third rater.
    """
    return export.created_by_id != seat.user.pk and bool(seat.blind_round_ids or seat.withheld)


def _why_blind(seat: Seat, export: Export) -> str:
    """Why a file holds what is hidden from this person, in a sentence; empty where it does not."""
    if is_closed_to(seat, export):
        return (
            "Someone else created this file. While you are a rater of an open round, or owe an answer as a third "
            "rater, such files are hidden from you. Create your own."
        )
    if export.what in KINDS and KINDS[export.what].names_queues:
        left_out = set(map(tuple, export.hidden))
        if any((pk, item) not in left_out for pk, items in seat.withheld_queues.items() for item in items):
            return (
                "This file shows which items are in a relabeling queue, and you still have to label some of them. It "
                "is hidden from you until then."
            )
    if not export.rounds or not (seat.hidden_round_ids or seat.withheld):
        return ""
    rounds = Round.objects.filter(pk__in=seat.hidden_round_ids, number__in=export.rounds).order_by("number")
    if (number := rounds.values_list("number", flat=True).first()) is not None:
        does = "contains" if export.what != "issues" else "counts"
        return f"This file {does} labels of others in round {number}. It is hidden from you until that round closes."
    if any([*place] not in export.hidden for place in seat.withheld):
        return (
            "This file contains labels of others for items that you still have to label. It is hidden from you "
            "until then."
        )
    return ""
