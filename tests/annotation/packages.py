"""For tests of replication packages: makes one, unpacks it, and runs the script in it where nothing else is at hand."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from annotation.core.access import Seat, get_item, get_round
from annotation.core.errors import ConcordError
from annotation.exports.queries.kinds import read_export_request, write_file
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Round, Study
from annotation.package.queries import package as study_package
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import reopen, resolve
from tests import builders as make

EVERYTHING = """
slug: everything
title: Everything that can be asked
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
      - {key: slow, name: Slow}
  - key: stage
    title: Stage of a failure
    kind: single
    applies_when: {dimension: symptom, is: [failure]}
    categories: [{key: begin, name: Begin}, {key: end, name: End}]
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
  - key: severity
    title: Severity
    kind: ordinal
    applies_when: {dimension: distributed, is: [true]}
    categories: [{key: low, name: Low}, {key: some, name: Some}, {key: high, name: High}, {key: worst, name: Worst}]
  - key: lines
    title: Lines
    kind: number
    required: false
  - key: note
    title: Note
    kind: text
    required: false
"""

ALONE = """
import runpy, sys
folder = sys.argv[1]
NOT_HERE = ("accounts", "annotation", "config", "django", "ingest", "pyarrow", "scipy", "shared", "taxonomy")

class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in NOT_HERE:
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Nothing())
sys.argv = [folder + "/recompute.py"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
"""Runs the script as if NumPy and pandas were all that is installed."""


@contextmanager
def quickly() -> Iterator[None]:
    """Drawing takes seconds, and only the test of figures does it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_package, "draw_each", lambda wanted: [b"drawn"] * len(wanted))
        patch.setattr(study_package, "in_order", lambda pdf: pdf)
        yield


def unwatched(n_rows: int | None = None, *, n_expected: int | None = None, step: str | None = None) -> None:
    """The progress of a file that nobody watches being written."""


def package(seat: Seat, **options: Any) -> bytes:
    """The bytes of a package made by this person."""
    file = io.BytesIO()
    write_file(read_export_request(seat, "package", "zip", options), seat, file, unwatched)
    return file.getvalue()


def unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        file.extractall(folder)
    return folder


def recompute(folder: Path) -> tuple[int, str]:
    """Exit status and words of the script in an unpacked package."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(folder)], cwd=folder, capture_output=True, text=True, timeout=100
    )
    assert not done.stderr, done.stderr[-3000:]
    return done.returncode, done.stdout


def any_labels(draw: Random) -> dict[str, Any]:
    """Labels under EVERYTHING that someone might give, the first values far more often."""

    def one(*values: str) -> list[str]:
        return [draw.choices(values, weights=[8, 4, 2, 1][: len(values)])[0]]

    found: dict[str, Any] = {"kind": one("fault", "how-to")}
    if draw.random() < 0.7:
        found["lines"] = draw.choice([1, 2, 2.5, 10, 10, -3])
    if draw.random() < 0.3:
        found["note"] = draw.choice(["=1+1", "a; b", "Ünïcode\n“two lines”"])
    if found["kind"] == ["fault"]:
        found |= {"symptom": one("crash", "hang", "slow"), "distributed": draw.random() < 0.7}
        if found["symptom"] != ["slow"]:
            found["stage"] = one("begin", "end")
        if draw.random() < 0.8:
            found["fixes"] = draw.choice([[], ["config"], ["config", "code"], ["version"]])
        if found["distributed"]:
            found["severity"] = one("low", "some", "high")
    return found


def labeled(study: Study, n_items: int, raters: tuple[str, ...], *, first: int, seed: int, per_item: int) -> Round:
    """A round that raters answered at random: in parts, with skips and proposals; some take back what they said."""
    draw = Random(seed)
    round_ = make.open_round(study, n_items, raters=raters, first=first, raters_per_item=per_item)
    given = list(round_.assignments.order_by("item", "rater").values_list("item__identifier", "rater__user__username"))
    seen: dict[str, dict[str, Any]] = {}
    for identifier, name in given:
        number, likes = int(identifier.rpartition("#")[2]), draw.random()
        told = seen.setdefault(identifier, any_labels(draw)) if likes < 0.6 else any_labels(draw)
        if likes > 0.95:
            make.submit(round_, name, number, skip="not in English")
        elif likes > 0.85:
            parts = [{"labels": any_labels(draw), "memo": f"part {n}"} for n in range(draw.choice([2, 3]))]
            make.submit(round_, name, number, parts=parts)
        elif likes > 0.8:
            told = {"kind": ["fault"], "distributed": False}
            make.submit(round_, name, number, told, proposals={"symptom": {"name": "New", "memo": "none fits"}})
        else:
            make.submit(round_, name, number, told)
    round_ = get_round(make.owner_seat(study), round_.number)
    for identifier, name in draw.sample(given, len(given) // 6):
        make.submit(
            round_, name, int(identifier.rpartition("#")[2]), any_labels(draw), key=f"again {seed} {identifier}"
        )
    settle(study, round_, draw)
    return round_


def settle(study: Study, round_: Round, draw: Random) -> None:
    """Matches the parts of some answers and decides most of what is open, reopening a little."""
    seat = make.seat(study, "ada")
    for assignment in round_.assignments.filter(current__n_parts__gt=1).select_related("item", "rater", "current"):
        order = list(range(1, assignment.current.n_parts + 1))
        draw.shuffle(order)
        with suppress(ConcordError):  # Nothing there to match with.
            match_parts(seat=seat, round_=round_, item=assignment.item, rater=assignment.rater.code, parts=order)
    for each in list(round_verdicts(round_, disputed_only=True)):
        for verdict in each.verdicts:
            if verdict.state == "open" and draw.random() < 0.8:
                place: Mapping[str, Any] = {
                    "seat": seat,
                    "round_": round_,
                    "item": get_item(seat, each.identifier),
                    "part": verdict.part,
                    "dimension": verdict.dimension,
                }
                values = next(
                    (list(one.values) for one in verdict.ratings if one.values and "PENDING" not in one.values), []
                )
                decided = resolve(**place, values=values, rationale="as bob and @octocat said")
                if draw.random() < 0.2:
                    reopen(**place, expected=decided.public_id)
