"""Agreed labels as columns, for one reader; read again only where they changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from django.db.models import Exists, OuterRef

from annotation.agreement_report.queries.newest_labels import decisions_so_far
from annotation.analysis.queries.attributes import IMPORTED, TITLES, attributes_of
from annotation.core.access import Seat, get_round
from annotation.exports.queries.rows import in_sight
from annotation.labels.columns import NONE, Categories, Columns, MultiColumn, NumberColumn, SingleColumn
from annotation.labels.queries.batches.changes import RoundRevision
from annotation.labels.queries.cached_statistics import cached, standings
from annotation.labels.queries.label_columns import LabelColumns, LabeledChunk, read_label_columns
from annotation.labels.queries.label_version import standing_version
from annotation.labels.queries.screening import screened_out_of
from annotation.labels.queries.version_mapping import target_version
from annotation.models import Round, RoundItem, Study
from taxonomy.models import TaxonomyVersion

ROUND = "round"


@dataclass(frozen=True)
class StudyLabels:
    """Agreed labels as columns, with repository, year, round and imported attributes, and which labels they are.

    `rounds` are those that count, `versions` by round number the version to which its labels are mapped
    (`told_in` where one was asked for). `hidden` are rounds whose labels this person may not see yet, `n_waiting` the
    items that raters are not done with, `n_hidden` those hidden until this person has labeled them.
    `n_screened_out` are items that are screened out and here all the same, because the study keeps them.
    """

    columns: Columns
    rounds: Sequence[Round]
    versions: Mapping[int, int]
    told_in: TaxonomyVersion | None
    hidden: Sequence[Round]
    n_waiting: int
    n_hidden: int
    n_screened_out: int = 0

    @cached_property
    def n_parts(self) -> int:
        """How many parts have an agreed label."""
        return int(self.columns.is_labeled.sum())

    @cached_property
    def n_items(self) -> int:
        """How many items these parts are of."""
        return len(np.unique(self.columns.items[self.columns.is_labeled]))


def study_labels(seat: Seat, *, round_number: int | None = None, version: int | None = None) -> StudyLabels:
    """The agreed labels of the rounds that someone may see, of one of them, or in terms of a version.

    The same labels as exports give. Raises Forbidden, NotFound, Blind, and Invalid for a version that the taxonomy has
    not. Cost: seven queries where they were read before (eight where a study keeps what is screened out), else those of
    `queries.labelled` for the stretches of rounds on which something changed.
    """
    seat.require_reading()
    named = None if round_number is None else get_round(seat, round_number)
    told_in = target_version(seat, version, named)
    rounds = in_sight(seat, round_number)
    counting = Exists(RoundItem.objects.counting().filter(seat.not_queued(), round=OuterRef("pk")))
    opened = Round.objects.filter(study=seat.study).exclude(state=Round.State.DRAFT)
    every = list(opened.annotate(has_labels=counting).order_by("number"))
    standing = None if told_in else standing_version(seat.study)
    # All of this is asked before anything is read, so that what is kept is never older than what it is kept under.
    held = standings(every)
    also = ([(each.pk, each.state) for each in every], decisions_so_far(every))
    asked = ([each.pk for each in rounds], told_in, standing)
    read = partial(read_label_columns, rounds, version=told_in, standing=standing)
    found = cached(
        "labels as columns",
        every,
        held,
        asked,
        read,
        again=lambda earlier: read(earlier=earlier),
        also=also,
        classes=(
            LabelColumns,
            LabeledChunk,
            RoundRevision,
            Columns,
            SingleColumn,
            MultiColumn,
            NumberColumn,
            Categories,
        ),
    )
    columns, n_hidden = _with_attributes(seat, found, rounds)
    hidden = [each for each in every if each.pk in seat.hidden_round_ids]
    out = screened_out_of(seat.study) if seat.study.screened_out == Study.ScreenedOut.KEEP else []
    n_out = len(np.intersect1d(columns.items, np.array(out, dtype=np.int64)))
    with_labels = {each.pk for each in every if each.has_labels}  # a round may hold training items alone
    rounds = [each for each in rounds if each.pk in with_labels]
    versions = {each.number: found.versions[each.number] for each in rounds if each.number in found.versions}
    queues = {each.number for each in every if each.pk in seat.withheld_queues}
    n_waiting = found.n_waiting(without=queues)
    return StudyLabels(columns, rounds, versions, told_in, hidden, n_waiting, n_hidden, n_out)


def _with_attributes(seat: Seat, found: LabelColumns, rounds: Sequence[Round]) -> tuple[Columns, int]:
    columns = found.columns
    items, known = attributes_of(seat.study)
    at = np.searchsorted(items, columns.items).clip(max=max(len(items) - 1, 0))
    is_there = items[at] == columns.items if len(items) else np.zeros(columns.n_rows, dtype=bool)
    taken = {*columns.singles, *columns.multis}
    attributes = {
        f"{IMPORTED}{name}" if name in taken or name == ROUND else name: replace(
            column, codes=np.where(is_there, column.codes[at], NONE).astype(np.int16)
        )
        for name, column in known.items()
        if len(items) and not (name in taken and name in TITLES)
    }
    numbers = sorted(found.versions)
    words = tuple(str(number) for number in numbers)
    codes = np.searchsorted(np.array(numbers, dtype=np.int64), found.rounds).astype(np.int16)
    if ROUND not in found.columns.singles and len(numbers) > 1:
        names = tuple(f"Round {number}" for number in words)
        attributes[ROUND] = SingleColumn(ROUND, "Round", "ordinal", Categories(words, names), codes)
    columns = replace(columns, attributes=attributes)
    # Counted without looking at the columns: whether an item has a row there depends on what others answered.
    own = {item for round_id, item in seat.withheld if round_id in {each.pk for each in rounds}}
    if not own:
        return columns, 0
    return columns.taken(np.flatnonzero(~np.isin(columns.items, list(own)))), len(own)
