"""Agreed labels as columns: whatever happens in a study, they say what `results.labels` says, and nothing else."""

import io
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotation.analysis.queries.effort import effort
from annotation.analysis.queries.labels import study_labels
from annotation.core.access import get_round
from annotation.core.audit import record
from annotation.core.errors import Blind
from annotation.imports.actions.ratings import import_ratings
from annotation.labels.columns import (
    NONE,
    NOT_AGREED,
    UNMAPPED,
    Categories,
    Columns,
    MultiColumn,
    NumberColumn,
    SingleColumn,
)
from annotation.labels.queries.batches import chunks
from annotation.labels.queries.batches.batch_consensus import BatchConsensus
from annotation.labels.queries.batches.changes import RoundRevision
from annotation.labels.queries.label_columns import LabelColumns, LabeledChunk, read_label_columns
from annotation.labels.queries.label_version import standing_version
from annotation.labels.queries.rows import labels
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Assignment, Item, Round, Study
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.rounds.actions.rounds import close_round
from ingest import filters
from ingest.models import Issue
from shared.cached_values import to_plain
from taxonomy.models import TaxonomyVersion
from tests import builders as make
from tests.annotation.labeling.test_no_label_is_lost import START, Life
from tests.asserts import assert_queries
from tests.scripts import Script

pytestmark = pytest.mark.django_db
Told = dict[tuple[str, int, str], Any]


def counting(study: Study) -> list[Round]:
    rounds = study.rounds.exclude(state__in=["draft", "undone"]).exclude(kind="screening")
    return list(rounds.select_related("taxonomy_version").order_by("number"))


def by_row(rounds: list[Round], **told: Any) -> Told:
    """What `results.labels` tells: (item, part, dimension) → values, None where they can't be told."""
    return {
        (row.item, row.part, row.dimension): None if row.values is None else tuple(row.values)
        for _, rows in labels(rounds, **told)
        for row in rows
        if row.dimension != "sure"  # a text, which has no column
    }


def by_column(found: LabelColumns) -> Told:
    """What the columns say, in the same form; what is not agreed or was not asked is left out."""
    columns, told = found.columns, {}
    names = dict(Item.objects.filter(pk__in=columns.items.tolist()).values_list("pk", "identifier"))
    places = [(names[item], part) for item, part in zip(columns.items.tolist(), columns.parts.tolist(), strict=True)]
    for key, single in columns.singles.items():
        for (item, part), code in zip(places, single.codes.tolist(), strict=True):
            value: Any = (single.categories.keys[code],) if code >= 0 else None
            if single.kind == "boolean" and value:
                value = (value == ("true",),)
            if code >= 0 or code == UNMAPPED:
                told[item, part, key] = value
    for key, multi in columns.multis.items():
        for at, ((item, part), state) in enumerate(zip(places, multi.state.tolist(), strict=True)):
            codes = multi.codes[multi.rows == at].tolist()
            if state in (0, UNMAPPED):
                told[item, part, key] = (
                    tuple(sorted(multi.categories.keys[code] for code in codes)) if not state else None
                )
            else:
                assert not codes
    for key, number in columns.numbers.items():
        for (item, part), value in zip(places, number.values.tolist(), strict=True):
            if value == value:
                told[item, part, key] = (value,)
    return told


def same(study: Study, **told: Any) -> Columns:
    """The columns of a study, after seeing that they say what its labels say."""
    rounds = counting(study)
    found = read_label_columns(rounds, **told)
    assert by_column(found) == by_row(rounds, **told)
    places = list(zip(found.columns.items.tolist(), found.columns.parts.tolist(), strict=True))
    assert len(set(places)) == len(places)
    for one in rounds:
        assert by_column(read_label_columns([one], **told)) == by_row([one], **told)
    key = (study.pk, *((name, getattr(each, "pk", each)) for name, each in told.items()))
    if key in EARLIER:
        followed = read_label_columns(rounds, **told, earlier=EARLIER[key])
        assert plain(to_plain(followed, NAMES)) == plain(to_plain(found, NAMES))
        late = [replace(each, n_answers=each.n_answers - 1) for each in EARLIER[key].revisions]
        unsure = read_label_columns(rounds, **told, earlier=replace(EARLIER[key], revisions=late))
        assert plain(to_plain(unsure, NAMES)) == plain(to_plain(found, NAMES))
    EARLIER[key] = found
    return found.columns


