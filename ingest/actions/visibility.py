"""Visibility of uploaded repositories: open to everyone, or private to their uploader."""

from typing import TYPE_CHECKING

from django.db import transaction

from accounts.audit import record
from ingest import queries
from ingest.errors import Conflict, Forbidden
from ingest.models import Repository
from ingest.upsert import hold_issues, step_aside

if TYPE_CHECKING:
    from accounts.models import User


def change_visibility(*, repository: Repository, user: "User | None", private: bool) -> Repository:
    """Makes an uploaded repository private or opens it to everyone who signs in; without `user`, for the shell.

    Private means: read by the people who uploaded it, by staff and by members of studies that use its issues. Raises
    Forbidden for whoever did not upload it, Conflict where GitHub or other people contributed to it.
    """
    with transaction.atomic():
        held: Repository = Repository.objects.select_for_update().get(pk=repository.pk)
        title = held.full_name
        is_operator = user is None or user.is_staff
        if not is_operator and (user is None or held.added_by_id != user.pk):
            raise Forbidden(f"Only the person who uploaded {title}, or staff, can change its visibility.")
        if held.github_id is not None:
            raise Conflict(f"{title} was fetched from GitHub and has its visibility from there.")
        if user is not None and not is_operator and not queries.is_upload_of(held, user):
            raise Conflict(
                f"Other people also contributed issues to {title}, so only staff can change its visibility. "
                "Nothing was changed."
            )
        if held.private == private:
            return held
        held.private = private
        held.save(update_fields=["private"])
        if private:
            held.readers.set(queries.uploaders_of(held))
        verb = "upload made private" if private else "upload opened"
        record(verb=verb, user=user, repository=title)
    return held


def rename_upload(*, repository: Repository) -> Repository:
    """Gives an uploaded repository another name, for the shell: its own can then be used by other issues.

    Its uploader keeps it, and so do the studies that use its issues. Raises Conflict for a fetched repository.
    """
    with transaction.atomic():
        hold_issues(repository)
        held: Repository = Repository.objects.select_for_update().get(pk=repository.pk)
        title = held.full_name
        if held.github_id is not None:
            raise Conflict(f"{title} was fetched from GitHub and has its name from there.")
        step_aside(held)
        record(verb="upload renamed", user=None, repository=title, to=held.full_name)
    return held
