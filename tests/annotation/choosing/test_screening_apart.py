"""Screening beside the rest of a study: who reads its taxonomy, which round is meant, what a sheet may say."""

import pytest
from django.test import Client

from annotation.core.access import get_seat
from annotation.exports import jobs as exports
from annotation.exports.actions import request_export
from annotation.imports.actions.ratings import ImportReport, import_ratings
from annotation.models import Membership, Proposal, Rating, Round, Study
from annotation.rounds.actions import rounds
from annotation.transfer import jobs as transfer
from annotation.transfer.actions import life
from annotation.transfer.actions.study_import import bring_study
from taxonomy.actions import start_draft
from tests import builders as make
from tests.annotation.choosing.test_screening import REASONS, answer, close, screening
from tests.annotation.transfer.test_study_import import brought
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SLUG = "study-screening"
PAGES = ["", "versions/1/", "versions/1/document.yaml", "diff/1..1/", "usage/?version=1"]
ENDPOINTS = ["", "versions/1/", "versions/1/diff/1/"]
ELSEWHERE = make.SYMPTOMS.replace("slug: symptoms", "slug: other")
MEMBERS, OTHERS = ["olga", "ada", "bob", "rea", "sam"], ["nina", "nick", "eve"]
"""Of the study, or staff; and an owner and a rater of another one, and a newcomer."""


def build_study() -> Study:
    made = make.study()
    screening(made, 2, reasons=REASONS)
    make.study("elsewhere", text=ELSEWHERE, owner="nina", raters=["nick"])
    make.user("sam", staff=True)
    return made


def client(name: str) -> Client:
    found = Client()
    found.force_login(make.user(name))
    return found


@pytest.mark.parametrize("name", MEMBERS + OTHERS)
def test_a_screening_taxonomy_is_there_for_the_members_of_its_study_and_for_staff(study: Study, name: str) -> None:
    browser, script = client(name), Script(name)
    expected = 200 if name in MEMBERS else 404
    for path in PAGES:
        assert browser.get(f"/taxonomies/{SLUG}/{path}", follow=True).status_code == expected, path
    for path in ENDPOINTS:
        assert script.send("GET", f"taxonomies/{SLUG}/{path}").status_code == expected, path
    assert ("Screening: Study" in browser.get("/taxonomies/").content.decode()) == (name in MEMBERS)
    listed = {each["slug"]: each["mark"] for each in script.send("GET", "taxonomies/").json()["results"]}
    assert listed == {"other": "", "symptoms": ""} | ({SLUG: "screening"} if name in MEMBERS else {})


def test_who_is_no_member_neither_writes_a_screening_taxonomy_nor_labels_by_it(study: Study) -> None:
    nina = Script("nina")
    for path in ("versions/", "drafts/", "versions/1/retire/"):
        nina.refused("POST", f"taxonomies/{SLUG}/{path}", {}, 404)
    assert list(nina.refused("POST", "studies/", {"slug": "mine", "title": "Mine", "taxonomy": SLUG})) == ["taxonomy"]


def test_a_screening_taxonomy_stays_closed_when_its_study_is_deleted() -> None:
    study = make.study()
    answer(screening(study, 2, reasons=REASONS), "item bob carol\n1 in in\n2 in in")
    close(study)
    make.user("sam", staff=True)
    copy = bring_study(user=make.user("nick"), file=brought(study), slug="copy")[0].study
    both = [SLUG, f"{SLUG}-2"]
    assert copy.screening_taxonomy is not None and copy.screening_taxonomy.slug == both[1]
    for each in (study, copy):
        seat = get_seat(each.created_by, each.slug)
        exports.work(request_export(seat=seat, what="study", send=False).pk)
        transfer.work(life.delete_study(seat=seat, typed=each.slug, send=False).pk)
    assert not Study.objects.exists()
    maintained = {"olga": both[:1], "nick": both[1:], "sam": both, "bob": [], "nina": []}
    for name, read in maintained.items():
        listed = {each["slug"]: each["mark"] for each in Script(name).send("GET", "taxonomies/").json()["results"]}
        assert listed == {"symptoms": ""} | dict.fromkeys(read, "screening"), name
        shown = client(name).get("/taxonomies/").content.decode()
        for slug in both:
            expected = 200 if slug in read else 404
            assert (f"/{slug}/" in shown) == (slug in read)
            assert Script(name).send("GET", f"taxonomies/{slug}/versions/1/").status_code == expected, name
            assert client(name).get(f"/taxonomies/{slug}/versions/1/document.yaml").status_code == expected, name


def test_a_taxonomy_that_is_only_called_screening_is_for_everyone() -> None:
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: health-screening"))
    assert client("eve").get("/taxonomies/health-screening/versions/1/").status_code == 200


