"""Items that are rated in a further round: what was said of them before is hidden, warned about and reported."""

from typing import Any

import pytest
from django.test import Client

from annotation.core.access import get_item
from annotation.core.errors import Blind
from annotation.discussion.actions import write_remark
from annotation.members.actions import members
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import Evidence, InboxLine, Item, Round, RoundItem, Study
from annotation.rounds.actions import rounds
from shared.public_ids import row_number_of
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

NAMES = [f"acme/rocket#{number}" for number in (1, 2)]


def first_round(*, close: bool = True) -> Study:
    """Bob and carol have rated items 1 to 4: they differ on item 2."""
    study = make.study()
    round_ = make.open_round(study, 4, kind="main")
    make.rate(round_, "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang\n4 hang hang")
    if close:
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    return study


def made(study: Study, names: list[str] = NAMES, raters: tuple[str, ...] = ("bob", "carol")) -> Any:
    body = {"kind": "main", "issues": names, "raters": list(raters), "raters_per_item": 2}
    return Script("olga").send("POST", f"studies/{study.slug}/rounds/", body)


def again(study: Study, names: list[str] = NAMES) -> Round:
    answer = made(study, names)
    assert answer.status_code == 201, answer.content
    number = answer.json()["number"]
    assert Script("olga").send("POST", f"studies/{study.slug}/rounds/{number}/open/", {}).status_code == 200
    return Round.objects.get(study=study, number=number)


def page(name: str, path: str) -> str:
    client = Client()
    client.force_login(make.user(name))
    return client.get(f"/studies/study/{path}").content.decode()


def read(name: str, path: str) -> Any:
    return Script(name).send("GET", f"studies/study/{path}").json()


def units(name: str) -> list[int]:
    return [entry["units"] for entry in read(name, "agreement/?round=1")]


def test_a_rater_reads_nothing_that_others_said_before_of_items_of_their_open_round() -> None:
    study = first_round()
    item = get_item(make.owner_seat(study), NAMES[1])
    assert "raters disagree" in page("bob", f"items/{item.pk}/") and units("bob") == [4]
    labels = {row["item"] for row in read("bob", "labels/")["results"]}
    assert labels == {f"acme/rocket#{number}" for number in (1, 3, 4)}
    again(study)
    shown = page("bob", f"items/{item.pk}/")
    assert "raters disagree" not in shown and "You label this item again in another round" in shown
    assert units("bob") == [2] and units("ada") == units("rea") == [4]
    assert {row["item"] for row in read("bob", "labels/")["results"]} == {"acme/rocket#3", "acme/rocket#4"}
    assert {row["item"] for row in read("rea", "labels/")["results"]} == labels


def test_all_is_seen_again_when_the_round_is_over() -> None:
    study = first_round()
    make.rate(again(study), "item bob carol\n1 crash crash\n2 crash crash")
    assert units("bob") == [4] and len(read("bob", "labels/?round=1")["results"]) == 3


def test_an_owner_who_rates_the_items_again_does_not_see_the_answers_either() -> None:
    study = first_round()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    answer = made(study, raters=("bob", "olga"))
    Script("olga").send("POST", f"studies/study/rounds/{answer.json()['number']}/open/", {})
    assert {row["item"] for row in read("olga", "ratings/")["results"]} == {"acme/rocket#3", "acme/rocket#4"}
    assert units("olga") == [2]
    assert "acme/rocket#2" not in str(read("olga", "disagreements/?state=all"))


