"""The audit: narrowed by who, what, when and of what, given out as a file, cheap, and as blind as everything else."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client

from accounts.actions import add_user, change_password, make_token, revoke_token
from accounts.audit import FAILURES_A_MINUTE, SIGN_IN_FAILED, record_failure, verbs
from accounts.models import ServerEvent
from annotation.core.audit import record
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions.members import add_member
from annotation.models import AuditEvent, Proposal, Study
from annotation.rounds.actions.rounds import close_round, resolve_round
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PAGE = "/studies/study/audit/"


def build_study() -> Study:
    return make.study()


@pytest.fixture
def owner(study: Study) -> Client:
    client = Client()
    client.force_login(make.user("olga"))
    return client


def shown(client: Client, **asked: str) -> list[tuple[str, str]]:
    """Who and what, of the file: the same lines as on the page."""
    page = client.get(PAGE, asked)
    lines = [json.loads(line) for line in b"".join(client.get(f"{PAGE}audit.jsonl", asked)).decode().splitlines()]
    assert page.status_code == 200
    assert page.content.decode().count("<tr>") - 1 == min(len(lines), 50) or not lines
    return [(line["who"] or "server", line["what"]) for line in lines]


def test_lines_are_found_by_who_what_when_and_of_what(study: Study, owner: Client) -> None:
    for user, verb, detail in (
        ("olga", "round opened", {"round": 2}),
        ("ada", "resolved", {"round": 2, "item": "acme/rocket#1"}),
        ("ada", "resolved", {"round": 1, "item": "acme/rocket#2"}),
        (None, "decided by rule", {"round": 12}),
    ):
        record(study=study, user=make.user(user) if user else None, verb=verb, **detail)
    assert shown(owner, what="resolved") == [("ada", "resolved")] * 2
    assert shown(owner, who="Ada", of="round 1") == [("ada", "resolved")]
    assert shown(owner, who="server", of="round 12") == [("server", "decided by rule")]
    assert shown(owner, of="round 2") == [("ada", "resolved"), ("olga", "round opened")]
    assert shown(owner, of="item acme/rocket#1") == [("ada", "resolved")]
    today = datetime.now(UTC).date().isoformat()
    n_lines = AuditEvent.objects.filter(study=study).count()
    assert len(shown(owner, since=today, until=today)) == n_lines
    assert len(shown(owner, since="0001-01-01", until="9999-12-31")) >= n_lines  # looking leaves lines
    assert shown(owner, until="2020-01-01") == shown(owner, who="nobody") == shown(owner, of="nonsense") == []
    assert owner.get(PAGE, {"since": "nonsense"}).status_code == 422


def test_a_file_of_the_audit_is_harmless_in_a_spreadsheet(study: Study, owner: Client) -> None:
    record(study=study, user=None, verb="=HYPERLINK", note="=1+1")
    rows = list(csv.reader(io.StringIO(b"".join(owner.get(f"{PAGE}audit.csv")).decode())))
    assert rows[0] == ["at", "who", "what", "detail"]
    assert rows[1][2] == "'=HYPERLINK" and not rows[1][3].startswith("=")
    assert owner.get(f"{PAGE}audit.xlsx").status_code == 404


def test_a_page_and_a_choice_of_verbs_cost_the_same_however_long_the_audit_is(study: Study, owner: Client) -> None:
    for n in (1, 400):
        AuditEvent.objects.bulk_create(
            AuditEvent(study=study, user=make.user("ada"), verb=f"verb {k % 7}", detail={"round": k}) for k in range(n)
        )
        with assert_queries(10):
            owner.get(PAGE, {"what": "verb 0", "of": "round 0"})
    assert verbs(AuditEvent, study_id=study.pk)[-7:] == [f"verb {k}" for k in range(7)]
    first = owner.get(PAGE, {"who": "ada"}).content.decode()
    assert "after=" in first and "who=ada" in first


def test_what_a_blind_owner_may_not_read_is_neither_found_nor_in_the_file(study: Study) -> None:
    seat = make.owner_seat(study)
    add_member(seat=seat, username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 1, raters=("olga", "bob"))
    record(study=study, user=make.user("ada"), verb="resolved", round=round_.number, item="acme/rocket#1")
    client = Client()
    client.force_login(make.user("olga"))
    assert shown(client, what="resolved") == shown(client, of="item acme/rocket#1") == []
    assert ("ada", "resolved") not in shown(client)
    assert "resolved</option>" not in client.get(PAGE).content.decode()


@pytest.mark.parametrize("name", ["carl", "stan"])
def test_what_a_sheet_brings_into_an_open_round_is_only_in_the_log_of_who_reads_its_answers(
    study: Study, owner: Client, name: str
) -> None:
    """Carl is an owner who rates in the round, and stan of the staff; olga rates nowhere."""
    make.user("carl")
    make.user("stan", staff=True)
    add_member(seat=make.owner_seat(study), username="carl", roles=["owner", "rater"])
    make.accept("carl")
    make.open_round(study, 2, raters=("bob", "carl"))
    sheet = b"item,rater,round,symptom\nacme/rocket#1,bob,1,hang\n"
    report = import_ratings(user=make.user("olga"), study="study", file=sheet, name="a.csv", dimensions=["symptom"])
    assert report.n_ratings == 1
    record(study=study, user=make.user("olga"), verb="study imported", sha256="0" * 64, rounds=[1, 2])
    for verb, rounds in (("study imported", [2]), ("headline fixed", [1])):
        record(study=study, user=make.user("olga"), verb=verb, rounds=rounds)
    client = Client()
    client.force_login(make.user(name))
    imports, studies, headlines = "ratings imported", "study imported", "headline fixed"
    assert [len(shown(client, what=verb)) for verb in (imports, studies, headlines)] == [0, 1, 1]
    assert [len(shown(owner, what=verb)) for verb in (imports, studies, headlines)] == [1, 2, 1]
    resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    assert len(shown(client, what=imports)) == (1 if name == "carl" else 0)  # staff read answers of closed rounds
    assert len(shown(client, what=studies)) == (2 if name == "carl" else 1)


def test_what_raters_said_in_a_round_is_in_the_log_of_staff_when_it_is_closed(study: Study, owner: Client) -> None:
    round_ = make.open_round(study, 1)
    make.submit(round_, "bob", 1, {}, proposals={"symptom": {"name": "Deadlock", "memo": "both wait"}})
    make.rate(round_, "item carol\n1 hang")
    place = f"studies/study/proposals/{Proposal.objects.get().public_id}/"
    assert Script("olga").send("POST", place, {"decline": "No."}).status_code == 200
    staff = Client()
    staff.force_login(make.user("stan", staff=True))
    assert [len(shown(each, what="proposal declined")) for each in (owner, staff)] == [1, 0]
    assert "proposal declined</option>" not in staff.get(PAGE).content.decode()
    close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert [len(shown(each, what="proposal declined")) for each in (owner, staff)] == [1, 1]


@pytest.mark.parametrize("name", ["ada", "bob", "mia", None])
def test_only_owners_and_staff_take_the_audit_home(name: str | None, study: Study) -> None:
    client = Client()
    if name:
        client.force_login(make.user(name))
    wanted = {"ada": 403, "bob": 403, "mia": 404, None: 302}[name]
    for path in (PAGE, f"{PAGE}audit.csv", f"{PAGE}audit.jsonl"):
        assert client.get(path).status_code == wanted


def test_what_is_done_on_the_server_leaves_a_line() -> None:
    user, _ = add_user(username="ann", password="a-word-and-more")
    token, _ = make_token(user=user, name="laptop", scope="rate")
    for _ in range(2):
        revoke_token(token=token)
    change_password(user=user, old="a-word-and-more", new="another-word-and-more")
    Client().post("/sign-in/", {"username": "ann", "password": "wrong"})
    Client().post("/sign-in/", {"username": "a-password-typed-here", "password": "wrong"})
    said = [
        (each.verb, each.about.username if each.about else "", each.detail)
        for each in ServerEvent.objects.order_by("pk")
    ]
    assert said == [
        ("person added", "ann", {"staff": False}),
        ("token made", "", {"name": "laptop", "scope": "rate"}),
        ("token revoked", "ann", {"name": "laptop"}),
        ("password changed", "", {}),
        (SIGN_IN_FAILED, "ann", {}),
        (SIGN_IN_FAILED, "", {"name": "unknown"}),
    ]


def test_a_flood_of_failures_leaves_as_many_lines_as_fit_into_a_minute() -> None:
    for _ in range(FAILURES_A_MINUTE + 5):
        record_failure("nobody")
    assert ServerEvent.objects.count() == FAILURES_A_MINUTE


@pytest.mark.parametrize("change", ["UPDATE accounts_serverevent SET verb = 'x'", "DELETE FROM accounts_serverevent"])
def test_the_servers_audit_can_not_be_changed(change: str) -> None:
    add_user(username="ann")
    with pytest.raises(DatabaseError, match="can't be changed"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)
