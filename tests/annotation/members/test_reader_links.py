"""Links by which reviewers read a study: closed rounds alone, no account, and nothing any more once withdrawn."""

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import User
from annotation.analysis.actions import save_analysis
from annotation.core.access import get_item, get_round, get_seat_by_link
from annotation.core.errors import Forbidden, Invalid
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import AuditEvent, ReaderLink, Round, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions.rounds import close_round
from annotation.studies.actions.studies import change_study
from tests import builders as make
from tests.annotation.agreement_report.test_result_pages import visitor
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db

READ = ["", "rounds/", "rounds/1/", "items/", "items/{1}/", "taxonomy/", "exports/", "exports/labels.csv"]
READ += ["exports/ratings.jsonl", "agreement/", "agreement/items/?dimension=symptom", "agreement/methods/"]
READ += ["agreement/methods.txt", "agreement/figure/confusion.svg?dimension=symptom", "analysis/"]
READ += [f"analysis/{asked}" for asked in ("counts/?dimension=symptom", "crosstab/?rows=symptom&columns=repository")]
READ += [f"analysis/counts/{file}?dimension=symptom" for file in ("figure/counts.svg", "table/counts.csv")]
"""What is read by a link, after the address of the study."""
HELD_BACK = ["settings/", "members/", "readers/", "sample/", "audit/", "plans/", "proposals/", "changes/", "import/"]
HELD_BACK += ["exports/package/", "rounds/new/", "rounds/1/label/", "rounds/1/resolve/", "rounds/1/discuss/"]
"""What needs an account, whoever has a link."""
EARLIER, LATER = "zqclosed", "zqopen"


LINE = {"dimension": "symptom", "title": "Symptom", "coefficient": "krippendorff_alpha", "value": 0.4, "ci_low": None,
        "ci_high": None, "threshold": 0.8, "undefined": None, "verdict": "not met"}  # fmt: skip
"""A line of the pilot's result when a round was opened."""


def build_study() -> Study:
    """Round 1 is closed; round 2, of other items, is open and done by bob."""
    study = make.study()
    first = make.open_round(study, 2)
    make.submit(first, "bob", 1, {"symptom": ["crash"]}, memo=EARLIER)
    make.submit(first, "carol", 1, {"symptom": ["hang"]})
    make.rate(first, "item bob carol\n2 crash crash")
    resolve(
        seat=make.seat(study, "ada"), round_=get_round(make.seat(study, "ada"), 1), part=1, dimension="symptom",
        item=get_item(make.seat(study, "ada"), "acme/rocket#1"), values=["crash"],
        rationale="zqwhy", expected=None,
    )  # fmt: skip
    close_round(seat=make.owner_seat(study), number=1)
    second = make.open_round(study, 2, first=3)
    make.submit(second, "bob", 3, {"symptom": ["slow"]}, memo=LATER)
    return study


def link(study: Study, **more: object) -> tuple[ReaderLink, str]:
    asked = {"label": "reviewers", "with_issues": True} | more
    return make_reader_link(seat=make.owner_seat(study), **asked)  # type: ignore[arg-type]


def opened(plaintext: str) -> Client:
    client = Client(raise_request_exception=False)
    answer = client.get(f"/read/{plaintext}/")
    assert (answer.status_code, answer["Location"]) == (302, "/studies/study/")
    return client


def words(client: Client, rest: str) -> tuple[int, str]:
    path = rest.replace("{1}", str(get_item(make.owner_seat(Study.objects.get()), "acme/rocket#1").pk))
    answer = client.get(f"/studies/study/{path}")
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer.status_code, body.decode(errors="replace")


def test_whoever_opens_a_link_reads_what_is_closed_and_nothing_of_what_is_not(study: Study) -> None:
    client = opened(link(study)[1])
    told = ""
    for path in READ:
        status, page = words(client, path)
        assert status == 200, path
        assert LATER not in page and "slow (" not in page, path
        told += page
    assert EARLIER in told and "zqwhy" in told and "acme/rocket#1" in told
    assert words(client, "agreement/?round=2")[0] == 403
    assert "You are reading this study through a reader link" in words(client, "")[1]


