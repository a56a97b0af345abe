"""Who could read labels of the same items elsewhere before labeling them: paragraph, checklist, warning, and page."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotation.assignments.actions.reading_log import note_drafts
from annotation.core import audit
from annotation.core.access import get_item, get_seat, get_whole_study
from annotation.imports.actions.ratings import import_ratings
from annotation.labels.queries.read_before import _presences, readers_before, sources_of
from annotation.members.actions.leaving import decline, leave_study, remove_member
from annotation.members.actions.members import add_member, set_member
from annotation.members.actions.name_only_members import join_member
from annotation.methods import as_text, checklist, sentences
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import Assignment, AuditEvent, Membership, Proposal, Resolution, Round, Study
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.rounds.actions.drafts import remove_draft, return_to_draft
from annotation.rounds.actions.raters import add_rater, withdraw_rater
from annotation.transfer.actions import life
from annotation.transfer.actions.life import duplicate_study
from annotation.transfer.actions.study_import import bring_study
from tests import builders as make
from tests.annotation.claims.studies import exported, opened_later
from tests.annotation.claims.test_claims import complaints, with_lie
from tests.annotation.compared_answers import history_rewritten
from tests.annotation.transfer.test_study_export import written
from tests.scripts import Script

pytestmark = pytest.mark.django_db

NAMES = ["acme/rocket#1", "acme/rocket#2"]


def first_round(*, close: bool = True) -> Study:
    """Bob and carol disagree on two items of three, of which ada resolved one; dave and erin only read."""
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 crash hang\n3 hang hang")
    resolve(
        seat=make.seat(study, "ada"), round_=round_, item=get_item(make.seat(study, "ada"), NAMES[0]), part=1,
        dimension="symptom", values=["crash"], rationale="It stops.", expected=None,
    )  # fmt: skip
    if close:
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    return study


def again(study: Study, *raters: str, label: bool = True) -> Round:
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=list(raters), issues=NAMES, raters_per_item=2, kind="main"),
    )
    round_ = rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True, reason="Go on.")
    if label:
        make.rate(round_, f"item {' '.join(raters)}\n1 crash crash\n2 crash crash")
    return round_


def may_rate(study: Study, **roles: list[str]) -> None:
    for name, given in roles.items():
        add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=given)


@pytest.mark.slow
def test_labels_of_calibration_items_were_read_and_given_before_too() -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    make.issues(2)
    known = {NAMES[0]: {"labels": {"symptom": ["crash"]}, "why": "It stops."}}
    round_ = make.open_round(study, 1, first=10, kind="pilot", known=known)
    make.rate(round_, "item bob carol\n1 crash hang\n10 crash crash")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    found = again(study, "bob", "dave")
    before = readers_before(found)
    assert before is not None
    assert before.sentence == "Before labeling 1 item in round 2, R1 and R3 could read labels of it in other rounds."
    opened_later(found)
    made = exported(study, resamples=10)
    text = as_text(paragraph(made.facts))
    for words in (
        "One item had been labeled in an earlier round by at least one of the same raters. Before labeling items in "
        "round 2, R1 (1 item) and R3 (1 item) could read labels that others had given to these items in other rounds",
    ):
        assert words in text, text
    assert complaints(made.rows, made.facts) == []
    for path in ("read_before", "n_rated_before"):
        assert complaints(made.rows, replace(made.facts, **{path: ()})), path


def model_labels(study: Study) -> None:
    """A model labels what bob and carol skip."""
    add_member(seat=make.owner_seat(study), username=make.user("model").username, roles=["rater"], kind="machine")
    round_ = make.open_round(study, 2, raters=("bob", "carol", "model"), raters_per_item=2)
    make.rate(round_, "item bob carol model\n1 - - crash\n2 - - -")


def labels_of_a_sheet(study: Study) -> None:
    """Agreed labels come with a sheet, without any rater."""
    make.issues(2)
    sheet = "item,rater,dimension,value\nacme/rocket#1,final,symptom,crash\n"
    assert import_ratings(user=make.user("olga"), study="study", file=sheet.encode(), name="sheet.csv").n_resolutions


def resolved_label(study: Study) -> None:
    """Bob labels alone, and ada resolves."""
    round_ = make.rate(make.open_round(study, 2, raters_per_item=2), "item bob carol\n1 crash -\n2 - -")
    resolve(
        seat=make.seat(study, "ada"), round_=round_, item=get_item(make.seat(study, "ada"), NAMES[0]), part=1,
        dimension="symptom", values=["hang"], rationale="It hangs.", expected=None,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("told", [model_labels, labels_of_a_sheet, resolved_label])
def test_labels_that_no_planned_rater_gave_were_readable_too(told: Callable[[Study], None]) -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    told(study)
    first = Round.objects.get()
    if first.state != Round.State.CLOSED:
        rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    opened_later(again(study, "bob", "dave"))
    made = exported(study, resamples=10)
    assert "round 2, R1 (1 item) and R3 (1 item) could read labels that others had" in as_text(paragraph(made.facts))
    if told != labels_of_a_sheet:  # whose rounds are checked as if raters had labeled there
        assert complaints(made.rows, made.facts) == []


@pytest.mark.parametrize("answer", ["hang", "-"])
def test_who_was_told_what_is_known_of_an_item_in_a_round_under_way_could_read_its_label(answer: str) -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    make.issues(2)
    known = {NAMES[0]: {"labels": {"symptom": ["crash"]}, "why": "It stops."}}
    pilot = make.open_round(study, 1, first=10, kind="pilot", known=known)
    round_ = again(study, "bob", "dave", label=False)
    make.rate(pilot, f"item bob\n1 {answer}")
    make.rate(round_, "item bob dave\n1 crash crash\n2 crash crash")
    make.rate(pilot, "item carol\n1 -")
    make.rate(pilot, "item bob carol\n10 crash crash")
    (found,) = methods(make.owner_seat(study), resamples=10).read_before
    assert (found.round, found.by) == (2, [("R1", 1)])


@pytest.mark.parametrize("whose", ["bob", "ada"])
def test_a_label_that_a_skip_replaced_was_read_and_given_before_too(whose: str) -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    first = make.rate(make.open_round(study, 3), "item bob\n1 crash")
    may_rate(study, ada=["rater"])
    if whose == "bob":
        make.submit(first, "bob", 1, skip="no bug")
    make.rate(again(study, "ada", "erin", label=False), "item ada erin\n1 crash crash\n2 crash crash")
    second = Round.objects.get(number=2)
    if whose == "ada":
        make.submit(second, "ada", 1, skip="no bug")
    make.rate(first, "item bob carol\n1 - -\n2 hang hang\n3 hang hang")
    (found,) = methods(make.owner_seat(study), resamples=10).read_before
    assert (found.round, [code for code, _ in found.by]) == (2, [make.member(study, "ada").code])


@pytest.mark.slow
def test_an_item_that_a_third_rater_labels_again_was_labeled_before() -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 hang hang\n3 hang hang")
    item = get_item(make.seat(study, "ada"), NAMES[0])
    ask_third_rater(seat=make.seat(study, "ada"), round_=round_, item=item, rater="R3")
    make.submit(round_, "dave", 1, {"symptom": ["hang"]})
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    opened_later(again(study, "dave", "erin"))
    made = exported(study, resamples=10)
    assert made.facts.n_rated_before == 1 and complaints(made.rows, made.facts) == []


def test_who_comes_into_an_open_round_by_a_sheet_is_blind_from_then_on() -> None:
    study = first_round()
    round_ = again(study, "dave", "erin", label=False)
    make.user("finn")
    add_member(seat=make.owner_seat(study), username="finn", roles=["rater"])
    assert Script("finn").send("GET", "studies/study/labels/?round=1").status_code == 200
    sheet = "round,item,rater,dimension,value\n2,acme/rocket#1,finn,symptom,hang\n"
    assert import_ratings(user=make.user("olga"), study="study", file=sheet.encode(), name="sheet.csv").n_ratings == 1
    round_.refresh_from_db()
    found = readers_before(round_)
    assert found is not None and found.codes == ["R3", "R4", "R5"]
    joined = AuditEvent.objects.filter(verb="rater added").values_list("detail", flat=True)
    assert list(joined) == [{"round": 2, "rater": "R5"}]


READ_LIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("read_before", lambda rounds: []),
    ("read_before.0.by", lambda by: by[:1]),
    ("read_before.0.by.1", lambda each: (each[0], 1)),
    ("read_before.0.round", lambda number: 1),
    ("read_before.0.resolved", lambda by: []),
    ("read_before.0.resolved", lambda by: [("R4", 1)]),
    ("read_before.0.resolved.0", lambda each: (each[0], 2)),
    ("read_before.0.items", lambda items: items[:1]),
]


@pytest.mark.slow
def test_who_could_read_or_had_resolved_is_named_wherever_labels_count_as_before_discussion(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = first_round()
    may_rate(study, ada=["rater", "adjudicator"])
    opened_later(again(study, "ada", "erin"))
    made = exported(study, resamples=10)
    text = as_text(paragraph(made.facts))
    for words in (
        "Before labeling items in round 2, R4 (2 items) and R5 (2 items) could read labels that others had given to "
        "these items in other rounds; the new labels count as before discussion of their own round. Resolutions had "
        "been entered there by R5 for 1 item.",
        "Agreement on Symptom before discussion, though raters could read earlier labels of 2 items, was ",
    ):
        assert words in text, text
    (check,) = [each for each in checklist(made.facts) if each.key == "independent"]
    assert check.answer == "partly" and "could read labels that others had given to these items" in check.evidence
    assert complaints(made.rows, made.facts) == []
    for path, change in READ_LIES:
        assert complaints(made.rows, with_lie(made.facts, path.split("."), change)), path
    monkeypatch.setattr(sentences, "though", lambda n, is_given: "")
    assert complaints(made.rows, made.facts)


def test_who_rates_before_others_are_done_could_read_nothing_but_an_adjudicator_could() -> None:
    study = first_round(close=False)
    Round.objects.update(resolving_at=None)  # as if the first round had gone on meanwhile
    may_rate(study, ada=["rater", "adjudicator"])
    again(study, "ada", "erin")
    facts = methods(make.owner_seat(study), resamples=10)
    assert [(each.round, each.by) for each in facts.read_before] == [(2, [("R5", 2)])]


def test_who_was_invited_and_came_into_the_study_when_the_round_was_open_could_read_nothing() -> None:
    study = first_round()
    set_member(seat=make.owner_seat(study), username=make.user("fay").username, roles=["rater"])
    round_ = again(study, "dave", "R5", label=False)
    make.accept("fay")
    make.rate(round_, "item dave fay\n1 crash crash\n2 crash crash")
    facts = methods(make.owner_seat(study), resamples=10)
    assert [(each.round, each.by) for each in facts.read_before] == [(2, [("R3", 2)])]


@pytest.mark.parametrize("way", ["closed", "later", "blind"])
def test_third_raters_who_could_read_labels_of_their_item_in_another_round_are_named(way: str) -> None:
    """Not if they were asked before others could read it, or had been blind in the open round all the while."""
    study = first_round()
    Study.objects.filter(pk=study.pk).update(resolve_when="item")
    may_rate(study, fay=["rater"])
    seat, second = make.owner_seat(study), again(study, "dave", "erin", label=False)
    if way == "blind":
        add_rater(seat=seat, number=2, user="fay")
        Round.objects.filter(number=1).update(resolving_at=timezone.now())
    make.rate(second, "item dave erin\n1 crash hang")
    item = get_item(seat, NAMES[0])
    assert not ask_third_rater(seat=seat, round_=second, item=item, rater="fay").unblinded
    if way == "later":
        Round.objects.filter(number=1).update(resolving_at=timezone.now())
    make.rate(second, "item fay\n1 crash")
    found = methods(seat, resamples=10).read_before
    named = [(2, [("R3", 1), ("R4", 1), ("R5", 1)], [item.pk])] if way == "closed" else []
    assert [(each.round, each.by, each.items) for each in found] == named
    if way == "closed":
        made = exported(study, resamples=10)
        assert complaints(made.rows, made.facts) == []
        assert complaints(made.rows, with_lie(made.facts, ["read_before", "0", "by", "2"], lambda each: (each[0], 2)))


@pytest.mark.parametrize("way", ["maintains", "maintained", "is a stranger"])
def test_who_reads_in_a_draft_what_was_proposed_elsewhere_is_named_in_a_round_that_opens_later(way: str) -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    first = make.open_round(study, 2)
    make.rate(first, "item bob\n1 PENDING")
    maintainers = study.taxonomy.maintainers
    if way != "is a stranger":
        maintainers.add(make.user("dave"))
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    assert Script("olga").send("POST", place, {"accept": {"name": "New"}}).status_code == 200
    if way == "maintained":
        note_drafts([make.user("dave")], study.taxonomy)
        maintainers.remove(make.user("dave"))
    make.rate(make.open_round(study, 2, raters=("dave", "erin")), "item dave erin\n1 crash hang\n2 crash crash")
    found = methods(make.owner_seat(study), resamples=10).read_before
    named = [] if way == "is a stranger" else [(2, [("R3", 1)])]
    assert [(each.round, each.by) for each in found] == named


def put_into(study: Study, round_: Round, name: str) -> None:
    """Adds a rater to an open round in the place of erin, who leaves it."""
    add_rater(seat=make.owner_seat(study), number=round_.number, user=name)
    withdraw_rater(seat=make.owner_seat(study), number=round_.number, rater="erin")


@pytest.mark.parametrize("way", ["returned", "removed", "left", "stays"])
def test_who_was_blind_in_a_round_only_for_a_time_could_read_after_it(way: str) -> None:
    """Dave is in an open round that becomes a draft, or that he leaves, while bob and carol finish another one."""
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    seat, first = make.owner_seat(study), make.open_round(study, 2)
    second = make.open_round(study, 2, raters=("erin",))
    put_into(study, second, "dave")
    if way in ("returned", "removed"):
        return_to_draft(seat=seat, number=2)
    if way == "removed":
        remove_draft(seat=seat, number=2)
    make.rate(first, "item bob carol\n1 crash hang\n2 crash hang")
    if way == "left":
        add_rater(seat=seat, number=2, user="erin")
        withdraw_rater(seat=seat, number=2, rater="dave")
    if way == "returned":
        found = readers_before(study.rounds.get(number=2))
        assert found is not None and found.warning.startswith("Until this round opens, R3 can read labels of 2 items")
        last = rounds.open_round(seat=seat, number=2, unregistered=True, reason="Go on.")
    else:
        last = make.open_round(study, 2, raters=("dave",))
    make.rate(last, "item dave\n1 crash\n2 crash")
    facts = methods(seat, resamples=10)
    assert [(each.round, each.by) for each in facts.read_before] == (
        [(last.number, [("R3", 2)])] if way != "stays" else []
    )


@pytest.mark.parametrize("leaves", [False, True])
def test_an_adjudicator_who_left_an_open_round_without_an_answer_could_read_it(leaves: bool) -> None:
    study = make.study(raters=("bob", "erin"))
    may_rate(study, ada=["rater", "adjudicator"])
    first = make.open_round(study, 2, raters=("bob", "ada"))
    make.submit(first, "bob", 1, {"symptom": ["hang"]})
    if leaves:
        withdraw_rater(seat=make.owner_seat(study), number=1, rater="ada")
    make.rate(make.open_round(study, 2, raters=("ada",)), "item ada\n1 crash\n2 crash")
    facts = methods(make.owner_seat(study), resamples=10)
    assert [(each.round, each.by) for each in facts.read_before] == ([(2, [("R3", 1)])] if leaves else [])


def test_who_could_read_open_rounds_is_named_after_the_study_moved_too() -> None:
    """Olga made the study, ada is an adjudicator, and eve was one."""
    study = make.study(raters=("bob", "carol"))
    may_rate(study, olga=["owner", "rater"], ada=["adjudicator", "rater"], eve=["adjudicator", "rater"])
    given_before(study, demoted="eve")
    names = ("olga", "ada", "eve", "carol")
    make.rate(make.open_round(study, 1, raters=names, raters_per_item=4), f"item {' '.join(names)}\n1{' crash' * 4}")
    told = named_before(study)
    assert told == [(2, [("R3", 1), ("R4", 1), ("R5", 1)])]
    mia = make.user("mia")
    moved = bring_study(user=mia, file=BytesIO(written(get_whole_study("study"), "study")), slug="twin")[0].study
    assert named_before(moved) == told, "as names alone"
    for number in (3, 4, 5):
        member, account = moved.memberships.get(code=f"R{number}"), make.user(f"new-{number}")
        join_member(seat=get_seat(mia, "twin"), member=member, username=account.username)
    assert readers_of(moved) == ["R3", "R4", "R5"], "as accounts that are invited"
    for number in (3, 4, 5):
        make.accept(f"new-{number}")
    assert readers_of(moved) == ["R3", "R4", "R5"], "as members"


@pytest.mark.parametrize("has_lines", [True, False])
def test_who_came_with_a_copy_and_could_read_open_rounds_there_is_named(
    has_lines: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies of earlier versions have no lines of the members that came with them."""
    sam = make.user("sam", staff=True)
    source = make.study(raters=("bob", "carol"))
    may_rate(source, ada=["adjudicator", "rater"], sam=["owner"])
    if not has_lines:
        monkeypatch.setattr(life, "record_of_member", lambda **said: None)
        without_accounts(monkeypatch)
    copy = duplicate_study(seat=get_seat(sam, "study"), slug="twin", with_members=True)
    lines = AuditEvent.objects.filter(study=copy, verb="member set", detail__member="ada")
    assert [each.detail["roles"] for each in lines] == [["adjudicator", "rater"]] * has_lines
    if not has_lines:
        copy.memberships.update(created_at=copy.created_at - timedelta(hours=1))
    given_before(copy, demoted="ada")
    make.rate(make.open_round(copy, 1, raters=("ada",)), "item ada\n1 crash")
    assert named_before(copy) == [(2, [("R3", 1)])]


