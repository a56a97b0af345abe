"""Audit log of the server: appends entries, filters them, and exports them; studies use the same filters."""

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import connection
from django.db.models import Model, Q, QuerySet
from django.utils import timezone

from accounts.models import ServerEvent, User
from shared.csv_files import SafeCsv

BATCH = 1_000
FAILURES_A_MINUTE = 20
SIGN_IN_FAILED = "sign-in failed"
SIGNED_IN = "signed in"
NOBODY = "server"
"""The name by which lines are found that nobody signed in has written."""


def record(*, verb: str, user: User | None = None, about: User | None = None, **detail: object) -> None:
    """Appends a line to the server's audit."""
    ServerEvent.objects.create(verb=verb, user=user, about=about, detail=detail)


def record_failure(username: str) -> None:
    """Notes that someone could not sign in; of many within a minute the first twenty.

    A name that nobody has is not written down: it may be a password, typed in the wrong field.
    """
    lately = ServerEvent.objects.filter(verb=SIGN_IN_FAILED).values_list("at", flat=True)[:FAILURES_A_MINUTE]
    times = list(lately)
    if len(times) == FAILURES_A_MINUTE and timezone.now() - times[-1] < timedelta(minutes=1):
        return
    about = User.named(username.strip()[:150]).first()
    if about:
        record(verb=SIGN_IN_FAILED, about=about)
    else:
        record(verb=SIGN_IN_FAILED, name="unknown")


@dataclass(frozen=True, kw_only=True)
class AuditQuery:
    """Which lines someone wants: who did it, what, between which days (UTC, both included), of what."""

    who: str = ""
    what: str = ""
    since: date | None = None
    until: date | None = None
    of: str = ""

    def narrowed(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Those of the lines, each condition by an index."""
        if self.who:
            rows = (
                rows.filter(user=None)
                if self.who == NOBODY
                else rows.filter(Q(user__in=User.named(self.who)) | Q(user__elsewhere__iexact=self.who))
            )
        if self.what:
            rows = rows.filter(verb=self.what)
        if self.since:
            rows = rows.filter(at__gte=datetime.combine(self.since, datetime.min.time(), UTC))
        if self.until:
            rows = rows.filter(at__lte=datetime.combine(self.until, datetime.max.time(), UTC))
        return rows.filter(_of(self.of)) if self.of else rows


def _of(text: str) -> Q:
    """`round 2`, `item acme/rocket#1`: a word of the details and its value, as a number and as a text."""
    name, _, value = text.strip().partition(" ")
    value = value.strip()
    found = Q(detail__contains={name: value}) | Q(detail__contains={name: [value]})
    if value.isdecimal() and len(value) < 16:
        found |= Q(detail__contains={name: int(value)})
    return found


def verbs(table: type[Model], **narrowed: int) -> list[str]:
    """What was ever done, in order: one query that looks into the index once for each verb."""
    name = table._meta.db_table
    where = "".join(f" AND {column} = %s" for column in narrowed)
    one = f"SELECT verb FROM {name} WHERE verb > %s{where} ORDER BY verb LIMIT 1"  # noqa: S608 - names of columns
    further = one.replace("verb > %s", "verb > seen.verb")
    given = list(narrowed.values())
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE seen AS (({one}) UNION ALL SELECT ({further}) FROM seen WHERE seen.verb IS NOT NULL)"  # noqa: S608
            " SELECT verb FROM seen WHERE verb IS NOT NULL",
            ["", *given, *given],
        )
        return [verb for (verb,) in cursor.fetchall()]


def lines_of(rows: QuerySet[Any], format: str) -> Iterator[bytes]:
    """A file of the lines, newest first, in batches: `csv` with harmless cells, or `jsonl`."""
    text = io.StringIO()
    table = SafeCsv(text, lineterminator="\r\n")
    if format == "csv":
        table.row(["at", "who", "what", "detail"])
        yield _taken(text)
    below: int | None = None
    while batch := list((rows if below is None else rows.filter(pk__lt=below)).order_by("-pk")[:BATCH]):
        below = batch[-1].pk
        if format == "csv":
            table.rows(
                [at, who or "", what, json.dumps(detail, ensure_ascii=False)]
                for at, who, what, detail in map(_told, batch)
            )
            yield _taken(text)
        else:
            names = ("at", "who", "what", "detail")
            lines = (dict(zip(names, _told(event), strict=True)) for event in batch)
            yield "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines).encode()


def _taken(text: io.StringIO) -> bytes:
    """What was written since the last time."""
    written = text.getvalue().encode()
    text.seek(0)
    text.truncate()
    return written


def _told(event: Any) -> tuple[str, str | None, str, dict[str, Any]]:
    """When, who, what, and the details of a line."""
    who = event.user.told_name if event.user else ""
    about = getattr(event, "about", None)
    detail = event.detail | ({"about": about.told_name} if about else {})
    return event.at.isoformat(), who or None, event.verb, detail
