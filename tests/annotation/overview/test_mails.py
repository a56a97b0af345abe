"""E-mails about waiting work: one a day, only where something waits, and nothing that a rater may not know."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import signing
from django.core.mail import EmailMessage
from django.test import Client

from accounts.models import User
from annotation.members.actions.members import add_member
from annotation.models import Round, Study
from annotation.overview.actions.mails import send_due_mails
from tests import builders as make

pytestmark = pytest.mark.django_db
MONDAY = datetime(2027, 5, 31, 6, 5, tzinfo=UTC)


@pytest.fixture
def study(settings: Any) -> Study:
    """Round 1 is open; bob labels two items of three in it, carol none."""
    settings.SENDS_EMAIL, settings.CELERY_TASK_ALWAYS_EAGER = True, True
    made = make.study()
    round_ = make.open_round(made, 3)
    for number in (1, 2):
        make.submit(round_, "bob", number, {"symptom": ["crash"]})
    for name in ("olga", "bob", "carol", "ada", "rea"):
        User.objects.filter(username=name).update(email=f"{name}@example.org")
    return made


def sent(outbox: list[EmailMessage], now: datetime = MONDAY + timedelta(days=1)) -> dict[str, str]:
    """Whom the clock sends what, by user name."""
    outbox.clear()
    send_due_mails(now)
    return {mail.to[0].partition("@")[0]: mail.body for mail in outbox}


def test_a_day_has_one_mail_for_whom_something_waits(study: Study, mailoutbox: list[EmailMessage]) -> None:
    assert not sent(mailoutbox, MONDAY.replace(hour=5))
    found = sent(mailoutbox)
    assert set(found) == {"olga", "bob", "carol"}, "ada and rea have nothing to do"
    assert "Study, round 1: 1 item to label\n" in found["bob"] and "3 items to label" in found["carol"]
    assert not sent(mailoutbox), "the clock comes again on the same day"
    assert set(sent(mailoutbox, MONDAY + timedelta(days=2))) == {"bob", "carol"}, "no summary before next Monday"
    User.objects.filter(username="bob").update(no_mails=["items"])
    assert set(sent(mailoutbox, MONDAY + timedelta(days=3))) == {"carol"}


def test_the_mail_of_a_rater_is_the_same_whatever_others_answered(study: Study, mailoutbox: list[EmailMessage]) -> None:
    add_member(seat=make.owner_seat(study), username="bob", roles=["owner", "adjudicator", "rater"])
    before = sent(mailoutbox, MONDAY)["bob"]
    round_ = Round.objects.get()
    make.submit(round_, "carol", 1, {}, proposals={"symptom": {"name": "Fire", "memo": "it burns"}})
    make.submit(round_, "carol", 2, {"symptom": ["hang"]})
    make.submit(round_, "carol", 3, {"symptom": ["hang"]})
    Study.objects.update(resolve_when="item")
    User.objects.update(mailed_on=None, summed_up_on=None)
    (text, _, link), (earlier, _, earlier_link) = (
        each.partition("Turn them off: ") for each in (sent(mailoutbox, MONDAY)["bob"], before)
    )
    assert text == earlier and len(link) == len(earlier_link) and "carol" not in before


def test_owners_read_once_a_week_who_waits_for_whom(study: Study, mailoutbox: list[EmailMessage]) -> None:
    mail = sent(mailoutbox, MONDAY)["olga"]
    assert "In the studies that you own:" in mail and "bob has 1 item left in round 1, since" in mail
    assert "carol has 3 items left in round 1, since" in mail and "http" in mail and "crash" not in mail
    round_ = Round.objects.get()
    make.submit(round_, "bob", 3, {}, proposals={"symptom": {"name": "Fire", "memo": "it burns"}})
    for number in (1, 2, 3):
        make.submit(round_, "carol", number, {"symptom": ["hang"]})
    found = sent(mailoutbox, MONDAY + timedelta(days=7))
    assert "2 disagreements of round 1 wait for ada" in found["olga"] or "3 disagreements" in found["olga"]
    assert "1 proposed category of round 1 wait" in found["olga"] and "Fire" not in str(found)
    assert "disagreements to resolve" in found["ada"] and set(found) == {"olga", "ada"}


def test_mails_are_chosen_in_the_settings_and_turned_off_by_their_link(
    study: Study, mailoutbox: list[EmailMessage]
) -> None:
    mail = sent(mailoutbox)["bob"]
    link = mail.partition("Turn them off: http://testserver")[2].strip()
    assert "Turn e-mails off?" in Client().get(link).content.decode()
    assert sent(mailoutbox, MONDAY + timedelta(days=2)), "looking at the page changes nothing"
    assert Client().post(link).status_code == 200
    assert set(User.objects.get(username="bob").no_mails) == set(User.Mail.values)
    assert "bob" not in sent(mailoutbox, MONDAY + timedelta(days=3))
    for at in (link[:-3] + "/", "/mails/off/x:y:z/", "/mails/off/²:y:z/", "/mails/off/" + "9" * 30 + ":y:z/"):
        assert Client().get(at).status_code == 404
    client = Client()
    client.force_login(make.user("bob"))
    assert "E-mail" in client.get("/me/").content.decode()
    assert client.post("/me/mails/", {"mails": ["items"]}).status_code == 302
    assert not User.objects.get(username="bob").wants("summary") and User.objects.get(username="bob").wants("items")
    assert client.post("/me/mails/", {"mails": ["gossip"]}).status_code == 422


@pytest.mark.parametrize(("days", "address"), [(89, "bob@example.org"), (91, "bob@example.org"), (1, "b@example.org")])
def test_the_link_that_turns_mails_off_ends_after_90_days_and_with_its_address(
    study: Study, mailoutbox: list[EmailMessage], monkeypatch: pytest.MonkeyPatch, days: int, address: str
) -> None:
    stamp = signing.b62_encode(int(time.time()) - days * 86_400)
    with monkeypatch.context() as earlier:
        earlier.setattr(signing.TimestampSigner, "timestamp", lambda signer: stamp)
        link = sent(mailoutbox)["bob"].partition("Turn them off: http://testserver")[2].strip()
    User.objects.filter(username="bob").update(email=address)
    is_over = days > 90 or address != "bob@example.org"
    for send in (Client().get, Client().post):
        answer = send(link)
        page = answer.content.decode()
        assert (answer.status_code, "not valid any more" in page) == ((404, True) if is_over else (200, False))
        assert not is_over or 'href="/me/#mails"' in page
    assert (User.objects.get(username="bob").no_mails == []) == is_over
