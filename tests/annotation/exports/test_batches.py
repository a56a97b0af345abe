"""Files are written from batches, pages from rows: both tell the same labels and the same ratings."""

import io
import json
import random
from datetime import UTC
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.cache import cache

from annotation.core.errors import ConcordError
from annotation.exports.queries import rows, write
from annotation.labeling.actions.answers import submit_annotation
from annotation.labels.queries.batches import batch_consensus as consensus
from annotation.labels.queries.batches import chunks
from annotation.labels.queries.batches import label_batches as labels
from annotation.labels.queries.changed_items import cache_key
from annotation.labels.queries.rows import as_dict
from annotation.labels.queries.verdicts import round_verdicts
from annotation.models import Annotation, Assignment, Item, PartMatch, Round, Study
from annotation.resolving.actions.resolutions import reopen, resolve
from annotation.resolving.queries.queue import lines_of, queue_of
from annotation.rounds.actions.rounds import close_round
from tests import builders as make
from tests.asserts import assert_queries

pytestmark = pytest.mark.django_db
LISTS = ("values", "raters", "original_values")
KINDS = """
slug: kinds
title: Every kind
dimensions:
  - {key: kind, title: Kind, kind: single, categories: [{key: fault, name: Fault}, {key: how-to, name: How-to}]}
  - key: symptom
    title: Symptom
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: crash, name: Crash, categories: [{key: hang, name: Hang}]}, {key: slow, name: Slow}]
  - key: fixes
    title: Fixes
    kind: multi
    required: false
    categories: [{key: config, name: Config}, {key: version, name: Version}, {key: code, name: Code}]
  - {key: distributed, title: Distributed, kind: boolean, required: false}
  - key: where
    title: Where
    kind: text
    required: false
    applies_when: {dimension: distributed, is: [true]}
  - {key: lines, title: Lines, kind: number, required: false}
  - key: level
    title: Level
    kind: ordinal
    required: false
    categories: [{key: low, name: Low}, {key: high, name: High}]
"""


def as_rows(batches: labels.Batches) -> list[dict[str, Any]]:
    """The rows of batches as pages have them."""
    found = []
    for _, batch in batches:
        assert isinstance(batch, pa.RecordBatch)
        for row in batch.to_pylist():
            for name in LISTS:
                if row.get(name) is not None:
                    row[name] = json.loads(row[name])
            if row.get("resolved_at") is not None:
                row["resolved_at"] = row["resolved_at"].astimezone(UTC)
            found.append(row)
    return found


def as_told(found: rows.Found) -> list[dict[str, Any]]:
    return [as_dict(row) for _, here in found for row in here]


def assert_same(seat: Any, **asked: Any) -> None:
    """Labels and ratings are the same by rows and by batches, values by kind as well."""
    for by_rows, by_batches, more in (
        (rows.labels, rows.label_batches, [{}]),
        (rows.ratings, rows.rating_batches, [{}, {"revision": "blind"}, {"revision": "current"}]),
    ):
        for each in more:
            told = as_told(by_rows(seat, **asked, **each))  # type: ignore[operator]
            packed = as_rows(by_batches(seat, **asked, **each))  # type: ignore[operator]
            assert repr(packed) == repr(told), (by_rows.__name__, asked, each)


