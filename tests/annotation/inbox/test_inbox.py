"""The inbox: who is told what, when, and what stays away from whom."""

from typing import Any

import pytest
from django.test import Client

from annotation.core.access import get_item, get_round
from annotation.discussion.actions import write_remark
from annotation.inbox.queries import lines_of, n_unread
from annotation.labeling.actions.next_item import take_next
from annotation.members.actions import members
from annotation.methods import as_text
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import Assignment, InboxLine, Item, Round, Study
from annotation.rounds.actions import raters as rater_actions
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def client(name: str | None) -> Client:
    made = Client()
    if name:
        made.force_login(make.user(name))
    return made


def words(name: str, page: str = "/inbox/") -> str:
    answer = client(name).get(page)
    assert answer.status_code == 200
    return answer.content.decode()


def item(number: int = 1) -> Item:
    return Item.objects.get(identifier=f"acme/rocket#{number}")


def say(who: str, text: str, number: int = 1, **more: Any) -> None:
    seat = make.seat(Study.objects.get(slug="study"), who)
    write_remark(seat=seat, round_=get_round(seat, 1), item=get_item(seat, f"acme/rocket#{number}"), text=text, **more)


def kinds(name: str) -> list[str]:
    return list(lines_of(make.user(name)).order_by("pk").values_list("kind", flat=True))


@pytest.fixture
def over() -> Round:
    """A round that is resolving; items 1 and 3 are disputed."""
    round_ = make.rate(make.open_round(make.study()), "item bob carol\n1 crash hang\n2 slow slow\n3 crash -")
    InboxLine.objects.filter(kind="round").delete()  # that it opened
    return round_


def test_the_end_of_a_round_of_training_items_alone_is_told_to_nobody() -> None:
    study = make.study()
    make.issues(1)
    known = {"acme/rocket#1": {"labels": {"symptom": ["crash"]}}}
    asked = rounds.NewRound(raters=["bob"], raters_per_item=1, known=known, kind="pilot")
    rounds.create_round(seat=make.owner_seat(study), asked=asked)
    round_ = rounds.open_round(seat=make.owner_seat(study), number=1, unregistered=True)
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    round_.refresh_from_db()
    assert round_.state == "resolving" and kinds("ada") == kinds("olga") == []
    assert "the end of resolving" not in as_text(paragraph(methods(make.owner_seat(study), resamples=0)))


def test_the_end_of_a_round_is_told_to_those_who_decide(over: Round) -> None:
    assert {name: kinds(name) for name in ("olga", "ada", "bob", "carol", "rea")} == {
        "olga": ["resolving"], "ada": ["resolving"], "bob": [], "carol": [], "rea": [],
    }  # fmt: skip
    assert "Labeling of round 1 ended. Resolve any disagreements" in words("ada")


def test_it_is_told_as_well_when_the_owner_ends_the_round_by_hand() -> None:
    study = make.study()
    make.open_round(study)
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    assert kinds("ada") == kinds("olga") == ["resolving"]


def test_a_mention_is_told_once_and_leads_to_the_words(over: Round) -> None:
    say("bob", "@R2 @carol see the trace, @bob and `@ada` do not count", dimension="symptom")
    assert kinds("carol") == ["mention"] and kinds("bob") == [] and kinds("ada") == ["resolving"]
    page = words("carol")
    assert "R1 mentioned you on acme/rocket#1" in page and "see the trace" in page and "1 unread" in page
    line = InboxLine.objects.get(kind="mention")
    answer = client("carol").get(f"/inbox/{line.public_id}/")
    assert answer.status_code == 302
    place = f"/studies/study/rounds/1/resolve/{item().pk}/?place=1.symptom#remark-{line.remark.public_id}"
    assert answer["Location"] == place
    assert "unread" not in words("carol").replace("is-unread", "")


def test_readers_and_people_of_other_rounds_are_not_told(over: Round) -> None:
    study = over.study
    members.add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    say("bob", "@rea @dave @R3 look")
    assert not InboxLine.objects.filter(kind="mention").exists()


def test_a_mention_of_someone_blind_comes_when_the_round_is_over() -> None:
    study = make.study(raters=("bob", "carol"), resolve_when="item")
    make.open_round(study, 2)
    round_ = Round.objects.get()
    InboxLine.objects.all().delete()
    make.rate(round_, "item bob carol\n1 crash hang")
    say("ada", "@bob look at the trace")
    assert InboxLine.objects.filter(kind="mention").count() == 1
    assert kinds("bob") == [] and n_unread(make.user("bob")) == 0
    assert "the trace" not in words("bob") and "unread" not in words("bob")
    line = InboxLine.objects.get(kind="mention")
    assert client("bob").get(f"/inbox/{line.public_id}/").status_code == 404
    assert Script("bob").send("GET", "inbox/").json()["results"] == []
    assert Script("bob").send("POST", "inbox/read/", {"ids": [line.public_id]}).json() == {"n_read": 0, "n_unread": 0}
    make.rate(round_, "item bob carol\n2 crash crash")
    assert kinds("bob") == ["mention"] and n_unread(make.user("bob")) == 1


