"""E-mail: whatever names hold and whatever is typed, one mail goes to the one address, with headers of ours alone."""

import re
from typing import Any

import pytest
from django.core.cache import cache
from django.core.mail import EmailMessage
from django.test import Client

from accounts import jobs
from accounts.models import User
from annotation.models import Invitation, Study
from shared.rate_limits import INVITED_BY_EMAIL
from tests import builders as make
from tests.hostile.corpus import PLACES

pytestmark = pytest.mark.django_db

HEADERS = {"Content-Type", "MIME-Version", "Content-Transfer-Encoding", "Subject", "From", "To", "Date", "Message-ID"}
INJECTED = [
    "Hang\r\nBcc: victim@example.org",
    "Hang\nBcc: victim@example.org\n\nA body of my own",
    "Hang\rX-Mine: 1",
    "=?utf-8?q?Hang=0ABcc=3A_victim=40example=2Eorg?=",
    "\u2028Bcc: victim@example.org\u2029",
    "Hang\x0b\x0cBcc: victim@example.org",
    "a" * 5_000,
]
NAMES = [*INJECTED, *(text for text in PLACES if re.search(r"[\x01-\x1f\u2028\u2029\u202e]|[<>@\"=]{2}|license", text))]
ADDRESSES = [
    "zoe@example.org\nBcc: victim@example.org", "zoe@example.org\r\n\r\nhello", "zoe@example.org, victim@example.org",
    "zoe@example.org;victim@example.org", "Zoe <zoe@example.org>", '"zoe\r\nBcc: x"@example.org',
    "zoe@example.org%0ABcc:x", "zoe@example.org\x00", "@example.org", "zoe",
]  # fmt: skip


@pytest.fixture
def study(settings: Any) -> Study:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    return make.study()


def client(name: str) -> Client:
    made = Client()
    made.force_login(make.user(name))
    return made


def invited(address: str) -> Any:
    body = {"roles": ["rater"], "email": address, "days": 7, "n_most": 1}
    return client("olga").post("/studies/study/members/invite/", body)


def wrong_with(mail: EmailMessage, address: str) -> list[str]:
    message = mail.message()
    return [
        *(["other recipients"] if mail.recipients() != [address] else []),
        *[f"a header {name}" for name in set(message.keys()) - HEADERS],
        *[f"{name} in two lines" for name, value in message.items() if "\n" in str(value).replace("\n ", "")],
        *(["parts"] if message.is_multipart() or message.get_content_type() != "text/plain" else []),
    ]


@pytest.mark.slow
def test_a_name_stays_a_name_in_an_invitation_and_in_a_link_for_a_password(
    study: Study, mailoutbox: list[EmailMessage]
) -> None:
    """Stored before names were looked at, or come with a study from elsewhere."""
    assert len(NAMES) > 10
    for name in NAMES:
        Study.objects.filter(pk=study.pk).update(title=name[:200])
        User.objects.filter(username="olga").update(first_name=name[:150], email="olga@example.org")
        assert invited("zoe@example.org").status_code == 201, name
        cache.clear()
        jobs.send_password_links("olga@example.org", "http://testserver/")
        invitation, link = mailoutbox
        assert not wrong_with(invitation, "zoe@example.org"), name
        assert not wrong_with(link, "olga@example.org"), name
        assert invitation.subject.startswith("An invitation to “") and link.subject == "Set a new password for Concord"
        mailoutbox.clear()


@pytest.mark.parametrize("address", ADDRESSES)
def test_what_is_no_single_address_gets_no_mail(study: Study, mailoutbox: list[EmailMessage], address: str) -> None:
    assert invited(address).status_code == 422
    assert Client().post("/sign-in/lost-password/", {"email": address}).status_code == 422
    assert client("olga").post("/me/profile/", {"full_name": "Olga", "email": address}).status_code == 422
    assert not mailoutbox and not Invitation.objects.exists()


def test_no_mail_leads_to_a_host_that_the_site_does_not_have(study: Study, mailoutbox: list[EmailMessage]) -> None:
    User.objects.filter(username="olga").update(email="olga@example.org")
    for headers in ({"host": "evil.example"}, {"x-forwarded-host": "evil.example"}):
        Client().post("/sign-in/lost-password/", {"email": "olga@example.org"}, headers=headers)
    assert all("evil.example" not in mail.body for mail in mailoutbox)
    assert len(mailoutbox) == 1, "the first was refused"


@pytest.mark.slow
def test_nobody_makes_the_site_write_to_strangers_without_end(study: Study, mailoutbox: list[EmailMessage]) -> None:
    n_most = INVITED_BY_EMAIL.n_most
    statuses = [invited(f"stranger{n}@example.org").status_code for n in range(n_most + 1)]
    assert statuses == [201] * n_most + [429]
    assert len(mailoutbox) == n_most
    body = {"roles": ["rater"], "days": 7, "n_most": 1}
    assert client("olga").post("/studies/study/members/invite/", body).status_code == 201, "a link alone still goes"
