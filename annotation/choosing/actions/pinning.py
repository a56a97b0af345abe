"""Pinned snapshots: moves items to newer ones, and asks GitHub about deleted or moved issues."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from django.db import connection, transaction

from annotation.choosing.actions import batches
from annotation.choosing.queries.changes import ASKED, NEWEST_HIDDEN, may_read_newest, with_new_states
from annotation.core.access import OWNER, Seat, get_seat, items_by_identifier
from annotation.core.audit import record
from annotation.core.errors import Forbidden, Invalid, Stale
from annotation.core.locks import hold_study, require_prepared
from annotation.models import BulkJob, Item
from ingest.actions import fetches
from ingest.differences import METADATA, metadata_differences
from ingest.identifiers import full_name
from ingest.models import FetchRun, Snapshot

NAMED_MOST = 10_000
RECORDED_MOST = 500
TOLD_OF = ("sha256", *METADATA)
QUESTIONS = {
    "issues": "what changed",
    "presence": "whether they are still there",
    "closing_changes": "what closed them",
}


@transaction.atomic
def repin_item(*, seat: Seat, item: Item, seen: str = "") -> bool:
    """Lets raters read the newest state of an item's issue from now on; False where they do already.

    `seen` is the SHA-256 of the state that the owner looked at; where a newer one came meanwhile it is Stale.
    """
    seat.require(OWNER)
    issue = item.issue
    if issue is None or issue.current_snapshot is None:
        raise Invalid("This item has no issue, so it has no snapshot.")
    if not may_read_newest(seat, item):
        raise Forbidden(NEWEST_HIDDEN.format(item.identifier))
    if seen and issue.current_snapshot.sha256 != seen:
        raise Stale(
            "The issue changed again after you opened this page. Review the new difference first.",
            newer={"snapshot": issue.current_snapshot.sha256},
        )
    return bool(_repin(seat, [item.pk]))


@transaction.atomic
def repin_items(*, seat: Seat, items: Sequence[str] | None = None, everything: bool = False) -> int | BulkJob:
    """Lets raters read the newest states of the items named, or of all; how many were moved on, or the job of many.

    Annotations stay as they are: each keeps the state it was made on. Raises Invalid for names that are no items, and
    Conflict while another job of the study is at work that is to be waited for.
    """
    seat.require(OWNER)
    if everything == (items is not None):
        raise Invalid("Name the items.", fields={"items": ['Send either "items", or "all": true.']})
    if items is None:
        return _repin_by_job(seat) or _repin(seat, None)
    if not items:
        raise Invalid("Items not valid.", fields={"items": ["Send a list of items as owner/name#number."]})
    if len(items) > NAMED_MOST:
        raise Invalid("Too many items.", fields={"items": [f'Name at most {NAMED_MOST:,}, or send "all": true.']})
    wanted = [name.replace("\x00", "") for name in items]
    found = {name: item.pk for name, item in items_by_identifier(seat.study, wanted).items()}
    if unknown := [name for name in wanted if name not in found]:
        sentences = [f"The study has no item “{name[:100]}”." for name in unknown]
        raise Invalid("Some of these are not items of the study.", fields={"items": sentences})
    for item in Item.objects.filter(pk__in=found.values(), issue__repository__private=True).select_related(
        "issue__repository"
    ):
        if not may_read_newest(seat, item):
            raise Forbidden(NEWEST_HIDDEN.format(item.identifier))
    return _repin(seat, list(found.values()))


# In one statement: what the raters read until now, and what they read from now on.
_MOVE_ON = """
    WITH held AS (
        SELECT i.id, i.snapshot_id AS old, h.new
        FROM unnest(%s::bigint[], %s::bigint[]) AS h (id, new) JOIN annotation_item i ON i.id = h.id
    ), kept AS (
        INSERT INTO annotation_earlierpin (item_id, snapshot_id)
        SELECT id, old FROM held WHERE old IS NOT NULL ORDER BY id
    )
    UPDATE annotation_item i SET snapshot_id = h.new FROM held h WHERE h.id = i.id
