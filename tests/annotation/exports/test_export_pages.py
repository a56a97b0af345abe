"""The page of files that a job makes: who sees it, what its rows say, what comes back."""

from typing import Any

import pytest
from django.test import Client

from annotation.exports import jobs as export_jobs
from annotation.exports.actions import cancel_export, request_export
from annotation.members.actions.members import add_member
from annotation.models import Export, Study
from annotation.rounds.actions.rounds import close_round
from tests import builders as make
from tests.annotation.exports.test_jobs import made, own_folder
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
PAGE = "/studies/study/exports/"
__all__ = ["own_folder"]


def build_study() -> Study:
    made = make.study()
    make.rate(make.open_round(made, 2), "item bob carol\n1 crash crash\n2 crash hang")
    return made


def visitor(name: str, *, staff: bool = False) -> Client:
    client = Client()
    client.force_login(make.user(name, staff=staff))
    return client


def page(client: Client) -> str:
    return client.get(PAGE).content.decode()


def test_an_owner_has_a_file_made_and_takes_it_home(study: Study) -> None:
    olga = visitor("olga")
    assert "No exports yet" in page(olga)
    asked = {"what": "ratings", "format": "csv", "round": "1", "dimension": "", "raters": "R1", "shape": "wide"}
    answer = olga.post(f"{PAGE}make/", asked)
    assert (answer.status_code, answer["Location"]) == (302, f"{PAGE}#made")
    export = Export.objects.get()
    assert export.asked == {"round": 1, "raters": ["R1"], "shape": "wide"}
    waiting = page(olga)
    assert f'hx-get="{PAGE}1/state/" hx-trigger="every 1s"' in waiting and "Queued." in waiting
    export_jobs.work(export.pk)
    export.refresh_from_db()
    row = olga.get(f"{PAGE}1/state/").content.decode()
    assert export.sha256 in row and "hx-get" not in row and "2 rows" in row and "round 1" in row and "rater R1" in row
    sent = olga.get(f"{PAGE}1/download/")
    assert sent["Content-Disposition"] == 'attachment; filename="study-ratings-1.csv"'
    assert b"".join(sent.streaming_content).count(b"\n") == 3  # type: ignore[attr-defined]
    assert olga.post(f"{PAGE}1/remove/").status_code == 302
    assert "removed" in page(olga) and export.sha256 in page(olga)
    assert olga.get(f"{PAGE}1/download/").status_code == 404


def test_a_running_file_shows_rows_a_bar_and_a_way_to_cancel(study: Study) -> None:
    request_export(seat=make.owner_seat(study), what="labels", format="csv", send=False)
    Export.objects.update(state="running", n_rows=1200, n_expected=4800)
    olga = visitor("olga")
    said = page(olga)
    assert "<strong>1,200</strong> of about 4,800 rows" in said and 'value="1200" max="4800"' in said
    assert olga.post(f"{PAGE}1/remove/", follow=True).content.decode().count("is running. Cancel it first") == 1
    assert olga.post(f"{PAGE}1/cancel/").status_code == 302
    assert Export.objects.get().state == "cancelled"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"what": "secrets"}, "Use one of labels"),
        ({"what": "labels", "format": "exe"}, "Use one of csv"),
        ({"what": "labels", "format": "csv", "version": "9"}, "has no version 9"),
        ({"what": "ratings", "format": "csv", "revision": "last"}, "Use one of blind"),
    ],
)
def test_what_is_in_the_way_comes_back_with_what_was_chosen(study: Study, asked: dict[str, Any], words: str) -> None:
    answer = visitor("olga").post(f"{PAGE}make/", asked)
    said = answer.content.decode()
    assert answer.status_code == 422 and words in said
    assert not Export.objects.exists()


def test_who_sees_files_and_who_may_do_what(study: Study) -> None:
    make.study("other", text=make.SYMPTOMS.replace("slug: symptoms", "slug: others"), owner="mallory")
    made(study)
    for name, status in (("ada", 403), ("bob", 403), ("rea", 403), ("mallory", 404)):
        client = visitor(name)
        assert client.get(f"{PAGE}1/state/").status_code == status, name
        assert client.get(f"{PAGE}1/download/").status_code == status, name
        for what in ("1/cancel/", "1/remove/"):
            assert client.post(PAGE + what).status_code == status, (name, what)
        assert client.post(f"{PAGE}make/", {"what": "labels", "format": "csv"}).status_code == status, name
        if status == 403:
            assert "Background exports" not in page(client)
    olga = visitor("olga")
    assert olga.get(f"{PAGE}9/state/").status_code == olga.get(f"{PAGE}9/download/").status_code == 404
    assert olga.get(f"{PAGE}make/").status_code == olga.get(f"{PAGE}1/cancel/").status_code == 405
    assert Client().get(f"{PAGE}1/download/").status_code == 302
    stan = visitor("stan", staff=True)
    assert ">Download<" not in page(stan) and stan.get(f"{PAGE}1/download/").status_code == 403
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert "study-ratings-1" not in page(stan) and "Download" in page(stan) and "Create export" not in page(stan)
    assert stan.get(f"{PAGE}1/download/").status_code == 200
    assert stan.post(f"{PAGE}1/remove/").status_code == 403
    assert Export.objects.get().state == "done"


def test_a_blind_owner_reads_which_round_is_missing_and_why_another_owners_file_is_closed(study: Study) -> None:
    seat = make.owner_seat(study)
    add_member(seat=seat, username="olga", roles=["owner", "rater"])
    add_member(seat=seat, username="rea", roles=["owner"])
    make.open_round(study, 1, raters=("olga", "bob"), first=3)
    made(study)
    theirs = request_export(seat=make.seat(study, "rea"), what="ratings", format="csv", send=False)
    export_jobs.work(theirs.pk)
    said = page(visitor("olga"))
    assert "without round 2, in which olga was a rater" in said
    assert "Someone else created this file. While you are a rater of an open round" in said
    assert f'href="{PAGE}1/download/"' in said and f'href="{PAGE}2/download/"' not in said
    assert '<option value="2">round 2</option>' not in said


def test_the_page_costs_the_same_with_many_files(study: Study) -> None:
    seat, olga = make.owner_seat(study), visitor("olga")
    for n in (1, 8):
        for _ in range(n):
            cancel_export(seat=seat, export=request_export(seat=seat, what="labels", format="csv", send=False))
        page(olga)
        with assert_queries(11):
            page(olga)
