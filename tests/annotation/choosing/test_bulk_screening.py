"""All items of a page are screened as the page showed them, or none."""

from typing import Any

import pytest
from django.test import Client

from annotation.choosing.actions.samples import draw_sample, screen_items
from annotation.members.actions import members
from annotation.models import Item, Study
from annotation.rounds.actions import rounds
from annotation.rounds.actions.drafts import remove_draft
from tests import builders as make
from tests.forms import sent_by
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PAGE = "/studies/study/items/"


@pytest.fixture
def study() -> Study:
    """Six items; number 4 is out, by another owner."""
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username=make.user("mia").username, roles=["owner"])
    make.accept("mia")
    make.open_round(study, 6)
    screen_items(seat=make.seat(study, "mia"), items=["acme/rocket#4"], screening="out", reason="of mia")
    return study


def states() -> list[tuple[str, str]]:
    return list(Item.objects.order_by("pk").values_list("screening", "screening_reason"))


def all_out(client: Client, address: str) -> Any:
    """What is sent by *All out* of the page as it is shown."""
    page = client.get(address).content.decode()
    return sent_by(page, "All out") | {"screening": "out", "reason": "not about training"}


@pytest.mark.parametrize("gone", ["round", "sample"])
def test_the_items_of_a_round_or_sample_that_is_gone_are_not_all_items(study: Study, gone: str) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    asked = rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"])
    draft = rounds.create_round(seat=make.owner_seat(study), asked=asked)
    sample = draw_sample(seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=2, seed=1)
    address = f"{PAGE}?round={draft.number}" if gone == "round" else f"{PAGE}?sample={sample.pk}"
    sent, before = all_out(client, address), states()
    if gone == "round":
        remove_draft(seat=make.seat(study, "mia"), number=draft.number)
    else:
        assert Script("mia").send("DELETE", f"studies/study/samples/{sample.pk}/").status_code == 204
    answer = client.post(address, sent)
    assert answer.status_code == 409 and "is not there any more. Nothing was changed." in answer.content.decode()
    assert states() == before


@pytest.mark.parametrize("item", ["acme/rocket#2", "acme/rocket#4"])
def test_items_that_someone_screened_since_the_page_was_opened_stay_as_they_are(study: Study, item: str) -> None:
    client = Client()
    client.force_login(make.user("olga"))
    address = f"{PAGE}?search=rocket"
    sent = all_out(client, address)
    screen_items(seat=make.seat(study, "mia"), items=[item], screening="out", reason="of mia, later")
    before = states()
    answer = client.post(address, sent)
    assert answer.status_code == 409 and "Nothing was changed." in answer.content.decode()
    assert states() == before
    assert client.post(address, all_out(client, address)).status_code == 302
    assert {reason for _, reason in states()} == {"not about training"}
