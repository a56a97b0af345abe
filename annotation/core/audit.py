"""The audit log of a study: one line for each thing that was done in it."""

from accounts.models import User
from annotation.models import AuditEvent, Study


def record(*, study: Study, user: User | None, verb: str, **detail: object) -> None:
    """Appends a line to the study's audit."""
    AuditEvent.objects.create(study=study, user=user, verb=verb, detail=detail)
