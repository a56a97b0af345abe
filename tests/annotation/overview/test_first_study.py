"""The guided path from an empty server to a first round: each step, left and resumed."""

import io
import json
import re
from typing import Any

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from annotation.models import Assignment, AuditEvent, Round, Study
from ingest import run_steps
from ingest.models import FetchRun, Upload
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document
from tests import builders as make

pytestmark = pytest.mark.django_db
PEOPLE, ROUND = "/studies/{}/start/people/", "/studies/{}/start/round/"


TABLE = b"number,title,body\n1,Crash,at start\n2,Hang,at the end\n"


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def text(answer: Any) -> str:
    return str(answer.content.decode())


def start(client: Client, **codebook: Any) -> Study:
    """Steps 1 and 2 with issues that are stored."""
    client.post("/start/", {"source": "stored", "stored": "acme/rocket"})
    answer = client.post("/start/codebook/", {"title": "My study", **codebook})
    assert answer.status_code == 302, text(answer)
    return Study.objects.latest("pk")


@pytest.mark.slow
def test_the_presets_lead_from_an_empty_server_to_the_first_item() -> None:
    make.user("bob")
    client = signed_in("olga")
    home = client.get("/")
    assert home.context["form"]["source"].value() == "demo" and "Four steps to your first label" in text(home)
    assert client.post("/start/", {"source": "demo"}).url == "/start/codebook/"
    assert "on the way" in text(client.get("/")) and "Continue to the taxonomy" in text(client.get("/"))
    page = client.get("/start/codebook/")
    given = {name: page.context["form"][name].value() for name in ("title", "source", "preset")}
    assert given == {"title": "Issues of example-lab/paratrain", "source": "ready", "preset": "liu-2023"}
    assert client.post("/start/codebook/", given).url == PEOPLE.format("issues-of-example-lab-paratrain")
    study = Study.objects.get()
    assert "Add raters" in text(client.get("/studies/issues-of-example-lab-paratrain/"))
    assert client.post(PEOPLE.format(study.slug), {"labels_too": "on", "names": "bob"}).url == ROUND.format(study.slug)
    waiting = text(client.get(ROUND.format(study.slug)))
    assert "queued" in waiting and "Open round 1" not in waiting
    run_steps.work(FetchRun.objects.get().pk)
    page = client.get(ROUND.format(study.slug))
    names = ("repository", "n_items", "raters_per_item")
    given = {name: page.context["form"][name].value() for name in names} | {"registers": "on"}
    assert given == {"repository": "example-lab/paratrain", "n_items": 20, "raters_per_item": 2, "registers": "on"}
    assert client.post(ROUND.format(study.slug), given).url == f"/studies/{study.slug}/rounds/1/label/"
    round_ = Round.objects.get()
    assert (round_.kind, round_.state, round_.sample.size) == ("pilot", "open", 60)
    assert Assignment.objects.filter(round=round_).count() == 40
    study.refresh_from_db()
    assert all(entry["fixed_at"] for entry in study.primary.values()) and len(study.primary) > 3
    assert client.get(ROUND.format(study.slug)).url == f"/studies/{study.slug}/"


@pytest.mark.parametrize(
    ("chosen", "slug", "is_published"),
    [
        ({"source": "use", "taxonomy": "symptoms"}, "symptoms", True),
        ({"source": "copy", "taxonomy": "symptoms"}, "my-study", True),
        ({"source": "list", "list": "Crash\r\nHang\tIt stops."}, "my-study", True),
        ({"source": "list", "list": "Crash\r\nHang", "edit": "1"}, "my-study", False),
        ({"source": "document", "document": make.FAULTS}, "faults", True),
        ({"source": "ready", "preset": "liu-2023"}, "liu-2023", True),
        ({"source": "new"}, "my-study", False),
    ],
)
def test_every_kind_of_codebook_begins_a_study(chosen: dict[str, str], slug: str, is_published: bool) -> None:
    make.version()
    make.issues(3)
    client = signed_in("olga")
    study = start(client, **chosen)
    assert (study.slug, study.taxonomy.slug) == ("my-study", slug)
    assert study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED).exists() == is_published
    page = text(client.get(PEOPLE.format("my-study")))
    assert ("still a draft" in page) != is_published
    client.post(PEOPLE.format("my-study"), {"labels_too": "on"})
    page = text(client.get(ROUND.format("my-study")))
    assert ("Open round 1" in page) == is_published