def test_people_stand_by_their_codes_for_who_reads_by_a_link(study: Study) -> None:
    for name in ("bob", "carol", "ada"):
        User.objects.filter(username=name).update(first_name=f"zqname {name}", username=f"zqname-{name}")
    save_analysis(seat=make.owner_seat(study), title="Symptoms", kind="counts", question={"dimension": ["symptom"]})
    gate = {"round": 1, "advice": "wait", "reason": "fine", "by": "zqname-olga", "dimensions": [LINE]}
    Round.objects.filter(study=study, number=1).update(gate=gate)
    User.objects.filter(username="olga").update(first_name="zqname olga")
    AuditEvent.objects.create(study=study, user=study.created_by, verb="headline fixed", detail={"rounds": [1]})
    assert (
        "zqname-olga" in words(visitor("olga"), "rounds/1/")[1] and "zqname" in words(visitor("olga"), "agreement/")[1]
    )
    client = opened(link(study)[1])
    assert "Opened although" in words(client, "rounds/1/")[1]
    assert not [path for path in (*READ, "exports/resolutions.csv") if "zqname" in words(client, path)[1]]


def test_who_reads_by_a_link_is_not_told_that_they_rate(study: Study) -> None:
    Round.objects.filter(study=study, number=2).update(state="resolving")
    AuditEvent.objects.create(study=study, user=study.created_by, verb="headline fixed", detail={"rounds": [1, 2]})
    client = opened(link(study)[1])
    told = " ".join(
        words(client, path)[1] for path in ("", "agreement/", "agreement/methods/", "agreement/methods.txt")
    )
    assert "round 2; it is hidden from you for now, so this text excludes it" in told
    assert "it includes round 2, whose results you can’t see yet" in told
    assert "Round 2 is finished. Ask an owner of the study for the value, or wait until it is closed." in told
    assert "Finish a main round" not in told
    assert not re.search(r"you rate|you are blind|You are a rater", told)


def test_a_link_opens_nothing_else_and_changes_nothing(study: Study) -> None:
    client = opened(link(study)[1])
    for path in HELD_BACK:
        assert client.get(f"/studies/study/{path}").status_code == 302, path
    for path in ("", "rounds/", "items/", "exports/"):
        assert client.post(f"/studies/study/{path}", {"screening": "out"}).status_code in (403, 405), path
    make.study("other", owner="mallory", text=make.SYMPTOMS.replace("slug: symptoms", "slug: more"))
    assert client.get("/studies/other/").status_code == 302
    assert client.get("/api/v1/studies/study/labels/").status_code == 401
    assert client.get("/issues/").status_code == client.get("/studies/").status_code == 302


def test_a_round_is_read_by_a_link_when_it_is_closed_and_not_while_it_is_resolved(study: Study) -> None:
    client = opened(link(study)[1])
    second = study.rounds.get(number=2)
    make.rate(second, "item carol\n3 hang")
    make.rate(second, "item bob carol\n4 slow slow")
    assert Round.objects.get(pk=second.pk).state == "resolving"
    assert LATER not in words(client, "exports/ratings.csv")[1]
    close_round(seat=make.owner_seat(study), number=2, leave_open=True)
    assert LATER in words(client, "exports/ratings.csv")[1]


@pytest.mark.slow
def test_a_link_without_texts_shows_no_title_no_body_and_no_quote(study: Study) -> None:
    secrets = ("Issue 1 of", "Training **hangs**", "Training <strong>hangs")
    with_texts, without = (opened(link(study, with_issues=each)[1]) for each in (True, False))
    assert any(secret in words(with_texts, "items/{1}/")[1] for secret in secrets)
    for path in (*READ, "items/?search=Issue"):
        status, page = words(without, path)
        assert status == 200 and not [secret for secret in secrets if secret in page], path
    assert words(with_texts, "exports/issues.csv")[0] == 200
    assert words(without, "exports/issues.csv")[0] == 403
    assert "acme/rocket#1" in words(with_texts, "items/?search=Issue")[1]
    assert "acme/rocket#1" not in words(without, "items/?search=Issue")[1]
    assert "acme/rocket#1" in words(without, "items/?search=rocket%231")[1]


