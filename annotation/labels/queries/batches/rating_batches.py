"""Ratings as record batches: each different value is formatted once."""

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from django.db.models import QuerySet

from annotation.core.access import Seat
from annotation.core.binary_copy import read_binary
from annotation.labels.queries.batches.batch_consensus import KEPT_MOST, LIMITS
from annotation.labels.queries.batches.chunks import (
    KINDS,
    ItemChunk,
    Raters,
    ValueCodes,
    copy_rows,
    group_sets,
    raters_of,
    stretches,
    within,
)
from annotation.labels.queries.batches.dictionaries import DictionaryColumn, json_list, of_words
from annotation.labels.queries.batches.label_batches import Batches
from annotation.labels.queries.rows import REVISIONS, ROLES, before_revision, role_of
from annotation.labels.queries.version_mapping import VersionMapping
from annotation.models import Membership, Round
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version

BLIND, CURRENT, FIRST = range(3)
_SAID = """
    SELECT x.id::bigint, coalesce(x.seconds, -1)::int, (x.memo <> '' OR x.part_memos <> '{{}}')::int
    FROM annotation_annotation x WHERE x.id {}"""
_MEMOS = """
    SELECT x.id, x.memo, array_to_json(x.part_memos)::text FROM annotation_annotation x WHERE x.id {}"""


def rating_batches(
    rounds: Sequence[Round],
    *,
    dimension: str | None = None,
    revision: str | None = None,
    raters: Collection[str] = (),
    own: Seat | None = None,
    own_round_ids: frozenset[int] = frozenset(),
    version: TaxonomyVersion | None = None,
    hidden: Collection[tuple[int, int]] = (),
) -> Batches:
    """The rows of `results.ratings`, in its order, without those of items (round's number, item's key) that are hidden.

    With `raters` only those of these codes. Lists are dictionaries of JSON texts. Cost: six queries for every ITEMS
    items.
    """
    for round_ in rounds:
        everybody = raters_of(round_.study_id)
        chosen = np.array([not raters or code.upper() in raters for code in everybody.codes], dtype=bool)
        if own is not None and (not own_round_ids or round_.pk in own_round_ids):
            chosen &= _own(own, everybody)
        kept = _RoundReading(
            round_, VersionMapping(version or round_.taxonomy_version), everybody, chosen, dimension, revision
        )
        without = [item for number, item in hidden if number == round_.number]
        for stretch in stretches(round_, counting=False):
            yield (round_.number, stretch.last), kept.rows(stretch, without)


def _own(own: Seat, everybody: Raters) -> np.ndarray:
    mine: QuerySet[Any, Any] = Membership.objects.filter(study=own.study, user=own.user).values_list("pk", flat=True)
    found = np.zeros(len(everybody.codes), dtype=bool)
    found[everybody.places_of(np.array(list(mine), dtype=np.int64))] = True
    return found


