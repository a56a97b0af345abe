"""What is fetched later of a private repository reaches no study that drew a sample of its issues before."""

import io
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client

from annotation.exports import jobs as export_jobs
from annotation.members.actions import members
from annotation.models import Export, Item, Study
from annotation.transfer.actions.study_import import bring_study
from ingest.models import FetchRun, Issue, Repository
from tests import builders as make
from tests.github import GitHub, World
from tests.scripts import Script

pytestmark = [pytest.mark.django_db, pytest.mark.github]
Fetch = Callable[..., FetchRun]
N = 3


@pytest.fixture(autouse=True)
def tokens(github: GitHub, settings: Any) -> None:
    """The server's token, which may read everything."""
    settings.GITHUB_TOKENS = ["ghp_of_the_lab"]
    github.tokens = {"ghp_of_the_lab"}


@pytest.fixture
def eve(tokens: None, world: World, fetch: Fetch) -> Script:
    """The owner of a study that drew a sample of lab/hooked, which staff fetched again once it was private."""
    eve = make.user("eve")
    make.version(owner="eve")
    hooked = world.repository("lab/hooked")
    rows = [hooked.issue(f"An old title {number}") for number in range(N)]
    assert fetch("lab/hooked", user=eve).state == "done"
    script = Script("eve")
    assert script.send("POST", "studies/", {"slug": "older", "title": "x", "taxonomy": "symptoms"}).status_code == 201
    for name, roles in {"carol": ["rater"], "rhea": ["reader"], "olga": ["owner"], "ada": ["adjudicator"]}.items():
        members.add_member(seat=seat("eve"), username=make.user(name).username, roles=roles)
        make.accept(name)
    wish = {"filter": {"repository": ["lab/hooked"]}, "size": N, "seed": 1}
    assert script.send("POST", "studies/older/samples/", wish).status_code == 201
    hooked.private = True
    for row in rows:
        row.edit(title=f"The kitchen is on fire {row.number}", body="A secret.")
        row.comment("The kitchen is still on fire.")
    run = fetch("lab/hooked", user=make.user("staffy", staff=True))
    assert run.state == "done", run.error
    assert Issue.objects.filter(current_snapshot__title__contains="kitchen").count() == N
    members.add_member(seat=seat("eve"), username="staffy", roles=["owner"])
    make.accept("staffy")
    return script


def seat(name: str) -> Any:
    return make.seat(Study.objects.get(slug="older"), name)


def sample() -> int:
    return int(seat("eve").study.samples.get().pk)


def content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def seen(name: str, *words: str) -> list[set[str]]:
    """The addresses of the study at which someone reads each of these words."""
    script, pages = Script(name), Client()
    pages.force_login(make.user(name))
    rest = ["samples/", f"samples/{sample()}/", f"samples/{sample()}/frame/", "items/", "issues/", "changes/"]
    rest += ["rounds/1/next/"]
    site = ["", "sample/", "items/", "changes/", "rounds/1/label/"]
    items = Item.objects.filter(study__slug="older").values_list("pk", flat=True)
    site += [f"items/{pk}/" for pk in items] + [f"items/{pk}/changes/" for pk in items]
    said = {path: content(script.send("GET", f"studies/older/{path}")) for path in rest}
    said |= {f"/{path}": content(pages.get(f"/studies/older/{path}")) for path in site}
    return [{path for path, text in said.items() if word.encode() in text} for word in words]


def everybody() -> Iterator[str]:
    yield from ("eve", "carol", "rhea", "olga", "ada")


def screen(script: Script, **more: Any) -> Any:
    return script.send("POST", "studies/older/screening/", {"screening": "in", **more})


def make_round(script: Script, **more: Any) -> Any:
    body = {"kind": "main", "raters": ["carol"], "raters_per_item": 1, "sample": sample(), "n_items": 2, **more}
    return script.send("POST", "studies/older/rounds/", body)