def test_a_link_that_is_withdrawn_or_has_ended_leads_nowhere_at_once(study: Study) -> None:
    made, plaintext = link(study)
    ended, other = link(study, days=1)
    by_made, by_ended = opened(plaintext), opened(other)
    owner = Client()
    owner.force_login(make.user("olga"))
    assert owner.post(f"/studies/study/readers/{made.number}/withdraw/").status_code == 302
    ReaderLink.objects.filter(pk=ended.pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    for client, secret in ((by_made, plaintext), (by_ended, other)):
        for path in READ:
            status, page = words(client, path)
            assert status == 404 and study.title + " ·" not in page, path
        assert client.get(f"/read/{secret}/").status_code == 404
    assert Client().get("/read/nonsense/").status_code == 404


def test_an_open_link_leaks_nowhere(study: Study) -> None:
    made, plaintext = link(study)
    answer = Client().get(f"/read/{plaintext}/")
    assert answer["Referrer-Policy"] == "no-referrer" and "noindex" in answer["X-Robots-Tag"]
    assert "no-store" in answer["Cache-Control"] and plaintext not in answer["Location"]
    page = opened(plaintext).get("/studies/study/")
    assert "noindex" in page["X-Robots-Tag"] and "no-store" in page["Cache-Control"]
    assert plaintext not in str(ReaderLink.objects.values_list().get(pk=made.pk))
    assert plaintext not in str(list(AuditEvent.objects.values_list("detail", flat=True)))
    made.refresh_from_db()
    assert made.n_opened == 2 and made.last_opened_at is not None


def test_who_is_signed_in_keeps_their_own_place(study: Study) -> None:
    """A blind rater who opens the link sees no more than before, and an owner no less."""
    _, plaintext = link(study)
    for name, role in (("carol", "rater"), ("olga", "owner")):
        client = Client()
        client.force_login(make.user(name))
        client.get(f"/read/{plaintext}/")
        page = words(client, "")[1]
        assert "reader link" not in page and role in page
        assert client.get("/studies/study/settings/").status_code == (200 if role == "owner" else 403)
    stranger = Client()
    stranger.force_login(make.user("mallory"))
    assert words(stranger, "")[0] == 404
    stranger.get(f"/read/{plaintext}/")
    assert "You are reading this study through a reader link" in words(stranger, "")[1]
    assert stranger.get("/studies/study/members/").status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("state", ["open", "resolving"])
def test_a_link_shows_nothing_of_items_that_are_labeled_again_in_a_round_under_way(study: Study, state: str) -> None:
    """Whoever holds it may be asked about them, signed in or not."""
    plaintext = link(study)[1]
    client = opened(plaintext)
    assert EARLIER in words(client, "exports/ratings.jsonl")[1]
    round_ = make.open_round(study, 1)
    Round.objects.filter(pk=round_.pk).update(state=state)
    queue = make.worklist(study, 1, "item asked raters\n1 symptom bob\n2 symptom carol")
    stranger = Client(raise_request_exception=False)
    stranger.force_login(make.user("mallory"))
    stranger.get(f"/read/{plaintext}/")
    for reader in (client, stranger):
        for path in READ:
            status, page = words(reader, path)
            assert status == 200 and EARLIER not in page and "zqwhy" not in page, path
        for path in ("exports/ratings.jsonl", "exports/labels.csv"):
            found = words(reader, path)[1]
            assert "acme/rocket#2" in found and "acme/rocket#1" not in found, path
        queued = words(reader, f"items/?round={queue.number}")[1]
        assert "rocket#2" in queued and "rocket#1" not in queued
        raters = words(reader, f"rounds/{queue.number}/")[1]
        assert "R2" in raters and "R1" not in raters
    excluded = "1 item labeled again in a round that is not closed"
    overview = [""] if state == "open" else []  # else it shows no headline
    for path in (*overview, "agreement/", "analysis/", "agreement/methods/", "agreement/methods.txt"):
        page = words(client, path)[1]
        assert excluded in page and "you label" not in page, path
    Round.objects.filter(pk=round_.pk).update(state="closed")
    assert EARLIER in words(client, "exports/ratings.jsonl")[1]


def test_saved_analyses_wait_until_no_round_is_under_way(study: Study) -> None:
    save_analysis(seat=make.owner_seat(study), title="zqtitle", kind="counts", question={"dimension": ["symptom"]})
    client = opened(link(study)[1])
    assert "zqtitle" not in words(client, "analysis/")[1] and words(client, "analysis/1/")[0] == 403
    study.rounds.filter(number=2).update(state="closed")
    assert "zqtitle" in words(client, "analysis/")[1] and words(client, "analysis/1/")[0] == 200


def test_only_the_owner_makes_links_and_sees_them_once(study: Study) -> None:
    for name, status in (("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)):
        client = Client()
        client.force_login(make.user(name))
        for answer in (client.get("/studies/study/readers/"), client.post("/studies/study/readers/", {"label": "me"})):
            assert answer.status_code == status, name
        assert client.post("/studies/study/readers/1/withdraw/").status_code == status
    assert Client().get("/studies/study/readers/").status_code == 302
    client = Client()
    client.force_login(make.user("olga"))
    assert client.post("/studies/study/readers/", {"label": "", "days": "0"}).status_code == 422
    made = client.post("/studies/study/readers/", {"label": "reviewers", "days": "30"})
    assert made.status_code == 201 and ReaderLink.objects.get().with_issues is False
    secret = made.content.decode().split("/read/")[1].split("/")[0]
    assert opened(secret) and secret not in client.get("/studies/study/readers/").content.decode()
    assert client.post("/studies/study/readers/9/withdraw/").status_code == 404
    client.post("/studies/study/readers/1/withdraw/")
    verbs = list(AuditEvent.objects.order_by("pk").values_list("verb", flat=True))
    assert verbs[-2:] == ["reader link made", "reader link withdrawn"]
    with pytest.raises(Forbidden):
        make_reader_link(seat=make.seat(study, "ada"), label="x")
    with pytest.raises(Invalid):
        make_reader_link(seat=make.owner_seat(study), label="x" * 101, days=4000)


def test_the_list_of_links_asks_the_same_however_many_there_are(study: Study) -> None:
    for n in (1, 5):
        for _ in range(n):
            link(study)
        owner = Client()
        owner.force_login(make.user("olga"))
        with assert_queries(6):
            owner.get(reverse("reader_links", args=["study"]))


def test_a_change_of_the_study_needs_an_account(study: Study) -> None:
    seat = get_seat_by_link(link(study)[0].pk, "study")
    with pytest.raises(Forbidden):
        change_study(seat=seat, changes={"title": "Mine"})


SEVERITY = """
  - key: severity
    title: Severity
    kind: single
    categories: [{key: low, name: Low}, {key: high, name: High}]
"""


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_a_closed_queue_shows_no_label_that_it_carries_from_a_round_that_is_resolved(form: str) -> None:
    study = make.study(text=make.SYMPTOMS.rstrip() + SEVERITY)
    first = make.open_round(study, 3)
    for name, symptom in (("bob", "hang"), ("carol", "crash")):
        for number in (1, 2, 3):
            make.submit(first, name, number, {"symptom": [symptom], "severity": ["high"]})
    make.next_version(study, make.HANG_SPLIT.rstrip() + SEVERITY)
    make.worklist(study, 2, "item asked raters\n1 symptom bob\n2 symptom bob", state=Round.State.CLOSED)
    client = opened(link(study)[1])
    for place in (f"exports/labels.{form}", f"exports/labels.{form}?round=2"):
        status, text = words(client, place)
        assert status == 200 and "acme/rocket#" not in text, place
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert "acme/rocket#1" in words(client, f"exports/labels.{form}?round=2")[1]


@pytest.mark.parametrize("is_rated_again", [False, True])
@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING])
def test_a_link_does_not_tell_which_items_of_a_round_under_way_a_queue_asks_about(
    state: str, is_rated_again: bool
) -> None:
    """They follow from its labels. A rater of another round under way with an item of it may hold the link, too."""
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 crash crash")
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol", state=state)
    if is_rated_again:
        with make.queues_aside(study):
            make.open_round(study, 2)
    client = opened(link(study)[1])
    for path, told in (
        (f"items/?round={queue.number}", "rocket#1"),
        (f"rounds/{queue.number}/", "R1"),
        ("items/{1}/", "Round 2"),
    ):
        status, page = words(client, path)
        assert status == 200 and told not in page, path


@pytest.mark.parametrize("is_answered", [False, True])
def test_a_link_counts_no_third_rater_of_a_round_that_is_resolved(is_answered: bool) -> None:
    """One was asked because others differ."""
    study = make.study(raters=("bob", "carol", "dave", "zed"))
    first = make.rate(make.open_round(study, 2), "item bob carol\n1 hang crash\n2 crash crash")
    make.open_round(study, 1, raters=("dave", "zed"))
    client = opened(link(study)[1])
    paths = ("", "rounds/", "rounds/1/")
    before = [re.findall(r"\d+ of \d+|\d+ finished", words(client, path)[1]) for path in paths]
    ada = make.seat(study, "ada")
    ask_third_rater(seat=ada, round_=get_round(ada, 1), item=get_item(ada, "acme/rocket#1"), rater="zed")
    if is_answered:
        make.submit(first, "zed", 1, {"symptom": ["hang"]})
    assert [re.findall(r"\d+ of \d+|\d+ finished", words(client, path)[1]) for path in paths] == before


@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED])
def test_a_link_does_not_tell_which_items_of_a_queue_under_way_a_later_one_has(state: str) -> None:
    """They follow from what was answered in the one before, and the later one carries its labels."""
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 hang hang")
    close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    queue = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol")
    make.rate(queue, "item bob carol\n1 hang-a hang-a\n2 hang-b hang-b")
    make.next_version(study, make.HANG_SPLIT.replace("Hang A", "Hang at start"))
    make.worklist(study, 3, "item asked raters\n1 symptom bob,carol", state=state)
    client = opened(link(study)[1])
    for path, told in (
        ("items/?round=3", "rocket#1"),
        ("items/{1}/", "Round 3"),
        ("exports/labels.csv?round=3", "hang"),
    ):
        status, page = words(client, path)
        assert (status == 403 or told not in page) and status in (200, 403), path
    assert "rocket#1" in words(client, "items/?round=2")[1]
    close_round(seat=make.owner_seat(study), number=2)
    assert "rocket#1" in words(client, "items/?round=3")[1]