EARLIER: dict[Any, LabelColumns] = {}
"""What was found last of a study, which is followed up."""
NAMES = {
    each: each.__name__
    for each in (
        LabelColumns,
        LabeledChunk,
        RoundRevision,
        Columns,
        SingleColumn,
        MultiColumn,
        NumberColumn,
        Categories,
    )
}


def plain(value: Any) -> Any:
    """A value with its arrays, types of numbers too, as texts."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.tolist()}"
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


@pytest.fixture(autouse=True)
def nothing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches of three items, and nothing of another test."""
    monkeypatch.setattr(chunks, "ITEMS", 3)
    EARLIER.clear()


class Quick(Life):
    """A life of which nothing but its end is looked at."""

    def told(self) -> dict[str, Any]:
        return {}

    def check(self) -> None:
        pass


@pytest.mark.parametrize("seed", [4])
def test_columns_say_what_labels_say_whatever_becomes_of_a_taxonomy(seed: int) -> None:
    life = Quick(make.study("alive", text=START, raters=("bob", "carol")), random.Random(seed))
    for what in ("round", "change", "plan", "re_label", "round", "change", "close", "plan", "re_label", "round"):
        getattr(life, what)()
    same(life.study, standing=standing_version(life.study))
    for version in TaxonomyVersion.objects.filter(taxonomy=life.study.taxonomy).exclude(state="draft"):
        same(life.study, version=version)


MORE = (
    make.FAULTS
    + """
  - key: hours
    title: Hours
    kind: number
    required: false
  - key: sure
    title: Sure because
    kind: text
    required: false
    applies_when: {dimension: distributed, is: [true]}
  - key: where
    title: Where
    kind: ordinal
    required: false
    applies_when: {dimension: fixes, is: [code, config]}
    categories: [{key: near, name: Near}, {key: far, name: Far}]
"""
)


def answer(draw: random.Random) -> dict[str, Any]:
    if draw.random() < 0.2:
        return {"kind": ["how-to"]} | ({"hours": draw.randint(1, 3)} if draw.random() < 0.5 else {})
    given: dict[str, Any] = {
        "kind": ["fault"],
        "symptom": [draw.choice(["crash", "hang", "slow"])],
        "fixes": draw.sample(["config", "version", "code"], draw.choice([0, 1, 1, 2])),
        "distributed": draw.random() < 0.5,
    }
    if given["distributed"] and draw.random() < 0.5:
        given["sure"] = "two nodes"
    if {"config", "code"} & {*given["fixes"]} and draw.random() < 0.7:
        given["where"] = [draw.choice(["near", "far"])]
    return given


def submitted(round_: Round, number: int, draw: random.Random, names: tuple[str, ...]) -> None:
    first = [answer(draw) for _ in range(draw.choice([1, 1, 1, 2]))]
    for name in names:
        kind = draw.random()
        if kind < 0.06:
            make.submit(round_, name, number, skip="no issue")
        elif kind < 0.12:
            make.submit(
                round_, name, number, {"kind": ["fault"], "distributed": True}, proposals={"symptom": {"name": "x"}}
            )
        elif kind < 0.5:
            parts = [answer(draw) for _ in first]
            make.submit(round_, name, number, parts=[{"labels": part} for part in parts])
        else:
            make.submit(round_, name, number, parts=[{"labels": part} for part in first])


