"""The page where raters screen with the list beside the issue, and the same over REST."""

from typing import Any

import pytest
from django.test import Client

from annotation.labels.screening import answer_to_screen
from annotation.models import Annotation, Assignment, Draft, Item, Round, Study
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

REASONS = ["Not a bug", "Duplicate", "Spam"]


@pytest.fixture
def study() -> Study:
    return make.study()


@pytest.fixture
def round_(study: Study) -> Round:
    return make.open_round(study, 4, kind="screening", reasons=REASONS)


class Page:
    """The page of one rater."""

    def __init__(self, name: str, round_: Round) -> None:
        self.name, self.round_ = name, round_
        self.client = Client(raise_request_exception=False)
        self.client.force_login(make.user(name))
        self.base = f"/studies/{round_.study.slug}/rounds/{round_.number}/screen/"

    def open(self, path: str = "", **headers: str) -> str:
        answer = self.client.get(self.base + path, headers=headers)
        assert answer.status_code == 200, (answer.status_code, answer.content[:500])
        return answer.content.decode()

    def answer(self, number: int, answer: str, *, status: int = 200, **more: Any) -> str:
        pk = make.assignment(self.round_, self.name, number).public_id
        found = self.client.post(
            f"{self.base}{pk}/",
            {"answer": answer, **more},
            headers={"HX-Request": "true", "HX-Target": "screen-read"},
        )
        assert found.status_code == status, (found.status_code, found.content[:500])
        return found.content.decode()


def sides(round_: Round, name: str = "bob") -> dict[str, str]:
    rows = Script(name, "rate").send("GET", f"studies/study/rounds/{round_.number}/screening/").json()["results"]
    return {row["item"].rpartition("#")[2]: row["screening"] + ":" + row["reason"] for row in rows}


def test_in_out_and_maybe_are_said_beside_the_list_and_read_over_rest(round_: Round) -> None:
    bob = Page("bob", round_)
    page = bob.open()
    assert page.count('class="screen-line is-open"') == 4 and "1 of 4" not in page
    bob.answer(1, "in")
    turn = bob.answer(2, "out:duplicate", seconds="7")
    assert 'is-out"' in turn and "· Duplicate" in turn and "<strong>2</strong> of 4" in turn
    bob.answer(3, "maybe")
    assert sides(round_) == {"1": "in:", "2": "out:Duplicate", "3": "maybe:", "4": "open:"}
    assert sides(round_, "carol") == dict.fromkeys("1234", "open:")
    given = Annotation.objects.get(assignment=make.assignment(round_, "bob", 2))
    assert given.seconds == 7 and make.assignment(round_, "bob", 2).blind_id == given.pk
    listed = bob.open("?show=maybe")
    assert listed.count('class="screen-line is-') == 1 and "rocket#3 · maybe" in " ".join(listed.split()).replace(
        '<span class="visually-hidden">, maybe</span>', ""
    )
    script = Script("bob", "rate")
    (maybe,) = script.send("GET", "studies/study/rounds/1/screening/?show=maybe").json()["results"]
    answer = script.send("POST", "studies/study/rounds/1/screening/", {**_maybe(maybe), "maybe": False})
    assert answer.json() == {**_maybe(maybe), "maybe": False} and sides(round_)["3"] == "open:"


def _maybe(row: dict[str, Any]) -> dict[str, Any]:
    return {"assignment": row["assignment"]}


def test_the_next_open_issue_follows_and_maybes_come_last(round_: Round) -> None:
    bob = Page("bob", round_)
    order = list(Assignment.objects.filter(round=round_, rater__user__username="bob").order_by("position"))
    numbers = [int(each.item.identifier.rpartition("#")[2]) for each in order]
    assert f'data-here="{order[1].public_id}"' in bob.answer(numbers[0], "maybe")
    assert f'data-here="{order[3].public_id}"' in bob.answer(numbers[2], "in")
    assert f'data-here="{order[1].public_id}"' in bob.answer(numbers[3], "in")
    last = bob.answer(numbers[1], "in")
    assert "1 maybe left" in last and "Go through the maybes" in last
    round_.refresh_from_db()
    assert round_.state == Round.State.OPEN
    assert "You screened all of your issues" in bob.answer(numbers[0], "out:spam", show="maybe")