def test_a_mere_reader_of_the_study_could_not_read_answers_of_open_rounds() -> None:
    study = make.study(raters=("bob", "carol"))
    may_rate(study, rea=["rater", "reader"])
    given_before(study, demoted="rea")
    make.open_round(study, 1, raters=("rea",))
    assert make.member(study, "rea").could_read_until is not None and readers_of(study) == []


def test_who_created_a_study_could_read_open_rounds_from_its_beginning() -> None:
    """No line of the log tells that they own it, and here another owner makes them a rater within a minute."""
    study = make.study(raters=("bob", "carol"))
    may_rate(study, ed=["owner"])
    make.submit(make.open_round(study, 2, raters=("bob", "carol")), "bob", 1, {"symptom": ["hang"]})
    seat = make.seat(study, "ed")
    set_member(seat=seat, username="olga", roles=["rater"])
    asked = rounds.NewRound(raters=["olga"], issues=NAMES[:1], raters_per_item=1, kind="main")
    rounds.create_round(seat=seat, asked=asked)
    assert readers_of(study) == [make.member(study, "olga").code]


def given_before(study: Study, *, demoted: str) -> None:
    """Bob labels an item in an open round, then someone is made a mere rater."""
    make.submit(make.open_round(study, 2, raters=("bob", "carol")), "bob", 1, {"symptom": ["hang"]})
    may_rate(study, **{demoted: ["rater"]})


