"""Discussing items: who may, what is hidden from whom, remarks, answers that are changed, and what is new."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.assignments.actions import reading_log
from annotation.core.access import get_item, get_round
from annotation.labeling.actions.answers import submit_annotation
from annotation.members.actions import members
from annotation.models import Annotation, Assignment, Draft, Evidence, Item, Remark, Resolution, Round, Study
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.resolving.views import item_discussion
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}
FAULT = {"kind": ["fault"], "symptom": ["crash"], "distributed": True}
QUEUE = "/studies/study/rounds/1/resolve/"


def client(name: str | None) -> Client:
    made = Client()
    if name:
        made.force_login(make.user(name))
    return made


def item(number: int = 1) -> Item:
    return Item.objects.get(identifier=f"acme/rocket#{number}")


def at(number: int = 1, rest: str = "") -> str:
    return f"{QUEUE}{item(number).pk}/{rest}"


def words(name: str, page: str) -> str:
    answer = client(name).get(page)
    assert answer.status_code == 200, (name, page, answer.status_code)
    return answer.content.decode()


def said(text: str = "Look at the trace.", **more: str) -> dict[str, str]:
    return {"text": text, "place": "1.symptom", "after": "0"} | more


@pytest.fixture
def over() -> Round:
    """A round that is resolving; items 1 and 3 are disputed, 2 is agreed."""
    return make.rate(make.open_round(make.study()), "item bob carol\n1 crash hang\n2 slow slow\n3 crash -")


@pytest.mark.slow
def test_the_ladder_of_reading_and_writing(over: Round) -> None:
    make.study("other", owner="mallory", raters=("dan",), text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    members.add_member(seat=make.owner_seat(over.study), username=make.user("erin").username, roles=["rater"])
    who = ("olga", "ada", "bob", "erin", "rea", "mallory", "dan", None)
    read = dict(zip(who, (200, 200, 200, 403, 403, 404, 404, 302), strict=True))
    for page in (QUEUE, at(), "/studies/study/rounds/1/discuss/"):
        assert {name: client(name).get(page).status_code for name in who} == read, page
    done = {name: client(name).post(at(1, "say/"), said()).status_code for name in who}
    assert done == {**read, "olga": 302, "ada": 302, "bob": 302}
    assert sorted(Remark.objects.values_list("author__user__username", flat=True)) == ["ada", "bob", "olga"]
    for name in who:
        decision = {"part": "1", "dimension": "symptom", "expected": "", "choice": '["crash"]'}
        status = client(name).post(at(), decision).status_code
        assert status == {"olga": 302, "ada": 409, "bob": 403, "erin": 403, "rea": 403, None: 302}.get(name, 404), name
    assert Resolution.objects.count() == 1
    assert client("bob").get(at(1, "say/")).status_code == 405
    for page in (f"{QUEUE}99999/news/", "/studies/study/rounds/9/discuss/"):
        assert client("ada").get(page).status_code == 404


def test_raters_of_an_open_round_see_nothing_also_item_by_item() -> None:
    study = make.study(resolve_when="item")
    round_ = make.open_round(study, 2)
    make.rate(round_, "item bob carol\n1 crash hang")
    client("ada").post(at(1, "say/"), said("a secret"))
    assert Remark.objects.count() == 1 and "a secret" in words("ada", at())
    place = f"?round=1&item=acme/rocket%23{1}"
    for name in ("bob", "carol"):
        for page in (QUEUE, at(), at(1, "news/"), "/studies/study/rounds/1/discuss/"):
            answer = client(name).get(page)
            assert answer.status_code == 403 and "secret" not in answer.content.decode()
        assert client(name).post(at(1, "say/"), said()).status_code == 403
        assert client(name).post(at(1, "take/"), {"dimension": "symptom", "values": '["hang"]'}).status_code == 403
        script = Script(name)
        assert script.send("GET", f"studies/study/remarks/{place}").status_code == 403
        assert script.send("GET", "studies/study/remarks/").json()["results"] == []
    assert client("ada").post(at(2, "say/"), said()).status_code == 409  # its raters are not done
    make.rate(round_, "item bob carol\n2 slow slow")
    assert "a secret" in words("bob", at())


def test_an_arbiter_sees_nothing_of_the_item_until_their_answer_is_in(over: Round) -> None:
    study = over.study
    for name in ("dave", "ada"):
        roles = ["adjudicator", "rater"]
        members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles)
    client("bob").post(at(1, "say/"), said("a secret"))
    asked = Assignment.objects.create(round=over, item=item(), rater=make.member(study, "ada"), position=1)
    ada, script = client("ada"), Script("ada")
    for page in (at(), at(1, "news/"), f"/studies/study/rounds/1/discuss/{item().pk}/"):
        answer = ada.get(page, follow=True)
        assert answer.status_code == 403 and "until you submit yours" in answer.content.decode()
    assert ada.post(at(1, "say/"), said()).status_code == 403
    assert ada.post(at(), {"part": "1", "dimension": "symptom", "choice": '["crash"]'}).status_code == 403
    for page in (QUEUE, "/studies/study/rounds/1/discuss/"):
        listed = words("ada", page)
        assert "acme/rocket#3" in listed and "acme/rocket#1<" not in listed and "secret" not in listed
    page = words("ada", f"/studies/study/items/{item().pk}/")
    assert "Crash" not in page and "stay hidden" in page
    assert {row["item"] for row in script.send("GET", "studies/study/disagreements/").json()["results"]} == {
        "acme/rocket#3"
    }
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"]}
    assert script.send("POST", "studies/study/resolutions/", body).status_code == 403
    assert script.send("GET", "studies/study/remarks/").json()["results"] == []
    assert "a secret" in words("olga", at())
    Assignment.objects.filter(pk=asked.pk).update(state="skipped")
    assert "a secret" in words("ada", at())


def test_raters_read_and_discuss_but_decide_nothing(over: Round) -> None:
    page = words("bob", at())
    assert "Your label: <strong>Crash</strong>" in page and "Change it" in page
    assert 'name="rationale"' not in page and "Decide" not in page.partition("</dialog>")[0].replace("Decided", "")
    assert 'name="rationale"' in words("ada", at()) and "Your label" not in words("ada", at())


def test_a_remark_says_who_about_what_and_when(over: Round) -> None:
    text = "It **hangs**, @R1 and @nobody <script>alert(1)</script>"
    answer = client("carol").post(at(1, "say/"), said(text), headers=HTMX)
    page = answer.content.decode()
    assert answer.status_code == 200 and "<strong>hangs</strong>" in page and 'id="say"' in page
    assert '<strong class="mention">@R1</strong>' in page and "github.com/nobody" not in page and "<script" not in page
    client("ada").post(at(1, "say/"), said("Of all of it.", place=""))
    thread = words("bob", at())
    for expected in ("R2", "Symptom", "ada", "Of all of it.", "UTC (just now)"):
        assert expected in thread.partition('id="remarks"')[2]


def test_raters_stand_there_by_name_where_the_study_says_so(over: Round) -> None:
    client("carol").post(at(1, "say/"), said())
    assert "carol" not in words("bob", at())
    assert Script("olga").send("PATCH", "studies/study/", {"names_shown": True}).json()["names_shown"] is True
    page = words("bob", at())
    assert "carol" in page.partition('id="remarks"')[2] and "R2" in page
    assert Script("ada").send("GET", "studies/study/remarks/").json()["results"][0]["author"] == "R2"
    assert list(Script("olga").refused("PATCH", "studies/study/", {"names_shown": "yes"})) == ["names_shown"]


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        ({"text": " "}, "Write a comment."),
        ({"text": "x" * 20_001}, "at most 20000"),
        ({"place": "1.no"}, "“no” not found"),
    ],
)
def test_what_is_wrong_with_a_remark_is_said_beside_it(over: Round, form: dict[str, str], sentence: str) -> None:
    answer = client("bob").post(at(1, "say/"), said() | form, headers=HTMX)
    assert answer.status_code == 422 and sentence in answer.content.decode()
    assert client("bob").post(at(1, "say/"), said() | form).status_code == 302
    assert not Remark.objects.exists()


def test_of_very_many_remarks_the_newest_are_shown(over: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_discussion, "MOST_REMARKS", 2)
    for text in ("The oldest.", "The second.", "The newest."):
        client("ada").post(at(1, "say/"), said(text))
    page = words("bob", at())
    assert "The newest." in page and "The second." in page and "The oldest." not in page
    assert "1 earlier comment not shown. REST lists all." in page


def test_a_remark_stays_as_it_was_said(over: Round) -> None:
    client("bob").post(at(1, "say/"), said())
    for change in (lambda: Remark.objects.update(text="other"), lambda: Remark.objects.get().delete()):
        with pytest.raises(DatabaseError, match="can't be changed or deleted"), transaction.atomic():
            change()


def news(page: str) -> str:
    """Where a page asks for what is new."""
    return page.partition('hx-get="')[2].partition('"')[0].replace("&amp;", "&")


def test_what_others_do_meanwhile_is_told_once_and_nothing_else(over: Round) -> None:
    ada, bob = client("ada"), client("bob")
    asked = news(bob.get(at()).content.decode())
    assert bob.get(asked).status_code == 204
    page = ada.get(at()).content.decode()
    assert "R1</strong> is also reading this" in page
    told = bob.get(asked)
    assert told.status_code == 200 and "ada</strong> is also reading this" in told.content.decode()
    ada.post(at(1, "say/"), said("New words."))
    told = bob.get(news(told.content.decode()))
    assert "New words." in told.content.decode() and "beforeend:#remarks" in told.content.decode()
    assert bob.get(news(told.content.decode())).status_code == 204
    decision = {"part": "1", "dimension": "symptom", "expected": "", "choice": '["crash"]'}
    client("olga").post(at(), decision)
    told = ada.get(news(page))
    assert "olga resolved “Symptom” while you were reading." in told.content.decode()
    assert "decided" not in client("olga").get(news(client("olga").get(at()).content.decode())).content.decode()


@pytest.mark.parametrize(("settled_after", "n_most"), [(0, 15), (300, 20)], ids=["later", "right after an answer"])
def test_the_poll_takes_a_fixed_number_of_queries(
    over: Round, settled_after: int, n_most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_log, "SETTLED_AFTER", timedelta(seconds=settled_after))
    counts = []
    for n in (1, 30):
        for number in range(n):
            Remark.objects.create(
                round=over, item=item(), author=make.member(over.study, "carol"), text=f"remark {number}"
            )
        for name in ("bob", "ada"):
            visitor = client(name)
            asked = news(visitor.get(at()).content.decode())
            visitor.get(asked)
            with CaptureQueriesContext(connection) as captured:
                visitor.get(asked)
            counts.append(len(captured))
    assert counts[:2] == counts[2:] and max(counts) <= n_most, counts


def revise(name: str, labels: dict[str, Any], number: int = 1) -> None:
    round_ = Round.objects.get()
    submit_annotation(
        seat=make.seat(Study.objects.get(), name),
        assignment=make.assignment(round_, name, number).public_id,
        body={"labels": labels},
    )


def test_a_changed_answer_stands_beside_the_blind_one(over: Round) -> None:
    asked = news(words("carol", at()))
    revise("bob", {"symptom": ["slow"]})
    page = words("carol", at())
    assert "blind: Crash" in page and "now: Slow" in page
    assert "R1 changed their label." in client("carol").get(asked).content.decode()
    assert make.assignment(over, "bob", 1).blind != make.assignment(over, "bob", 1).current


def test_a_first_answer_is_not_said_to_be_changed() -> None:
    round_ = make.rate(make.open_round(make.study(raters=("bob", "carol", "dan")), 1, raters=("bob", "carol")),
                       "item bob carol\n1 crash hang")  # fmt: skip
    ada = make.seat(round_.study, "ada")
    ask_third_rater(seat=ada, round_=get_round(ada, 1), item=get_item(ada, "acme/rocket#1"), rater="dan")
    asked = news(words("carol", at()))
    make.submit(round_, "dan", 1, {"symptom": ["slow"]})
    told = client("carol").get(asked).content.decode()
    assert "R3 labeled this issue." in told and "changed their label" not in told


def test_who_has_the_page_opened_by_another_site_is_not_said_to_look_at_it(over: Round) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    bob = client("bob")
    bob.get(at())  # leaves the line about reading
    cache.clear()
    assert bob.get(at(), headers=foreign).status_code == 200
    assert "also reading this" not in words("carol", at())
    assert bob.get(at()).status_code == 200
    assert "<strong>R1</strong> is also reading this" in words("carol", at())


def take(name: str, dimension: str, values: str, **more: str) -> Any:
    form = {"part": "1", "dimension": dimension, "values": values, "revision": "1"} | more
    return client(name).post(at(1, "take/"), form, follow=True)


def test_taking_over_a_value_keeps_all_else_of_ones_answer() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 1)
    mine = {**FAULT, "fixes": ["config"]}
    rests = {"where": "body", "quote": "hangs", "before": "", "after": ""}
    evidence = [
        {"dimension": "symptom", "category": "crash", **rests},
        {"dimension": "kind", "category": "fault", **rests},
    ]
    parts = [{"labels": mine, "memo": "one", "evidence": evidence}, {"labels": FAULT, "memo": "two"}]
    make.submit(round_, "bob", 1, parts=parts, memo="all", confidence=2, flag=True)
    make.submit(round_, "carol", 1, parts=[{"labels": {**FAULT, "symptom": ["slow"]}}, {"labels": FAULT}])
    assert 'form="take"' in words("bob", at(1, "?place=1.symptom"))
    page = take("bob", "symptom", '["slow"]').content.decode()
    assert "Your label of “Symptom” is changed" in page and "blind: Crash" in page
    assignment = make.assignment(round_, "bob", 1)
    now = assignment.current
    assert now is not None and now.revision == 2 and assignment.blind is not None and assignment.blind.revision == 1
    assert (now.memo, now.part_memos, now.confidence, now.n_parts) == ("all", ["one", "two"], 2, 2)
    assert now.is_flagged
    rests_on = Evidence.objects.filter(rating__annotation=now).values_list("rating__category__key", "quote")
    assert list(rests_on) == [("fault", "hangs")]
    rows = now.ratings.filter(part=1).values_list("dimension__key", "category__key", "boolean")
    assert sorted(rows, key=str) == sorted(
        [("kind", "fault", None), ("symptom", "slow", None), ("fixes", "config", None), ("distributed", None, True)],
        key=str,
    )
    assert "You changed this label elsewhere" in take("bob", "symptom", '["crash"]').content.decode()
    assert Annotation.objects.filter(rater=assignment.rater).count() == 2


def test_a_value_after_which_more_is_asked_becomes_a_draft() -> None:
    round_ = make.open_round(make.study(text=make.FAULTS), 1)
    make.submit(round_, "bob", 1, {"kind": ["how-to"]}, memo="mine")
    make.submit(round_, "carol", 1, FAULT)
    answer = take("bob", "kind", '["fault"]')
    assert answer.redirect_chain[-1][0].endswith(f"/label/{make.assignment(round_, 'bob', 1).public_id}/")
    draft = Draft.objects.get().body
    assert draft["base"] == 1 and draft["parts"][0]["labels"] == {"kind": ["fault"]}
    assert make.assignment(round_, "bob", 1).current.revision == 1  # type: ignore[union-attr]
    page = take("carol", "kind", '["how-to"]').content.decode()
    assert "is changed" in page
    now = make.assignment(round_, "carol", 1).current
    assert now is not None and [row.dimension.key for row in now.ratings.all()] == ["kind"]


def test_who_has_no_answer_or_a_closed_round_takes_nothing_over(over: Round) -> None:
    assert take("ada", "symptom", '["hang"]').status_code == 404
    for values in ('["bang"]', "x", "5"):
        assert "Label not changed." in take("bob", "symptom", values).content.decode()
    assert take("carol", "symptom", '["crash"]', revision="").status_code == 200
    Round.objects.update(state="closed")
    assert take("bob", "symptom", '["hang"]').status_code == 409
    assert 'form="take"' not in words("bob", at()) and "Show it" in words("bob", at())


def test_all_items_or_the_flagged_are_gone_through_in_order() -> None:
    round_ = make.open_round(make.study(), 3, kind="pilot")
    make.rate(round_, "item bob carol\n1 slow slow\n2 crash crash")
    make.submit(round_, "bob", 3, {"symptom": ["crash"]}, memo="unclear to me", flag=True)
    make.submit(round_, "carol", 3, {"symptom": ["hang"]})
    assert "Discuss all items" in words("bob", QUEUE) and "1 flagged" in words("ada", QUEUE)
    listed = words("bob", "/studies/study/rounds/1/discuss/")
    places = [listed.index(f"acme/rocket#{number}<") for number in (1, 2, 3)]
    assert places == sorted(places) and "unclear to me" in listed
    flagged = words("ada", "/studies/study/rounds/1/discuss/?flagged=1")
    assert "acme/rocket#3<" in flagged and "acme/rocket#1<" not in flagged
    page = words("bob", at(2, "?walk=all"))
    assert f'data-previous="{at(1, "?walk=all")}"' in page and f'data-next="{at(3, "?walk=all")}"' in page
    assert words("ada", "/studies/study/rounds/1/discuss/?flagged=2") and words("ada", at(1, "?walk=x"))


def test_the_table_says_who_differs_skipped_and_how_sure(over: Round) -> None:
    page = words("ada", at(3))
    table = page.partition('class="table answers-table"')[2].partition("</table>")[0]
    assert "skipped" in table and "no label" in table and "open" in table
    assert "the labels differ" in words("ada", at(1)).partition("answers-table")[2]
    assert "the labels differ" not in words("ada", at(2)).partition("answers-table")[2]


def test_a_script_reads_and_writes_remarks(over: Round) -> None:
    body = {"round": 1, "item": "acme/rocket#1", "text": "For scripts.", "dimension": "symptom"}
    made = Script("bob").send("POST", "studies/study/remarks/", body)
    assert made.status_code == 201 and made.json()["author"] == "R1"
    assert Script("carol").send("GET", "studies/study/remarks/?round=1&item=acme/rocket%231").json()["results"] == [
        made.json()
    ]
    assert Script("carol").send("GET", "studies/study/remarks/?item=acme/rocket%232").json()["results"] == []
    for change, field in (
        ({"text": None}, "text"), ({"text": 5}, "text"), ({"dimension": "no"}, "dimension"), ({"part": 0}, "part"),
        ({"part": True}, "part"), ({"round": "x"}, "round"), ({"text": "a\0b"}, "text"),
        ({"dimension": [1]}, "dimension"),
    ):  # fmt: skip
        assert list(Script("bob").refused("POST", "studies/study/remarks/", body | change)) == [field]
    make.user("mallory")
    statuses = {
        name: Script(name).send("POST", "studies/study/remarks/", body).status_code for name in ("rea", "mallory")
    }
    assert statuses == {"rea": 403, "mallory": 404}
    assert Script("rea").send("GET", "studies/study/remarks/").json()["results"] == []
    assert Script("rea").send("GET", "studies/study/remarks/?round=1").status_code == 403