def test_an_answer_is_changed_by_a_further_revision_and_what_was_written_stays(round_: Round) -> None:
    quote = {"dimension": "screening", "category": "in", "where": "body", "quote": "hangs"}
    make.submit(round_, "bob", 1, {"screening": ["in"]}, memo="Is it?", confidence=1, flag=True, evidence=[quote])
    bob = Page("bob", round_)
    first = Annotation.objects.get()
    assert Page("carol", round_).client.get(f"{bob.base}{first.assignment.public_id}/").status_code == 404
    bob.answer(1, "out:spam", revision="1")
    newest = Annotation.objects.order_by("-pk")[0]
    assert (newest.revision, newest.memo, newest.confidence, newest.is_flagged) == (2, "Is it?", 1, True)
    assert not newest.ratings.filter(evidence__isnull=False).exists()
    bob.answer(1, "in", revision="1", status=409)
    bob.answer(1, "in", revision="2")
    assert Annotation.objects.count() == 3


def test_a_draft_of_the_labeling_page_is_carried_into_the_answer(round_: Round) -> None:
    place = make.assignment(round_, "bob", 1)
    parts = [{"labels": {"screening": ["out"]}, "proposals": {}, "memo": "typed"}]
    Draft.objects.create(assignment=place, body={"parts": parts, "memo": "", "confidence": 2, "flag": False})
    Page("bob", round_).answer(1, "in")
    assert Annotation.objects.get().memo == "typed" and Annotation.objects.get().confidence == 2


def test_quotes_of_what_is_said_again_stay() -> None:
    kept = {"dimension": "screening", "category": "out", "where": "title", "quote": "x"}
    before = {"parts": [{"memo": "m", "evidence": [kept, {**kept, "category": "in"}]}], "memo": "", "confidence": None}
    assert answer_to_screen("out", "spam", before) == {
        "labels": {"screening": ["out"], "screening-reason": ["spam"]},
        "memo": "m", "confidence": None, "flag": False, "evidence": [kept],
    }  # fmt: skip
    assert answer_to_screen("in", "spam", None) == {"labels": {"screening": ["in"]}}


def test_what_can_not_be_said_is_refused_where_it_stands(study: Study) -> None:
    labels = make.open_round(study, 2, first=5)
    round_ = make.open_round(study, 3, kind="screening", reasons=REASONS)
    bob = Page("bob", round_)
    assert 'role="alert"' in bob.answer(1, "out", status=422)
    assert 'role="alert"' in bob.answer(1, "perhaps", status=422)
    bob.answer(1, "in")
    assert "be a maybe" in bob.answer(1, "maybe", status=409)
    assert not Assignment.objects.filter(maybe=True).exists() and Annotation.objects.count() == 1
    make.submit(round_, "bob", 2, parts=[{"labels": {"screening": ["in"]}}] * 2)
    pk = make.assignment(round_, "bob", 2).public_id
    assert "You split this issue into parts" in bob.open(f"{pk}/")
    bob.answer(2, "in", status=409)
    assert Page("bob", labels).client.get("/studies/study/rounds/1/screen/").status_code == 404
    script = Script("bob", "rate")
    script.refused("GET", "studies/study/rounds/1/screening/", None, 404)
    assert set(script.refused("POST", "studies/study/rounds/2/screening/", {"maybe": True})) == {"assignment"}
    body = {"assignment": str(make.assignment(round_, "bob", 3).public_id), "maybe": "yes"}
    assert set(script.refused("POST", "studies/study/rounds/2/screening/", body)) == {"maybe"}


def test_nobody_who_does_not_rate_in_the_round_has_the_page(study: Study, round_: Round) -> None:
    make.user("zoe")
    for name, status in (("olga", 403), ("ada", 403), ("zoe", 404)):
        client = Client(raise_request_exception=False)
        client.force_login(make.user(name))
        assert client.get("/studies/study/rounds/1/screen/").status_code == status, name


def test_two_raters_screen_and_closing_screens_the_items(study: Study, round_: Round) -> None:
    for name in ("bob", "carol"):
        page = Page(name, round_)
        for number in (1, 2, 3, 4):
            page.answer(number, "out:not-a-bug" if number == 2 else "in")
    round_.refresh_from_db()
    assert round_.state == Round.State.RESOLVING
    assert "is being resolved" in Page("bob", round_).open("?show=open")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    said = dict(Item.objects.values_list("identifier", "screening"))
    assert said["acme/rocket#2"] == "out" and list(said.values()).count("in") == 3
    page = Page("bob", round_)
    pk = make.assignment(round_, "bob", 2).public_id
    assert "You answered <strong>out</strong>: Not a bug." in page.open(f"{pk}/")
    page.answer(2, "in", status=409)


