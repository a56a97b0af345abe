"""Makes users, taxonomies, issues, studies and ratings for tests, by the same actions that users call."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from typing import Any

from django.db import connection
from django.utils import timezone

from accounts.models import User
from accounts.permissions import shell_command
from annotation.core.access import Seat, get_round, get_seat
from annotation.core.demo_people import PEOPLE
from annotation.invitations.actions import own_invitations
from annotation.invitations.queries.own_invitations import invitations_of
from annotation.labeling.actions import answers as answer_actions
from annotation.members.actions import members
from annotation.models import Assignment, Item, Membership, Round, RoundItem, RoundRater, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from ingest.models import Comment, Issue, Repository, Snapshot, SnapshotComment
from shared.compiled_queries import CompiledQuery
from taxonomy import actions as taxonomy_actions
from taxonomy.models import TaxonomyVersion
from tests.remembered import remembered

SYMPTOMS = """
slug: symptoms
title: Symptoms
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: crash, name: Crash}
      - {key: hang, name: Hang}
      - {key: slow, name: Slow}
"""

HANG_SPLIT = SYMPTOMS.replace(
    "{key: hang, name: Hang}",
    "{key: hang-a, name: Hang A, was: [hang]}\n      - {key: hang-b, name: Hang B, was: [hang]}",
)
"""The next version of SYMPTOMS, in which one category is two."""

FAULTS = """
slug: faults
title: Faults
dimensions:
  - key: kind
    title: Kind of issue
    kind: single
    categories: [{key: fault, name: Fault}, {key: how-to, name: How-to question}]
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories:
      - key: failure
        name: Failure
        selectable: false
        categories: [{key: crash, name: Crash}, {key: hang, name: Hang}]
      - {key: slow, name: Slow, definition: Too slow.}
  - key: fixes
    title: Fix patterns
    kind: multi
    required: false
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: config, name: Configuration}, {key: version, name: Version}, {key: code, name: Code}]
  - key: distributed
    title: Only distributed
    kind: boolean
    applies_when: {dimension: kind, is: [fault]}
"""


CURRENT = """
UPDATE ingest_issue SET current_snapshot_id = ingest_snapshot.id FROM ingest_snapshot
WHERE ingest_snapshot.id = ANY(%s) AND ingest_snapshot.issue_id = ingest_issue.id
"""

_user = CompiledQuery(lambda name: User.objects.filter(username=name).order_by(), str)
_member = CompiledQuery(
    lambda study, name: Membership.objects.filter(study=study, user__username=name).order_by(), int, str
)
_assignment = CompiledQuery(
    lambda round_, name, item: Assignment.objects.filter(
        round=round_, rater__user__username=name, item__identifier=item
    ).order_by(),
    int,
    str,
    str,
)


def user(name: str, *, staff: bool = False, password: str = "") -> User:
    made = _user.first(name)
    return made or User.objects.create_user(name, password=password or None, is_staff=staff)


def version(text: str = SYMPTOMS, owner: str = "olga") -> TaxonomyVersion:
    """A published first version of a document."""
    draft = taxonomy_actions.load_document(user=user(owner), text=text)
    return taxonomy_actions.publish_version(user=user(owner), version=draft)


def issues(n: int, repository: str = "acme/rocket", *, first: int = 1, private: bool = False) -> list[Issue]:
    """Issues numbered from `first`, each with one snapshot; every third is closed, every second labelled bug."""
    owner, name = repository.split("/")
    home, _ = Repository.objects.get_or_create(
        host="github.com", owner=owner, name=name, defaults={"private": private, "added_by": user("olga")}
    )
    made = Issue.objects.bulk_create(
        [Issue(repository=home, number=number) for number in range(first, first + n)], batch_size=5000
    )
    snapshots = Snapshot.objects.bulk_create(
        [
            Snapshot(
                issue=issue,
                sha256=f"{issue.pk:064x}",
                title=f"Issue {issue.number} of {name}",
                body=f"Training **hangs** after step {issue.number}.",
                state="closed" if issue.number % 3 == 0 else "open",
                github_labels=["bug"] if issue.number % 2 == 0 else [],
                author_login="ghost",
                comments_known=True,
                n_comments=0,
            )
            for issue in made
        ],
        batch_size=5000,
    )
    for issue, snapshot in zip(made, snapshots, strict=True):
        issue.current_snapshot = snapshot
    with connection.cursor() as cursor:
        cursor.execute(CURRENT, [[snapshot.pk for snapshot in snapshots]])
    return made


def new_state(number: int, comments: Sequence[tuple[int, str, str]] = (), **changes: Any) -> Snapshot:
    """A newer current snapshot of acme/rocket#number, as a fetch makes it; a comment is (GitHub's id, author, body)."""
    issue = Issue.objects.select_related("current_snapshot").get(repository__name="rocket", number=number)
    assert issue.current_snapshot is not None
    made = Snapshot.objects.get(pk=issue.current_snapshot.pk)
    made.pk = None
    made._state.adding = True
    for name, value in changes.items():
        setattr(made, name, value)
    made.n_comments = len(comments)
    made.sha256 = f"{issue.pk * 1000 + issue.snapshots.count():064x}"
    made.save()
    for position, (github_id, author, body) in enumerate(comments, start=1):
        digest = sha256(f"{github_id} {author} {body}".encode()).hexdigest()
        said = {"github_id": github_id, "author_login": author, "body": body}
        comment, _ = Comment.objects.get_or_create(sha256=digest, defaults=said)
        SnapshotComment.objects.create(snapshot=made, comment=comment, position=position)
    issue.current_snapshot = made
    issue.save(update_fields=["current_snapshot"])
    return made


