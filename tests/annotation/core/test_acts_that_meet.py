"""Two acts that meet leave what one after the other leaves, and a page that was open undoes no other one's change."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction

from annotation.models import Assignment, Round, Study
from tests import builders as make
from tests.annotation.core.test_events_sight import addresses
from tests.annotation.permission_study import BASE, PAGES, Visitor
from tests.annotation.queue_study import acts, build_with_queue
from tests.forms import forms_of
from tests.interleaving import meeting

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(7200)]
OWNER, ADJUDICATOR, RATERS = "mia", "eve", ("bob", "al", "olga", "ada", "carol")
OF_ADJUDICATORS = ("resolutions", "remarks", "matches", "screening", "third")
OF_THEMSELVES = re.compile(r"_at$|^at$|^id$|digest|sha256|key$|token|secret|seconds|password|revision$")
"""Columns that differ from run to run."""
FIRST_NEW = 10**8
"""The IDs of rows that an act adds begin here, so that they can be told from those of before."""
BODY_IDS = re.compile(r"R\d+|[0-9a-f-]{36}")


@dataclass(frozen=True)
class Act:
    """What someone sends."""

    by: str
    method: str
    base: str
    path: str
    body: str

    @property
    def kind(self) -> tuple[object, ...]:
        """Acts of one kind differ only in whom or what they are about."""
        given = json.loads(self.body)
        by = self.by if self.by in (OWNER, ADJUDICATOR) else "rater"
        more = [str(given.get(name)) for name in ("roles", "method", "kind", "mode", "what")]
        return (by, self.method, BODY_IDS.sub("", self.path), *sorted(given), *more)


def all_acts(study: Study) -> Iterator[Act]:
    for method, path, body in acts(study):
        yield Act(OWNER, method, BASE, path, json.dumps(body))
        if path.startswith(OF_ADJUDICATORS):
            yield Act(ADJUDICATOR, method, BASE, path, json.dumps(body))
    for name in RATERS:
        given = Assignment.objects.filter(round__study=study, rater=make.member(study, name)).order_by("pk")
        for each in given:
            answer: dict[str, Any] = {"assignment": str(each.public_id), "labels": {"symptom": ["slow"]}}
            fresh = {"labels": {}, "proposals": {"symptom": {"name": "Fresh", "memo": "m"}}}
            for body in (answer, {"assignment": str(each.public_id), "skip_reason": "no bug"}, answer | fresh):
                yield Act(name, "post", BASE, "annotations/", json.dumps(body))
        for number in study.rounds.values_list("number", flat=True):
            yield Act(name, "get", BASE, f"rounds/{number}/next/", "{}")
        yield Act(name, "post", BASE, "away/", '{"until": "2099-02-02"}')
        yield Act(name, "post", PAGES, "leave/", "{}")
    for name in (OWNER, "olga"):
        yield Act(name, "post", PAGES, "leave/", "{}")
        yield Act(name, "post", BASE, "invitations/", '{"roles": ["rater"]}')
        drawn = {"filter": {"repository": "acme/rocket"}, "size": 2, "seed": 1}
        yield Act(name, "post", BASE, "samples/", json.dumps(drawn))


def columns() -> dict[str, list[str]]:
    """By table its columns, as SQL that tells nothing of what differs from run to run."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
            " AND table_name ~ '^(annotation|accounts|taxonomy|ingest)_' ORDER BY table_name, ordinal_position"
        )
        found: dict[str, list[str]] = {}
        for table, name, kind in cursor.fetchall():
            of_table = found.setdefault(table, [])
            if OF_THEMSELVES.search(name) or "timestamp" in kind or kind == "uuid":
                continue
            if kind in ("bigint", "integer"):
                of_table.append(f'least("{name}", {FIRST_NEW})::text')
            elif kind == "jsonb":
                of_table.append(f"regexp_replace(\"{name}\"::text, '{str(FIRST_NEW)[:3]}\\d{{6}}', 'new', 'g')")
            else:
                of_table.append(f'"{name}"::text')
        return {table: of_table for table, of_table in found.items() if of_table}


@dataclass(frozen=True)
class Outcome:
    """What both acts were answered, and what the database has then, as a digest by table."""

    statuses: tuple[int, int]
    tables: dict[str, str]


