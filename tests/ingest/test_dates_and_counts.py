"""Dates and counts that a source tells are kept, also where the text is as it was; a study reads them as pinned."""

import io
from datetime import UTC, datetime
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from annotation.models import AuditEvent, Item
from ingest import filters
from ingest.models import FetchRun, Issue, Snapshot
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.ingest.stored_rows import counts

pytestmark = pytest.mark.django_db
PLAIN = "number,title,state\n1,Hang,closed\n2,Crash,open\n"
DATED = (
    "number,title,state,created_at,closed_at,updated_at,comments\n"
    "1,Hang,closed,2024-01-01T00:00:00Z,2024-01-05T00:00:00Z,2024-01-06T00:00:00Z,9\n"
    "2,Crash,open,2024-02-01T00:00:00Z,,2024-02-02T00:00:00Z,2\n"
)


def row(number: int = 1, **more: Any) -> dict[str, Any]:
    given = {"number": number, "html_url": f"https://github.com/o/r/issues/{number}", "title": "Hang", "body": "b"}
    return given | {"state": "closed"} | more


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def current(number: int = 1) -> Snapshot:
    found = Issue.objects.get(number=number).current_snapshot
    assert found is not None
    return found


def left(**filter: Any) -> int:
    return filters.frame(filters.read(filter), Issue.objects.all(), rows=False).counts[-1].n


def test_dates_that_a_first_file_lacked_arrive_with_a_second_one(take: Any, tmp_path: Any) -> None:
    for n, content in enumerate((PLAIN, DATED)):
        (tmp_path / f"{n}.csv").write_text(content)
        call_command("fetch", "--file", tmp_path / f"{n}.csv", "--repository", "o/r", stdout=io.StringIO())
    assert counts(FetchRun.objects.latest("pk")) == (2, 0, 2, 0, 0)
    assert (current().closed_at, current().n_comments) == (day("2024-01-05"), 9)
    assert current().title == "Hang" and Snapshot.objects.count() == 4
    told = Caller("ada").get("issues/o/r/1/").json()
    assert (told["created_at"], told["closed_at"]) == ("2024-01-01T00:00:00Z", "2024-01-05T00:00:00Z")
    assert told["updated_at"] == "2024-01-06T00:00:00Z"
    assert left(closed_since="2024-01-05", comments_at_least=5, updated_since="2024-01-06") == 1
    call_command("fetch", "--file", tmp_path / "1.csv", "--repository", "o/r", stdout=io.StringIO())
    assert counts(FetchRun.objects.latest("pk")) == (2, 0, 0, 2, 0)
    assert Snapshot.objects.count() == 4


@pytest.mark.parametrize("closed", ["2024-01-01", "2024-01-09"])
def test_without_a_time_of_change_a_file_fills_blanks_and_contradictions_are_listed(take: Any, closed: str) -> None:
    take([row(closed_at="2024-01-05T00:00:00Z", comments=2)], user=make.user("u"))
    run = take(
        [row(closed_at=f"{closed}T00:00:00Z", created_at="2024-01-01T00:00:00Z", comments=7)], user=make.user("u")
    )
    assert (counts(run), run.n_contradictions) == ((1, 0, 1, 0, 0), 2)
    assert (current().created_at, current().closed_at, current().n_comments) == (
        day("2024-01-01"),
        day("2024-01-05"),
        2,
    )
    told = {"issue": "o/r#1", "name": "closed_at", "told": f"{closed}T00:00:00Z", "kept": "2024-01-05T00:00:00Z"}
    document = Caller("u").get(f"fetches/{run.pk}/").json()
    assert (document["n_contradictions"], document["contradictions"][0]) == (2, told)
    client = Client()
    client.force_login(User.objects.get(username="u"))
    page = client.get(f"/fetches/{run.pk}/").content.decode()
    assert "2 values in the file differ from the stored values" in page and f"{closed}T00:00:00Z" in page