def named_before(study: Study) -> list[tuple[int, list[tuple[str, int]]]]:
    return [(each.round, list(each.by)) for each in methods(get_whole_study(study.slug), resamples=10).read_before]


def readers_of(study: Study, number: int = 2) -> list[str]:
    found = readers_before(study.rounds.get(number=number))
    assert found is not None
    return list(found.codes)


@pytest.mark.slow
def test_the_warning_and_the_page_of_a_round_name_who_can_read_labels_of_its_items_elsewhere() -> None:
    study = first_round()
    body = {"kind": "main", "issues": NAMES, "raters": ["dave", "erin"], "raters_per_item": 2}
    (warning,) = Script("olga").send("POST", "studies/study/rounds/", body).json()["warnings"]
    can = "Until this round opens, R3 and R4 can read labels of 2 items of it in other rounds."
    assert can in warning and "names who could read labels" in warning
    assert can in page("olga") and "can read labels" not in page("dave")
    rounds.open_round(seat=make.owner_seat(study), number=2, unregistered=True, reason="Go on.")
    could = "Before labeling 2 items in round 2, R3 and R4 could read labels of them in other rounds."
    assert could in page("olga") and could in page("dave") and "could read labels" not in page("olga", 1)
    rounds.resolve_round(seat=make.owner_seat(study), number=2, withdraw=True)
    of_agreement = Client()
    of_agreement.force_login(make.user("olga"))
    shown = of_agreement.get("/studies/study/agreement/?round=all").content.decode()
    assert could in shown and "independent (" not in shown
    assert could not in of_agreement.get("/studies/study/agreement/?round=1").content.decode()