def test_a_draft_of_a_screening_taxonomy_is_its_maintainers_alone(study: Study) -> None:
    study.refresh_from_db()
    assert study.screening_taxonomy is not None
    start_draft(user=study.created_by, taxonomy=study.screening_taxonomy)
    codes = {name: client(name).get(f"/taxonomies/{SLUG}/versions/2/").status_code for name in MEMBERS + OTHERS}
    assert codes == {name: 200 if name in ("olga", "sam") else 404 for name in MEMBERS + OTHERS}


@pytest.mark.parametrize("name", ["olga", "bob", "rea", "sam"])
def test_no_study_is_made_that_labels_by_a_screening_taxonomy(study: Study, name: str) -> None:
    """Its members would read what it screens by, also when whoever made it has left."""
    given = {"slug": "second", "title": "Second", "taxonomy": SLUG}
    said = Script(name).refused("POST", "studies/", given, 422)
    assert list(said) == ["taxonomy"] and "screens by" in said["taxonomy"][0]
    page = client(name).post("/studies/new/", given)
    assert page.status_code == 422 and not Study.objects.filter(slug="second").exists()


def test_a_study_from_a_file_gets_a_taxonomy_of_its_own_for_one_that_is_screened_by_here() -> None:
    """The file of a study that labels by what has the ID and the questions of a screening taxonomy of this server."""
    study = make.study()
    screening(study, 2, reasons=REASONS)
    study.refresh_from_db()
    old = Study.objects.create(slug="old", title="Old", taxonomy=study.screening_taxonomy, created_by=study.created_by)
    members = Membership.objects.filter(study=study, roles=["owner"])
    Membership.objects.create(study=old, user=members.get().user, roles=["owner"])
    copy = bring_study(user=make.user("olga"), file=brought(old), slug="copy")[0].study
    assert copy.taxonomy not in (study.screening_taxonomy, study.taxonomy)
    assert client("eve").get(f"/taxonomies/{copy.taxonomy.slug}/versions/1/").status_code == 404


def open_and_screened() -> Study:
    """Issue 1 differs in a main round that is being resolved, and in a later screening round that is, too."""
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    answer(screening(study, 1, reasons=REASONS), "item bob carol\n1 in spam")
    return study


def decided(dimension: str, value: str) -> int:
    body = {"item": "acme/rocket#1", "dimension": dimension, "values": [value], "rationale": "Seen."}
    answered = Script("ada").send("POST", "studies/study/resolutions/", body)
    assert answered.status_code == 201, answered.content
    return answered.json()["round"]


def test_a_decision_that_names_no_round_is_for_the_round_that_asks_its_dimension() -> None:
    open_and_screened()
    assert decided("symptom", "crash") == 1
    assert decided("screening", "out") == 2
    assert decided("screening-reason", "spam") == 2


def test_a_decision_that_names_no_dimension_is_for_no_screening_round_where_there_is_another() -> None:
    open_and_screened()
    body = {"item": "acme/rocket#1", "dimension": "symptom", "name": "Wrong result", "memo": "New."}
    made = Script("ada").send("POST", "studies/study/proposals/", body)
    assert made.status_code == 201, made.content
    assert Proposal.objects.get().round.number == 1


def test_an_unknown_dimension_is_refused_by_name() -> None:
    open_and_screened()
    body = {"item": "acme/rocket#1", "dimension": "nonsense", "values": ["x"]}
    assert list(Script("ada").refused("POST", "studies/study/resolutions/", body)) == ["dimension"]


def sheet(rows: str) -> ImportReport:
    text = "item,rater,round,dimension,value\n" + "\n".join(f"acme/rocket#{row}" for row in rows.split())
    return import_ratings(user=make.user("olga"), study="study", file=text.encode(), name="sheet.csv")


def test_a_sheet_brings_answers_into_a_screening_round_and_nothing_pending() -> None:
    study = make.study()
    screening(study, 2, reasons=REASONS)
    report = sheet(
        "1,bob,1,screening,in 1,carol,1,screening,PENDING 2,bob,1,screening,out 2,bob,1,screening-reason,Spam"
    )
    assert [(each.line, each.reason) for each in report.refusals] == [
        (3, "Proposals can't be pending while screening. Use the closest reason, and explain it in the memo.")
    ]
    assert report.n_ratings == 3 and not Proposal.objects.exists()
    assert not Rating.objects.filter(rater__user__username="carol").exists()


def test_a_sheet_of_symptoms_may_have_something_pending_beside_a_screening_round() -> None:
    study = make.study()
    answer(screening(study, 1, reasons=REASONS), "item bob carol\n1 in in")
    close(study)
    make.open_round(study, 1)
    report = sheet("1,bob,2,symptom,PENDING 1,carol,2,symptom,crash")
    assert not report.n_refused and Proposal.objects.count() == 1
    assert rounds.get_round(make.owner_seat(study), 2).state == Round.State.RESOLVING