class Busy:
    """A study in which everything happens at random, by seed."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.study = make.study(
            text=KINDS, raters=("bob", "carol", "dan"), resolve_when=self.draw.choice(["item", "round"])
        )
        self.n_issues = 0

    def answer(self) -> dict[str, Any]:
        draw, labels = self.draw, {}
        labels["kind"] = draw.choice(["fault", "fault", "how-to"])
        if labels["kind"] == "fault":
            labels["symptom"] = draw.choice(["crash", "hang", "slow"])
        if draw.random() < 0.7:
            labels["fixes"] = draw.sample(["config", "version", "code"], draw.randint(0, 2))
        if draw.random() < 0.7:
            labels["distributed"] = draw.random() < 0.5
        if labels.get("distributed") and draw.random() < 0.8:
            labels["where"] = draw.choice(["=here", 'there, "quoted"', "línea\ntwo", "here"])
        if draw.random() < 0.4:
            labels["lines"] = draw.choice([1, 2.5, -3])
        if draw.random() < 0.4:
            labels["level"] = draw.choice(["low", "high"])
        return labels

    def submit(self, assignment: Assignment) -> None:
        body: dict[str, Any] = {"labels": self.answer(), "memo": self.draw.choice(["", "", "=1+1", "a, “b”\nc"])}
        chance = self.draw.random()
        if chance < 0.1:
            body = {"skip": "no time"}
        elif chance < 0.2:
            body["labels"].pop("symptom", None)
            body["labels"]["kind"] = "fault"
            body["proposals"] = {"symptom": {"name": "New", "memo": "m"}}
        elif chance < 0.4:
            parts = [
                {"labels": self.answer(), "memo": self.draw.choice(["", "part"])}
                for _ in range(self.draw.randint(1, 3))
            ]
            body = {"parts": parts, "seconds": 7}
        seat = make.seat(self.study, assignment.rater.user.username)  # type: ignore[union-attr]
        submit_annotation(seat=seat, assignment=assignment.public_id, body=body)

    def round(self, n_items: int) -> Round:
        raters = self.draw.choice([("bob", "carol"), ("bob", "carol", "dan"), ("dan",)])
        first = self.n_issues + 1 if self.draw.random() < 0.6 else max(1, self.n_issues - 1)
        made = make.open_round(self.study, n_items, raters=raters, first=first)
        self.n_issues = max(self.n_issues, first + n_items - 1)
        leaves_some = self.draw.random() < 0.3
        for assignment in Assignment.objects.filter(round=made).order_by("pk"):
            if not (leaves_some and self.draw.random() < 0.3):
                self.submit(assignment)
        return made

    def again(self, round_: Round) -> None:
        """Some raters change their minds."""
        for assignment in Assignment.objects.filter(round=round_, state="submitted").order_by("pk"):
            if self.draw.random() < 0.15:
                try:
                    self.submit(assignment)
                except ConcordError:
                    continue

    def match(self, round_: Round) -> None:
        """Bugs of one answer stand in another order."""
        for each in Annotation.objects.filter(assignment__round=round_, n_parts__gt=1).order_by("pk"):
            if self.draw.random() < 0.4 and Assignment.objects.filter(current=each).exists():
                agreed = self.draw.sample(range(1, each.n_parts + 2), each.n_parts)
                PartMatch.objects.bulk_create(
                    PartMatch(annotation=each, part=part, agreed_part=place) for part, place in enumerate(agreed, 1)
                )

    def decide(self, round_: Round) -> None:
        seat = make.seat(self.study, "ada")
        given = {
            "kind": ["fault"], "symptom": ["slow"], "fixes": self.draw.choice([[], ["code", "config"]]),
            "distributed": [True], "where": ["decided"], "lines": [4], "level": ["high"],
        }  # fmt: skip
        for each in round_verdicts(round_, disputed_only=True):
            for verdict in each.verdicts:
                if verdict.state == "open" and self.draw.random() < 0.6:
                    asked = {"seat": seat, "round_": round_, "item": each.round_item.item, "part": verdict.part}
                    asked |= {"dimension": verdict.dimension, "rationale": "so", "expected": None}
                    try:
                        made = resolve(values=given[verdict.dimension], **asked)
                        if self.draw.random() < 0.2:
                            reopen(**{**asked, "expected": made.public_id})
                    except ConcordError:
                        continue


def check(study: Study) -> None:
    for name in ("olga", "bob"):
        assert_same(make.seat(study, name))
    seat = make.owner_seat(study)
    assert_same(seat, dimension="fixes")
    newest = study.rounds.exclude(state="draft").order_by("-number").first()
    if newest is not None:
        assert_same(seat, round_number=newest.number)
    for round_ in study.rounds.exclude(state="draft"):
        cache.delete(cache_key(round_, round_.state))
        item_by_item = lines_of(round_, round_verdicts(round_, disputed_only=True))
        assert queue_of(round_).everything == list(item_by_item), round_


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1])  # `make soak` draws more
def test_batches_tell_what_rows_tell_whatever_happened(seed: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(chunks, "ITEMS", 3)
    monkeypatch.setattr(consensus, "KEPT_MOST", 25)
    busy = Busy(seed)
    for _ in range(3):
        round_ = busy.round(busy.draw.randint(2, 7))
        busy.again(round_)
        round_.refresh_from_db()
        if round_.state == "resolving":
            busy.decide(round_)
            busy.match(round_)
            check(busy.study)
            if busy.draw.random() < 0.6:
                close_round(seat=make.owner_seat(busy.study), number=round_.number, leave_open=True)
        check(busy.study)
    assert as_told(rows.labels(make.owner_seat(busy.study)))


def test_a_file_of_batches_has_the_bytes_of_a_file_of_rows() -> None:
    busy = Busy(1)
    busy.decide(busy.round(8))
    add_issue_less_item(busy.study)
    seat = make.owner_seat(busy.study)
    busy.study.pseudonymise = seat.study.pseudonymise = False
    for what, found in (("labels", rows.labels(seat)), ("ratings", rows.ratings(seat))):
        told = list(rows.flat(seat, found))
        assert len(told) > 20
        for format in ("csv", "jsonl"):
            assert b"".join(rows.file_pieces(seat, what, format, {})) == b"".join(write(what, format, told))
        packed = pq.read_table(io.BytesIO(b"".join(rows.file_pieces(seat, what, "parquet", {}))))
        assert packed.to_pylist() == pq.read_table(io.BytesIO(b"".join(write(what, "parquet", told)))).to_pylist()


def add_issue_less_item(study: Study) -> None:
    """Items that a spreadsheet would run, and that JSON has to escape, are in the last round, too."""
    for number, name in enumerate(('=cmd|"x"', "a\\b, c\nd", "owner/name#12", "odd #9")):
        item = study.items.order_by("pk")[number]
        Item.objects.filter(pk=item.pk).update(identifier=name, issue=None)


def test_words_written_while_a_file_is_read_are_left_for_the_next(monkeypatch: Any) -> None:
    study = make.study(text=KINDS)
    round_ = make.open_round(study, 3)
    fault = {"kind": ["how-to"], "distributed": True, "where": "here", "lines": 3}
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, fault)
        make.submit(round_, name, 2, fault if name == "bob" else fault | {"where": "there"})
    make.submit(round_, "bob", 3, fault | {"where": "elsewhere"})
    Study.objects.update(resolve_when=Study.ResolveWhen.ITEM)
    seat = make.seat(study, "ada")
    item = Item.objects.get(identifier="acme/rocket#2")
    place: dict[str, Any] = {"seat": seat, "item": item, "part": 1, "dimension": "where"}
    first = resolve(**place, round_=Round.objects.get(pk=round_.pk), values=["here"], rationale="so")
    read, written = chunks.copy_rows, []

    def while_it_is_read(sql: str, *more: Any) -> Any:
        if "number" in sql and "_rating " in sql and not written:
            written.append(make.submit(round_, "carol", 3, fault | {"where": "last"}))
        elif "_resolutionvalue" in sql and len(written) == 1:
            written.append(
                resolve(
                    **place,
                    round_=Round.objects.get(pk=round_.pk),
                    values=["there"],
                    rationale="no",
                    expected=first.public_id,
                )
            )
        return read(sql, *more)

    monkeypatch.setattr(chunks, "copy_rows", while_it_is_read)
    told = {
        (row["item"][-1], row["values"][0]) for row in as_rows(rows.label_batches(seat)) if row["dimension"] == "where"
    }
    assert len(written) == 2 and told == {("1", "here"), ("2", "here")}
    told = {
        (row["item"][-1], row["values"][0]) for row in as_rows(rows.label_batches(seat)) if row["dimension"] == "where"
    }
    assert told == {("1", "here"), ("2", "there")}


def test_a_parquet_file_holds_no_word_of_what_its_reader_may_not_see() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["hang"]}, memo="of bob")
    make.submit(round_, "carol", 1, {"symptom": ["crash"]}, memo="of carol")
    sent = b"".join(rows.file_pieces(make.seat(study, "carol"), "ratings", "parquet", {}))
    read = pq.ParquetFile(io.BytesIO(sent)).read()
    for word in ("R1", "hang", "of bob"):
        assert word not in str(read.to_pydict())
        assert len(word) < 3 or word.encode() not in sent
        for column in read.columns:
            for chunk in column.chunks:
                assert not isinstance(chunk, pa.DictionaryArray) or word not in chunk.dictionary.to_pylist()


@pytest.mark.slow
def test_queries_of_a_file_do_not_grow_within_a_stretch() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 crash crash")
    lines = [f"{number} slow hang" for number in range(3, 23)]
    make.rate(make.open_round(study, 20, first=3), "item bob carol\n" + "\n".join(lines))
    seat = make.owner_seat(study)
    for what, n in (("labels", 11), ("ratings", 8)):
        for number in (1, 2):
            list(rows.file_pieces(seat, what, "csv", {"round_number": number}))
            with assert_queries(n):
                list(rows.file_pieces(seat, what, "csv", {"round_number": number}))


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 130))
def test_batches_tell_what_rows_tell_in_many_studies(seed: int, monkeypatch: Any) -> None:
    test_batches_tell_what_rows_tell_whatever_happened(seed, monkeypatch)