@remembered
def study(
    slug: str = "study",
    *,
    text: str = SYMPTOMS,
    owner: str = "olga",
    raters: Sequence[str] = ("bob", "carol"),
    **more: Any,
) -> Study:
    """A study with an owner, raters R1, R2 … in order, adjudicator ada and reader rea."""
    taxonomy = version(text, owner).taxonomy
    with shell_command() if owner in PEOPLE else nullcontext():
        made = studies.create_study(user=user(owner), slug=slug, title=slug.title(), taxonomy=taxonomy.slug, **more)
    seat = get_seat(user(owner), slug)
    for name in raters:
        members.add_member(seat=seat, username=user(name).username, roles=["rater"])
    members.add_member(seat=seat, username=user("ada").username, roles=["adjudicator"])
    members.add_member(seat=seat, username=user("rea").username, roles=["reader"])
    return made


def accept(name: str) -> None:
    """Accepts every invitation to a study that waits for this person."""
    for each in invitations_of(user(name)):
        own_invitations.accept(user=user(name), key=each.invitation_key or "")


def seat(study: Study, name: str) -> Seat:
    return get_seat(user(name), study.slug)


def owner_seat(study: Study) -> Seat:
    return get_seat(study.created_by, study.slug)


@remembered
def open_round(
    study: Study,
    n_items: int = 3,
    *,
    raters: Sequence[str] = ("bob", "carol"),
    first: int = 1,
    reason: str = "Time is short.",
    **more: Any,
) -> Round:
    """An open round over new issues first, first + 1 … of acme/rocket, each to be rated by all raters.

    `reason` opens a main round although the pilot did not reach its thresholds.
    """
    numbers = range(first, first + n_items)
    have = set(Issue.objects.filter(repository__name="rocket").values_list("number", flat=True))
    lacking = [number for number in numbers if number not in have]
    if lacking == list(numbers):
        issues(n_items, first=first)
    else:
        for number in lacking:
            issues(1, first=number)
    more.setdefault("raters_per_item", len(raters))
    made = rounds.create_round(
        seat=owner_seat(study),
        asked=rounds.NewRound(raters=list(raters), issues=[f"acme/rocket#{number}" for number in numbers], **more),
    )
    return rounds.open_round(seat=owner_seat(study), number=made.number, reason=reason, unregistered=True)