@pytest.mark.parametrize("has_answer", [True, False])
def test_who_was_withdrawn_with_an_answer_reads_no_mention_about_its_item(over: Round, has_answer: bool) -> None:
    """They stay blind in the open round, where they can revise the answer."""
    again = make.open_round(over.study, 2)
    if has_answer:
        make.submit(again, "bob", 1, {"symptom": ["crash"]})
    rater_actions.withdraw_rater(seat=make.owner_seat(over.study), number=again.number, rater="bob")
    say("ada", "@bob R2 said hang, and hang is right")
    assert ("hang is right" in words("bob")) == (not has_answer)
    assert n_unread(make.user("bob")) == kinds("bob").count("mention") + kinds("bob").count("round")


@pytest.mark.parametrize("mode", ["planned", "pool"])
def test_a_rater_without_an_item_reads_no_mention_in_their_open_round(mode: str) -> None:
    study = make.study(resolve_when="item")
    members.add_member(seat=make.owner_seat(study), username=make.user("arat").username, roles=["adjudicator", "rater"])
    names = ("bob", "carol") if mode == "planned" else ("bob", "carol", "arat")
    round_ = make.open_round(study, 2, raters=names, mode=mode, raters_per_item=2, kind="main")
    if mode == "planned":
        rater_actions.add_rater(seat=make.owner_seat(study), number=1, user="arat")
    for name, said in (("bob", "crash"), ("carol", "hang")):
        if mode == "pool":
            take_next(seat=make.seat(study, name), round_=round_)
        make.submit(round_, name, 1, {"symptom": [said]})
    InboxLine.objects.all().delete()
    assert not Assignment.objects.filter(round=round_, rater__user__username="arat").exists()
    say("ada", "@arat look at the trace")
    assert InboxLine.objects.filter(kind="mention").count() == 1
    assert kinds("arat") == [] and "the trace" not in words("arat")
    assert Script("arat").send("GET", "inbox/").json()["results"] == []
    rater_actions.withdraw_rater(seat=make.owner_seat(study), number=1, rater="R3")
    assert kinds("arat") == ["mention"] and "the trace" in words("arat")


def test_an_owner_who_rates_is_told_of_decisions_when_they_are_not_blind(over: Round) -> None:
    InboxLine.objects.filter(kind="resolving").update(round=over)
    Round.objects.update(state="open")
    members.add_member(seat=make.owner_seat(over.study), username="bob", roles=["owner", "rater"])
    InboxLine.objects.create(member=make.member(over.study, "bob"), kind="resolving", round=over)
    assert kinds("bob") == []
    Round.objects.update(state="resolving")
    assert kinds("bob") == ["resolving"]


def test_an_arbiter_is_asked_but_hears_what_was_said_only_after_their_answer(over: Round) -> None:
    study = over.study
    members.add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["adjudicator", "rater"])
    dave = make.member(study, "dave")
    asked = Assignment.objects.create(round=over, item=item(), rater=dave, position=1)
    InboxLine.objects.create(member=dave, kind="arbiter", round=over, item=item())
    say("bob", "@dave it hangs", 1)
    say("bob", "@dave it crashes", 3)
    page = words("dave")
    assert "You were assigned as a third rater" in page and "it crashes" in page and "it hangs" not in page
    assert n_unread(make.user("dave")) == 2
    line = InboxLine.objects.get(kind="arbiter")
    answer = client("dave").get(f"/inbox/{line.public_id}/")
    assert answer["Location"] == f"/studies/study/rounds/1/label/{asked.public_id}/"
    Assignment.objects.filter(pk=asked.pk).update(state="skipped")
    assert "it hangs" in words("dave")


def test_a_third_rater_hears_nothing_of_the_item_from_other_rounds_either(over: Round) -> None:
    study = over.study
    members.add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    again = make.open_round(study, 2, raters=("carol", "dave"))
    Round.objects.filter(pk=again.pk).update(state="resolving")
    asked = Assignment.objects.create(round=again, item=item(), rater=make.member(study, "bob"), position=9)
    say("carol", "@bob dave said that it hangs", 1)
    say("carol", "@bob it crashes", 3)
    assert "it hangs" not in words("bob") and "it crashes" in words("bob")
    told = Script("bob").send("GET", "inbox/").json()["results"]
    assert [line["item"] for line in told if line["kind"] == "mention"] == ["acme/rocket#3"]
    Assignment.objects.filter(pk=asked.pk).update(state="skipped")
    assert "it hangs" in words("bob")