ELSEWHERE_LIES: list[tuple[str, Callable[[Any], Any]]] = [
    ("rated_elsewhere", lambda items: {}),
    ("rated_elsewhere", lambda items: {1: [1]}),
    ("rated_elsewhere", lambda items: {1: [1, 2, 3]}),
    ("rated_elsewhere", lambda items: None),
]


@pytest.mark.slow
def test_what_raters_of_a_copy_labeled_in_its_source_is_counted_and_lies_about_it_are_caught() -> None:
    source = first_round()
    copy = duplicate_study(seat=make.owner_seat(source), slug="twin", with_members=True)
    for name in ("bob", "dave"):
        make.accept(name)
    body = {"kind": "main", "issues": NAMES, "raters": ["bob", "erin"], "raters_per_item": 2}
    told = "2 items of this round were in rounds of R1 in a study that this one was duplicated from."
    assert Script("olga").send("POST", "studies/twin/rounds/", body).json()["warnings"] == [told]
    assert told in page("olga", 1, "twin")
    remove_draft(seat=make.owner_seat(copy), number=1)
    make.rate(
        make.open_round(copy, 3, first=2, raters=("bob", "dave"), kind="main"),
        "item bob dave\n2 crash crash\n3 hang hang\n4 hang hang",
    )
    made = exported(copy, resamples=10)
    rows = replace(made.rows, source=exported(source, resamples=10).rows)
    text = as_text(paragraph(made.facts))
    for words in (
        "Two items had been labeled before, by at least one of the same raters, in a study that this one was "
        "duplicated from.",
        "before discussion, though raters had given or could read earlier labels of 2 items, was ",
    ):
        assert words in text, text
    (check,) = [each for each in checklist(made.facts) if each.key == "independent"]
    assert check.answer == "partly" and "in a study that this one was duplicated from" in check.evidence
    assert complaints(rows, made.facts) == []
    for path, change in ELSEWHERE_LIES:
        assert complaints(rows, with_lie(made.facts, path.split("."), change)), path
    rounds.close_round(seat=make.owner_seat(copy), number=2, leave_open=True)
    again(source, "bob", "erin", label=False)
    hidden = exported(copy, resamples=10)
    rows = replace(hidden.rows, source=exported(source, resamples=10).rows)
    assert hidden.facts.rated_elsewhere is None and complaints(rows, hidden.facts) == []
    assert "hidden until each round there is closed]" in as_text(paragraph(hidden.facts))
    for told_of in ({}, {1: [1, 2]}):
        assert complaints(rows, replace(hidden.facts, rated_elsewhere=told_of))


