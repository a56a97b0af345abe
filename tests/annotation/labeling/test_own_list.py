"""What a rater's own list holds: flags, skips, what came back; each found again, and nobody else's."""

import json
import re
from typing import Any

import pytest
from django.test import Client

from annotation.core.errors import Invalid
from annotation.models import Annotation, Draft, Proposal, Round, Study
from annotation.proposals.actions import settle_proposals
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def address(round_: Round, rest: str = "") -> str:
    return f"/studies/{round_.study.slug}/rounds/{round_.number}/label/{rest}"


def turn(response: Any) -> dict[str, Any]:
    told = re.search(r'<script id="turn" type="application/json">(.*?)</script>', response.content.decode())
    assert told
    found: dict[str, Any] = json.loads(told[1])
    return found


def build_study() -> Study:
    return make.study()


@pytest.fixture
def round_(study: Study) -> Round:
    return make.open_round(study, 4)


def test_an_answer_and_a_skip_can_be_flagged_and_a_change_takes_the_flag_back(round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, flag=True)
    make.submit(round_, "bob", 2, skip="not in English", flag=True)
    make.submit(round_, "bob", 3, {"symptom": ["crash"]}, flag=False)
    assert list(Annotation.objects.order_by("pk").values_list("is_flagged", flat=True)) == [True, True, False]
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    assert not make.assignment(round_, "bob", 1).current.is_flagged
    assert make.assignment(round_, "bob", 1).annotations.count() == 2


@pytest.mark.parametrize("flag", ["yes", 1, [], {}])
def test_a_flag_that_is_neither_true_nor_false_is_refused_and_nothing_is_stored(round_: Round, flag: object) -> None:
    with pytest.raises(Invalid) as refused:
        make.submit(round_, "bob", 1, {"symptom": ["crash"]}, flag=flag)
    assert list(refused.value.fields) == ["flag"]
    assert not Annotation.objects.exists()


def test_a_flag_comes_back_with_the_answer_with_the_draft_and_in_the_list(round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, flag=True)
    pk = make.assignment(round_, "bob", 1).public_id
    page = visitor("bob").get(address(round_, f"{pk}/"))
    assert turn(page)["answer"]["flag"] is True
    assert "flagged for discussion" in page.content.decode()
    other = make.assignment(round_, "bob", 2)
    Draft.objects.create(assignment=other, body={"flag": True, "base": 0})
    assert turn(visitor("bob").get(address(round_, f"{other.public_id}/")))["draft"]["flag"] is True


def test_proposed_unsure_and_flagged_items_are_told_apart_in_words(round_: Round) -> None:
    make.submit(round_, "bob", 1, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    make.submit(round_, "bob", 2, {"symptom": ["crash"]}, confidence=1)
    make.submit(round_, "bob", 3, {"symptom": ["crash"]}, flag=True)
    text = visitor("bob").get(address(round_)).content.decode()
    lines = re.findall(r'<a href="[^"]*" class="label-line.*?</a>', text)
    words = {
        number: re.sub(r"<[^>]*>", "", line) for line in lines for number in re.findall(r'title=".*rocket#(\d)', line)
    }
    assert "a category is proposed" in words["1"] and "flagged" not in words["1"]
    assert "unsure" in words["2"] and "flagged" not in words["2"]
    assert "flagged for discussion" in words["3"] and "unsure" not in words["3"]


def lines(text: str) -> list[int]:
    return [int(number) for number in re.findall(r'class="label-line[^>]* title="acme/rocket#(\d+)"', text)]


def some_answers(round_: Round) -> None:
    """Bob: crash and flagged, skipped, skipped and flagged. Carol: skipped and flagged."""
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, flag=True)
    make.submit(round_, "bob", 2, skip="not in English")
    make.submit(round_, "bob", 3, skip="spam", flag=True)
    make.submit(round_, "carol", 4, skip="mine", flag=True)


@pytest.mark.parametrize(
    ("show", "numbers"),
    [("skipped", {2, 3}), ("flagged", {1, 3}), ("back", set()), ("all", {1, 2, 3}), ("nonsense", {1, 2, 3})],
)
def test_the_list_shows_the_part_that_is_asked_for_and_only_ones_own(
    round_: Round, show: str, numbers: set[int]
) -> None:
    some_answers(round_)
    bob = visitor("bob")
    part = bob.get(address(round_, f"mine/?show={show}&here=nonsense")).content.decode()
    assert set(lines(part)) == numbers
    assert re.findall(r'label-count">(\d+)', part) == ["2", "2"] + ["0"] * (show == "back")
    page = bob.get(address(round_, f"?show={show}")).content.decode()
    assert numbers <= set(lines(page)) and set(lines(page)) - numbers <= {4}
    assert lines(page) == sorted(lines(page), key=lambda n: make.assignment(round_, "bob", n).position)