@pytest.mark.parametrize("number", [1, 2])
def test_whether_a_third_rater_is_asked_is_withheld_from_an_owner_who_rates_the_item_again(number: int) -> None:
    study = first_round(close=False)
    for name, roles in {"olga": ["owner", "rater"], "dan": ["rater"]}.items():
        members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles)
    asked = Script("ada").send("POST", "studies/study/third-raters/", {"item": NAMES[1], "rater": "dan"})
    assert asked.status_code == 201, asked.content
    Script("olga").send(
        "POST", f"studies/study/rounds/{made(study, [NAMES[number - 1]], ('bob', 'olga')).json()['number']}/open/", {}
    )
    for act in ("remind", "withdraw"):
        for rater in ("dan", "carol"):
            said = Script("olga").send("POST", f"studies/study/rounds/1/third-raters/{rater}/{act}/")
            assert (said.status_code, said.json()["code"]) == (403, "blind"), said.content
    assert not InboxLine.objects.filter(kind=InboxLine.Kind.REMINDER).exists()


@pytest.mark.parametrize("second", ["hang", "crash"])
def test_a_cursor_stands_at_the_last_row_shown_whatever_was_said_of_what_is_withheld_behind_it(second: str) -> None:
    """Cursors are the same for the same place, so one that stood at a withheld row would tell that it is there."""
    study = make.study()
    round_ = make.open_round(study, 3, kind="main")
    names = list(RoundItem.objects.filter(round=round_).order_by("position").values_list("item__identifier", flat=True))
    quote = {"dimension": "symptom", "category": "hang", "where": "body", "quote": "hangs after", "before": "Training "}
    for name in names:
        number = int(name.rpartition("#")[2])
        make.submit(round_, "bob", number, {"symptom": ["hang"]}, evidence=[quote])
        make.submit(round_, "carol", number, {"symptom": [second if name == names[1] else "crash"]})
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    answer = made(study, names[1:2], raters=("bob", "olga"))
    Script("olga").send("POST", f"studies/study/rounds/{answer.json()['number']}/open/", {})
    at_item = 1 << 32 | 1
    at = {"disagreements/?state=all&": at_item, "ratings/?": at_item, "evidence/?": Evidence.objects.earliest("pk").pk}
    for path, place in at.items():
        here = read("olga", f"{path}round=1&page_size=1")
        assert {row["item"] for row in here["results"]} == {names[0]}
        cursor = here["next"].partition("cursor=")[2].partition("&")[0]
        assert row_number_of(f"cursor of /api/v1/studies/study/{path.partition('?')[0]}", cursor) == place, path
        for other in at.keys() - {path}:  # where it would be another place, even the number of a row
            refused = Script("olga").send("GET", f"studies/study/{other}round=1&cursor={cursor}")
            assert (refused.status_code, refused.json()["code"]) == (400, "bad_cursor"), (path, other)
        following = read("olga", f"{path}{here['next'].partition('?')[2]}")
        assert {row["item"] for row in following["results"]} == {names[2]} and following["next"] is None


def test_of_two_open_rounds_with_one_item_the_first_that_ends_tells_nothing() -> None:
    study = make.study()
    one = make.open_round(study, 2, kind="main")
    two = again(study, NAMES[:1])
    make.rate(one, "item bob carol\n1 crash hang\n2 hang hang")
    assert units("bob") == [1]
    make.rate(two, "item bob carol\n1 crash crash")
    assert units("bob") == [2]


def test_a_mention_about_an_item_that_is_rated_again_waits_in_the_inbox() -> None:
    study = first_round(close=False)
    item = get_item(make.owner_seat(study), NAMES[1])
    text = "@R1 look: R2 gave hang here."
    write_remark(seat=make.owner_seat(study), round_=study.rounds.get(), item=item, text=text)
    bob = Client()
    bob.force_login(make.user("bob"))
    assert "gave hang here" in bob.get("/inbox/").content.decode()
    round_ = again(study)
    assert "gave hang here" not in bob.get("/inbox/").content.decode()
    assert "gave hang here" not in Script("bob").send("GET", "inbox/").content.decode()
    assert "gave hang here" not in str(read("bob", "remarks/?round=1"))
    make.rate(round_, "item bob carol\n1 crash crash\n2 crash crash")
    assert "gave hang here" in bob.get("/inbox/").content.decode()


