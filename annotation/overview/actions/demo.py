"""Demo study: invented issues and labels, loaded by the actions that everyone uses."""

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from django.core.files import File
from django.db import transaction

from accounts.actions import add_user
from accounts.models import User
from accounts.passwords import DEMO_PASSWORD
from accounts.permissions import shell_command
from annotation.core.access import Seat, get_item, get_round, get_seat
from annotation.core.demo_people import PEOPLE, SLUG
from annotation.labeling.actions.answers import submit_annotation
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Study
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions.rounds import NewRound, close_round, create_round, open_round
from annotation.studies.actions.studies import create_study
from ingest.actions.fetches import run_now
from ingest.actions.uploads import start_file_fetch
from ingest.models import Issue
from taxonomy.actions import publish_version, take_ready_made
from taxonomy.queries import published_version
from taxonomy.ready_made import preset
from taxonomy.tree import VersionTree

FOLDER = Path(__file__).resolve().parents[2] / "demo"
REPOSITORY = "example-lab/paratrain"
ROUNDS = (
    ("pilot", ["demo-alice", "demo-bob"], 20),
    ("main", ["demo-alice", "demo-bob"], 24),
    ("main", ["demo-bob", "demo-carol"], 16),
)
AGAINST_THE_GATE = "The demo shows every kind of round; its pilot result is unchanged."
GUIDELINES = """\
Read the whole thread before you label: the cause is often in the last comment.

* Label what **broke**, not what the title says.
* One issue can report several problems: add a part for each.
* Nothing fits? Propose a category, with a memo.
"""


@dataclass(frozen=True)
class DemoRow:
    """One label of the demo's file."""

    round: int
    item: str
    part: int
    rater: str
    dimension: str
    value: str
    memo: str


@shell_command()
def load_demo() -> list[tuple[str, str, str]]:
    """Makes the demo study unless it is there; gives (user name, password, who they are) for each sign-in.

    Killed in the middle it leaves people and issues at most, and can be run again.
    """
    people = {name: _person(name) for name in PEOPLE}
    sign_ins = [(name, DEMO_PASSWORD, what) for name, (_, what) in PEOPLE.items()]
    if Study.objects.filter(slug=SLUG).exists():
        return sign_ins
    with (FOLDER / "issues.json").open("rb") as issues:
        run_now(
            run=start_file_fetch(
                user=people["demo-olga"],
                file=File(issues, name="demo-issues.json"),
                repository=REPOSITORY,
                private=False,
                send=False,
            )
        )
    with transaction.atomic():
        _make_study(people)
    return sign_ins


def _person(name: str) -> User:
    found = User.objects.filter(username=name).first()
    return found or add_user(username=name, full_name=PEOPLE[name][0], password=DEMO_PASSWORD)[0]


def _make_study(people: dict[str, User]) -> None:
    owner = people["demo-olga"]
    version = take_ready_made(user=owner, asked=preset("liu-2023").document)
    if version.is_draft:
        version = publish_version(user=owner, version=version)
    create_study(
        user=owner,
        slug=SLUG,
        title="Faults in distributed training",
        taxonomy=version.taxonomy.slug,
        guidelines=GUIDELINES,
        primary={
            "issue-type": {"coefficient": "cohen_kappa", "threshold": 0.8},
            "symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.8},
            "fix-pattern": {"coefficient": "krippendorff_alpha", "threshold": 0.7},
        },
    )
    seat = get_seat(owner, SLUG)
    for name in ("demo-alice", "demo-bob", "demo-carol"):
        add_member(seat=seat, username=name, roles=["rater"])
    add_member(seat=seat, username="demo-ada", roles=["adjudicator"])
    numbers = sorted(
        Issue.objects.filter(repository__owner="example-lab", repository__name="paratrain").values_list(
            "number", flat=True
        )
    )
    rows = _rows()
    for number, (kind, raters, n_items) in enumerate(ROUNDS, start=1):
        here, numbers = numbers[:n_items], numbers[n_items:]
        create_round(
            seat=seat,
            asked=NewRound(kind=kind, raters=raters, issues=[f"{REPOSITORY}#{issue}" for issue in here], seed=number),
        )
        open_round(seat=seat, number=number, reason=AGAINST_THE_GATE, unregistered=True)
        _submit(people, [row for row in rows if row.round == number and row.rater != "final"], number)
    _decide(get_seat(people["demo-ada"], SLUG), [row for row in rows if row.rater == "final"])
    close_round(seat=seat, number=1)


def _rows() -> list[DemoRow]:
    with (FOLDER / "labels.csv").open(encoding="utf-8", newline="") as file:
        return [
            DemoRow(
                int(row["round"]),
                row["item"],
                int(row["part"]),
                row["rater"],
                row["dimension"],
                row["value"],
                row["memo"],
            )
            for row in csv.DictReader(file)
        ]


def _submit(people: dict[str, User], rows: list[DemoRow], number: int) -> None:
    """Submits each rater's rows of a round, item by item."""
    answers: dict[tuple[str, str], dict[int, list[DemoRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        answers[row.rater, row.item][row.part].append(row)
    seats = {rater: get_seat(people[f"demo-{rater}"], SLUG) for rater, _ in answers}
    for place, ((rater, item), parts) in enumerate(answers.items()):
        seat = seats[rater]
        round_ = get_round(seat, number)
        tree = published_version(round_.taxonomy_version_id)
        assignment = Assignment.objects.get(round=round_, rater=seat.membership, item__identifier=item)
        submit_annotation(
            seat=seat,
            assignment=assignment.public_id,
            body={
                "parts": [_part(tree, parts[part]) for part in sorted(parts)],
                "seconds": 45 + 37 * place % 240,
            },
            idempotency_key=f"demo {number} {rater} {item}",
        )


def _part(tree: VersionTree, rows: list[DemoRow]) -> dict[str, object]:
    labels: dict[str, object] = {}
    proposals: dict[str, object] = {}
    for row in rows:
        pending, _, name = row.value.partition(":")
        if pending == "PENDING":
            proposals[row.dimension] = {"name": name.strip(), "memo": row.memo}
        elif not tree.by_key[row.dimension].has_categories:
            labels[row.dimension] = tree.by_key[row.dimension].question_kind.parse(row.value)
        else:
            kept = labels.setdefault(row.dimension, [])
            assert isinstance(kept, list)
            kept.append(row.value)
    memo = " ".join(dict.fromkeys(row.memo for row in rows if row.memo))
    return {"labels": labels, "proposals": proposals, "memo": memo}


def _decide(seat: Seat, rows: list[DemoRow]) -> None:
    """Takes the decisions of round 1 in the order of the taxonomy, since some hang on others."""
    round_ = get_round(seat, 1)
    tree = published_version(round_.taxonomy_version_id)
    decisions: dict[tuple[str, int, str], list[DemoRow]] = defaultdict(list)
    for row in rows:
        decisions[row.item, row.part, row.dimension].append(row)
    order = {dimension.key: dimension.position for dimension in tree.dimensions}
    for (item, part, dimension), values in sorted(decisions.items(), key=lambda each: order[each[0][2]]):
        kind = tree.by_key[dimension].question_kind
        resolve(
            seat=seat,
            round_=round_,
            item=get_item(seat, item),
            part=part,
            dimension=dimension,
            values=[kind.parse(row.value) for row in values],
            rationale=" ".join(row.memo for row in values if row.memo),
        )