@pytest.mark.parametrize(
    "path", ["exports/labels.csv", "exports/labels.jsonl", "agreement/methods/", "analysis/counts/"]
)
def test_a_link_does_not_tell_by_earlier_labels_what_was_answered_in_a_queue_under_way(path: str) -> None:
    """The later queue has the items that were labeled hang-a in the one before it; earlier labels of others stood."""
    told = []
    for later in ("1 symptom bob,carol\n2 symptom bob,carol", "2 symptom bob,carol"):
        with transaction.atomic():
            study = make.study()
            make.rate(make.open_round(study, 3), "item bob carol\n1 hang hang\n2 hang hang\n3 crash crash")
            close_round(seat=make.owner_seat(study), number=1)
            make.next_version(study, make.HANG_SPLIT)
            queue = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol\n2 symptom bob,carol")
            first = "hang-a" if "1 " in later else "hang-b"
            make.rate(queue, f"item bob carol\n1 {first} {first}\n2 hang-a hang-a")
            make.next_version(study, make.HANG_SPLIT.replace("Hang A", "Hang at start"))
            make.worklist(study, 3, f"item asked raters\n{later}", state=Round.State.CLOSED)
            told.append(words(opened(link(study)[1]), path))
            transaction.set_rollback(True)
    (status, page), (_, other) = told
    own = re.compile(r'Token": "\w+|\d\d:\d\d UTC')  # a page made a minute later has another time
    assert status == 200 and own.sub("", page) == own.sub("", other)
    assert "rocket#1" not in page
    assert "rocket#3" in page or not path.startswith("exports/")
