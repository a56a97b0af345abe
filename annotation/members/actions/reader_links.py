"""Reader links for reviewers: create, open, and revoke."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from accounts.models import digest
from annotation.core.access import OWNER, Seat, made_by_an_owner
from annotation.core.audit import record
from annotation.core.errors import Invalid, NotFound
from annotation.core.locks import hold_study
from annotation.models import ReaderLink

LONGEST_LABEL, MOST_DAYS = 100, 3650


@transaction.atomic
def make_reader_link(
    *, seat: Seat, label: str, days: int | None = None, with_issues: bool = False
) -> tuple[ReaderLink, str]:
    """A new link and what stands in its address, which nobody can read again. Raises Invalid with the fields,
    and Blind while answers are withheld from the owner: the link would show them.

    Without `days` it holds until it is withdrawn; `with_issues` shows the texts of issues, private ones too.
    """
    seat.require(OWNER)
    seat.require_nothing_withheld("The content behind a reader link")
    fields: dict[str, list[str]] = {}
    label = label.strip()
    if not label or len(label) > LONGEST_LABEL:
        fields["label"] = [f"Enter a name of at most {LONGEST_LABEL} characters for this link."]
    if days is not None and not 1 <= days <= MOST_DAYS:
        fields["days"] = [f"Enter a number of days from 1 to {MOST_DAYS}, or nothing."]
    if fields:
        raise Invalid("Link not created.", fields=fields)
    study = hold_study(seat)
    newest = ReaderLink.objects.filter(study=study).order_by("-number").values_list("number", flat=True).first()
    plaintext = secrets.token_urlsafe(32)
    link = ReaderLink.objects.create(
        study=study,
        number=(newest or 0) + 1,
        label=label,
        digest=digest(plaintext),
        with_issues=with_issues,
        ends_at=None if days is None else timezone.now() + timedelta(days=days),
        created_by=seat.user,
    )
    record(
        study=study, user=seat.user, verb="reader link made", link=link.number, label=label, days=days,
        with_issues=with_issues,
    )  # fmt: skip
    return link, plaintext


@transaction.atomic
def withdraw_reader_link(*, seat: Seat, number: int) -> ReaderLink:
    """Ends a link at once for all who read by it; a second time changes nothing. Raises NotFound."""
    seat.require(OWNER)
    link = ReaderLink.objects.select_for_update().filter(study=seat.study, number=number).first()
    if link is None:
        raise NotFound(f"The study “{seat.study.slug}” has no reader link {number}.")
    if link.withdrawn_at is None:
        link.withdrawn_at = timezone.now()
        link.save(update_fields=["withdrawn_at"])
        record(study=seat.study, user=seat.user, verb="reader link withdrawn", link=number, label=link.label)
    return link


def open_reader_link(*, plaintext: str) -> ReaderLink:
    """The link of an address, counted as opened. Raises NotFound where there is none that holds."""
    rows = ReaderLink.objects.select_related("study").filter(made_by_an_owner(), digest=digest(plaintext))
    link = rows.first()
    if link is None or not link.holds:
        raise NotFound("This link is not valid: it was revoked, has expired or is incomplete.")
    ReaderLink.objects.filter(pk=link.pk).update(n_opened=F("n_opened") + 1, last_opened_at=timezone.now())
    return link
