"""Audit log of a study: one entry for each act."""

from accounts.models import User
from annotation.models import AuditEvent, Study


def record(*, study: Study, user: User | None, verb: str, **detail: object) -> None:
    """Appends a line to the study's audit."""
    AuditEvent.objects.create(study=study, user=user, verb=verb, detail=detail)
