"""Jobs of accounts: sends e-mail, and deletes expired sessions, links, and log entries."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from hashlib import sha256
from smtplib import SMTPException

from celery import shared_task
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.core.mail import send_mail
from django.urls import reverse
from django.utils import timezone

from accounts.actions import make_password_link
from accounts.models import PasswordLink, Session, User
from accounts.queries import unconfirmed_links
from shared import jobs as job_base
from shared.errors import Conflict
from shared.names import clean_name
from shared.rate_limits import RESETS_OF_EMAIL, count

KEPT = timedelta(days=90)
FORMER_SWEEPS = (
    "ingest.tasks.pick_up_runs",
    "annotation.tasks.pick_up_rules",
    "annotation.tasks.pick_up_deletions",
    "annotation.jobs.pick_up_arrivals",
    "annotation.jobs.pick_up_workbooks",
    "annotation.jobs.pick_up_bulk_jobs",
    "annotation.tasks.pick_up_exports",
    "annotation.tasks.pick_up_plans",
)
"""Names of tasks in the schedule of earlier versions: their clock may still send them to a worker of this one."""
TRIES = {"autoretry_for": (OSError,), "retry_backoff": 30, "max_retries": 5}

sweep_jobs = shared_task(job_base.sweep, name="accounts.jobs.sweep_jobs")
for _name in FORMER_SWEEPS:
    shared_task(job_base.sweep, name=_name)


class NotSent(OSError):
    """The mail server refused an e-mail; without its address, which logs are not to hold."""


def _send(subject: str, text: str, address: str) -> None:
    try:
        send_mail(subject, text, settings.DEFAULT_FROM_EMAIL, [address])
    except SMTPException as error:
        code = getattr(error, "smtp_code", "")
        raise NotSent(f"{type(error).__name__} {code}".strip()) from None


@shared_task(name="accounts.jobs.send_password_links")
def send_password_links(address: str, site: str) -> None:
    """To everybody who has this e-mail address and may sign in; nobody is a case like any other.

    One e-mail for all accounts of an address, by a task of its own: none waits for another, and no link is made twice.
    Addresses that earlier versions stored in other letters come after the one that was asked for.
    """
    named = User.objects.filter(email__iexact=address, is_active=True).order_by("pk")
    people: dict[str, list[User]] = {}
    for user in named:
        if _mailbox(user.email) == _mailbox(address):
            people.setdefault(user.email, []).append(user)
    for found in sorted(people, key=lambda each: each != address):
        if count((RESETS_OF_EMAIL, _mailbox(address).decode())).wait_seconds:
            return
        if links := "\n".join(line for user in people[found] for line in _link_of(user, site)):
            send_later(
                found,
                "Set a new password for Concord",
                f"Hello,\n\nyou or someone else requested a new password at {site}\n\nSet it here within 24 "
                f"hours:\n\n{links}\nIf this was not you, ignore this e-mail. Your password stays as it is.\n",
            )


def send_later(address: str, subject: str, text: str) -> None:
    """Queues one e-mail. Its text waits there encrypted, because links in it are kept nowhere else.

    Raises OperationalError where the queue does not answer.
    """
    send_message.delay(address, subject, _cipher().encrypt(text.encode()).decode(), encrypted=True)


def _cipher() -> MultiFernet:
    """Encrypts with SECRET_KEY, and reads what was encrypted with earlier ones, too."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    return MultiFernet([Fernet(urlsafe_b64encode(sha256(f"e-mail:{each}".encode()).digest())) for each in keys])


def _mailbox(address: str) -> bytes:
    """An address as mail servers compare it: the case of ASCII letters alone is nothing."""
    return address.encode().lower()


def _link_of(user: User, site: str) -> Iterator[str]:
    """The lines of an e-mail with a person's new link; none where the account was closed or moved just now."""
    with suppress(Conflict):
        _, plaintext = make_password_link(user=user, by_email=True)
        yield f"{user.username}:\n{site.rstrip('/')}{reverse('new_password', args=[plaintext])}\n"


@shared_task(name="accounts.jobs.send_link_notice", **TRIES)
def send_link_notice(user_id: int, address: str = "") -> None:
    """Tells a person that a link set a new password for them, at the address that they had then."""
    user = User.objects.get(pk=user_id)
    address = address or user.email
    if address and user.is_active:
        _send(
            "A new password was set for Concord",
            f"{user.display_name},\n\na link set a new password for {user.username}. All sessions were signed "
            "out, and all API tokens were revoked.\n\nIf this was not you, tell the server's operator at "
            "once.\n",
            address,
        )


@shared_task(name="accounts.jobs.send_message", **TRIES)
def send_message(address: str, subject: str, text: str, encrypted: bool = False) -> None:
    """One e-mail; its subject is a line, whatever the name in it holds. Earlier versions queued it as it is."""
    _send(clean_name(subject), _cipher().decrypt(text).decode() if encrypted else text, address)


@shared_task(name="accounts.jobs.remove_what_is_over")
def remove_what_is_over() -> None:
    """Sessions that have ended, and links for a password that ended long ago."""
    now = timezone.now()
    Session.objects.filter(expire_date__lt=now).delete()
    over = PasswordLink.objects.filter(expires_at__lt=now - KEPT)
    over.exclude(pk__in=unconfirmed_links().values("pk")).delete()