def assignment(round_: Round, name: str, number: int) -> Assignment:
    """The assignment of a rater on acme/rocket#number."""
    (found,) = _assignment.all(round_.pk, name, f"acme/rocket#{number}")
    return found


def submit(round_: Round, name: str, number: int, labels: Mapping[str, Any] | None = None, **more: Any) -> None:
    """Submits for a rater on acme/rocket#number: labels, or `parts`, or `skip`."""
    key = more.pop("key", "")
    body = dict(more) if labels is None else {"labels": dict(labels), **more}
    answer_actions.submit_annotation(
        seat=seat(round_.study, name),
        assignment=assignment(round_, name, number).public_id,
        body=body,
        idempotency_key=key,
    )


@remembered
def rate(round_: Round, table: str, dimension: str = "symptom") -> Round:
    """Submits a table of labels: a head line `item bob carol`, then one line per issue number; `-` skips."""
    lines = [line.split() for line in table.strip().splitlines()]
    for number, *values in lines[1:]:
        for name, value in zip(lines[0][1:], values, strict=True):
            if value == "-":
                submit(round_, name, int(number), skip="not in English")
            elif value == "PENDING":
                submit(round_, name, int(number), {}, proposals={dimension: {"name": "New", "memo": "none fits"}})
            else:
                submit(round_, name, int(number), {dimension: value.split(",")})
    return get_round(owner_seat(round_.study), round_.number)


def member(study: Study, name: str) -> Membership:
    (found,) = _member.all(study.pk, name)
    return found


def worklist(study: Study, version: int, table: str, *, state: str = Round.State.OPEN) -> Round:
    """A worklist as a plan makes it, written directly: a round of kind relabel under a version, open.

    A head line `item asked raters`, then one line per issue number of acme/rocket that the study has: what is asked
    (`symptom,kind`, or `2:symptom` in another part than the first) and who answers (`bob,carol`).
    """
    lines = [line.split() for line in table.strip().splitlines()[1:]]
    names = list(dict.fromkeys(name for line in lines for name in line[2].split(",")))
    of_version = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=version)
    number = (study.rounds.order_by("-number").values_list("number", flat=True).first() or 0) + 1
    made = Round.objects.create(
        study=study,
        number=number,
        kind=Round.Kind.RELABEL,
        taxonomy_version=of_version,
        raters_per_item=max(len(line[2].split(",")) for line in lines),
        state=state,
        created_by=study.created_by,
        opened_at=timezone.now(),
    )
    n_assigned = dict.fromkeys(names, 0)
    for position, (issue, asked, raters) in enumerate(lines, start=1):
        item = Item.objects.get(study=study, identifier=f"acme/rocket#{issue}")
        places = [place.rpartition(":") for place in asked.split(",")]
        who = raters.split(",")
        RoundItem.objects.create(
            round=made,
            item=item,
            position=position,
            n_raters=len(who),
            asked=[[int(part or 1), dimension] for part, _, dimension in places],
        )
        for slot, name in enumerate(who, start=1):
            n_assigned[name] += 1
            Assignment.objects.create(
                round=made, item=item, rater=member(study, name), slot=slot, position=n_assigned[name]
            )
    for name, n in n_assigned.items():
        RoundRater.objects.create(round=made, rater=member(study, name), n_assigned=n)
    return get_round(owner_seat(study), number)


@contextmanager
def queues_aside(study: Study) -> Iterator[None]:
    """Inside, open relabeling queues are drafts: older releases opened rounds beside them, and asked third raters."""
    queues = Round.objects.filter(study=study, kind=Round.Kind.RELABEL, state=Round.State.OPEN)
    held = list(queues.values_list("pk", flat=True))
    queues.update(state=Round.State.DRAFT)
    yield
    Round.objects.filter(pk__in=held).update(state=Round.State.OPEN)


def next_version(study: Study, text: str) -> TaxonomyVersion:
    """The next published version of a study's taxonomy."""
    draft = taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=text)
    return taxonomy_actions.publish_version(user=study.created_by, version=draft)
