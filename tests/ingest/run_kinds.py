"""Every way in which a run goes: how it is prepared, and what is at GitHub or in the file by then."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.files.base import ContentFile

from ingest import run_steps
from ingest.actions.fetches import start_check, start_closing_fetch, start_fetch
from ingest.actions.uploads import start_file_fetch, take_file
from ingest.models import Delivery, FetchRun, Issue, Repository
from tests.github import GitHub, World, made_up, shapes
from tests.ingest.test_webhooks import API, comment_message


@dataclass
class Case:
    """A world and what was fetched of it before; `n_issues` says how large."""

    github: GitHub
    began: datetime
    n_issues: int

    @property
    def world(self) -> World:
        return self.github.world

    def fetched(self) -> Any:
        """A repository that is fetched already; what happens to it from now on changed afterwards."""
        repository = made_up(self.world, "o/r", self.n_issues)
        run = start_fetch(user=None, repository="o/r", send=False)
        run_steps.work(run.pk)
        run.refresh_from_db()
        assert (run.state, run.error) == ("done", "")
        Repository.objects.update(complete_until=self.began - timedelta(seconds=60))
        self.world.now = self.began
        return repository


def whole(case: Case) -> FetchRun:
    made_up(case.world, "o/r", case.n_issues)
    return start_fetch(user=None, repository="o/r", send=False)


def few(case: Case) -> FetchRun:
    """Issues with one label, whose threads take fewer requests than the comments of all others."""
    repository = made_up(case.world, "o/r", case.n_issues)
    talk = repository.issue("Everybody talks")
    for n in range(2000):
        talk.comment(f"Word {n}")
    for n in range(12):
        issue = repository.issue(f"Few {n}", labels=["few"])
        for k in range(3):
            issue.comment(f"Comment {k}")
    return start_fetch(user=None, repository="o/r", labels=["few"], send=False)


def incremental(case: Case) -> FetchRun:
    repository = case.fetched()
    for issue in list(repository.issues.values())[: case.n_issues // 2]:
        if issue.number % 5 == 0:
            issue.edit(title=f"Edited {issue.number}")
        elif issue.number % 5 == 1:
            issue.comment("Still there.")
        elif issue.comments:
            issue.edit_comment(issue.comments[0], "No, not here.")
    for n in range(case.n_issues // 4):
        repository.issue(f"New {n}").comment("And new here.")
    return start_fetch(user=None, repository="o/r", since="last", send=False)


def presence(case: Case) -> FetchRun:
    repository = case.fetched()
    other = case.world.repository("o/other")
    numbers = list(Issue.objects.order_by("number").values_list("number", flat=True))
    for k, number in enumerate(numbers):
        issue = repository.issues[number]
        if k % 7 == 0:
            issue.delete()
        elif k % 7 == 1:
            issue.transfer(other)
        elif k % 7 == 2:
            issue.convert_to_discussion()
        elif k % 7 == 3:
            issue.comment("Seen again.")
    return start_check(user=None, repository="o/r", numbers=numbers, send=False)


def closing(case: Case) -> FetchRun:
    repository = case.fetched()
    for pull in repository.issues.values():
        pull.user = pull.user or "dana"  # the description of a single pull request knows no deleted account
    numbers = list(Issue.objects.order_by("number").values_list("number", flat=True))
    for number in numbers[::3]:
        repository.issues[number].close_by(repository.pull_request(f"Close {number}", f"Fixes #{number}"))
    return start_closing_fetch(user=None, repository="o/r", numbers=numbers, send=False)


def rows(n: int) -> Iterator[dict[str, Any]]:
    for k in range(1, n + 1):
        thread = [{"id": 10 * k + c, "body": f"Comment {c} of {k}", "user": {"login": "eve"}} for c in range(k % 3)]
        yield {"number": k, "title": f"Issue {k}", "body": f"Says {k}.", "comments": thread, "state": "open"}
        if k % 100 == 0:
            yield {"number": -k, "title": "Refused"}


def json_lines(case: Case) -> FetchRun:
    content = "\n".join(map(json.dumps, rows(case.n_issues))).encode()
    return start_file_fetch(
        user=None, private=False, file=ContentFile(content, name="a.jsonl"), repository="o/r", send=False
    )


def json_list(case: Case) -> FetchRun:
    content = json.dumps(list(rows(case.n_issues)), indent=1).encode()
    return start_file_fetch(
        user=None, private=False, file=ContentFile(content, name="a.json"), repository="o/r", send=False
    )


def table(case: Case) -> FetchRun:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["number", "title", "body", "state"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows(case.n_issues))
    file = ContentFile(text.getvalue().encode(), name="a.csv")
    columns = {name: name for name in ("number", "title", "body", "state")}
    return take_file(user=None, private=False, file=file, repository="o/r", columns=columns, send=False)


def messages(case: Case) -> FetchRun:
    repository = case.fetched()
    told: list[tuple[str, Any]] = []
    for issue in list(repository.issues.values()):
        if issue.is_pull_request:
            continue
        if issue.number % 3 == 0:
            told.append(("issue_comment", comment_message(issue, issue.comment("By message."))))
        elif issue.number % 10 == 1:
            issue.edit(title=f"Edited {issue.number}")
            told.append(("issues", {"action": "edited", "issue": shapes.issue(API, issue), **of(repository)}))
        elif issue.number % 10 == 2:
            told.append(("issues", {"action": "deleted", "issue": shapes.issue(API, issue), **of(repository)}))
    renamed = {"action": "edited", "label": {"name": "defect"}, "changes": {"name": {"from": "bug"}}}
    told.append(("label", renamed | of(repository)))
    run = FetchRun.objects.create(kind="webhook", repository=Repository.objects.get(), target="github.com/o/r")
    for n, (event, payload) in enumerate(told):
        Delivery.objects.create(guid=str(n), sha256=str(n), event=event, payload=payload, run=run)
    return run


def of(repository: Any) -> dict[str, Any]:
    return {"repository": shapes.repository(API, repository)}


@dataclass(frozen=True)
class Way:
    """How a run is prepared, with which tokens it asks, and how large the case is."""

    prepare: Callable[[Case], FetchRun]
    n_issues: int
    tokens: tuple[str, ...] = ()


ONE_TOKEN = ("t",)
WAYS = {
    "REST": Way(whole, 260),
    "GraphQL": Way(whole, 260, ONE_TOKEN),
    "few by REST": Way(few, 40),
    "what changed by REST": Way(incremental, 200),
    "what changed by GraphQL": Way(incremental, 200, ONE_TOKEN),
    "presence by REST": Way(presence, 40),
    "presence by GraphQL": Way(presence, 70, ONE_TOKEN),
    "closing changes by REST": Way(closing, 40),
    "closing changes by GraphQL": Way(closing, 120, ONE_TOKEN),
    "JSON Lines": Way(json_lines, 1300),
    "a list of JSON": Way(json_list, 1300),
    "a table": Way(table, 1300),
    "messages": Way(messages, 100),
}
BY_GRAPHQL = {name for name, way in WAYS.items() if way.tokens}