def test_the_later_time_of_change_wins_whichever_file_comes_first(take: Any) -> None:
    older = row(closed_at="2024-01-05T00:00:00Z", updated_at="2024-01-06T00:00:00Z", comments=2)
    newer = row(closed_at="2024-03-05T00:00:00Z", updated_at="2024-03-06T00:00:00Z", comments=9)
    take([older])
    assert counts(take([newer])) == (1, 0, 1, 0, 0)
    assert (current().closed_at, current().n_comments) == (day("2024-03-05"), 9)
    run = take([older | {"created_at": "2024-01-01T00:00:00Z"}])
    assert (counts(run), run.n_contradictions) == ((1, 0, 1, 0, 0), 0)
    assert (current().closed_at, current().n_comments, current().created_at) == (
        day("2024-03-05"),
        9,
        day("2024-01-01"),
    )
    assert Issue.objects.get().updated_at == day("2024-03-06")


def test_address_and_association_are_kept_without_a_new_state(take: Any) -> None:
    take([row(updated_at="2024-01-06T00:00:00Z")])
    moved = {"author_association": "MEMBER", "html_url": "https://github.com/o/r/issues/1?new"}
    assert counts(take([row(updated_at="2024-01-07T00:00:00Z", **moved)])) == (1, 0, 1, 0, 0)
    told = Caller("ada").get("issues/o/r/1/").json()
    assert (told["author_association"], told["html_url"]) == ("MEMBER", moved["html_url"])
    assert Snapshot.objects.count() == 1


def test_a_thread_stays_with_its_state_when_only_a_date_is_new(take: Any) -> None:
    comment = {"user": {"login": "c", "id": 5}, "body": "x", "created_at": "2024-01-01T00:00:00Z", "id": 9}
    take([row(comments=[comment])])
    take([row(comments=[comment], created_at="2023-01-01T00:00:00Z")])
    assert [said.body for said in current().thread()] == ["x"]
    assert current().created_at == day("2023-01-01")


@pytest.mark.github
@pytest.mark.parametrize("tokens", [[], ["t"]])
@pytest.mark.parametrize("since", [None, "last"])
def test_an_issue_that_was_closed_reopened_and_closed_again_has_the_new_day(
    world: Any, github: Any, settings: Any, fetch: Any, tokens: list[str], since: str | None
) -> None:
    github.tokens, settings.GITHUB_TOKENS = set(tokens), tokens
    issue = world.repository("o/r").issue()
    issue.close()
    fetch()
    first = current().closed_at
    world.now = datetime.now(UTC).replace(microsecond=0)
    issue.reopen()
    issue.close()
    run = fetch(since=since)
    assert (run.n_changed, run.n_unchanged) == (1, 0)
    assert current().closed_at == issue.closed_at > first
    assert current().sha256 == Snapshot.objects.earliest("pk").sha256
    assert fetch().n_unchanged == 1


def test_a_study_reads_pinned_dates_until_its_owner_takes_the_new_ones(take: Any) -> None:
    rows = [row(n, html_url=f"https://github.com/acme/rocket/issues/{n}", comments=0) for n in (1, 2)]
    old, new = ({"closed_at": f"2024-0{n}-05T00:00:00Z", "updated_at": f"2024-0{n}-06T00:00:00Z"} for n in (1, 3))
    take([each | old for each in rows])
    study = make.study()
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    take([rows[0] | new])
    olga = Caller("olga")

    def closed() -> list[datetime]:
        told = olga.get("studies/study/issues/").json()["results"]
        return [each["closed_at"] for each in told]

    assert closed() == ["2024-01-05T00:00:00Z"] * 2
    (listed,) = olga.get("studies/study/updates/").json()["results"]
    assert (listed["item"], listed["changed"], listed["n_answers_on_other_states"]) == (
        "acme/rocket#1", ["closing date"], 0,
    )  # fmt: skip
    client = Client()
    client.force_login(study.created_by)
    item = Item.objects.get(identifier="acme/rocket#1")
    page = client.get(f"/studies/study/items/{item.pk}/changes/").content.decode()
    assert "Closing date" in page and "Use the latest snapshot" in page
    assert olga.post("studies/study/changes/repin/", {"all": True}).json() == {"repinned": 1}
    assert closed() == ["2024-03-05T00:00:00Z", "2024-01-05T00:00:00Z"]
    assert olga.get("studies/study/updates/").json()["results"] == []
    (told,) = AuditEvent.objects.filter(study=study, verb="items re-pinned").values_list("detail__states", flat=True)
    assert told[0].endswith("(closing date 2024-01-05T00:00:00Z to 2024-03-05T00:00:00Z)")