class _RoundReading:
    """What is kept while a round is read: its raters, and what values are in terms of the version."""

    def __init__(
        self,
        round_: Round,
        version_mapping: VersionMapping,
        raters: Raters,
        chosen: np.ndarray,
        dimension: str | None,
        revision: str | None,
    ) -> None:
        self.round, self.version_mapping, self.raters, self.chosen = round_, version_mapping, raters, chosen
        self.tree = published_version(round_.taxonomy_version_id)
        self.only = self.tree.by_key.get(dimension or "")
        self.is_narrowed, self.revision = dimension is not None, revision
        self.dimensions = [each.id for each in self.tree.dimensions]
        positions = np.array([each.position for each in self.tree.dimensions], dtype=np.int64)
        self.positions = np.argsort(np.argsort(positions, kind="stable"))
        self.has_free = any(each.is_open for each in self.tree.dimensions)
        self._forget()

    def _forget(self) -> None:
        self.known: dict[bytes, int] = {}
        self.values = ValueCodes(self.tree)
        self.keys, self.told, self.given, self.unmapped = (
            DictionaryColumn(),
            DictionaryColumn(),
            DictionaryColumn(),
            DictionaryColumn(),
        )

    def rows(self, stretch: ItemChunk, without: Collection[int]) -> pa.RecordBatch:
        """The rows of a stretch of the round."""
        if max(len(self.known), len(self.values.words)) > KEPT_MOST:
            self._forget()
        annotations, rows, raters, roles, revisions = self._listed(stretch, without)
        order = np.argsort(annotations)
        annotations, rows, raters, roles, revisions = (
            each[order] for each in (annotations, rows, raters, roles, revisions)
        )

        ratings = stretch.ratings(self.values, self.dimensions, has_free=self.has_free)
        if self.is_narrowed:
            place = self.dimensions.index(self.only.id) if self.only else -1
            ratings = ratings[ratings["dimension"] == place]
        at = np.searchsorted(annotations, ratings["annotation"])
        at = np.minimum(at, max(len(annotations) - 1, 0))
        is_listed = annotations[at] == ratings["annotation"] if len(annotations) else np.zeros(len(at), dtype=bool)
        ratings, at = ratings[is_listed], at[is_listed]

        # One row for each part and dimension of an annotation; its values are the tokens.
        dimensions = ratings["dimension"]
        whole = (at.astype(np.int64) << 23) | (ratings["part"].astype(np.int64) << 9) | dimensions
        places, owners = np.unique(whole, return_inverse=True)
        tokens = (dimensions.astype(np.int64) << 32) | ratings["value"]
        different, which = group_sets(owners, tokens, len(places))
        told = np.array([self._told(each) for each in different], dtype=np.int64)[which]
        at, parts, dimensions = places >> 23, (places >> 9) & (1 << 14) - 1, places & LIMITS["dimensions"] - 1
        # All in one number, of 52 bits at most: sorting by five would take five times as long.
        among = ((rows[at] << 13 | parts) << 9 | self.positions[dimensions]) << 14 | raters[at]
        order = np.argsort(among << 1 | (revisions[at] == CURRENT))
        at, parts, told = at[order], parts[order], told[order]
        return self._batch(stretch, annotations[at], rows[at], raters[at], roles[at], revisions[at], parts, told)

    def _listed(self, stretch: ItemChunk, without: Collection[int]) -> tuple[np.ndarray, ...]:
        """The annotations whose ratings are listed: of which row, by whom, in which role, blind, current or first."""
        answers = stretch.answers()
        raters = self.raters.places_of(answers["rater"])
        is_wanted = (answers["current"] >= 0) & self.chosen[raters]
        if without:
            is_wanted &= ~np.isin(answers["item"], np.array(sorted(without), dtype=np.int64))
        answers, raters = answers[is_wanted], raters[is_wanted]
        rows = stretch.rows_of(answers["item"])
        of_kind = np.array([ROLES.index(role_of(self.round, kind)) for kind in KINDS])
        roles = of_kind[self.raters.kinds(answers["is_rater"], raters)]
        before, current = answers["blind"].copy(), answers["current"]
        training = stretch.training[rows]
        called = np.where(training | (before_revision(self.round) == REVISIONS[FIRST]), FIRST, BLIND)
        if training.any():
            _put_first(before, answers, stretch.first_answers())
        wanted = None if self.revision is None else REVISIONS.index(self.revision)
        has_before = (before >= 0) & ((called == wanted) | (wanted is None))
        has_current = np.full(len(current), wanted == CURRENT)
        if wanted is None:
            has_current = current != before
        return (
            np.concatenate([before[has_before], current[has_current]]),
            np.concatenate([rows[has_before], rows[has_current]]),
            np.concatenate([raters[has_before], raters[has_current]]),
            np.concatenate([roles[has_before], roles[has_current]]),
            np.concatenate([called[has_before], np.full(has_current.sum(), CURRENT)]),
        )

    def _told(self, tokens: np.ndarray) -> int:
        """What a set of values on a dimension is in terms of the version; told where it is met for the first time."""
        key = tokens.tobytes()
        if key not in self.known:
            self.known[key] = len(self.known)
            dimension = self.tree.dimensions[int(tokens[0]) >> 32].key
            numbers = [int(token) & (1 << 32) - 1 for token in tokens]
            given = tuple(sorted((self.values.words[number] for number in numbers if number), key=str))
            told = self.version_mapping.tell(self.round.taxonomy_version_id, dimension, given)
            self.keys.add(dimension)
            self.told.add(None if isinstance(told, str) else json_list(told))
            self.given.add(json_list(given))
            self.unmapped.add(told if isinstance(told, str) else None)
        return self.known[key]

    def _batch(
        self,
        stretch: ItemChunk,
        annotations: np.ndarray,
        rows: np.ndarray,
        raters: np.ndarray,
        roles: np.ndarray,
        revisions: np.ndarray,
        parts: np.ndarray,
        told: np.ndarray,
    ) -> pa.RecordBatch:
        n, seconds, noting = len(rows), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        if n:
            condition, params = within(annotations)
            said = read_binary(_SAID.format(condition), params, annotation="bigint", seconds="int", notes="int")
            order = np.argsort(said["annotation"])
            at = order[np.searchsorted(said["annotation"], annotations, sorter=order)]
            seconds, noting = said["seconds"][at], np.unique(annotations[said["notes"][at] > 0])

        def same(number: int) -> pa.Array:
            return pa.array(np.full(n, number, dtype=np.int32))

        columns = {
            "item": stretch.names["identifier"].take(pa.array(rows)),
            "part": pa.array(parts.astype(np.int32)),
            "round": same(self.round.number),
            "round_label": of_words([self.round.label], np.zeros(n, dtype=np.int64)),
            "round_kind": of_words([self.round.kind], np.zeros(n, dtype=np.int64)),
            "rater": of_words(self.raters.codes, raters),
            "role": of_words(ROLES, roles),
            "dimension": self.keys.taken(told),
            "values": self.told.taken(told),
            "memo": _memos(noting, annotations, parts),
            "seconds": pa.array(seconds.astype(np.int32), mask=seconds < 0),
            "training": pa.array(stretch.training[rows]),
            "revision": of_words(REVISIONS, revisions),
            "taxonomy_version": same(self.version_mapping.version.number),
            "original_values": self.given.taken(told),
            "original_version": same(self.round.taxonomy_version.number),
            "unmapped": self.unmapped.taken(told),
            "screened_out": stretch.names["screened_out"].take(pa.array(rows)),
        }
        whole = [each.combine_chunks() if isinstance(each, pa.ChunkedArray) else each for each in columns.values()]
        return pa.RecordBatch.from_arrays(whole, names=list(columns))