"""


def _repin_by_job(seat: Seat) -> BulkJob | None:
    """Starts the job that moves many items on."""
    rows = with_new_states(seat).order_by().values("pk")
    if not batches.is_large(rows[: batches.JOB_FROM + 1].count()):
        return None
    study = hold_study(seat)
    require_prepared(study)
    return batches.start_job(study=study, user=seat.user, kind=BulkJob.Kind.PINNING, n_total=rows.count())


def _repin(seat: Seat, wanted: Sequence[int] | None) -> int:
    """In batches by key, in one transaction with its one line in the audit."""
    moved = PinsMoved()
    while _repin_next(seat, moved, wanted):
        pass
    _record(seat, moved)
    return moved.n


@dataclass
class PinsMoved:
    """How many items were moved on, the last of them (its key), and the first ones in words."""

    n: int = 0
    after: int = 0
    states: list[str] = field(default_factory=list)


def _repin_next(seat: Seat, moved: PinsMoved, wanted: Sequence[int] | None = None) -> bool:
    """Moves the next batch on, by key; whether there may be more."""
    rows = with_new_states(seat).order_by("pk").select_for_update(of=("self",), no_key=True)
    if wanted is not None:
        rows = rows.filter(pk__in=wanted)
    batch = list(rows.filter(pk__gt=moved.after).values_list("pk", "issue__current_snapshot")[: batches.BATCH])
    if not batch:
        return False
    moved.after = batch[-1][0]
    moved.n += len(batch)
    moved.states += _moves(dict(batch[: RECORDED_MOST - len(moved.states)]))
    with connection.cursor() as cursor:
        cursor.execute(_MOVE_ON, [list(column) for column in zip(*batch, strict=True)])
    return len(batch) == batches.BATCH


def _record(seat: Seat, moved: PinsMoved) -> None:
    if moved.n:
        record(study=seat.study, user=seat.user, verb="items re-pinned", n=moved.n, states=moved.states)


def record_pins(job: BulkJob) -> None:
    """The line of what a job that fails has moved on: that stays."""
    _record(Seat(job.created_by, job.study, None), PinsMoved(**job.cursor))


def pin_next(job: BulkJob) -> bool:
    """Does the next batch of the job that moves many items on; whether there is more."""
    seat, moved = get_seat(job.created_by, job.study.slug), PinsMoved(**job.cursor)
    seat.require(OWNER)
    is_more = _repin_next(seat, moved)
    job.cursor, job.n_done = asdict(moved), min(moved.n, job.n_total)
    if not is_more:
        _record(seat, moved)
    return is_more


def _moves(newest: Mapping[int, int]) -> list[str]:
    """In words, what items are about to be moved on from, and to: item → state, by id; two queries, none for none."""
    if not newest:
        return []
    states = Snapshot.objects.only(*TOLD_OF).in_bulk(newest.values())
    items = Item.objects.filter(pk__in=newest).select_related("snapshot").order_by("pk")
    items = items.only("identifier", *(f"snapshot__{name}" for name in TOLD_OF))
    return [_as_words(each.identifier, each.snapshot, states[newest[each.pk]]) for each in items]


def _as_words(identifier: str, old: Snapshot | None, new: Snapshot) -> str:
    before = old.sha256[:12] if old else "none"
    words = f"{identifier} from {before} to {new.sha256[:12]}"
    if old is None:
        return words
    differs = [f"{each.name} {_written(each.old)} to {_written(each.new)}" for each in metadata_differences(old, new)]
    return f"{words} ({', '.join(differs)})" if differs else words


def _written(value: datetime | int | None) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    return "unknown" if value is None else str(value)


@transaction.atomic
def ask_github(*, seat: Seat, what: object) -> list[FetchRun]:
    """Starts one fetch for each repository of the study's items; `what` is one of QUESTIONS. Raises Invalid.

    A repository that this server does not fetch from is passed over, unless all of them are.
    """
    seat.require(OWNER)
    if not isinstance(what, str) or what not in QUESTIONS:
        raise Invalid("Request not valid.", fields={"what": [f"Use one of {', '.join(QUESTIONS)}."]})
    numbers: dict[str, list[int]] = defaultdict(list)
    rows = Item.objects.filter(study=seat.study, issue__isnull=False).order_by("issue__repository", "issue__number")
    place = ("issue__repository__host", "issue__repository__owner", "issue__repository__name", "issue__number")
    for host, owner, name, number in rows.values_list(*place):
        numbers[full_name(host, owner, name)].append(number)
    if not numbers:
        raise Invalid("No item of this study is an issue, so there is nothing to fetch.")
    started: list[FetchRun] = []
    refused: list[Invalid] = []
    for repository, of_repository in numbers.items():
        try:
            started.append(_start(seat, what, repository, of_repository))
        except Invalid as error:
            refused.append(error)
    if not started:
        raise refused[0]
    names = [run.requested["repository"] for run in started]
    record(
        study=seat.study,
        user=seat.user,
        verb=ASKED,
        what=QUESTIONS[what],
        repositories=names,
        fetches=[run.pk for run in started],
    )
    return started


def _start(seat: Seat, what: str, repository: str, numbers: Sequence[int]) -> FetchRun:
    if what == "issues":
        return fetches.start_fetch(user=seat.user, repository=repository, since="last")
    start = fetches.start_check if what == "presence" else fetches.start_closing_fetch
    return start(user=seat.user, repository=repository, numbers=numbers)