def test_in_a_pool_a_maybe_is_kept_and_the_next_item_comes(study: Study) -> None:
    round_ = make.open_round(study, 3, kind="screening", reasons=REASONS, mode="pool", raters_per_item=1)
    bob = Page("bob", round_)
    for n_held in (1, 2, 3, 3):
        page = bob.open()
        assert page.count('class="screen-line is-') == n_held
        held = Assignment.objects.filter(round=round_, state="leased", maybe=False).first()
        if held is not None:
            bob.answer(int(held.item.identifier.rpartition("#")[2]), "maybe")
    assert Assignment.objects.filter(round=round_, maybe=True).count() == 3
    assert "maybes left" in bob.open()


@pytest.mark.parametrize("is_asked", [True, False])
def test_who_is_asked_as_a_third_rater_takes_the_same_items_of_a_pool(is_asked: bool) -> None:
    """Else the free slots would show that two others differ."""
    study = make.study(raters=("bob", "carol", "dan"), resolve_when="item")
    pool: dict[str, Any] = {"mode": "pool", "raters": ("bob", "carol", "dan"), "raters_per_item": 2}
    round_ = make.open_round(study, 5, kind="screening", reasons=REASONS, **pool)
    for name, answer in (("carol", "in"), ("dan", "out:spam")):
        page = Page(name, round_)
        page.open()
        held = Assignment.objects.get(round=round_, rater=make.member(study, name), state="leased")
        page.answer(int(held.item.identifier.rpartition("#")[2]), answer)
    if is_asked:
        ask_third_rater(seat=make.seat(study, "ada"), round_=round_, item=held.item, rater="bob")
    bob = Page("bob", round_)
    own = Assignment.objects.filter(round=round_, rater=make.member(study, "bob"), slot__isnull=False)
    for n_taken in (1, 2):
        bob.open()
        assert own.count() == n_taken
        bob.answer(int(own.get(state="leased", maybe=False).item.identifier.rpartition("#")[2]), "maybe")


def test_keywords_of_study_and_rater_are_given_to_the_page(study: Study, round_: Round) -> None:
    owner, bob = Script("olga"), Script("bob", "rate")
    changed = owner.send("PATCH", "studies/study/", {"screening_keywords": ["hang*", " out  of memory", "HANG*"]})
    assert changed.json()["screening_keywords"] == ["hang*", "out of memory"]
    answer = bob.send("POST", "studies/study/keywords/", {"keywords": ["deadlock", "hang*"]})
    assert answer.json() == {"keywords": ["deadlock", "hang*"], "of_study": ["hang*", "out of memory"]}
    assert '["hang*", "out of memory", "deadlock"]' in Page("bob", round_).open()
    assert '["hang*", "out of memory"]' in Page("carol", round_).open()
    for wrong in ("hang", ["*"], ["x" * 201], [1], ["a*" * 6], [f"word{n}" for n in range(201)]):
        assert set(owner.refused("PATCH", "studies/study/", {"screening_keywords": wrong})) == {"screening_keywords"}
        assert set(bob.refused("POST", "studies/study/keywords/", {"keywords": wrong})) == {"keywords"}
    said = bob.refused("POST", "studies/study/keywords/", {"keywords": ["h*a*n*g*s*s*"]})
    assert said == {"keywords": ["“h*a*n*g*s*s*” has 6 asterisks. Use at most 5 in a keyword."]}
    page = Page("bob", round_)
    page.client.post(page.base + "keywords/", {"keywords": "race, dead lock\nhang"})
    assert bob.send("GET", "studies/study/keywords/").json()["keywords"] == ["race", "dead lock", "hang"]


def test_a_long_list_comes_in_windows_at_the_same_number_of_queries(
    study: Study, django_assert_max_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.labels.queries.screening.WINDOW", 5)
    monkeypatch.setattr("annotation.labels.queries.screening.ABOVE", 2)
    round_ = make.open_round(study, 12, kind="screening", reasons=REASONS, raters=["bob"])
    bob = Page("bob", round_)
    own = list(Assignment.objects.filter(round=round_).order_by("position"))
    page = bob.open()
    assert page.count('class="screen-line is-') == 5 and "Later issues" in page and "Earlier issues" not in page
    with django_assert_max_num_queries(40):
        page = bob.open(f"list/?show=all&here={own[7].public_id}")
    listed = [each.position for each in own if f'data-item="{each.public_id}"' in page]
    assert listed == [6, 7, 8, 9, 10] and "Earlier issues" in page
    assert [each.position for each in own if f'data-item="{each.public_id}"' in bob.open("list/?from=11")] == [11, 12]