def test_skipped_items_are_named_beside_finished_ones_to_who_may_know(study: Study, round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "bob", 2, skip="spam")

    def words(name: str, path: str) -> str:
        text = visitor(name).get(path).content.decode()
        return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text)).replace(" ,", ",")

    assert "2 of 4 finished, 1 skipped" in words("bob", address(round_))
    assert "2 of 4 finished, 1 skipped" in words("bob", "/")
    assert "2 finished so far, 1 of them skipped." in words("bob", "/studies/study/")
    page = f"/studies/study/rounds/{round_.number}/"
    assert "2 of 8 finished, 1 skipped" in words("olga", page)
    told = words("carol", page)
    assert "2 of 8 finished" in told and ", 1 skipped" not in told  # She is blind, and a skip is an answer.


def test_counts_have_an_address_of_their_own_and_are_not_read_with_the_page(round_: Round) -> None:
    some_answers(round_)
    bob = visitor("bob")
    assert re.findall(r'label-count">(\d*)', bob.get(address(round_)).content.decode()) == ["", ""]
    assert re.findall(r'label-count">(\d*)', bob.get(address(round_, "mine/counts/")).content.decode()) == ["2", "2"]
    assert bob.get(address(round_, f"mine/counts/?here={'9' * 30}")).status_code == 200


def test_many_skipped_items_are_counted_up_to_a_bound_and_paged(study: Study) -> None:
    round_ = make.open_round(study, 104, raters=("bob",), raters_per_item=1)
    for number in range(1, 104):
        make.submit(round_, "bob", number, skip="spam", flag=number == 50)
    bob = visitor("bob")
    part = bob.get(address(round_, "mine/?show=skipped")).content.decode()
    assert re.findall(r'label-count">([\d+]*)', part) == ["99+", "1"]
    assert len(lines(part)) == 60
    before = re.search(r'hx-get="([^"]*before/\d+/\?show=skipped)"', part)
    assert before
    earlier = bob.get(before[1]).content.decode()
    assert len(lines(earlier)) == 43 and not set(lines(earlier)) & set(lines(part))
    assert "Earlier items" not in earlier
    flagged = bob.get(address(round_, "mine/?show=flagged")).content.decode()
    assert lines(flagged) == [50] and "Earlier items" not in flagged


def test_an_item_whose_proposal_was_answered_is_found_under_what_came_back(round_: Round) -> None:
    make.submit(round_, "bob", 1, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    make.submit(round_, "bob", 2, {"symptom": ["crash"]})
    settle_proposals(
        seat=make.owner_seat(round_.study), proposals=[Proposal.objects.get().public_id], decline="It is a crash."
    )
    text = visitor("bob").get(address(round_, "mine/?show=back")).content.decode()
    assert lines(text) == [1] and "Returned" in text


@pytest.mark.parametrize("rest", ["mine/", "mine/counts/", "before/3/", "mine/?show=skipped"])
@pytest.mark.parametrize(("name", "status"), [("ada", 403), ("rea", 403), ("olga", 403), ("mallory", 404)])
def test_a_list_is_there_for_raters_only(round_: Round, rest: str, name: str, status: int) -> None:
    assert visitor(name).get(address(round_, rest)).status_code == status


@pytest.mark.parametrize(("show", "n_queries"), [("all", 9), ("skipped", 8), ("flagged", 8)])
def test_a_list_takes_the_same_queries_whatever_its_size(study: Study, show: str, n_queries: int) -> None:
    round_ = make.open_round(study, 30, raters=("bob",), raters_per_item=1)
    bob, here = visitor("bob"), make.assignment(round_, "bob", 30).public_id
    bob.get(address(round_, "mine/"))
    for upto in (3, 25):
        for number in range(1, upto):
            make.submit(round_, "bob", number, skip="spam", flag=True)
        with assert_queries(n_queries):
            bob.get(address(round_, f"mine/?show={show}&here={here}"))


def test_ones_own_memo_is_shown_as_markdown_and_no_script_runs(round_: Round) -> None:
    make.submit(round_, "bob", 1, {"symptom": ["crash"]}, memo="**two** nodes <script>alert(1)</script>")
    text = visitor("bob").get(address(round_, f"{make.assignment(round_, 'bob', 1).public_id}/")).content.decode()
    assert "<strong>two</strong> nodes" in text and "<script>alert" not in text


def test_a_label_is_found_by_its_item_for_its_rater_alone(round_: Round) -> None:
    own = make.assignment(round_, "bob", 1)
    found = visitor("bob").get(address(round_, "of/?item=acme/rocket%231"))
    assert found.json() == {"assignment": own.public_id, "url": address(round_, f"{own.public_id}/")}
    assert visitor("carol").get(address(round_, "of/?item=acme/rocket%231")).json()["assignment"] != own.public_id
    for nothing in ("", "acme/rocket%23999", "x"):
        assert visitor("bob").get(address(round_, f"of/?item={nothing}")).status_code == 404