def _put_first(before: np.ndarray, answers: np.ndarray, first: np.ndarray) -> None:
    """Puts the first answers to training items where the blind ones stand."""
    places = {(item, rater): at for at, (item, rater) in enumerate(zip(answers["item"], answers["rater"], strict=True))}
    for item, rater, annotation in first:
        at = places.get((item, rater))
        if at is not None:
            before[at] = annotation


def _memos(noting: np.ndarray, annotations: np.ndarray, parts: np.ndarray) -> pa.DictionaryArray:
    """What was noted beside each part, else beside the whole answer; `noting` are the annotations with any note."""
    words = DictionaryColumn()
    said = np.full(len(annotations), words.number(""), dtype=np.int64)
    noted = np.flatnonzero(np.isin(annotations, noting))
    if len(noted):
        kinds = {"annotation": pa.int64(), "memo": pa.string(), "parts": pa.string()}
        condition, params = within(noting)
        table = copy_rows(_MEMOS.format(condition), params, kinds)
        both = zip(table["memo"].to_pylist(), table["parts"].to_pylist(), strict=True)
        memos = dict(zip(table["annotation"].to_pylist(), both, strict=True))
        for at in noted.tolist():
            memo, own = memos[int(annotations[at])]
            of_parts, part = json.loads(own), int(parts[at])
            said[at] = words.number((of_parts[part - 1] if part <= len(of_parts) else "") or memo)
    return words.of(said)