def test_who_was_in_rounds_of_the_source_of_a_copy_is_told_to_owners_who_see_it_and_of_accounts_that_accepted() -> None:
    source = make.study()
    make.open_round(source, 2)
    for name in ("carl", "dan"):
        add_member(seat=make.owner_seat(source), username=make.user(name).username, roles=["owner"])
    duplicate_study(seat=make.seat(source, "carl"), slug="twin", with_members=True)
    body = {"kind": "main", "issues": NAMES, "raters": ["R1"], "raters_per_item": 1}

    def told(name: str) -> list[str]:
        made = Script(name).send("POST", "studies/twin/rounds/", body).json()
        assert bool(made["warnings"]) == ("in rounds of R1" in page(name, made["number"], "twin"))
        remove_draft(seat=get_seat(make.user(name), "twin"), number=made["number"])
        found: list[str] = made["warnings"]
        return found

    assert told("carl") == [], "bob is only invited"
    make.accept("bob")
    make.accept("dan")
    here = "2 items of this round were in rounds of R1 in a study that this one was duplicated from."
    assert told("carl") == told("dan") == [here]
    remove_member(seat=make.owner_seat(source), member=make.member(source, "carl"))
    assert told("carl") == [] and told("dan") == [here]


def told_in_copy(name: str) -> dict[int, set[int]] | None:
    """What the text of the copy states to someone about labels in its source."""
    return methods(get_seat(make.user(name), "twin"), resamples=10).rated_elsewhere