def decided(round_: Round, draw: random.Random) -> None:
    """Some places are decided, some of them reopened; some bugs are matched otherwise."""
    seat = make.seat(round_.study, "ada")
    for place in round_.round_items.select_related("item"):
        if draw.random() < 0.3:
            given = Assignment.objects.filter(round=round_, item=place.item, current__n_parts=2).first()
            if given is not None:
                match_parts(seat=seat, round_=round_, item=place.item, rater=given.rater.code, parts=[2, 1])
        open_ones = [
            verdict.dimension
            for each in round_verdicts(round_, items=[place.item_id])
            for verdict in each.verdicts
            if verdict.state == "open" and verdict.part == 1
        ]
        if not open_ones or draw.random() < 0.4:
            continue
        key = draw.choice(open_ones)
        values: Any = {"kind": ["fault"], "symptom": ["slow"], "fixes": draw.choice([[], ["code"]]), "where": ["far"]}
        values |= {"distributed": True, "hours": 7, "sure": "so"}
        made = resolve(seat=seat, round_=round_, item=place.item, part=1, dimension=key, values=values[key])
        if draw.random() < 0.3:
            reopen(
                seat=seat,
                round_=round_,
                item=place.item,
                part=1,
                dimension=key,
                rationale="no",
                expected=made.public_id,
            )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_columns_say_what_labels_say_of_bugs_skips_decisions_and_several_rounds(seed: int) -> None:
    draw = random.Random(seed)
    study = make.study(text=MORE, raters=("bob", "carol"))
    for first, n_items, n_raters in ((1, 9, 2), (6, 8, 2), (12, 6, 1)):
        names = ("bob", "carol")[:n_raters]
        round_ = make.open_round(study, n_items, first=first, raters=names)
        numbers = list(range(first, first + n_items))
        for number in numbers[: n_items - 2]:
            submitted(round_, number, draw, names)
        same(study)
        for number in numbers[n_items - 2 :]:
            submitted(round_, number, draw, names)
        round_ = get_round(make.owner_seat(study), round_.number)
        assert round_.state == Round.State.RESOLVING
        same(study)
        decided(round_, draw)
        columns = same(study)
        if first < 12:
            close_round(seat=make.owner_seat(study), number=round_.number, leave_open=True)
    columns = same(study)
    assert columns.n_rows and {*columns.singles} == {"kind", "symptom", "distributed", "where"}


def test_what_was_read_before_is_told_again_until_something_counts_otherwise() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 hang hang\n3 hang slow")
    seat = make.owner_seat(study)
    first = study_labels(seat).columns
    assert first.singles["symptom"].codes.tolist() == [0, 1, NOT_AGREED]
    with assert_queries(8), CaptureQueriesContext(connection) as captured:
        assert study_labels(make.owner_seat(study)).columns.singles["symptom"].codes.tolist() == [0, 1, NOT_AGREED]
    of_items = [query["sql"] for query in captured if "annotation_rounditem" in query["sql"]]
    assert len(of_items) == 1 and "has_labels" in of_items[0]
    item = Item.objects.get(identifier="acme/rocket#3")
    resolve(seat=make.seat(study, "ada"), round_=round_, item=item, part=1, dimension="symptom", values=["slow"])
    assert study_labels(seat).columns.singles["symptom"].codes.tolist() == [0, 1, 2]


def test_after_one_more_answer_only_its_stretch_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make.study(resolve_when="item")
    made = make.open_round(study, 10)
    make.rate(made, "item bob carol\n" + "\n".join(f"{number} crash crash" for number in range(1, 9)))
    seat = make.owner_seat(study)
    assert (study_labels(seat).columns.n_rows, study_labels(seat).n_waiting) == (8, 2)
    read: list[tuple[int, ...]] = []
    judged = BatchConsensus.judged

    def noted(judge: BatchConsensus, stretch: chunks.ItemChunk) -> Any:
        read.append(tuple(stretch.places["position"].tolist()))
        return judged(judge, stretch)

    monkeypatch.setattr(BatchConsensus, "judged", noted)
    make.submit(made, "bob", 5, {"symptom": ["slow"]})
    assert study_labels(seat).columns.singles["symptom"].codes.tolist() == [0, 0, 0, 0, NOT_AGREED, 0, 0, 0]
    assert read == [(4, 5, 6)]
    make.submit(made, "bob", 9, {"symptom": ["slow"]})
    assert study_labels(seat).n_waiting == 2
    make.submit(made, "carol", 9, {"symptom": ["slow"]})
    assert (study_labels(seat).columns.n_rows, study_labels(seat).n_waiting) == (9, 1)
    assert read == [(4, 5, 6), (7, 8, 9), (7, 8, 9)]
    Item.objects.filter(study=study, identifier="acme/rocket#1").update(screening="out")
    assert study_labels(seat).columns.n_rows == 8


def test_nobody_reads_labels_of_rounds_in_which_they_are_blind() -> None:
    study = make.study(resolve_when="item")
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 crash crash")
    assert study_labels(make.owner_seat(study)).columns.n_rows == 1
    found = study_labels(make.seat(study, "bob"))
    assert (found.columns.n_rows, [each.number for each in found.hidden]) == (0, [1])
    with pytest.raises(Blind):
        study_labels(make.seat(study, "bob"), round_number=1)