class World:
    """A study, the people who act in it, and the acts that are done as it is."""

    def __init__(self, state: str | None, tries: int | None = None) -> None:
        """`tries`: after so many acts of a kind that were refused, no other one of this kind is tried."""
        self.study = build_with_queue(state)
        self.tables = columns()
        self.people = {name: Visitor(name) for name in (OWNER, ADJUDICATOR, *RATERS)}
        with connection.cursor() as cursor:
            cursor.execute("SELECT setval(format('%%I.%%I', schemaname, sequencename)::regclass, %s) FROM pg_sequences"
                           " WHERE schemaname = 'public'", [FIRST_NEW])  # fmt: skip
        by_kind: dict[tuple[object, ...], Act] = {}
        tried = Counter[tuple[object, ...]]()
        for act in all_acts(self.study):
            if act.kind in by_kind or tried[act.kind] == tries:
                continue
            tried[act.kind] += 1
            if self.taken_back(lambda act=act: self.send(act) < 400):  # type: ignore[misc]
                by_kind[act.kind] = act
        self.acts = list(by_kind.values())

    def send(self, act: Act) -> int:
        visitor = self.people[act.by]
        if act.base == PAGES:
            return visitor.client.post(f"{PAGES}studies/study/{act.path}").status_code
        address = f"{BASE}studies/study/{act.path}"
        kind = "application/json"
        return visitor.client.generic(act.method.upper(), address, act.body, kind, headers=visitor.headers).status_code

    @property
    def now(self) -> dict[str, str]:
        """What the database has, as a digest by table."""
        return self._outcome(0, 0).tables

    def one_after_the_other(self, first: Act, second: Act) -> Outcome:
        return self.taken_back(lambda: self._outcome(self.send(first), self.send(second)))

    def meeting(self, first: Act, second: Act) -> Outcome:
        """As if the first waited for the second, at its first lock."""

        def both() -> Outcome:
            with meeting(lambda: self.send(second)) as met:
                status = self.send(first)
            return self._outcome(status, self.send(second) if met.answer is None else met.answer)

        return self.taken_back(both)

    def changed_by(self, sent: "Sent", before: dict[str, str]) -> set[str] | None:
        """The tables that an owner changes by what a form sends; None where it is refused."""
        address, fields = sent

        def send() -> set[str] | None:
            answer = self.people[OWNER].client.post(address, json.loads(fields))
            assert answer.status_code < 500, (sent, answer.status_code)
            now = self.now
            return {table for table in now if now[table] != before[table]} if answer.status_code < 400 else None

        found: set[str] | None = self.taken_back(send)
        return found

    def _outcome(self, *statuses: int) -> Outcome:
        first, second = statuses
        with connection.cursor() as cursor:
            cursor.execute(" UNION ALL ".join(
                f"SELECT '{table}', md5(coalesce(string_agg(line, '|' ORDER BY line), ''))"
                f" FROM (SELECT concat_ws(',', {', '.join(of_table)}) AS line FROM {table}) lines"
                for table, of_table in self.tables.items()
            ))  # fmt: skip
            return Outcome((first, second), dict(cursor.fetchall()))

    @staticmethod
    def taken_back(act: Callable[[], Any]) -> Any:
        cache.clear()
        with transaction.atomic():
            found = act()
            transaction.set_rollback(True)
        return found


def wrong_of(world: World, first: Act, second: Act) -> str:
    """How two acts that meet differ from one after the other, in words; empty where they do not.

    An act that is refused takes back what happened while it waited, because it happened in its transaction, so only
    the answers are compared then.
    """
    met = world.meeting(first, second)
    if max(met.statuses) >= 500:
        return f"{met.statuses}: {first} {second}"
    known = world.one_after_the_other(first, second)
    if met == known:
        return ""
    other = world.one_after_the_other(second, first)
    orders = (known, Outcome(other.statuses[::-1], other.tables))
    if met in orders:
        return ""
    if met.statuses[0] >= 400 and any(each.statuses[0] >= 400 for each in orders):
        return ""
    tables = [{name for name, said in met.tables.items() if each.tables[name] != said} for each in orders]
    return f"{met.statuses} not {[each.statuses for each in orders]}, {tables}: {first} {second}"


@pytest.mark.slow
def test_two_acts_that_meet_leave_what_one_after_the_other_leaves() -> None:
    _compared(Round.State.OPEN, n=60)


@pytest.mark.soak
@pytest.mark.parametrize("state", [None, Round.State.OPEN, Round.State.RESOLVING], ids=str)
def test_any_two_acts_that_meet_leave_what_one_after_the_other_leaves(state: str | None) -> None:
    _compared(state)


NO_STATE = ("/start/", "/sign-out/", "/me/", "/leave/", "/study/delete/", "/duplicate/", "/export")
"""Parts of addresses of forms that make something new or end something, whatever they show."""
BESIDE = {"annotation_auditevent", "accounts_serverevent", "annotation_inboxline"}
"""Tables of lines about what was done."""
Sent = tuple[str, str]
"""Address of a form and, as JSON, what is sent."""


def open_forms(world: World) -> dict[Sent, set[str]]:
    """What an owner can send from an open page without a change, and the tables that this changes where nobody acts."""
    client, found = world.people[OWNER].client, set[Sent]()
    for _, base, path in addresses(world.study):
        if base != PAGES:
            continue
        page = world.taken_back(lambda path=path: client.get(PAGES + path))
        if page.status_code != 200 or not page["Content-Type"].startswith("text/html"):
            continue
        for form in forms_of(page.content.decode()):
            action = form.action or PAGES + path
            if any(each in action for each in NO_STATE):
                continue
            for name, value in form.buttons:
                sent = form.sent | ({name: [value]} if name else {})
                found.add((action, json.dumps({each: sent[each] for each in sent if each != "csrfmiddlewaretoken"})))
    before = world.now
    return {each: changed for each in found if (changed := world.changed_by(each, before)) is not None}


@pytest.mark.soak
@pytest.mark.parametrize("state", [None, Round.State.OPEN], ids=str)
def test_a_form_sent_as_it_was_shown_undoes_nothing_that_someone_did_since_then(state: str | None) -> None:
    world, wrong = World(state), []
    forms = open_forms(world)
    steady = [each for each, changed in forms.items() if not changed - BESIDE]
    assert len(steady) > 30
    for act in world.acts:
        with transaction.atomic():
            world.send(act)
            after = world.now
            for each in steady:
                changed = world.changed_by(each, after)
                if changed is not None and changed - BESIDE:
                    wrong.append(f"{each} after {act}: {sorted(changed)}")
            transaction.set_rollback(True)
    assert not wrong, "\n".join(wrong)


def _compared(state: str | None, n: int | None = None) -> None:
    world = World(state, tries=n and 3)
    pairs = [(first, second) for first in world.acts for second in world.acts]
    if n is not None:
        pairs = random.Random(15).sample(pairs, n)
    assert len(pairs) >= min(n or 3000, 3000)
    wrong = [said for first, second in pairs if (said := wrong_of(world, first, second))]
    assert not wrong, "\n".join(wrong)