def test_the_page_tells_who_reads_the_title_that_a_new_taxonomy_gets() -> None:
    make.issues(1)
    client = signed_in("olga")
    client.post("/start/", {"source": "stored", "stored": "acme/rocket"})
    told = "A taxonomy that you create or copy here gets its title and ID from the study’s title"
    assert told in text(client.get("/start/codebook/"))


def test_what_is_wrong_stays_beside_its_field_and_nothing_is_created() -> None:
    make.version()
    make.issues(3)
    client = signed_in("olga")
    for given, said in (
        ({"source": "github"}, "owner/name"),
        ({"source": "github", "repository": "no repository"}, "repository"),
        ({"source": "file"}, "Choose a file"),
        ({"source": "file", "file": SimpleUploadedFile("a.json", b"[{}]"), "file_repository": "none"}, "owner/name"),
        ({"source": "nowhere"}, "nowhere"),
    ):
        answer = client.post("/start/", given)
        assert answer.status_code == 422 and said in text(answer), given
    for given, said in (
        ({"title": "", "source": "new"}, "required"),
        ({"title": "T", "source": "list", "list": "A\na"}, "is there already"),
        ({"title": "T", "source": "list"}, "paste the text"),
        ({"title": "T", "source": "document", "document": "slug: a"}, "Line 1"),
    ):
        answer = client.post("/start/codebook/", given)
        assert answer.status_code == 422 and said in text(answer), given
    assert not Study.objects.exists() and not FetchRun.objects.exists() and TaxonomyVersion.objects.count() == 1
    study = start(client, source="use", taxonomy="symptoms")
    assert client.post(PEOPLE.format(study.slug), {}).status_code == 422
    answer = client.post(PEOPLE.format(study.slug), {"labels_too": "on", "names": "nobody, ghost"})
    assert answer.status_code == 422 and "user name “ghost”" in text(answer)
    assert study.memberships.get().roles == ["owner", "rater"], "what can be done is"
    given = {"repository": "acme/rocket", "n_items": 20, "raters_per_item": 1}
    answer = client.post(ROUND.format(study.slug), given)
    assert answer.status_code == 422 and "acme/rocket has 3 issues here" in text(answer)
    answer = client.post(ROUND.format(study.slug), given | {"n_items": 2, "raters_per_item": 2})
    assert answer.status_code == 422 and "as many raters" in text(answer)
    assert not study.rounds.exists() and not study.samples.exists()
    assert not AuditEvent.objects.filter(verb="coefficients registered").exists()


def test_a_list_of_categories_is_read_from_a_workbook() -> None:
    make.issues(3)
    book, file = openpyxl.Workbook(), io.BytesIO()
    for row in (("Name", "Definition", "Parent"), ("Fault", "It fails.", None), ("Hang", None, "fault")):
        book.active.append(row)
    book.save(file)
    study = start(signed_in("olga"), source="list", list_file=SimpleUploadedFile("codes.xlsx", file.getvalue()))
    (dimension,) = document(study.taxonomy.versions.get()).dimensions
    assert [(each.name, len(above), each.definition) for each, above in dimension.walk()] == [
        ("Fault", 0, "It fails."),
        ("Hang", 1, ""),
    ]
    wrong = SimpleUploadedFile("codes.csv", "name\nCafé".encode("latin-1"))
    answer = signed_in("olga").post("/start/codebook/", {"title": "T", "source": "list", "list_file": wrong})
    assert answer.status_code == 422 and "not UTF-8" in text(answer)


@pytest.mark.parametrize(
    ("question", "title", "key"), [("Root cause", "Root cause", "root-cause"), ("", "Category", "category")]
)
def test_a_list_of_categories_answers_the_question_that_was_named(question: str, title: str, key: str) -> None:
    study = start(signed_in("olga"), source="list", list="Crash\nHang", question=question)
    version = study.taxonomy.versions.get()
    assert [(each.title, each.key) for each in version.dimensions.all()] == [(title, key)]