def test_attributes_of_items_stand_beside_their_labels() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 hang hang")
    Item.objects.filter(identifier="acme/rocket#2").update(attributes={"kernel": "5.4"})
    fix = {"kind": "pull_request", "merged_at": "2024-05-01T00:00:00Z", "additions": 7, "deletions": 4, "n_files": 1}
    one, two = Issue.objects.order_by("number")
    one.closing_changes.create(identifier="o/r#9", **fix)
    one.closing_changes.create(identifier="o/r@abc", **fix | {"kind": "commit", "additions": 900})
    two.closing_changes.create(identifier="o/r#10", **fix | {"merged_at": None, "closes": False})
    Issue.objects.filter(pk=two.pk).update(changes_known=True)
    attributes = study_labels(make.owner_seat(study)).columns.attributes
    assert {name: (each.categories.keys, each.codes.tolist()) for name, each in attributes.items()} == {
        "repository": (("acme/rocket",), [0, 0]),
        "state": (("open",), [0, 0]),
        "merged_fix": (("merged fix", "no merged fix"), [0, 1]),
        "fixes": (("1 fix", "no merged fix"), [0, 1]),
        "fix_lines": (("11 to 50 lines", "no merged fix"), [0, 1]),
        "fix_files": (("1 file", "no merged fix"), [0, 1]),
        "days_to_fix": (("no merged fix",), [NONE, 0]),
        "kernel": (("5.4",), [NONE, 0]),
    }
    asked = "rows=symptom&columns=fix_lines"
    found = Script("olga", scope="read").send("GET", f"studies/study/analysis/crosstab/?{asked}").json()
    assert [each["category"] for each in found["column_categories"]] == ["11 to 50 lines", "no merged fix"]
    Item.objects.filter(identifier="acme/rocket#2").update(attributes={"fixes": "many"})
    cache.clear()
    attributes = study_labels(make.owner_seat(study)).columns.attributes
    assert (attributes["fixes"].title, attributes["fixes"].categories.keys) == ("fixes", ("many",))


def test_a_change_of_any_size_has_its_lines_counted() -> None:
    """Additions and deletions have 32 bits each, their sum has not."""
    study, most = make.study(), 2**31 - 1
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    issue = Issue.objects.get()
    issue.closing_changes.create(
        identifier="o/r#9", kind="pull_request", merged_at=timezone.now(), additions=most, deletions=most
    )
    seat = make.owner_seat(study)
    assert study_labels(seat).columns.attributes["fix_lines"].categories.keys == ("more than 200 lines",)
    assert effort(study, "lines", study_labels(seat).columns).values.tolist() == [2.0 * most]
    asked = filters.read({"fix_lines_at_least": 1000})
    assert len(filters.frame(asked, Issue.objects.all())) == 1


def test_a_resolution_has_the_labels_read_again_and_not_what_is_known_of_all_items() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 hang hang")
    seat = make.owner_seat(study)
    item = Item.objects.get(identifier="acme/rocket#1")
    assert study_labels(seat).columns.singles["symptom"].codes.tolist()[0] == NOT_AGREED
    resolve(seat=seat, round_=round_, item=item, part=1, dimension="symptom", values=["hang"], rationale="so")
    with CaptureQueriesContext(connection) as asked:
        found = study_labels(seat).columns
    assert found.singles["symptom"].codes.tolist() == [1, 1] and "repository" in found.attributes
    about = [each["sql"] for each in asked]
    assert any("annotation_rating" in sql for sql in about) and not [sql for sql in about if "date_part" in sql]
    record(study=study, user=seat.user, verb="items re-pinned")
    with CaptureQueriesContext(connection) as asked:
        study_labels(seat)
    assert [each["sql"] for each in asked if "date_part" in each["sql"]]


def test_what_a_sheet_decided_of_items_that_nobody_rated_is_in_the_columns() -> None:
    study = make.study()
    rated = "item,rater,dimension,value\nacme/rocket#1,bob,symptom,crash\nacme/rocket#1,carol,symptom,crash\n"
    sheet = io.BytesIO(f"{rated}acme/rocket#2,final,symptom,hang\n".encode())
    import_ratings(user=make.user("olga"), study=study.slug, file=sheet)
    assert same(study).n_rows == 2