@pytest.mark.slow
@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING])
def test_a_copy_tells_what_was_labeled_in_its_source_only_once_every_round_there_is_closed(state: str) -> None:
    source = make.study(raters=("bob", "carol", "dave"))
    there = make.open_round(source, 2, raters=("bob", "carol"))
    make.submit(there, "bob", 1, {"symptom": ["crash"]})
    rest = "item carol\n1 hang\n2 hang", "item bob\n2 crash"
    if state == Round.State.RESOLVING:
        make.rate(there, rest[0])
        make.rate(there, rest[1])
    copy = duplicate_study(seat=make.owner_seat(source), slug="twin", with_members=True, with_items=True)
    for each in ("bob", "carol", "dave"):
        make.accept(each)
    add_member(seat=make.owner_seat(copy), username=make.user("rea").username, roles=["reader"])
    make.user("sam", staff=True)
    here = make.rate(make.open_round(copy, 2, raters=("bob", "carol")), "item bob carol\n1 crash crash\n2 hang hang")
    there.refresh_from_db()
    assert there.state == state
    for name in ("olga", "dave", "rea", "sam"):
        assert told_in_copy(name) is None, "someone who reads it can still be asked there"
    if state == Round.State.OPEN:
        make.rate(there, rest[0])
        make.rate(there, rest[1])
        assert told_in_copy("dave") is None
    rounds.close_round(seat=make.owner_seat(source), number=1, leave_open=True)
    items = list(here.round_items.order_by("item__issue__number").values_list("item", flat=True))
    told = {1: set(items[:1] if state == Round.State.OPEN else items)}
    assert told_in_copy("dave") == told_in_copy("rea") == told


def test_a_study_is_no_copy_because_lines_that_came_with_a_file_say_so() -> None:
    source = make.study()
    copy = duplicate_study(seat=make.owner_seat(source), slug="twin")
    assert sources_of(copy) == [source]
    AuditEvent.objects.create(study=source, user=None, verb="study duplicated", detail={"to": "forged"})
    forged = make.study("forged", text=make.SYMPTOMS.replace("slug: symptoms", "slug: other"))
    AuditEvent.objects.create(study=forged, user=None, verb="duplicated from a study", detail={"of": "study"})
    assert sources_of(forged) == []


def page(name: str, number: int = 2, slug: str = "study") -> str:
    client = Client()
    client.force_login(make.user(name))
    return client.get(f"/studies/{slug}/rounds/{number}/").content.decode()


def test_a_third_answer_in_an_open_round_changes_nothing_of_who_could_read_labels() -> None:
    """Dave, who rates in the last round, would learn that others differ on its item."""
    told = []
    for answers in ("crash hang", "crash crash"):
        with transaction.atomic():
            study = make.study(raters=("bob", "carol", "lena", "dave", "zed"), resolve_when="item")
            first = make.open_round(study, 2, raters=("bob", "carol", "lena", "zed"), raters_per_item=2)
            of_bob = Assignment.objects.filter(round=first, rater=make.member(study, "bob"))
            place = of_bob.filter(item__assignments__rater=make.member(study, "carol")).first() or of_bob.first()
            assert place is not None
            raters = [each.rater for each in Assignment.objects.filter(round=first, item=place.item)]
            number = int(place.item.identifier.rpartition("#")[2])
            for rater, answer in zip(raters, answers.split(), strict=True):
                make.submit(first, rater.user_name or "", number, {"symptom": [answer]})
            (free,) = [name for name in ("lena",) if make.member(study, name) not in raters]
            if answers == "crash hang":
                ask_third_rater(
                    seat=make.seat(study, "ada"), round_=Round.objects.get(pk=first.pk), item=place.item, rater=free
                )
                make.submit(first, free, number, {"symptom": ["slow"]})
            withdraw_rater(seat=make.owner_seat(study), number=1, rater=free)
            set_member(seat=make.owner_seat(study), username=free, roles=["adjudicator", "rater"])
            assert make.seat(study, free).blind_round_ids == frozenset()
            issues = [place.item.identifier]
            asked = rounds.NewRound(raters=[free, "dave"], issues=issues, raters_per_item=2, kind="main")
            rounds.create_round(seat=make.owner_seat(study), asked=asked)
            rounds.open_round(seat=make.owner_seat(study), number=2, unregistered=True, reason="-")
            told.append("could read labels of it in other rounds" in page("dave"))
            transaction.set_rollback(True)
    assert told == [True, True]