def test_who_leaves_a_role_is_told_no_more_of_what_it_shows(over: Round) -> None:
    assert kinds("ada") == ["resolving"]
    members.add_member(seat=make.owner_seat(over.study), username="ada", roles=["reader"])
    assert kinds("ada") == []


def test_lines_belong_to_one_person_alone(over: Round) -> None:
    say("bob", "@carol look")
    line = InboxLine.objects.get(kind="mention")
    make.user("mallory")
    for name in ("bob", "mallory", "olga"):
        assert client(name).get(f"/inbox/{line.public_id}/").status_code == 404
        assert Script(name).send("POST", "inbox/read/", {"ids": [line.public_id]}).json()["n_read"] == 0
    assert client(None).get("/inbox/").status_code == 302
    assert client(None).get(f"/inbox/{line.public_id}/").status_code == 302
    assert client(None).post("/inbox/read/").status_code == 302
    assert client("bob").get("/inbox/read/").status_code == 405
    assert client("bob").get("/inbox/99999/").status_code == 404
    assert "Your inbox is empty" in words("mallory")
    line.refresh_from_db()
    assert line.read_at is None


def test_all_lines_are_marked_as_read_at_once(over: Round) -> None:
    for number in (1, 3):
        say("bob", "@carol look", number)
    assert "2 unread" in words("carol")
    answer = client("carol").post("/inbox/read/", follow=True)
    assert "2 lines marked as read." in answer.content.decode()
    assert n_unread(make.user("carol")) == 0
    assert "All lines are already read." in client("carol").post("/inbox/read/", follow=True).content.decode()


def test_a_look_by_head_reads_nothing(over: Round) -> None:
    say("bob", "@carol look")
    line = InboxLine.objects.get(kind="mention")
    assert client("carol").head(f"/inbox/{line.public_id}/").status_code == 302
    assert n_unread(make.user("carol")) == 1


def test_the_top_of_every_page_tells_how_many_are_unread(over: Round) -> None:
    say("bob", "@carol look")
    for page in ("/", "/studies/", "/issues/"):
        assert 'class="menu-inbox"' in words("carol", page) and 'class="menu-inbox"' not in words("bob", page)


@pytest.mark.slow
def test_the_inbox_is_paged_and_takes_the_same_queries_at_two_sizes(over: Round) -> None:
    make.user("carol")
    visitor = client("carol")
    say("bob", "@carol 1")
    visitor.get("/inbox/")
    say("bob", "@carol 2")
    # session, user, lines, what was recorded (2), whether the reader was assigned (5), unread ones of page and menu
    with assert_queries(12):
        visitor.get("/inbox/")
    for n in range(60):
        say("bob", f"@carol {n} <script>")
    with assert_queries(12):
        page = visitor.get("/inbox/").content.decode()
    assert page.count("row-title") == 50 and "Next" in page and "<script>" not in page.replace("<script ", "")


def test_a_script_reads_its_lines_in_pages_and_marks_them(over: Round) -> None:
    for n in range(3):
        say("bob", f"@carol {n}", dimension="symptom")
    carol = Script("carol")
    first = carol.send("GET", "inbox/?page_size=2").json()
    assert [line["remark"]["text"] for line in first["results"]] == ["@carol 2", "@carol 1"] and first["next"]
    line = first["results"][0]
    assert (line["kind"], line["study"], line["round"], line["item"]) == ("mention", "study", 1, "acme/rocket#1")
    assert (line["remark"]["author"], line["remark"]["dimension"], line["read_at"]) == ("R1", "symptom", None)
    assert carol.send("POST", "inbox/read/", {"ids": [line["id"]]}).json() == {"n_read": 1, "n_unread": 2}
    assert carol.send("POST", "inbox/read/", {}).json() == {"n_read": 2, "n_unread": 0}
    for wrong in ("x", ["x"], [None], 5):
        assert list(carol.refused("POST", "inbox/read/", {"ids": wrong})) == ["ids"]


def test_lines_of_a_worklist_that_was_undone_are_gone(over: Round) -> None:
    Round.objects.update(state="undone")
    assert kinds("ada") == []


def test_a_line_that_calls_to_work_goes_when_its_round_has_none_any_more() -> None:
    round_ = make.open_round(make.study())
    assert kinds("bob") == ["round"] and n_unread(make.user("bob")) == 1
    make.rate(round_, "item bob carol\n1 crash hang\n2 slow slow\n3 crash -")
    assert kinds("bob") == [] and "is open and has items for you" not in words("bob")
    assert kinds("ada") == ["resolving"]
    Round.objects.update(state="closed")
    assert kinds("ada") == [] and n_unread(make.user("ada")) == 0
