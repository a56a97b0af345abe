"""The labelling page through its door: who may come in, what is shown, one round trip per answer, nothing of others."""

import json
import re
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.core.errors import WrongState
from annotation.models import Annotation, Assignment, Draft, Item, Proposal, Rating, Round, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions.archive import archive_study
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db


def visitor(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def address(round_: Round, rest: str = "") -> str:
    return f"/studies/{round_.study.slug}/rounds/{round_.number}/label/{rest}"


def post(name: str, round_: Round, number: int, body: object, *, key: str = "", has: str = "", **more: Any) -> Any:
    pk = make.assignment(round_, name, number).public_id
    headers = {"HX-Request": "true", "Idempotency-Key": key, "Has-Reading": has}
    return visitor(name).post(
        address(round_, f"{pk}/"), json.dumps(body), content_type="application/json", headers=headers, **more
    )


def turn(response: Any) -> dict[str, Any] | None:
    """What the page tells its script about the assignment at hand."""
    text = response.content.decode()
    start = text.index('<script id="turn" type="application/json">') + len('<script id="turn" type="application/json">')
    found: dict[str, Any] | None = json.loads(text[start : text.index("</script>", start)])
    return found


def build_study() -> Study:
    return make.study(text=make.FAULTS)


@pytest.fixture
def round_(study: Study) -> Round:
    return make.open_round(study)


def number_of(round_: Round, named: str) -> int:
    return int(Assignment.objects.get(pk=Assignment.number_of(named), round=round_).item.identifier.rpartition("#")[2])


@pytest.mark.parametrize(
    ("name", "status"), [("bob", 200), ("olga", 403), ("ada", 403), ("rea", 403), ("mallory", 404)]
)
def test_only_raters_of_the_round_come_in(round_: Round, name: str, status: int) -> None:
    make.study("other", text=make.SYMPTOMS, raters=("mallory", "trudy"))
    assert visitor(name).get(address(round_)).status_code == status


def test_a_rater_of_the_study_who_is_not_in_the_round_is_told_so(study: Study) -> None:
    round_ = make.open_round(study, raters=("bob",), raters_per_item=1)
    assert visitor("carol").get(address(round_)).status_code == 403


def test_who_is_not_signed_in_is_sent_to_sign_in(round_: Round) -> None:
    pk = make.assignment(round_, "bob", 1).public_id
    for rest in ("", f"{pk}/"):
        response = Client().get(address(round_, rest))
        assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/sign-in/")


def test_what_is_not_there_is_not_found(round_: Round) -> None:
    bob = visitor("bob")
    for place in ("/studies/study/rounds/9/label/", "/studies/nonsense/rounds/1/label/", address(round_, "999999/")):
        assert bob.get(place).status_code == 404


def test_anothers_assignment_is_not_found_to_read_to_answer_or_to_draft(round_: Round) -> None:
    pk, bob = make.assignment(round_, "carol", 1).public_id, visitor("bob")
    assert bob.get(address(round_, f"{pk}/")).status_code == 404
    for rest in (f"{pk}/", f"{pk}/draft/"):
        response = bob.post(address(round_, rest), '{"labels": {"kind": ["how-to"]}}', content_type="application/json")
        assert response.status_code == 404
    assert not Annotation.objects.exists()
    assert not Draft.objects.exists()


def test_an_assignment_is_not_found_under_another_rounds_number(study: Study, round_: Round) -> None:
    make.open_round(study, 1, first=9)
    pk = make.assignment(round_, "bob", 1).public_id
    assert visitor("bob").get(f"/studies/study/rounds/2/label/{pk}/").status_code == 404


def test_the_page_shows_the_issue_the_questions_and_how_far_one_is(round_: Round) -> None:
    text = visitor("bob").get(address(round_)).content.decode()
    assert "Training <strong>hangs</strong>" in text
    assert "<strong>0</strong> of 3" in text
    assert text.count('<fieldset class="question dimension-') == 4
    assert text.index("Kind of issue") < text.index("Fix patterns") < text.index("Only distributed")


def test_the_page_has_no_inline_script_or_style(round_: Round) -> None:
    text = visitor("bob").get(address(round_)).content.decode()
    assert " style=" not in text and "<style" not in text and " onclick" not in text
    assert text.count("<script") == text.count("<script src") + text.count('<script type="module" src') + text.count(
        'type="application/json">'
    )


def test_submitting_answers_with_the_next_assignment_in_the_same_round_trip(round_: Round) -> None:
    bob = visitor("bob")
    first = turn(bob.get(address(round_)))
    assert first is not None
    response = post("bob", round_, number_of(round_, first["assignment"]), {"labels": {"kind": ["how-to"]}}, key="k1")
    assert response.status_code == 200
    second = turn(response)
    assert second is not None and second["assignment"] != first["assignment"]
    assert "<strong>1</strong> of 3" in response.content.decode()
    assert response["HX-Replace-Url"] == address(round_)
    following = turn(bob.get(address(round_)))
    assert following is not None and following["assignment"] == second["assignment"]


def test_the_same_submit_again_is_stored_once_and_answers_the_same(round_: Round) -> None:
    bodies = [post("bob", round_, 1, {"labels": {"kind": ["how-to"]}, "expected": 0}, key="k") for _ in range(2)]
    assert [response.status_code for response in bodies] == [200, 200]
    assert turn(bodies[0]) == turn(bodies[1])
    assert Annotation.objects.count() == 1


def test_a_second_tab_overwrites_nothing_but_is_told(round_: Round) -> None:
    post("bob", round_, 1, {"labels": {"kind": ["how-to"]}, "expected": 0}, key="k1")
    late = post("bob", round_, 1, {"labels": {"kind": ["how-to"]}, "memo": "late", "expected": 0}, key="k2")
    assert late.status_code == 409
    assert 'data-revision="1"' in late.content.decode()
    assert Annotation.objects.count() == 1
    again = post("bob", round_, 1, {"labels": {"kind": ["how-to"]}, "memo": "late", "expected": 1}, key="k3")
    assert again.status_code == 200
    assert list(Annotation.objects.order_by("revision").values_list("memo", flat=True)) == ["", "late"]


def test_what_is_missing_or_wrong_is_said_at_its_question_and_nothing_is_stored(round_: Round) -> None:
    body = {"parts": [{"labels": {"kind": ["fault"], "symptom": ["crash"], "distributed": True}}, {"labels": {}}]}
    response = post("bob", round_, 1, body)
    text = response.content.decode()
    assert response.status_code == 422
    assert text.count("<li") == 1
    assert 'data-part="2" data-name="kind">“Kind of issue” is required.' in text
    wrong = post("bob", round_, 1, {"labels": {"kind": ["fault"], "symptom": ["failure"], "distributed": True}})
    assert 'data-part="1" data-name="symptom">“Failure” only groups others' in wrong.content.decode()
    assert not Annotation.objects.exists()
    assert not Rating.objects.exists()


@pytest.mark.parametrize("body", ["", "nonsense", "[1]", "null"])
def test_a_body_that_is_no_json_object_is_refused(round_: Round, body: str) -> None:
    pk = make.assignment(round_, "bob", 1).public_id
    for rest in (f"{pk}/", f"{pk}/draft/"):
        response = visitor("bob").post(address(round_, rest), body, content_type="application/json")
        assert response.status_code == 400


def test_a_skip_keeps_its_reason_and_goes_on(round_: Round) -> None:
    response = post("bob", round_, 1, {"skip": "Spam or a test"})
    assert response.status_code == 200
    assert "is-skipped" in response.content.decode()
    assert Annotation.objects.get().skip_reason == "Spam or a test"


def test_when_nothing_is_left_the_page_says_what_happens_next(study: Study) -> None:
    round_ = make.open_round(study, 1)
    response = post("bob", round_, 1, {"labels": {"kind": ["how-to"]}})
    assert turn(response) is None
    assert "You have labeled the only item" in response.content.decode()
    assert "You have labeled the only item" in visitor("bob").get(address(round_)).content.decode()
    last = post("carol", round_, 1, {"labels": {"kind": ["how-to"]}})
    assert "is being resolved" in last.content.decode()


def test_ones_own_answer_comes_back_to_be_changed(round_: Round) -> None:
    parts = [
        {
            "labels": {"kind": ["fault"], "symptom": ["hang"], "fixes": ["code", "config"], "distributed": False},
            "memo": "one",
        },
        {"labels": {"kind": ["how-to"]}, "proposals": {}, "memo": ""},
    ]
    post("bob", round_, 1, {"parts": parts, "confidence": 1})
    pk = make.assignment(round_, "bob", 1).public_id
    found = turn(visitor("bob").get(address(round_, f"{pk}/")))
    assert found is not None and found["may_change"] is True and found["revision"] == 1
    assert found["answer"]["parts"] == [
        parts[0] | {"proposals": {}},
        {"labels": {"kind": ["how-to"]}, "proposals": {}, "memo": ""},
    ]
    assert found["answer"]["confidence"] == 1


def test_a_proposal_comes_back_with_its_memo(round_: Round) -> None:
    labels = {"kind": ["fault"], "distributed": True}
    post("bob", round_, 1, {"labels": labels, "proposals": {"symptom": {"name": "Deadlock", "memo": "none fits"}}})
    assert Proposal.objects.get().name == "Deadlock"
    pk = make.assignment(round_, "bob", 1).public_id
    found = turn(visitor("bob").get(address(round_, f"{pk}/")))
    assert found is not None
    assert found["answer"]["parts"][0]["proposals"] == {"symptom": {"name": "Deadlock", "memo": "none fits"}}


def test_a_draft_is_kept_brought_back_and_gone_after_the_submit(round_: Round) -> None:
    pk, bob = make.assignment(round_, "bob", 1).public_id, visitor("bob")
    draft = {"parts": [{"labels": {"kind": ["fault"]}}], "base": 0, "at": 5}
    response = bob.post(address(round_, f"{pk}/draft/"), json.dumps(draft), content_type="application/json")
    assert response.status_code == 204
    found = turn(bob.get(address(round_, f"{pk}/")))
    assert found is not None and found["draft"] == draft
    post("bob", round_, 1, {"labels": {"kind": ["how-to"]}})
    assert not Draft.objects.exists()
    assert bob.get(address(round_, f"{pk}/draft/")).status_code == 405


def test_after_the_round_an_answer_can_be_read_but_not_changed(study: Study) -> None:
    round_ = make.open_round(study, 1)
    make.rate(round_, "item bob carol\n1 - -")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    pk = make.assignment(round_, "bob", 1).public_id
    found = turn(visitor("bob").get(address(round_, f"{pk}/")))
    assert found is not None and found["may_change"] is False
    assert post("bob", round_, 1, {"labels": {"kind": ["how-to"]}, "expected": 1}).status_code == 409


def test_nothing_that_others_said_is_on_any_page_of_a_rater(round_: Round) -> None:
    for number in (1, 2, 3):
        labels = {"kind": ["fault"], "distributed": True}
        asked = {"symptom": {"name": "carols-proposal", "memo": "carols-reason"}}
        post("carol", round_, number, {"labels": labels, "proposals": asked, "memo": "carols-memo"})
    bob = visitor("bob")
    texts = [bob.get(address(round_)).content.decode()]
    texts += [
        bob.get(address(round_, f"{make.assignment(round_, 'bob', n).public_id}/")).content.decode() for n in (1, 2, 3)
    ]
    texts.append(post("bob", round_, 1, {"labels": {"kind": ["how-to"]}}).content.decode())
    assert not [text for text in texts if "carol" in text or re.search(r"\bR2\b", text)]  # a token may hold R2


def test_an_imported_identifier_without_an_issue_is_shown_with_its_attributes(round_: Round) -> None:
    item = make.assignment(round_, "bob", 1).item
    item.issue, item.snapshot = None, None
    item.identifier, item.attributes = "https://example.org/q/7", {"stage": "<training>", "items": "all"}
    item.save()
    pk = Assignment.objects.get(round=round_, item=item, rater__user__username="bob").public_id
    text = visitor("bob").get(address(round_, f"{pk}/")).content.decode()
    assert 'href="https://example.org/q/7"' in text
    assert "&lt;training&gt;" in text and "<dd>all</dd>" in text


def test_the_list_has_ones_items_in_order_and_more_of_them_on_demand(study: Study) -> None:
    round_ = make.open_round(study, 64, raters=("bob",), raters_per_item=1)
    own = list(Assignment.objects.filter(round=round_).order_by("position"))
    for assignment in own[:31]:
        make.submit(round_, "bob", int(assignment.item.identifier.rpartition("#")[2]), {"kind": ["how-to"]})
    bob = visitor("bob")
    text = bob.get(address(round_)).content.decode()
    shown = re.findall(r'<(a|span)[^>]* class="label-line is-(\w+)"', text)
    assert shown == [("a", "submitted")] * 29 + [("a", "now")] + [("span", "later")] * 20
    earlier = bob.get(address(round_, re.findall(r"label/(before/3/[^\"]*)", text)[0])).content.decode()
    assert earlier.count('class="label-line is-submitted') == 2
    later = bob.get(address(round_, re.findall(r"label/(before/52/[^\"]*)", text)[0])).content.decode()
    assert later.count('class="label-line is-') == 12 and "Later items" not in later
    assert visitor("rea").get(address(round_, "before/4/")).status_code == 403


@pytest.mark.parametrize(("mode", "n_queries"), [("planned", 17), ("pool", 28)])
@pytest.mark.parametrize("n_items", [4, 60])
def test_submit_and_next_takes_the_same_number_of_queries_whatever_the_size(
    study: Study, mode: str, n_queries: int, n_items: int
) -> None:
    make.open_round(study, n_items, mode=mode)
    bob = visitor("bob")
    at = turn(bob.get("/studies/study/rounds/1/label/"))
    labels = {"kind": ["fault"], "symptom": ["hang"], "distributed": True}
    for _ in range(2):
        assert at is not None
        with assert_queries(n_queries):
            response = bob.post(
                at["submit_url"],
                json.dumps({"labels": labels, "expected": 0, "snapshot": at["snapshot"]}),
                content_type="application/json",
                headers={"Idempotency-Key": f"key-{at['assignment']}"},
            )
        at = turn(response)


def test_what_comes_next_is_fetched_ahead_and_left_out_of_the_answer_that_brings_it(round_: Round) -> None:
    bob = visitor("bob")
    first = turn(bob.get(address(round_)))
    assert first is not None
    ahead = bob.get(first["after_url"])
    coming = turn(ahead)
    assert coming is not None and coming["assignment"] != first["assignment"] and coming["may_change"]
    assert 'id="reading"' in ahead.content.decode() and 'id="issue-title"' in ahead.content.decode()
    number, body = number_of(round_, first["assignment"]), {"labels": {"kind": ["how-to"]}}
    moved = post("bob", round_, number, body, key="k1", has=f"1:abc {coming['reading']}")
    following = turn(moved)
    assert following is not None and following["assignment"] == coming["assignment"]
    assert following["reading"] == coming["reading"]
    assert 'id="reading"' not in moved.content.decode() and 'id="own-list"' in moved.content.decode()
    last = bob.get(following["after_url"])
    assert last.status_code == 200
    number = number_of(round_, following["assignment"])
    other = post("bob", round_, number, body, key="k2", has=coming["reading"])
    assert 'id="reading"' in other.content.decode()
    third = turn(other)
    assert third is not None
    assert bob.get(third["after_url"]).status_code == 204


def test_looking_ahead_in_a_pool_takes_nothing(study: Study) -> None:
    round_ = make.open_round(study, mode="pool")
    bob = visitor("bob")
    first = turn(bob.get(address(round_)))
    assert first is not None
    n_taken = Assignment.objects.count()
    ahead = turn(bob.get(first["after_url"]))
    assert ahead is not None and ahead["assignment"] is None and "submit_url" not in ahead
    assert Assignment.objects.count() == n_taken
    body = {"labels": {"kind": ["how-to"]}}
    number = number_of(round_, first["assignment"])
    answer = post("bob", round_, number, body, key="k1", has=ahead["reading"])
    assert 'id="reading"' not in answer.content.decode()


@pytest.mark.parametrize(
    "said",
    [
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch"},
        {"X-Moz": "prefetch"},
    ],
)
def test_a_browser_that_fetches_the_page_in_advance_takes_nothing(study: Study, said: dict[str, str]) -> None:
    pool = make.open_round(study, 2, raters_per_item=1, mode="pool")
    bob = visitor("bob")
    assert bob.get(address(pool), headers=said).status_code == 503
    assert not Assignment.objects.exists()
    assert bob.get(address(pool)).status_code == 200 and Assignment.objects.get().state == "leased"


def test_the_page_of_an_archived_study_takes_nothing(study: Study) -> None:
    pool = make.open_round(study, 2, raters_per_item=1, mode="pool")
    olga = make.owner_seat(study)
    with pytest.raises(WrongState, match="Round 1 is open"):
        archive_study(seat=olga)
    rounds.resolve_round(seat=olga, number=1, withdraw=True)
    archive_study(seat=make.owner_seat(study))
    with CaptureQueriesContext(connection) as asked:
        assert visitor("bob").get(address(pool)).status_code == 200
    written = [each["sql"] for each in asked if each["sql"].startswith(('INSERT INTO "annot', 'UPDATE "annot'))]
    assert written == [] and not Assignment.objects.exists()


def test_an_issue_whose_state_was_moved_on_is_not_left_out(round_: Round) -> None:
    bob = visitor("bob")
    first = turn(bob.get(address(round_)))
    assert first is not None
    coming = turn(bob.get(first["after_url"]))
    assert coming is not None
    number = number_of(round_, coming["assignment"])
    newer = make.new_state(number, body="Now with a log.")
    Item.objects.filter(assignments=Assignment.number_of(coming["assignment"])).update(snapshot=newer)
    body = {"labels": {"kind": ["how-to"]}}
    answer = post("bob", round_, number_of(round_, first["assignment"]), body, key="k1", has=coming["reading"])
    assert "Now with a log." in answer.content.decode()


def test_only_ones_own_assignments_can_be_looked_ahead_of(round_: Round) -> None:
    pk = make.assignment(round_, "carol", 1).public_id
    assert visitor("carol").get(address(round_, f"after/{pk}/")).status_code == 200
    for name in ("bob", "olga", "rea"):
        assert visitor(name).get(address(round_, f"after/{pk}/")).status_code == 404
    assert Client().get(address(round_, f"after/{pk}/")).status_code == 302
    assert visitor("carol").get(f"/studies/study/rounds/2/label/after/{pk}/").status_code == 404


def test_a_page_of_someone_else_stores_nothing_for_who_is_signed_in_now(round_: Round) -> None:
    pk, carol = make.assignment(round_, "bob", 1).public_id, make.user("carol")
    for rest in (f"{pk}/", f"{pk}/draft/"):
        answer = visitor("bob").post(
            address(round_, rest),
            '{"labels": {"kind": ["how-to"]}}',
            content_type="application/json",
            headers={"Concord-Person": str(carol.pk)},
        )
        assert answer.status_code == 409 and answer["Concord-Person"] == str(make.user("bob").pk)
    assert not Annotation.objects.exists()
    assert not Draft.objects.exists()


def test_a_draft_of_another_tab_or_device_is_not_overwritten_unseen(round_: Round) -> None:
    pk, bob = make.assignment(round_, "bob", 1).public_id, visitor("bob")

    def keep(**draft: object) -> Any:
        return bob.post(address(round_, f"{pk}/draft/"), json.dumps(draft), content_type="application/json")

    assert keep(by="here", at=5, seen=None, base=0, memo="here").status_code == 204
    assert keep(by="here", at=6, seen=None, base=0, memo="here again").status_code == 204
    refused = keep(by="there", at=9, seen=None, base=0, memo="there")
    assert refused.status_code == 409 and refused.json()["draft"]["memo"] == "here again"
    assert keep(by="there", at=9, seen=6, base=0, memo="there").status_code == 204
    assert keep(by="here", at=10, seen=None, base=0, memo="late").status_code == 409
    assert keep(by="elsewhere", at=11, seen=None, base=1, memo="of the next revision").status_code == 204
    assert keep(by="here", at=12, seen=11, base=0, memo="of an older one").status_code == 409
    assert Draft.objects.get().body["memo"] == "of the next revision"


def test_the_guide_for_raters_lists_every_key_of_the_sheet() -> None:
    guide = (settings.BASE_DIR / "docs" / "raters.md").read_text()
    sheet = render_to_string("annotation/labeling/_keys.html")
    keys = re.findall(r"<dd>(.*?)</dd>", sheet)
    assert len(keys) > 10
    assert [words for words in keys if f"| {words} |" not in guide] == []


def test_the_guidelines_of_the_study_are_at_hand(study: Study, round_: Round) -> None:
    Study.objects.filter(pk=study.pk).update(guidelines="Read **all** comments. <script>alert(1)</script>")
    text = visitor("bob").get(address(round_)).content.decode()
    assert "Read <strong>all</strong> comments." in text
    assert "<script>alert" not in text
