"""Issues that vanished, moved or became discussions, and what closed given issues: with a token and without."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts.actions import make_token
from accounts.models import User
from ingest import run_steps, runs
from ingest.actions.fetches import continue_run, start_check, start_closing_fetch
from ingest.errors import Invalid
from ingest.models import Activity, ClosingChange, FetchRun, Issue, Snapshot
from tests.annotation.core.test_api import Caller
from tests.github import File, made_up

pytestmark = [pytest.mark.django_db, pytest.mark.github]


def work(run: FetchRun) -> FetchRun:
    FetchRun.objects.filter(pk=run.pk, state="waiting").update(waiting_until=timezone.now())
    runs.pick_up()
    run_steps.work(run.pk)
    run.refresh_from_db()
    return run


def check(*numbers: int, repository: str = "o/r") -> FetchRun:
    return work(start_check(user=None, repository=repository, numbers=numbers, send=False))


def closing(*numbers: int) -> FetchRun:
    return work(start_closing_fetch(user=None, repository="o/r", numbers=numbers, send=False))


def presences() -> dict[int, tuple[str, str]]:
    rows = Issue.objects.filter(repository__name="r").order_by("number")
    return {row.number: (row.presence, row.moved_to) for row in rows}


def test_each_fate_of_an_issue_is_told(world, github, fetch, way):
    home, other = world.repository("o/r"), world.repository("o/other")
    issues = [home.issue(f"Issue {n}") for n in range(1, 6)]
    assert fetch().n_new == 5
    issues[1].delete()
    issues[2].transfer(other)
    discussion = issues[3].convert_to_discussion()
    issues[4].lock()
    run = check(1, 2, 3, 4, 5)
    assert (run.error, run.state, run.n_seen, run.n_expected) == ("", "done", 5, 5)
    told = presences()
    assert [told[n][0] for n in range(1, 6)] == ["here", "deleted", "transferred", "discussion", "here"]
    assert told[3][1] == "o/other#1"
    if way == "token":
        assert told[4][1].endswith(f"/discussions/{discussion.number}")
    assert Issue.objects.filter(checked_at__isnull=False).count() == 5
    assert Issue.objects.get(number=5).locked is True
    assert Snapshot.objects.filter(issue__number__in=[1, 2, 3, 5]).count() == 4


def test_a_check_brings_what_changed_and_makes_no_snapshot_of_the_rest(world, fetch, way):
    home = world.repository("o/r")
    one, two, three = home.issue("One"), home.issue("Two"), home.issue("Three")
    gone = one.comment("to be deleted")
    one.comment("stays")
    fetch()
    one.delete_comment(gone, touches=False)
    two.edit(title="Two, edited")
    run = check(1, 2, 3)
    assert (run.state, run.n_changed, run.n_unchanged) == ("done", 2, 1)
    threads = [c.body for c in Issue.objects.get(number=1).current_snapshot.thread()]
    assert threads == ["stays"]
    assert Issue.objects.get(number=2).current_snapshot.title == "Two, edited"
    assert Snapshot.objects.filter(issue__number=3).count() == 1
    assert not three.locked


def test_a_check_again_finds_nothing_new_and_what_came_back_is_here_again(world, fetch, way):
    home = world.repository("o/r")
    issue = home.issue("One")
    home.issue("Two")
    fetch()
    issue.delete()
    assert check(1, 2).n_changed == 1
    assert check(1, 2).n_changed == 0
    assert presences()[1][0] == "deleted"
    home.issues[1] = issue
    del home.gone[1]
    check(1, 2)
    assert presences() == {1: ("here", ""), 2: ("here", "")}


@pytest.mark.slow
def test_with_a_token_hundreds_are_asked_for_by_fifties(world, github, settings, fetch):
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    home = made_up(world, "o/r", 240)
    fetch()
    numbers = list(Issue.objects.values_list("number", flat=True))
    home.issues[numbers[7]].delete()
    run = check(*numbers)
    assert (run.state, run.n_seen, run.n_changed) == ("done", len(numbers), 1)
    assert run.n_requests <= len(numbers) / 50 + 3


def test_a_repository_that_went_private_has_none_of_its_issues_marked_as_deleted(world, github, fetch, way):
    home = world.repository("o/r")
    for n in range(3):
        home.issue(f"{n}")
    fetch()

    def close_off(asked: Any) -> None:
        if "/issues/" in asked.path or asked.path.endswith("graphql"):
            home.private = True
            github.tokens = {"another"} if way != "token" else github.tokens

    if way == "token":
        github.tokens, github.before_answer = {"t"}, None
        home.private = True
        github.may_read_private = lambda token: False
    else:
        github.before_answer = close_off
    try:
        run = check(1, 2, 3)
    finally:
        github.__dict__.pop("may_read_private", None)
    assert run.state == "failed"
    assert "o/r is not at GitHub, or it is private" in run.error
    assert set(presences().values()) == {("here", "")}


def test_nearly_all_not_found_is_not_believed(world, github, fetch, way):
    home = world.repository("o/r")
    for n in range(8):
        home.issue(f"{n}")
    fetch()
    for number in range(1, 9):
        del home.issues[number]
    home.listed.clear()
    run = check(*range(1, 9))
    assert (run.state, set(presences().values())) == ("failed", {("here", "")})
    assert "GitHub finds 8 of these 8 issues no longer" in run.error
    for number in range(1, 7):
        home.issue(f"{number}", number=number)
    run = work(continue_run(run=run, send=False))
    assert run.state == "done"
    assert [presence for presence, _ in presences().values()] == ["here"] * 6 + ["deleted"] * 2


def test_a_check_goes_on_where_it_stopped(world, github, fetch):
    home = world.repository("o/r")
    for n in range(10):
        home.issue(f"{n}")
    fetch()
    n_before = github.n_requests
    github.fault("cut", "/issues/", skip=6)
    run = check(*range(1, 11))
    assert run.state == "waiting"
    run = work(run)
    assert (run.state, run.n_seen) == ("done", 10)
    assert github.n_requests - n_before == run.n_requests == 1 + 10 + 1


def test_only_numbers_can_be_asked_for(db):
    for numbers in ([], [0], [2**31]):
        with pytest.raises(Invalid):
            start_check(user=None, repository="o/r", numbers=numbers, send=False)


def test_a_renamed_repository_is_no_transfer(world, github, fetch, way):
    home = world.repository("o/r")
    home.issue("One")
    fetch()
    home.rename("new/r")
    run = check(1)
    assert (run.state, presences()) == ("done", {1: ("here", "")})
    assert Issue.objects.get().identifier == "new/r#1"


def many_closings(world: Any) -> list[int]:
    """A repository whose issues were closed in every way; their numbers."""
    home, other = world.repository("o/r"), world.repository("o/other")
    by_pull, by_commit, by_hand, by_other, never, squashed = (home.issue(f"Issue {n}") for n in range(6))
    by_pull.close_by(home.pull_request("Fix it", files=[File(f"src/f{n}.py", 2, 1) for n in range(120)]))
    world.now = world.now.replace(hour=3)
    by_commit.close_by(home.commit("Fix it at last\n\nBody", files=[File("a.py", 5, 2), File("b.py", 1, 1)]))
    by_hand.event("cross-referenced", "dana", source=home.pull_request("Something else, see the issue"))
    world.now = world.now.replace(hour=4)
    by_hand.close("not_planned")
    by_other.close_by(other.pull_request("Fix for o/r"))
    never.event("cross-referenced", "dana", source=home.pull_request("Try", f"Fixes #{never.number}"))
    squash = home.pull_request("Squashed", f"Fixes #{squashed.number}", files=[File("c.py", 3, 1)])
    squashed.event("cross-referenced", "dana", source=squash)
    squash.merge()
    squashed.close(by=squash.merge_commit)
    never.label("bug")
    never.unlabel("bug")
    never.assign("olga")
    never.put_into_milestone("1.0")
    never.event("labeled", "triage[bot]", more={"label": "stale"})
    never.event("unassigned", None, more={"assignee": "helper[bot]"})
    never.reactions, never.issue_type = {"+1": 2, "eyes": 1}, "Bug"
    return [each.number for each in (by_pull, by_commit, by_hand, by_other, never, squashed)]


def changes() -> dict[int, list[tuple[Any, ...]]]:
    found: dict[int, list[tuple[Any, ...]]] = {issue.number: [] for issue in Issue.objects.all()}
    columns = ("kind", "identifier", "number", "title", "html_url", "author_login", "created_at", "merged_at", "closes")
    more = ("additions", "deletions", "n_files")
    for row in ClosingChange.objects.order_by("identifier"):
        files = sorted(zip(row.paths, row.path_additions, row.path_deletions, strict=True))
        found[row.issue.number].append((*(getattr(row, name) for name in (*columns, *more)), files))
    return found


def activities() -> dict[int, Any]:
    """Events, reactions and types of issues."""
    return dict(Activity.objects.values_list("issue__number", "told"))


def test_closing_changes_come_alike_with_a_token_and_without(world, github, settings, fetch):
    numbers = many_closings(world)
    fetch()
    assert not ClosingChange.objects.exists()
    run = closing(*numbers)
    assert (run.state, run.error, run.n_closing_changes, run.n_changed) == ("done", "", 4, 0)
    by_rest = changes()
    assert [len(by_rest[number]) for number in numbers] == [1, 1, 0, 1, 1, 1]
    assert by_rest[numbers[0]][0][-2:] == (120, sorted((f"src/f{n}.py", 2, 1) for n in range(120)))
    assert by_rest[numbers[1]][0][-1] == [("a.py", 5, 2), ("b.py", 1, 1)]
    assert [by_rest[number][0][0] for number in numbers[-2:]] == ["pull_request"] * 2
    assert not ClosingChange.objects.get(issue__number=numbers[4]).closes
    told = Caller("ada").get(f"issues/o/r/{numbers[4]}/").json()
    assert [(each["kind"], each["actor"], each["detail"]) for each in told["events"]] == [
        ("labeled", "olga", "bug"),
        ("unlabeled", "olga", "bug"),
        ("assigned", "olga", "olga"),
        ("milestoned", "olga", "1.0"),
        ("labeled", "triage[bot]", "stale"),
        ("unassigned", "", "helper[bot]"),
    ]
    assert (told["reactions"], told["type"]) == ({"+1": 2, "eyes": 1}, "Bug")
    by_rest = dict(by_rest) | {"activity": activities()}
    assert by_rest[numbers[3]][0][1].startswith("o/other#")
    assert Issue.objects.filter(changes_known=True).count() == 6
    ClosingChange.objects.all().delete()
    github.tokens = {"t"}
    settings.GITHUB_TOKENS = ["t"]
    Activity.objects.all().delete()
    assert closing(*numbers).state == "done"
    assert changes() | {"activity": activities()} == by_rest
    ClosingChange.objects.all().delete()
    Activity.objects.all().delete()
    assert fetch().state == "done"
    assert changes() | {"activity": activities()} == by_rest


def test_the_issue_that_is_the_duplicate_names_the_other_one(world, github, settings, fetch):
    home, secret = world.repository("o/r"), world.repository("o/secret", private=True)
    first, second, third = home.issue("Hangs"), home.issue("Hangs, too"), secret.issue("Moved").transfer(home)
    second.mark_as_duplicate(first)
    second.mark_as_duplicate(first, undo=True)
    second.mark_as_duplicate(third)
    third.mark_as_duplicate(secret.issue("Not to be named"))
    github.tokens = {"t"}
    client = Client()
    client.force_login(User.objects.create_user("olga"))
    for tokens, work_on in ((["t"], fetch), (["t"], lambda: closing(1, 2, 3)), ([], lambda: closing(1, 2, 3))):
        settings.GITHUB_TOKENS = tokens
        Activity.objects.all().delete()
        assert work_on().state == "done"
        told = Caller("ada").get("issues/o/r/2/").json()["events"] if tokens else []
        assert [(each["kind"], each["detail"]) for each in told] == [
            ("marked_as_duplicate", "o/r#1"),
            ("unmarked_as_duplicate", "o/r#1"),
            ("marked_as_duplicate", "o/r#3"),
        ][: len(told)], tokens
        events = {n: [(each["kind"], each["detail"]) for each in told["events"]] for n, told in activities().items()}
        marks = [("marked_as_duplicate", "")] if tokens else []
        assert (events[1], events[3]) == ([], [("transferred", ""), *marks])
        page = client.get("/issues/o/r/2/").content.decode()
        assert ("unmarked as duplicate of <strong>o/r#1</strong>" in page) == bool(tokens)


def test_closing_changes_of_issues_that_are_gone_are_refused_with_the_reason(world, fetch, way):
    home = world.repository("o/r")
    home.issue("One"), home.issue("Two")
    fetch()
    home.issues[1].delete()
    run = closing(1, 2)
    assert (run.state, run.n_refused, run.n_unchanged) == ("done", 1, 1)
    assert run.refusals.get().row == "o/r#1"


def test_without_a_token_only_what_was_asked_for_is_looked_at(world, github, fetch):
    numbers = many_closings(world)
    fetch()
    n_before = github.n_requests
    run = closing(numbers[1])
    assert run.n_requests == github.n_requests - n_before == 3  # the repository, the timeline, the commit
    assert Issue.objects.filter(changes_known=True).count() == 1
    assert datetime.now(UTC) > run.finished_at


def test_by_rest_a_merged_pull_request_counts_if_it_says_so_or_was_merged_just_before(world, fetch):
    home = world.repository("o/r")
    one, two = home.issue("One"), home.issue("Two")
    pulls = [
        home.pull_request("Mentions both"),
        home.pull_request("Says it", f"Fixes: o/r#{one.number}"),
        home.pull_request("Says it of another", "closes #22, resolves x/y#1"),
    ]
    for pull in pulls:
        one.event("cross-referenced", source=pull)
        two.event("cross-referenced", source=pull)
        pull.merge()
        world.now += timedelta(minutes=1)
    one.close()
    fetch()
    closing(1, 2)
    assert [(row.issue.number, row.title) for row in ClosingChange.objects.all()] == [(1, "Says it")]


def test_both_are_had_from_the_shell_and_over_rest(world, github, fetch, capsys, client):
    home = world.repository("o/r")
    home.issue("One"), home.issue("Two")
    fetch()
    home.issues[2].delete()
    call_command("fetch", "o/r", "--what", "presence", "--numbers", "1,2", "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["requested"]["what"], told["requested"]["numbers"], told["n_changed"]) == ("presence", [1, 2], 1)
    assert presences()[2][0] == "deleted"
    call_command("fetch", "o/r", "--since", "last")
    _, key = make_token(user=User.objects.create_user("ann"), name="t", scope="manage")
    for what in ("presence", "closing_changes"):
        sent = {"repository": "o/r", "what": what, "numbers": [1]}
        for numbers, status in (([1], 202), ([], 422)):
            answer = client.post(
                "/api/v1/fetches/",
                sent | {"numbers": numbers},
                content_type="application/json",
                HTTP_AUTHORIZATION=f"Bearer {key}",
            )
            assert answer.status_code == status, answer.json()
            assert (answer.json().get("requested") or {"what": what})["what"] == what


def test_a_discussion_that_the_listing_still_shows_stays_one(world, fetch, way):
    issue = world.repository("o/r").issue()
    fetch()
    issue.convert_to_discussion()
    check(1)
    fetch()
    assert Issue.objects.get().presence == "discussion"