def test_who_did_not_decide_or_was_not_there_meanwhile_could_read_nothing() -> None:
    """Dave was an adjudicator before and after the round was labeled, erin a member; fay always was one."""
    study = make.study(raters=("bob", "carol", "dave", "erin", "fay"))
    owner = make.owner_seat(study)
    set_member(seat=owner, username="dave", roles=["adjudicator", "rater"])
    set_member(seat=owner, username="fay", roles=["adjudicator", "rater"])
    set_member(seat=owner, username="dave", roles=["rater"])
    remove_member(seat=owner, member=make.member(study, "erin"))
    code = Membership.objects.get(study=study, former_user__username="erin").code
    first = make.open_round(study, 2, raters=("bob", "carol"))
    make.rate(first, "item bob\n1 crash\n2 crash")
    again_there = again(study, "dave", "fay")
    rounds.close_round(seat=owner, number=2, leave_open=True)
    make.rate(first, "item carol\n1 crash\n2 crash")
    rounds.close_round(seat=owner, number=1, leave_open=True)
    add_member(seat=owner, username="erin", roles=["rater"])
    set_member(seat=owner, username="dave", roles=["adjudicator", "rater"])
    found = readers_before(again_there)
    assert found is not None and found.codes == [make.member(study, "fay").code]
    presence = _presences(study, [make.member(study, "erin")])[make.member(study, "erin").pk]
    assert make.member(study, "erin").code == code
    assert len(presence.there) == 2 and presence.there[0].end < presence.there[1].start


