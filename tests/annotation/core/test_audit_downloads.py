"""Every download of a study's data is a line of its audit log: who, what, in which format, with which filters."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.actions import make_token
from accounts.models import ServerEvent
from annotation.choosing.actions import samples as sample_actions
from annotation.exports import jobs as export_jobs
from annotation.exports.actions import request_export
from annotation.members.actions.reader_links import make_reader_link
from annotation.models import AuditEvent, Export, Study
from annotation.studies.actions.archive import archive_study
from tests import builders as make

pytestmark = pytest.mark.django_db
REST = "/api/v1/studies/study"


def build_study() -> Study:
    """A round that is over, in which Bob and Carol differ once."""
    study = make.study()
    round_ = make.open_round(study, 2)
    make.rate(round_, "item bob carol\n1 crash crash\n2 crash hang")
    return study


def page(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def rest(name: str) -> Any:
    headers = {"Authorization": f"Bearer {make_token(user=make.user(name), name='t', scope='read')[1]}"}
    return lambda path: read(Client().get(path, headers=headers))


def read(answer: Any) -> Any:
    """The answer, read to its end as a browser reads it."""
    assert answer.status_code == 200, answer.content
    answer.body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return answer


def lines(study: Study) -> list[tuple[str | None, dict[str, Any]]]:
    """Who and what of the downloads, oldest first."""
    rows = AuditEvent.objects.filter(study=study, verb="downloaded").order_by("pk").select_related("user")
    return [(row.user.username if row.user else None, row.detail) for row in rows]


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("what", ["labels", "ratings", "issues", "evidence"])
def test_a_file_over_rest_is_a_line(study: Study, what: str, format: str) -> None:
    rest("olga")(f"{REST}/{what}/?format={format}")
    [(who, detail)] = lines(study)
    assert (who, detail["what"], detail["format"]) == ("olga", what, format)


def test_a_line_has_the_filters_and_is_found_by_them(study: Study) -> None:
    rest("ada")(f"{REST}/ratings/?format=csv&round=1&dimension=symptom&revision=blind")
    found = {"what": "ratings", "format": "csv", "round": 1, "dimension": "symptom", "revision": "blind"}
    assert lines(study) == [("ada", found)]
    shown = page("olga").get("/studies/study/audit/?what=downloaded&of=round 1").content.decode()
    assert ("ratings" in shown and "Ada" in shown) or "ada" in shown


def test_pages_of_json_and_head_requests_are_no_downloads(study: Study) -> None:
    for path in ("labels", "ratings", "issues", "agreement", "evidence"):
        rest("olga")(f"{REST}/{path}/")
    client = page("olga")
    assert client.head("/studies/study/exports/labels.csv").status_code == 200
    client.get("/studies/study/")
    assert lines(study) == []


@pytest.mark.slow
def test_files_of_the_pages_are_lines(study: Study) -> None:
    client = page("olga")
    sample = sample_actions.draw_sample(
        seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=1, seed=1
    )
    for path in (
        "exports/ratings.csv?round=1",
        "agreement/methods.md",
        f"sample/{sample.pk}/frame.csv",
        f"sample/{sample.pk}/flow.md",
        "agreement/figure/confusion.svg?dimension=symptom&round=1",
        "analysis/counts/table/counts.csv?dimension=symptom",
        "audit/audit.csv?what=downloaded",
    ):
        read(client.get(f"/studies/study/{path}"))
    said = [(detail.pop("what"), detail.pop("format"), detail) for who, detail in lines(study) if who == "olga"]
    assert said == [
        ("ratings", "csv", {"round": 1}),
        ("methods", "md", {}),
        ("frame", "csv", {"sample": sample.pk}),
        ("flow", "md", {"sample": sample.pk}),
        ("figure: confusion", "svg", {"dimension": "symptom", "round": 1}),
        ("table: counts", "csv", {"dimension": "symptom"}),
        ("audit log", "csv", {"filter": "what downloaded"}),
    ]


def test_an_export_is_a_line_each_time_that_it_is_downloaded(study: Study) -> None:
    export = made(study)
    read(page("olga").get(f"/studies/study/exports/{export.number}/download/"))
    rest("olga")(f"/api/v1/exports/{export.public_id}/download/")
    found = {"what": "ratings", "format": "csv", "export": export.number}
    assert lines(study) == [("olga", found)] * 2


def test_whoever_reads_by_a_link_is_recorded_by_the_link(study: Study) -> None:
    link, secret = make_reader_link(seat=make.owner_seat(study), label="reviewers")
    client = Client()
    client.get(f"/read/{secret}/")
    read(client.get("/studies/study/exports/labels.csv"))
    found = {"what": "labels", "format": "csv", "link": link.number, "label": "reviewers"}
    assert lines(study) == [(None, found)]


def test_downloads_from_an_archived_study_are_lines_as_well(study: Study) -> None:
    export = made(study)
    archive_study(seat=make.owner_seat(study))
    read(page("olga").get("/studies/study/exports/labels.csv"))
    rest("olga")(f"{REST}/labels/?format=csv")
    read(page("olga").get(f"/studies/study/exports/{export.number}/download/"))
    assert [detail["what"] for _, detail in lines(study)] == ["labels", "labels", "ratings"]


def test_a_download_that_is_rejected_is_no_line(study: Study) -> None:
    make.open_round(study, 2, first=3)
    headers = {"Authorization": f"Bearer {make_token(user=make.user('bob'), name='t', scope='read')[1]}"}
    assert Client().get(f"{REST}/labels/?format=csv&round=2", headers=headers).status_code == 403
    assert Client().get(f"{REST}/labels/?format=csv&round=99", headers=headers).status_code in (404, 422)
    assert page("mallory").get("/studies/study/exports/labels.csv").status_code == 404
    assert lines(study) == []


def test_a_file_of_the_audit_holds_what_the_page_shows_and_not_itself(study: Study) -> None:
    client = page("olga")
    n_before = AuditEvent.objects.filter(study=study).count()
    body = read(client.get("/studies/study/audit/audit.jsonl")).body
    assert len(body.splitlines()) == n_before
    assert AuditEvent.objects.filter(study=study).count() == n_before + 1


def test_what_is_downloaded_says_nothing_of_how_much_there_was(study: Study) -> None:
    rest("ada")(f"{REST}/ratings/?format=csv")
    make.rate(make.open_round(study, 2, first=3), "item bob carol\n3 crash crash\n4 crash hang")
    rest("ada")(f"{REST}/ratings/?format=csv")
    first, second = lines(study)
    assert first == second


def test_the_shell_and_the_server_audit_leave_lines_too(study: Study, tmp_path: Path) -> None:
    call_command("export", "study", "--what", "labels", "--out", str(tmp_path / "labels.csv"), stdout=io.StringIO())
    assert lines(study) == [(None, {"what": "labels", "format": "csv", "by": "shell"})]
    client = Client()
    client.force_login(make.user("tess", staff=True))
    read(client.get("/operations/audit/audit.csv"))
    event = ServerEvent.objects.get(verb="audit log downloaded")
    assert (event.user and event.user.username, event.detail) == ("tess", {"format": "csv"})


def test_a_download_costs_the_columns_of_analyses_nothing(study: Study) -> None:
    from annotation.analysis.queries.attributes import attributes_of
    from tests.asserts import assert_queries

    attributes_of(study)
    rest("olga")(f"{REST}/labels/?format=csv")
    with assert_queries(1):
        attributes_of(study)


def made(study: Study) -> Export:
    export = request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=False)
    export_jobs.work(export.pk)
    export.refresh_from_db()
    return export
