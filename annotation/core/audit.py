"""Audit log of a study: one entry for each act."""

from collections.abc import Mapping

from accounts.models import User
from annotation.core.access import require_roles_of
from annotation.models import AuditEvent, Study


def record(*, study: Study, user: User | None, verb: str, **detail: object) -> None:
    """Appends a line to the study's audit.

    In a request that changes the study, roles that were required of this person are looked at again, after all that
    they waited for. Raises Forbidden; then the transaction ends, and nothing was done.
    """
    _append(study, user, verb, detail, None)


def record_of_member(
    *, study: Study, user: User | None, verb: str, account: User | None, detail: Mapping[str, object]
) -> None:
    """The same of a line about a member, by the user name in the detail and by their account here, if they have one."""
    _append(study, user, verb, detail, account)


def _append(study: Study, user: User | None, verb: str, detail: Mapping[str, object], account: User | None) -> None:
    if user is not None and user.pk is not None:
        require_roles_of(study.pk, user.pk)
    AuditEvent.objects.create(study=study, user=user, verb=verb, account=account, detail=detail)