def test_a_relabeling_round_shows_what_was_said_before() -> None:
    study = first_round()
    make.next_version(study, make.SYMPTOMS.replace("Hang", "Hangs"))
    worklist = make.worklist(study, 2, "item asked raters\n1 symptom bob")
    assert worklist.kind == "relabel"
    assert make.seat(study, "bob").withheld == frozenset()


def test_naming_items_of_an_earlier_round_is_warned_about() -> None:
    study = first_round()
    (warning,) = made(study).json()["warnings"]
    assert warning.startswith("2 items were also in an earlier round.")
    (warning,) = made(study, [NAMES[0]]).json()["warnings"]
    assert warning.startswith("1 item was also in an earlier round.")
    make.issues(1, first=6)
    assert made(study, ["acme/rocket#6"]).json()["warnings"] == []


def test_the_page_warns_as_well() -> None:
    first_round()
    olga = Client()
    olga.force_login(make.user("olga"))
    form = {
        "kind": "main", "raters": ["R1", "R2"], "raters_per_item": "2", "mode": "planned", "double_percent": "100",
        "seed": "1", "source": "issues", "issues": "\n".join(NAMES), "taxonomy_version": "1",
    }  # fmt: skip
    answer = olga.post("/studies/study/rounds/new/", form, follow=True).content.decode()
    assert "2 items were also in an earlier round." in answer, answer[:3000]


def test_methods_and_checklist_count_items_that_the_same_people_had_rated_before() -> None:
    study = first_round()
    told = read("olga", "agreement/methods/")
    assert "of the same raters" not in told["paragraph"]
    make.rate(again(study), "item bob carol\n1 crash crash\n2 crash crash")
    told = read("olga", "agreement/methods/")
    assert "Two items had been labeled in an earlier round by at least one of the same raters." in told["paragraph"]
    (check,) = [each for each in told["checklist"] if each["key"] == "independent"]
    assert check["answer"] == "partly" and "Two items had been labeled in an earlier round" in check["evidence"]


def test_no_reader_link_shows_its_owner_what_is_withheld_from_them() -> None:
    study = first_round()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make_reader_link(seat=make.owner_seat(study), label="before")
    members.add_member(seat=make.owner_seat(study), username=make.user("ida").username, roles=["owner"])
    again_by = made(study, raters=("olga", "carol")).json()["number"]
    assert Script("ida").send("POST", f"studies/study/rounds/{again_by}/open/", {}).status_code == 200
    with pytest.raises(Blind, match="The content behind a reader link stays hidden"):
        make_reader_link(seat=make.owner_seat(study), label="for myself")
    client = Client()
    client.force_login(make.user("olga"))
    answer = client.post("/studies/study/readers/", {"label": "for myself", "days": "7"})
    assert answer.status_code == 403 and "stays hidden" in answer.content.decode()
    make_reader_link(seat=make.seat(study, "ida"), label="by another owner")


def test_no_item_is_in_two_screening_rounds_at_once_of_which_one_tells_the_result_to_the_other() -> None:
    make.study(raters=("bob", "carol", "dave"))
    make.issues(2)
    body = {"kind": "screening", "issues": ["acme/rocket#1"], "raters": ["bob", "carol"], "reasons": ["Spam"]}
    assert Script("olga").send("POST", "studies/study/rounds/", body).status_code == 201
    body |= {"raters": ["dave", "carol"]}
    fields = Script("olga").refused("POST", "studies/study/rounds/", body)
    assert "“acme/rocket#1” is in screening round 1, which is not closed." in fields["issues"][0]
    Round.objects.filter(number=1).update(state="closed")
    Item.objects.filter(identifier="acme/rocket#1").update(screening="out", screening_reason="Spam")
    answer = Script("olga").send("POST", "studies/study/rounds/", body)
    assert answer.status_code == 201 and "also in an earlier round" in answer.json()["warnings"][0]
