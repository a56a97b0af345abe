"""Messages: what the site sends or shows to someone without being asked tells nothing that its reader may not know."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts import jobs
from accounts.models import User
from annotation.members.actions.leaving import remove_member
from annotation.models import InboxLine, Membership, Study
from annotation.overview.actions.mails import send_due_mails
from tests import builders as make
from tests.annotation import permission_study
from tests.annotation.permission_study import BASE, KNOWN, OF_OPEN, OF_ROUND_1, PAGES, Visitor, told, words_of

pytestmark = pytest.mark.django_db
BASE_DIR = Path(__file__).resolve().parents[2]
SECRETS = OF_OPEN | OF_ROUND_1 | {"known": KNOWN}
SENDERS = {
    "accounts/views/me.py": {"send_later"},
    "accounts/views/passwords.py": {"send_password_links", "send_link_notice"},
    "annotation/members/views/invitations.py": {"send_later"},
    "annotation/overview/actions/mails.py": {"send_later"},
    "annotation/jobs.py": {"send_due_mails"},
    "config/settings.py": {"send_due_mails"},
}
"""Where e-mail comes from: a link for a new password, the notice that one was used, that an address was changed, an
invitation, daily mails about waiting work (`tests/annotation/overview/test_mails.py` has them in two worlds);
`accounts/jobs.py` alone sends it.
"""
INBOX = [(PAGES, "inbox/"), (BASE, "inbox/")]


@pytest.fixture(scope="module")
def study(django_db_setup: None, django_db_blocker: Any) -> Iterator[Study]:
    """Built once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield permission_study.make_permission_study()
        transaction.set_rollback(True)


def test_e_mail_is_sent_from_where_this_file_looks() -> None:
    """Else a new mail would pass by; it belongs into the tests below."""
    found: dict[str, set[str]] = {}
    for app in ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy"):
        for path in (BASE_DIR / app).rglob("*.py"):
            name, text = str(path.relative_to(BASE_DIR)), path.read_text()
            if re.search(
                r"\b(?:send_mail|send_mass_mail|mail_admins|mail_managers|Email\w+)\(", text.replace("EmailField(", "")
            ):
                found.setdefault(name, set()).add("django")
            for sent in re.findall(r"jobs\.(send_\w+)", text) if name != "accounts/jobs.py" else ():
                found.setdefault(name, set()).add(sent)
    assert found.pop("accounts/jobs.py") == {"django"}
    assert {name: rest for name, what in found.items() if (rest := what - {"django"})} == SENDERS


def test_mails_tell_who_invites_into_what_and_nothing_of_what_was_said_there(
    study: Study, settings: Any, mailoutbox: list[EmailMessage]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    User.objects.filter(username="dan").update(email="dan@example.org")
    client = Client()
    client.force_login(make.user("ida"))
    body = {
        "roles": ["rater", "adjudicator"],
        "email": "new@example.org",
        "days": 7,
        "n_most": 1,
        "note": OF_OPEN["memo"],
    }
    assert client.post("/studies/study/members/invite/", body).status_code == 201
    for address in ("dan@example.org", "nobody@example.org"):
        jobs.send_password_links(address, "http://testserver/")
    invitation, link = mailoutbox
    assert (invitation.to, link.to) == (["new@example.org"], ["dan@example.org"])
    for mail in mailoutbox:
        assert not told(SECRETS, f"{mail.subject}\n{mail.body}"), "nor the note, which is for owners"
    lines = re.sub(r"/invitations/[\w-]+/", "/invitations/…/", invitation.body)
    lines = re.sub(r"until \d+ \w+ \d+", "until …", lines)
    assert lines == (
        "ida invited you to the study “Study” on Concord as adjudicator and rater.\n\nAccept here until "
        "…:\nhttp://testserver/invitations/…/\n\nIf you did not expect this, ignore this e-mail.\n"
    )
    assert "Study" not in link.body and "ida" not in link.body


def test_mails_about_waiting_work_hold_nothing_that_anybody_wrote(
    study: Study, settings: Any, mailoutbox: list[EmailMessage]
) -> None:
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    for user in User.objects.filter(memberships__study=study):
        User.objects.filter(pk=user.pk).update(email=f"{user.username}@example.org")
    assert send_due_mails(timezone.now().replace(hour=12)) == len(mailoutbox) > 3
    for mail in mailoutbox:
        assert not told(SECRETS, f"{mail.subject}\n{mail.body}"), mail.to


def test_an_inbox_holds_lines_of_its_person_alone(study: Study) -> None:
    holders = set(InboxLine.objects.values_list("member__user__username", flat=True))
    assert {"dan", "zoe", "ada"} <= holders
    for name in (*sorted(filter(None, holders)), "mallory", "rea"):
        shown = Visitor(name).get(BASE, "inbox/?page_size=100").json()["results"]
        own = set(InboxLine.objects.filter(member__user__username=name).values_list("pk", flat=True))
        assert {InboxLine.number_of(line["id"]) for line in shown} <= own, name
    assert not Visitor("mallory").get(BASE, "inbox/").json()["results"]


@pytest.mark.parametrize("name", permission_study.BLIND)
def test_no_line_of_an_inbox_tells_a_rater_of_others_in_an_open_round(study: Study, name: str) -> None:
    lines = InboxLine.objects.filter(member__user__username=name, round__number=2)
    for line in lines:
        answer = Visitor(name).get(PAGES, f"inbox/{line.public_id}/")
        assert not told(OF_OPEN, words_of(answer))
    for base, path in INBOX:
        assert not told(OF_OPEN, words_of(Visitor(name).get(base, path)))


def test_who_is_no_member_any_more_is_told_nothing_of_what_came_before(study: Study) -> None:
    zoe = Membership.objects.get(study=study, user__username="zoe")
    [line] = InboxLine.objects.filter(member=zoe, kind="mention")
    assert told(OF_ROUND_1, words_of(Visitor("ada").get(BASE, "studies/study/remarks/?round=1")))
    remove_member(seat=make.seat(study, "ida"), member=zoe)
    visitor = Visitor("zoe")
    for base, path in INBOX:
        answer = visitor.get(base, path)
        assert answer.status_code == 200 and not told(SECRETS, words_of(answer))
    assert not visitor.get(BASE, "inbox/").json()["results"]
    assert visitor.get(PAGES, f"inbox/{line.public_id}/").status_code == 404
