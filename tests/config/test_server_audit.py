"""What people do outside of studies stands in the server's audit, by whichever door they came."""

import pytest
from django.test import Client

from accounts.actions import make_token
from accounts.models import ServerEvent, User
from ingest.models import FetchRun
from tests import builders as make

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(client: Client) -> User:
    user = make.user("olga", password="a long password")
    client.force_login(user)
    return user


def lines(**of: object) -> list[tuple[str, str]]:
    """The newest first: what was done, and by whom."""
    found = ServerEvent.objects.filter(detail__contains=of).select_related("user")
    return [(each.verb, each.user.username) for each in found if each.user]


def test_who_takes_another_name_or_address_leaves_a_line_that_holds_neither(client: Client, olga: User) -> None:
    profile = {"full_name": "Olga Orlova", "email": "olga@example.org", "password": "a long password"}
    client.post("/me/profile/", profile)
    assert lines() == [("e-mail address changed", "olga"), ("person renamed", "olga")]
    client.post("/me/profile/", profile)
    client.post("/me/profile/", profile | {"email": "nonsense"})
    assert len(lines()) == 2
    client.post("/me/profile/", profile | {"full_name": "Olga O."})
    assert lines()[0] == ("person renamed", "olga")
    assert "Orlova" not in str(list(ServerEvent.objects.values_list("detail", flat=True)))


def test_who_cancels_or_continues_a_fetch_is_told_afterwards(client: Client, olga: User) -> None:
    run = FetchRun.objects.create(kind="github", target="github.com/o/r", state="queued", created_by=olga)
    client.post(f"/fetches/{run.pk}/cancel/")
    client.post(f"/fetches/{run.pk}/cancel/")  # over already
    headers = {"Authorization": f"Bearer {make_token(user=olga, name='t', scope='manage')[1]}"}
    assert client.post(f"/api/v1/fetches/{run.pk}/continue/", headers=headers).status_code == 202
    assert client.post(f"/api/v1/fetches/{run.pk}/cancel/", headers=headers).status_code == 200
    told = lines(fetch=run.pk, target="github.com/o/r")
    assert told == [("fetch cancelled", "olga"), ("fetch continued", "olga"), ("fetch cancelled", "olga")]