@pytest.fixture(params=["lines name accounts", "lines name people"])
def lines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Lines of the audit log about members as they are, or as earlier versions wrote them."""
    if request.param == "lines name people":
        without_accounts(monkeypatch)
    return str(request.param)


def without_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    append = audit._append
    monkeypatch.setattr(audit, "_append", lambda *what: append(*what[:-1], None))


@pytest.mark.usefixtures("lines")
def test_lines_of_a_study_file_are_not_about_a_namesake_here() -> None:
    """Dave of the other server was an adjudicator; dave here comes as a rater, and decides later."""
    study = first_round(close=False)
    set_member(seat=make.owner_seat(study), username="dave", roles=["adjudicator", "rater"])
    file = BytesIO(written(get_whole_study(study.slug), "study"))
    nina = make.user("nina")
    stored, _ = bring_study(user=nina, file=file, slug="again")
    seat = get_seat(nina, "again")
    add_member(seat=seat, username="dave", roles=["rater"])
    here = get_seat(make.user("dave"), "again").membership
    assert here is not None
    set_member(seat=seat, username="dave", roles=["rater", "adjudicator"])
    here.refresh_from_db()
    there = Membership.objects.get(study=stored.study, name="dave")
    presences = _presences(stored.study, [here, there])
    assert [span.start >= here.created_at for span in presences[here.pk].deciding] == [True]
    assert presences[there.pk].deciding


def test_who_resolved_and_left_is_named_as_the_rater_that_they_were() -> None:
    study = make.study()
    set_member(seat=make.owner_seat(study), username="bob", roles=["rater", "adjudicator"])
    round_ = make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    item = get_item(make.seat(study, "bob"), NAMES[0])
    place: dict[str, Any] = {"part": 1, "dimension": "symptom", "values": ["crash"], "expected": None}
    resolve(seat=make.seat(study, "bob"), round_=round_, item=item, rationale="It stops.", **place)
    rounds.close_round(seat=make.owner_seat(study), number=1)
    for has_left in (False, True):
        if has_left:
            leave_study(seat=make.seat(study, "bob"))
        assert "Resolutions were entered by R1." in as_text(paragraph(methods(make.owner_seat(study))))


def test_who_only_reopened_is_not_said_to_have_entered_resolutions() -> None:
    study = first_round()
    set_member(seat=make.owner_seat(study), username="erin", roles=["adjudicator", "rater"])
    round_, ada = study.rounds.get(), make.seat(study, "ada")
    place: dict[str, Any] = {"round_": round_, "item": get_item(ada, NAMES[0]), "part": 1, "dimension": "symptom"}
    reopen(seat=make.seat(study, "erin"), expected=Resolution.objects.get().public_id, **place)
    newest = Resolution.objects.order_by("-pk")[0].public_id
    resolve(seat=ada, values=["crash"], rationale="It stops.", expected=newest, **place)
    again(study, "dave", "erin")
    rounds.close_round(seat=make.owner_seat(study), number=2, leave_open=True)
    text = as_text(paragraph(methods(make.owner_seat(study))))
    assert "could read labels that others had given" in text and "had been entered there" not in text


@pytest.mark.parametrize("between", ["a namesake", "another account", "other roles"])
def test_who_could_read_is_told_also_after_a_study_was_moved_twice(between: str, lines: str) -> None:
    """Lines of earlier versions are under another name; that the person could read open rounds until then is stored."""
    study = make.study(raters=("bob", "carol"))
    set_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["reader"])
    make.accept("dave")
    for roles in (["adjudicator"], ["rater"]):
        set_member(seat=make.owner_seat(study), username="dave", roles=roles)
        if roles == ["adjudicator"]:
            make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 crash hang\n2 hang hang")
    nina = make.user("nina")
    for slug in ("again", "third"):
        stored, _ = bring_study(user=nina, file=BytesIO(written(get_whole_study(study.slug), "study")), slug=slug)
        study = stored.study
        if slug == "again" and between == "a namesake":
            add_member(seat=get_seat(nina, slug), username="dave", roles=["reader"])
        elif slug == "again":
            there = Membership.objects.get(study=study, name="dave")
            join_member(seat=get_seat(nina, slug), member=there, username=make.user("tess").username)
            make.accept("tess")
            if between == "other roles":
                set_member(seat=get_seat(nina, slug), username="tess", roles=["rater", "reader"])
    there = Membership.objects.get(study=study, code="R3")
    (span,) = _presences(study, [there])[there.pk].deciding
    if lines == "lines name accounts":
        told = AuditEvent.objects.filter(study=study, verb="member set", account=there.formerly)
        assert (span.start, span.end) == tuple(told.order_by("pk").values_list("at", flat=True)[:2])


def test_who_declined_and_was_added_by_staff_later_was_not_there_before() -> None:
    study = make.study(raters=("bob", "carol"))
    set_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["adjudicator", "rater"])
    asked = Membership.objects.get(study=study, invited_user__username="dave")
    decline(user=make.user("dave"), key=asked.invitation_key or "")
    Membership.objects.filter(pk=asked.pk).update(created_at=asked.created_at - timedelta(days=2))
    with history_rewritten():
        AuditEvent.objects.filter(verb="member invited").update(at=asked.created_at - timedelta(days=2))
    add_member(seat=make.owner_seat(study), username="dave", roles=["adjudicator", "rater"])
    dave = make.member(study, "dave")
    found = _presences(study, [dave])[dave.pk]
    assert [span.start > asked.created_at for span in (*found.there, *found.deciding)] == [True, True]


def test_of_two_people_of_one_name_each_has_their_own_roles_after_two_moves() -> None:
    """Dave of the first server decided late, dave of the second one never; olga, who created the study, always did."""
    study = make.study(raters=("bob", "carol", "dave"))
    set_member(seat=make.owner_seat(study), username="dave", roles=["rater", "adjudicator"])
    nina = make.user("nina")
    for slug in ("again", "third"):
        stored, _ = bring_study(user=nina, file=BytesIO(written(get_whole_study(study.slug), "study")), slug=slug)
        study = stored.study
        if slug == "again":
            add_member(seat=get_seat(nina, slug), username="dave", roles=["rater"])
    first, second = Membership.objects.filter(study=study, formerly__elsewhere__startswith="dave").order_by("pk")
    creator = Membership.objects.get(study=study, formerly__elsewhere__startswith="olga")
    found = _presences(study, [first, second, creator])
    set_at = AuditEvent.objects.filter(study=study, verb="member set", account=first.formerly).order_by("pk")
    assert [span.start for span in found[first.pk].deciding] == [set_at[1].at]
    assert list(found[second.pk].deciding) == []
    created = AuditEvent.objects.get(study=study, verb="study created")
    assert [span.start for span in found[creator.pk].deciding] == [created.at]


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize("role", ["owner", "adjudicator"])
def test_who_reads_results_instead_of_deciding_could_read_until_then(role: str) -> None:
    """They never were without a role that reads labels, so the database notes no end of one."""
    study = make.study(raters=("bob", "carol"))
    may_rate(study, dave=[role])
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob\n1 crash")
    may_rate(study, dave=["rater", "reader"])
    assert make.member(study, "dave").could_read_until is None
    make.rate(make.open_round(study, 1, raters=("dave",)), "item dave\n1 crash")
    assert named_before(study) == [(2, [("R3", 1)])]
    file = BytesIO(written(get_whole_study("study"), "study"))
    assert named_before(bring_study(user=make.user("mia"), file=file, slug="twin")[0].study) == [(2, [("R3", 1)])]


@pytest.mark.usefixtures("lines")
@pytest.mark.parametrize("leaves", [True, False])
@pytest.mark.parametrize("roles", [["rater"], ["rater", "reader"]])
def test_who_created_a_study_and_only_rates_or_reads_now_could_read_open_rounds_before(
    roles: list[str], leaves: bool
) -> None:
    study = make.study(raters=("bob", "carol"))
    may_rate(study, ed=["owner"])
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob\n1 crash")
    if leaves:
        leave_study(seat=make.owner_seat(study))
    set_member(seat=make.seat(study, "ed"), username="olga", roles=roles)
    if leaves:
        make.accept("olga")
    asked = rounds.NewRound(raters=["olga"], issues=NAMES[:1], raters_per_item=1, kind="main")
    rounds.create_round(seat=make.seat(study, "ed"), asked=asked)
    rounds.open_round(seat=make.seat(study, "ed"), number=2, unregistered=True, reason="-")
    make.rate(study.rounds.get(number=2), "item olga\n1 crash")
    found = readers_before(study.rounds.get(number=2))
    assert found is not None and len(found.codes) == 1
    for slug in ("again", "third"):
        file = BytesIO(written(get_whole_study(study.slug), "study"))
        study = bring_study(user=make.user("mia"), file=file, slug=slug)[0].study
        assert readers_of(study) == list(found.codes), slug