@pytest.mark.slow
def test_a_sample_shows_who_drew_it_what_they_could_read_and_others_nothing(eve: Script) -> None:
    for name in everybody():
        assert seen(name, "An old title", "kitchen") == [{"/sample/"} if name == "eve" else set(), set()]
    assert seen("staffy", "kitchen") == [{"/sample/"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    "way",
    [
        "page",
        "filter",
        "screening round",
        *(pytest.param(way, marks=pytest.mark.soak) for way in ("screen", "name", "round")),
    ],
)
def test_a_sample_pins_what_who_drew_it_could_read(eve: Script, way: str) -> None:
    pages = Client()
    pages.force_login(make.user("eve"))
    if way == "screen":
        assert screen(eve, sample=sample()).json()["n"] == N
    elif way == "page":
        assert pages.post(f"/studies/older/sample/{sample()}/screen/").status_code == 302
    elif way == "name":
        assert screen(eve, items=["lab/hooked#1", "lab/hooked#2", "lab/hooked#3"]).json()["n"] == N
    elif way == "filter":
        assert screen(eve, sample=sample(), filter={"repository": ["lab/hooked"]}).json()["n"] == N
    elif way == "round":
        assert make_round(eve).status_code == 201
        assert eve.send("POST", "studies/older/rounds/1/open/", {"unregistered": True}).status_code == 200
    else:
        assert make_round(eve, kind="screening").status_code == 201
    titles = set(Item.objects.values_list("snapshot__title", flat=True))
    assert titles and all(title.startswith("An old title") for title in titles)
    for name in everybody():
        of_now, of_then = seen(name, "kitchen", "An old title")
        assert of_now == set() and "/items/" in of_then


@pytest.mark.parametrize("name", ["olga", "ada"])
def test_whoever_could_not_read_a_private_sample_takes_nothing_in(eve: Script, name: str) -> None:
    script = Script(name)
    answers = [screen(script, sample=sample()), screen(script, items=["lab/hooked#1"]), make_round(script)]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert "3 of these issues are in a private repository" in answers[0].json()["message"]
    assert not Item.objects.exists()
    assert screen(eve, items=["lab/hooked#1", "lab/hooked#2"]).json()["n"] == 2
    assert screen(script, items=["lab/hooked#1"]).json()["n"] == 1


def test_who_may_read_the_repository_pins_the_newest_state_of_a_sample(eve: Script) -> None:
    assert screen(Script("staffy"), sample=sample()).json()["n"] == N
    assert all("kitchen" in title for title in Item.objects.values_list("snapshot__title", flat=True))


def test_a_filter_asks_nothing_of_states_that_the_person_may_not_read(eve: Script) -> None:
    assert screen(eve, sample=sample()).json()["n"] == N
    asked: list[dict[str, Any]] = [
        {"words": "kitchen"}, {"search": "kitchen"}, {"keywords": {"any": ["kitchen"]}}, {"comments_at_least": 1},
        {"state": "open"}, {"search": "title"},
    ]  # fmt: skip
    for name in ("eve", "ada"):
        assert [screen(Script(name), filter=filter).json()["n"] for filter in asked] == [0] * len(asked)
        assert screen(Script(name), filter={"repository": ["lab/hooked"]}).json()["n"] == N
    assert screen(Script("staffy"), filter={"search": "kitchen"}).json()["n"] == N


def exported(script: Script, what: str) -> bytes:
    """An export of the study, as it is downloaded."""
    made = script.send("POST", "studies/older/exports/", {"what": what})
    assert made.status_code == 202, made.content
    export_jobs.work(Export.objects.latest("pk").pk)
    answer = script.send("GET", f"exports/{made.json()['id']}/download/")
    assert answer.status_code == 200
    return content(answer)


def texts(file: bytes) -> bytes:
    """All that a file holds, unpacked."""
    if not file.startswith(b"PK"):
        return file
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_files_of_a_study_hold_of_private_issues_what_was_pinned_and_drawn(eve: Script) -> None:
    assert screen(eve, items=["lab/hooked#1", "lab/hooked#2"]).json()["n"] == 2
    for what in ("study", "issues", "items", "labels", "ratings", "resolutions"):
        assert b"kitchen" not in texts(exported(eve, what)), what
    assert b"An old title 2" in texts(exported(eve, "study"))
    assert b"kitchen" in texts(exported(Script("staffy"), "study"))
    refused = Script("olga").send("POST", "studies/older/exports/", {"what": "study"})
    assert refused.status_code == 403 and "that you can't see" in refused.json()["message"]


def test_a_study_that_left_without_newest_states_comes_in_with_the_ones_it_has(eve: Script, world: World) -> None:
    assert screen(eve, items=["lab/hooked#1", "lab/hooked#2"]).json()["n"] == 2
    file = io.BytesIO(exported(eve, "study"))
    Repository.objects.update(name="elsewhere")
    stored, _ = bring_study(user=make.user("nora"), file=file, slug="brought")
    issues = Issue.objects.filter(repository__name="hooked")
    assert sorted(issues.values_list("current_snapshot__title", flat=True)) == [
        f"An old title {number}" for number in range(N)
    ]
    assert set(stored.study.items.values_list("snapshot", flat=True)) < set(
        issues.values_list("current_snapshot", flat=True)
    )