def test_a_table_whose_columns_are_not_clear_leads_to_its_columns() -> None:
    client = signed_in("olga")
    table = SimpleUploadedFile("issues.csv", b"No;A;B\n1;x;y\n")
    upload = client.post("/start/", {"source": "file", "file": table}).url
    assert upload == f"/uploads/{Upload.objects.get().pk}/?next=/start/codebook/"
    page = text(client.get(upload))
    assert '<input type="hidden" name="next" value="/start/codebook/">' in page
    assert client.get("/start/codebook/").url == "/start/", "the columns are not chosen yet"
    columns = {"column-number": "No", "column-title": "A", "repository": "acme/kite"}
    assert client.post(upload, columns | {"next": "https://evil.example/"}).url.startswith("/fetches/")
    assert client.post("/start/", {"source": "file", "file": SimpleUploadedFile("b.csv", b"No;A;B\n2;x;y\n")}).url
    upload = f"/uploads/{Upload.objects.get().pk}/"
    assert client.post(upload, columns | {"next": "/start/codebook/"}).url == "/start/codebook/"
    run_steps.work(FetchRun.objects.latest("pk").pk)
    assert "1 issue of acme/kite is stored." in text(client.get("/start/codebook/"))


def test_a_file_without_issues_is_replaced_without_leaving_the_path() -> None:
    """From step 2, where there is no study yet, and from step 4 of a study that already has its taxonomy."""
    make.version()
    client = signed_in("olga")
    empty = SimpleUploadedFile("issues.json", json.dumps([{"title": "x"}]).encode())
    client.post("/start/", {"source": "file", "file": empty})
    run = FetchRun.objects.get()
    run_steps.work(run.pk)
    fetch = f"/fetches/{run.pk}/?next=/start/codebook/"
    assert f'href="{fetch}"' in text(client.get("/start/codebook/"))
    page = text(client.get(fetch))
    assert 'href="/start/?next=/start/codebook/">Upload another file' in page and "Start a study</a>" in page
    assert 'href="/repositories/#from-file">Upload another file' in text(client.get(f"/fetches/{run.pk}/"))
    study = client.post("/start/codebook/", {"title": "My study", "source": "use", "taxonomy": "symptoms"}).url
    client.post(study, {"labels_too": "on"})
    step = ROUND.format("my-study")
    again = f"/start/?next={step}"
    page = text(client.get(step))
    assert f'href="{again}">Upload another file' in page and f'href="/fetches/{run.pk}/?next={step}#refusals"' in page
    page = text(client.get(again))
    assert f'action="{again}"' in page and "Continue with your study" in page
    table = SimpleUploadedFile("issues.csv", TABLE)
    assert client.post(again, {"source": "file", "file": table, "file_repository": "acme/pot"}).url == step
    run_steps.work(FetchRun.objects.latest("pk").pk)
    assert "Open round 1" in text(client.get(step))


def test_an_invitation_link_is_created_in_step_three_and_makes_raters() -> None:
    make.version()
    make.issues(3)
    study = start(signed_in("olga"), source="use", taxonomy="symptoms")
    answer = signed_in("olga").post(PEOPLE.format(study.slug), {"link": "1"})
    link = answer.context["link"]
    assert answer.status_code == 201 and link in text(answer)
    assert signed_in("bob").post(link.removeprefix("http://testserver")).status_code == 302
    assert make.member(study, "bob").roles == ["rater"]
    assert signed_in("bob").get(PEOPLE.format(study.slug)).status_code == 403


def test_the_second_step_counts_the_issues_of_the_first_and_names_what_was_rejected() -> None:
    client = signed_in("olga")
    rows = [{"number": n, "title": f"Crash {n}", "url": f"https://github.com/acme/kite/issues/{n}"} for n in (1, 2)]
    for given, words in (
        (rows, "2 issues of acme/kite are stored."),
        ([*rows, {"title": "x"}], "1 row was rejected"),
        ([{"title": "x"}], "No issues are stored. Every row was rejected."),
    ):
        file = SimpleUploadedFile("issues.json", json.dumps(given).encode())
        assert client.post("/start/", {"source": "file", "file": file}).url == "/start/codebook/"
        assert "The issues are being read." in text(client.get("/start/codebook/"))
        run_steps.work(FetchRun.objects.latest("pk").pk)
        assert words in re.sub("<[^>]+>", "", text(client.get("/start/codebook/")))
    assert "Which issues do you want to label?" in text(client.get("/")), "a file without issues is no first step"
    client.post(
        "/start/", {"source": "file", "file": SimpleUploadedFile("i.csv", TABLE), "file_repository": "acme/pot"}
    )
    run_steps.work(FetchRun.objects.latest("pk").pk)
    assert "2 issues of acme/pot are stored." in text(client.get("/start/codebook/"))
    assert "You have issues of acme/pot." in text(client.get("/"))
