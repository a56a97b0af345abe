"""Pages of studies: who may see and do what, what bad input gets, and that lists cost a fixed number of queries."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.choosing.actions import samples as sample_actions
from annotation.core.access import get_item, get_round
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions import members
from annotation.models import AuditEvent, Sample, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

MEMBERS = ("olga", "ada", "bob", "rea")


def signed_in(name: str, *, staff: bool = False) -> Client:
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client


def stranger() -> Client:
    """The owner of another study."""
    make.user("mia")
    if not Study.objects.filter(slug="other").exists():
        studies.create_study(user=make.user("mia"), slug="other", title="Other", taxonomy="symptoms")
    return signed_in("mia")


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def build_study() -> Study:
    """Round 1 is being resolved (item 2 disputed), round 2 open, round 3 a draft."""
    made = make.study()
    make.rate(
        make.open_round(made, 3),
        """
        item  bob    carol
        1     crash  crash
        2     crash  hang
        3     slow   slow
        """,
    )
    make.open_round(made, 4, first=4)
    make.issues(2, first=8)
    rounds.create_round(
        seat=make.owner_seat(made),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#8", "acme/rocket#9"]),
    )
    return made


def address(name: str, *args: object) -> str:
    return reverse(name, args=args)


def of_all_members(study: Study) -> list[str]:
    item = get_item(make.owner_seat(study), "acme/rocket#2")
    return [
        *(address(name, study.slug) for name in ("study", "members", "samples", "rounds", "items")),
        *(address("round", study.slug, number) for number in (1, 2, 3)),
        address("item", study.slug, item.pk),
    ]


def of_the_owner(study: Study) -> list[str]:
    return [address(name, study.slug) for name in ("study_settings", "new_round", "audit")]


@pytest.mark.slow
def test_members_read_the_study_and_only_the_owner_reaches_what_changes_it(study: Study) -> None:
    for name in MEMBERS:
        client = signed_in(name)
        for path in of_all_members(study):
            assert client.get(path).status_code == 200, (name, path)
        for path in of_the_owner(study):
            assert client.get(path).status_code == (200 if name == "olga" else 403), (name, path)


def test_staff_who_are_no_members_read_but_do_not_change(study: Study) -> None:
    client = signed_in("stan", staff=True)
    for path in [*of_all_members(study), address("audit", study.slug)]:
        assert client.get(path).status_code == 200, path
    for path in (address("study_settings", study.slug), address("new_round", study.slug)):
        assert client.get(path).status_code == 403, path
    assert client.post(address("open_round", study.slug, 3)).status_code == 403


def test_a_member_of_another_study_finds_nothing_and_a_visitor_is_asked_to_sign_in(study: Study) -> None:
    client = stranger()
    for path in [*of_all_members(study), *of_the_owner(study)]:
        assert client.get(path).status_code == 404, path
        answer = Client().get(path)
        assert answer.status_code == 302 and answer["Location"].startswith("/sign-in/"), path
    for name in ("inbox", "studies", "new_study"):
        assert Client().get(reverse(name)).status_code == 302
    assert "Study" not in re.findall(r'class="row-title"[^>]*>([^<]+)', client.get("/studies/").content.decode())


def test_an_item_of_another_study_is_not_found_through_this_one(study: Study) -> None:
    other = make.study("second", text=make.FAULTS, owner="mia", raters=())
    make.issues(1, "acme/moon")
    rounds.create_round(
        seat=_with_rater(other), asked=rounds.NewRound(raters=["mia"], raters_per_item=1, issues=["acme/moon#1"])
    )
    item = get_item(make.owner_seat(other), "acme/moon#1")
    assert signed_in("olga").get(address("item", study.slug, item.pk)).status_code == 404
    assert signed_in("mia").get(address("item", other.slug, item.pk)).status_code == 200


def _with_rater(study: Study) -> Any:
    seat = make.owner_seat(study)
    members.add_member(seat=seat, username=study.created_by.username, roles=["owner", "rater"])
    return make.owner_seat(study)


def test_nonsense_in_an_address_is_not_found_or_passed_over(study: Study) -> None:
    client = signed_in("olga")
    for path in (
        "/studies/nothing/",
        address("round", study.slug, 99),
        address("round", study.slug, 10**30),
        address("item", study.slug, 10**30),
        address("samples", study.slug) + "?sample=abc",
        address("samples", study.slug) + f"?sample={10**30}",
    ):
        assert client.get(path).status_code == 404, path
    for path in (
        "?after=abc",
        "?before=-1",
        "?round=99",
        "?round=x",
        f"?after={10**30}",
        "?search=%00",
        "?search=%25_",
    ):
        assert client.get(address("items", study.slug) + path).status_code == 200, path


@pytest.mark.parametrize("name", ["ada", "bob", "rea"])
def test_who_is_not_the_owner_changes_nothing(study: Study, name: str) -> None:
    client = signed_in(name)
    for path, sent in (
        (address("members", study.slug), {"username": name, "roles": ["owner"], "kind": "person"}),
        (address("samples", study.slug), {"size": 1}),
        (address("new_round", study.slug), {}),
        (address("study_settings", study.slug), {"title": "Mine"}),
        (address("open_round", study.slug, 3), {}),
        (address("start_resolving", study.slug, 2), {"withdraw": "1"}),
        (address("close_round", study.slug, 1), {"leave_open": "1"}),
    ):
        answer = client.post(path, sent)
        assert answer.status_code == 403, path
        assert stranger().post(path, sent).status_code == 404, path
        assert Client().post(path, sent)["Location"].startswith("/sign-in/"), path
    assert list(study.rounds.values_list("state", flat=True)) == ["resolving", "open", "draft"]
    assert not Sample.objects.exists()


def test_buttons_that_a_person_can_not_use_are_not_shown(study: Study) -> None:
    for number, words in ((1, "Close"), (2, "start resolving"), (3, "Open round 3")):
        path = address("round", study.slug, number)
        assert words in text_of(signed_in("olga").get(path))
        assert f'action="{path}' not in signed_in("rea").get(path).content.decode()
    assert "Add someone with an account" not in text_of(signed_in("bob").get(address("members", study.slug)))
    assert "Draw sample" not in text_of(signed_in("ada").get(address("samples", study.slug)))


def test_only_an_owner_sees_the_forms_that_change_roles(study: Study) -> None:
    path = address("members", study.slug)
    assert "Save roles" in text_of(signed_in("olga").get(path))
    for name in ("ada", "bob", "rea"):
        page = text_of(signed_in(name).get(path))
        assert "bob" in page and "Save roles" not in page, name


# My work


def test_my_work_shows_each_person_what_waits_for_them(study: Study) -> None:
    bobs = signed_in("bob").get("/").content.decode()
    assert "4 items left to label" in bobs and address("label", study.slug, 2) in bobs
    assert address("resolve", study.slug, 1) not in bobs
    adas = signed_in("ada").get("/").content.decode()
    assert "1 disagreement to resolve" in adas and address("resolve", study.slug, 1) in adas
    assert "You have no open work" in signed_in("rea").get("/").content.decode()


def test_my_work_leads_a_newcomer_along_the_path() -> None:
    client = signed_in("nina")
    first = client.get("/")
    assert "Which issues do you want to label?" in text_of(first) and 'action="/start/"' in first.content.decode()
    make.issues(1)
    client.post("/start/", {"source": "stored", "stored": "acme/rocket"})
    assert "You have issues of acme/rocket. Next: the taxonomy." in text_of(client.get("/"))
    assert f'primary" href="{reverse("start_codebook")}"' in client.get("/").content.decode()


def test_a_pool_waits_for_a_rater_only_while_it_has_items_for_them() -> None:
    study = make.study()
    round_ = make.open_round(study, 1, mode="pool", raters_per_item=1)
    bob = make.seat(study, "bob")
    place = address("label", study.slug, 1)
    assert place in signed_in("bob").get("/").content.decode()
    taken = take_next(seat=bob, round_=round_)
    assert taken is not None
    assert place in signed_in("bob").get("/").content.decode()
    assert place not in signed_in("carol").get("/").content.decode()
    submit_annotation(seat=bob, assignment=taken.public_id, body={"labels": {"symptom": ["crash"]}})
    assert place not in signed_in("bob").get("/").content.decode()


def test_disagreements_of_a_round_one_rates_in_do_not_wait_while_it_is_open() -> None:
    study = make.study(resolve_when="item")
    owner = make.owner_seat(study)
    members.add_member(seat=owner, username="carol", roles=["rater", "adjudicator"])
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    place = address("resolve", study.slug, 1)
    assert place in signed_in("ada").get("/").content.decode()
    for path in ("/", address("study", study.slug), address("round", study.slug, 1)):
        assert place not in signed_in("carol").get(path).content.decode(), path


# Blindness


def test_an_item_page_hides_what_others_said_from_a_rater_of_the_open_round(study: Study) -> None:
    round_ = get_round(make.owner_seat(study), 2)
    make.submit(round_, "carol", 4, {"symptom": ["slow"]}, memo="carols secret")
    make.submit(round_, "bob", 4, {"symptom": ["hang"]}, memo="bobs secret")
    item = get_item(make.owner_seat(study), "acme/rocket#4")
    path = address("item", study.slug, item.pk)
    for name in ("bob", "carol"):
        seen = text_of(signed_in(name).get(path))
        assert "secret" not in seen and "Slow" not in seen and "stay hidden until it closes" in seen
    reader = text_of(signed_in("rea").get(path))
    assert "secret" not in reader and "Slow" not in reader and "Only owners and adjudicators see" in reader
    for name in ("olga", "ada"):
        seen = text_of(signed_in(name).get(path))
        assert "carols secret" in seen and "Slow" in seen
    rounds.resolve_round(seat=make.owner_seat(study), number=2, withdraw=True)
    assert "carols secret" in text_of(signed_in("bob").get(path))
    rounds.close_round(seat=make.owner_seat(study), number=2, leave_open=True)
    assert "carols secret" in text_of(signed_in("rea").get(path))


def test_an_owner_who_rates_is_as_blind_as_any_rater() -> None:
    study = make.study(resolve_when="item")
    seat = _with_rater(study)
    round_ = make.open_round(study, 2, raters=("olga", "carol"))
    for name, value in (("olga", "crash"), ("carol", "hang")):
        make.submit(round_, name, 1, {"symptom": [value]}, memo=f"memo of {name}")
    resolve(
        seat=make.seat(study, "ada"),
        round_=round_,
        item=get_item(seat, "acme/rocket#1"),
        part=1,
        dimension="symptom",
        values=["hang"],
    )
    client = signed_in("olga")
    audit = text_of(client.get(address("audit", study.slug)))
    assert "resolved" not in audit and "round opened" in audit
    item = get_item(seat, "acme/rocket#1")
    assert "memo of" not in text_of(client.get(address("item", study.slug, item.pk)))
    assert "Agreement in round" not in text_of(client.get(address("study", study.slug)))
    make.rate(round_, "item olga carol\n2 hang hang")
    assert "resolved" in text_of(client.get(address("audit", study.slug)))
    assert "memo of carol" in text_of(client.get(address("item", study.slug, item.pk)))


def test_a_rater_of_a_pool_is_blind_before_they_take_its_first_item() -> None:
    study = make.study(resolve_when="item")
    members.add_member(seat=make.owner_seat(study), username="carol", roles=["rater", "adjudicator"])
    members.add_member(seat=make.owner_seat(study), username=make.user("dan").username, roles=["rater"])
    round_ = make.open_round(study, 2, mode="pool", raters=("bob", "dan", "carol"), raters_per_item=2)
    for name, value in (("bob", "crash"), ("dan", "hang")):
        seat = make.seat(study, name)
        taken = take_next(seat=seat, round_=round_)
        assert taken is not None
        submit_annotation(
            seat=seat, assignment=taken.public_id, body={"labels": {"symptom": [value]}, "memo": f"memo of {name}"}
        )
    item = get_item(make.owner_seat(study), "acme/rocket#1")
    path = address("item", study.slug, item.pk)
    assert "memo of" not in text_of(signed_in("carol").get(path))
    assert address("resolve", study.slug, 1) not in signed_in("carol").get("/").content.decode()
    assert "memo of bob" in text_of(signed_in("ada").get(path))


# Overview and rounds


def test_the_overview_says_what_is_next_for_each_role(study: Study) -> None:
    path = address("study", study.slug)
    assert "4 items wait for you in round 2" in text_of(signed_in("bob").get(path))
    assert "1 disagreement waits in round 1" in text_of(signed_in("ada").get(path))
    assert "Round 1 is being resolved" in text_of(signed_in("rea").get(path))
    quiet = {
        name: 'class="next is-quiet"' in signed_in(name).get(path).content.decode() for name in ("ada", "bob", "rea")
    }
    assert quiet == {"ada": False, "bob": False, "rea": True}
    resolve(
        seat=make.seat(study, "ada"),
        round_=get_round(make.owner_seat(study), 1),
        item=get_item(make.owner_seat(study), "acme/rocket#2"),
        part=1,
        dimension="symptom",
        values=["hang"],
    )
    assert "All disagreements of round 1 are resolved" in text_of(signed_in("olga").get(path))
    rounds.close_round(seat=make.owner_seat(study), number=1)
    assert "bob and carol have 8 items left in round 2" in text_of(signed_in("olga").get(path))


def test_the_overview_of_a_new_study_leads_to_its_first_round() -> None:
    study = make.study(raters=())
    path = address("study", study.slug)
    client = signed_in("olga")
    assert "Add raters" in text_of(client.get(path))
    members.add_member(seat=make.owner_seat(study), username=make.user("bob").username, roles=["rater"])
    assert "Open the first round" in text_of(client.get(path))
    make.issues(3)
    sample_actions.draw_sample(seat=make.owner_seat(study), size=3, filter={"repository": "acme/rocket"})
    assert "Create the first round" in text_of(client.get(path))
    assert "The owner is preparing the first one" in text_of(signed_in("bob").get(path))


def test_the_overview_shows_one_number_per_dimension_of_the_finished_main_rounds(study: Study) -> None:
    page = address("study", study.slug)
    told = "before discussion in round 1 (version 1): all finished main rounds"
    seen = text_of(signed_in("olga").get(page))
    assert told in seen and "Krippendorff" in seen
    assert told not in text_of(signed_in("bob").get(page))
    assert not AuditEvent.objects.filter(verb="open answers read").exists()
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert told in text_of(signed_in("bob").get(page))


def test_a_round_is_opened_resolved_and_closed_by_its_buttons(study: Study) -> None:
    client = signed_in("olga")
    assert client.post(address("open_round", study.slug, 3)).status_code == 302
    again = client.post(address("open_round", study.slug, 3))
    assert again.status_code == 409 and "Round 3 is open. Only a round that is draft" in text_of(again)
    early = client.post(address("start_resolving", study.slug, 3))
    assert early.status_code == 409 and "4 assignments of round 3 are unfinished" in text_of(early)
    assert client.post(address("start_resolving", study.slug, 3), {"withdraw": "1"}).status_code == 302
    assert client.post(address("close_round", study.slug, 3)).status_code == 302
    disputed = client.post(address("close_round", study.slug, 1))
    assert disputed.status_code == 409 and "Round 1 has open disagreements" in text_of(disputed)
    assert client.post(address("close_round", study.slug, 1), {"leave_open": "1"}).status_code == 302
    assert list(study.rounds.values_list("state", flat=True)) == ["closed", "open", "closed"]
    assert client.get(address("close_round", study.slug, 1))["Location"] == address("round", study.slug, 1)


def test_a_round_page_offers_to_withdraw_only_what_is_out(study: Study) -> None:
    page = text_of(signed_in("olga").get(address("round", study.slug, 2)))
    assert "Withdraw 8 and start resolving" in page
    assert "Close and leave 1 disagreement open" in text_of(signed_in("olga").get(address("round", study.slug, 1)))


# Lists


@pytest.mark.slow
def test_items_are_searched_filtered_and_turned_page_by_page_both_ways(study: Study) -> None:
    make.open_round(study, 60, first=10)
    client = signed_in("rea")
    path = address("items", study.slug)
    first = client.get(path)
    forth = client.get(path + _link(first, "next"))
    assert len(_items(first)) == 50 and len(_items(forth)) == 19 and not _items(first) & _items(forth)
    back = client.get(path + _link(forth, "prev"))
    assert _items(back) == _items(first) and 'rel="prev"' not in back.content.decode()
    assert _items(client.get(path + "?round=1")) == {"acme/rocket#1", "acme/rocket#2", "acme/rocket#3"}
    assert _items(client.get(path + "?search=issue+12+of")) == {"acme/rocket#12"}
    assert _items(client.get(path + "?search=rocket%2333")) == {"acme/rocket#33"}
    assert "No item matches this search." in text_of(client.get(path + "?search=xyzzy"))


def _items(response: Any) -> set[str]:
    return set(re.findall(r">(acme/rocket#\d+)</th>", response.content.decode()))


def _link(response: Any, rel: str) -> str:
    found = re.search(rf'rel="{rel}" href="[^"?]*([^"]+)"', response.content.decode())
    assert found, f"there is no link {rel}"
    return found[1].replace("&amp;", "&")


@pytest.mark.slow
def test_lists_cost_the_same_whatever_their_size(study: Study) -> None:
    owner, bob = signed_in("olga"), signed_in("bob")
    seat = make.owner_seat(study)
    sample_actions.draw_sample(seat=seat, size=2, filter={"repository": "acme/rocket"})
    pages = [
        (owner, address("items", study.slug), 14),
        (owner, address("rounds", study.slug), 13),
        (owner, address("members", study.slug), 7),
        (owner, address("audit", study.slug), 10),
        (owner, address("samples", study.slug), 14),
        (owner, address("round", study.slug, 2), 18),
        (owner, "/studies/", 8),
        (bob, "/", 13),
    ]
    for client, path, n in pages:
        client.get(path)
        with assert_queries(n):
            assert client.get(path).status_code == 200
    make.issues(200, first=100)
    rounds.create_round(
        seat=seat,
        asked=rounds.NewRound(raters=["bob", "carol"], issues=[f"acme/rocket#{number}" for number in range(100, 300)]),
    )
    for n in range(30):
        sample_actions.draw_sample(seat=seat, size=5, seed=n, filter={"repository": "acme/rocket"})
        members.add_member(seat=seat, username=make.user(f"reader{n}").username, roles=["reader"])
        studies.create_study(user=make.user("olga"), slug=f"more-{n}", title="More", taxonomy="symptoms")
        rounds.open_round(
            seat=seat,
            number=rounds.create_round(
                seat=seat, asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#150"])
            ).number,
        )
    for client, path, n in pages:
        with assert_queries(n):
            assert client.get(path).status_code == 200
