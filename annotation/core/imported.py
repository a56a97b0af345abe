"""Imported ratings: their mark, and the rounds and labels they came with."""

from collections.abc import Mapping

from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.models import AuditEvent, Round, Study

IMPORTED = "ratings imported"


MARK = "import:"
"""How the idempotency key of an answer from a sheet begins."""


def earlier_imports(study: Study) -> list[Mapping[str, object]]:
    """What was noted of each import into the study, the newest first."""
    events = AuditEvent.objects.filter(study=study, verb=IMPORTED).order_by("-pk")
    return [detail for detail in events.values_list("detail", flat=True) if isinstance(detail, dict)]


def rounds_of(detail: Mapping[str, object]) -> list[int]:
    """The numbers of the rounds that an import brought rows into, by what was noted of it."""
    rounds = detail.get("rounds")
    return [int(number) for number in rounds.values()] if isinstance(rounds, dict) else []


def round_labels(study: Study) -> dict[int, str]:
    """What sheets call the rounds of a study, by number; empty for those that came from no sheet."""
    return dict(Round.objects.filter(study=study).order_by("number").values_list("number", "label"))


def number_of_label(seat: Seat, label: str, number: int | None = None) -> int:
    """The number of the round that a sheet brought with this label; Invalid for none, or another than `number`."""
    labels = {each.casefold(): found for found, each in round_labels(seat.study).items() if each}
    found = labels.get(label.casefold())
    if found is not None and number in (None, found):
        return found
    known = ", ".join(f"“{each}”" for each in labels) or "none"
    sentence = f"No round has the label “{label[:100]}”. Known labels: {known}."
    if found is not None:
        sentence = f"Round {number} does not have the label “{label[:100]}”; round {found} has."
    raise Invalid("Some query parameters are not valid.", fields={"round_label": [sentence]})


STUDY_CREATED, STUDY_IMPORTED = "study created", "study imported"
"""The lines by which someone came into a study as its first owner."""
"""What the audit log calls it that a study came with its file from another server."""


def rounds_imported(study: Study) -> set[int] | None:
    """The numbers of rounds that came with the study's file from another server; None: all, as far as is known.

    Older imports did not record them. What the file itself brought into the audit log is older than the import.
    """
    lines = AuditEvent.objects.filter(study=study, verb=STUDY_IMPORTED).order_by("-pk")
    found = lines.values_list("detail", flat=True).first()
    if found is None:
        return set()
    return set(found["rounds"]) if "rounds" in found else None
