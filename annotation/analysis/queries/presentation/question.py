"""Question of an analysis page, read from its URL and completed with defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from annotation.analysis.folding import parts_by_category
from annotation.analysis.queries import COMMON, KINDS, AnalysisResult, answer
from annotation.analysis.queries.filters import LabelFilter
from annotation.analysis.queries.labels import StudyLabels, study_labels
from annotation.core.access import Seat
from annotation.labels.columns import MultiColumn, SingleColumn
from annotation.models import Analysis

Column = SingleColumn | MultiColumn
STEPS = ("first", "second", "third", "fourth")
"""The menus of a page that together say `dimensions`."""


@dataclass(frozen=True)
class AnalysisQuery:
    """The words of an address that a kind of analysis knows, blank ones left out; REST takes the same."""

    kind: str
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def read(cls, kind: str, given: QueryDict) -> "AnalysisQuery":
        known = (*KINDS[kind].asks.words, *COMMON)
        words = {name: [value for value in given.getlist(name) if value.strip()] for name in known}
        if "dimensions" in known and (steps := [str(given[name]) for name in STEPS if given.get(name)]):
            words["dimensions"] = [",".join(dict.fromkeys(steps))]
        return cls(kind, {name: values for name, values in words.items() if values})

    @classmethod
    def saved(cls, analysis: Analysis) -> "AnalysisQuery":
        """The question that is kept with the study, read as if it stood in an address."""
        words = [(name, value) for name, values in analysis.question.items() for value in values]
        return cls.read(analysis.kind, QueryDict(urlencode(words)))

    def one(self, name: str) -> str:
        return self.words[name][-1].strip() if name in self.words else ""

    def number(self, name: str) -> int | None:
        """A whole number; None for what is none, of which the answer says so."""
        given = self.one(name)
        return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None

    def with_words(self, **words: Sequence[str]) -> "AnalysisQuery":
        """The same with other words; empty ones are taken away."""
        changed = {**self.words, **words}
        return replace(self, words={name: list(values) for name, values in changed.items() if values})

    def query(self) -> str:
        return urlencode([(name, value) for name, values in self.words.items() for value in values])


@dataclass
class AnalysisRequest:
    """A question of a person, with the labels that it is put to; `ask` gives its answer."""

    seat: Seat
    question: AnalysisQuery
    labeled: StudyLabels = field(init=False)
    answers: list[AnalysisResult] = field(default_factory=list)
    asked_words: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        question = self.question
        self.labeled = study_labels(
            self.seat, round_number=question.number("round"), version=question.number("version")
        )

    def ask(self, **defaults: str) -> AnalysisResult:
        """The answer; `defaults` are words where the address has none. Raises what `answer` raises."""
        words: dict[str, Any] = {name: [value] for name, value in defaults.items() if value}
        self.asked_words = words | {name: [*each] for name, each in self.question.words.items()}
        found = answer(self.seat, self.question.kind, self.asked_words, labels=self.labeled)
        self.answers.append(found)
        return found

    def rest_query(self) -> str:
        """The same question over REST: with the words that the page filled in."""
        words = self.asked_words or {name: [*values] for name, values in self.question.words.items()}
        return urlencode([(name, value) for name, values in words.items() for value in values])

    @cached_property
    def dimensions(self) -> dict[str, Column]:
        """Dimensions with categories, those without conditions and the like in the order of the version."""
        columns = self.labeled.columns
        return {**columns.singles, **columns.multis}

    @cached_property
    def groups(self) -> dict[str, Column]:
        """All that can be counted by: dimensions, then attributes of the item."""
        return {**self.dimensions, **self.labeled.columns.attributes}

    def position(self, key: str) -> int:
        """The place of a dimension among those there are, for its colour."""
        return list(self.groups).index(key) if key in self.groups else 0

    def levels(self, found: AnalysisResult) -> dict[str, str]:
        """At which level each column of an answer is told, as far as it is not as labelled."""
        question = found.question
        told = {
            key: question.levels.get(key, question.levels.get("", "leaf") if key in question.dimensions else "leaf")
            for key in found.columns
        }
        return {key: level for key, level in told.items() if level != "leaf"}

    def items_url(self, found: AnalysisResult, *labels: tuple[str, str]) -> str:
        """Where the items stand of which a part has all these (column, category); folded ones are told each.

        Of a number the category is `<=10`, `~any` (known) or `~none`.
        """
        levels = self.levels(found)
        words = []
        for key, value in labels:
            if found.number is not None and key == found.number.key and key not in found.columns:
                words.append(("label", f"{key}:{value}"))
                continue
            folded = found.folded.get(key)
            lifted = self.groups[key].categories.lifted(levels.get(key, "leaf"))[0]
            values: tuple[str, ...] = (value,)
            if folded is not None and folded.categories and value[0] != "~" and value not in lifted.place:
                values = folded.categories
            if value == "~any" and any(name.rpartition(":")[0] in ("", key) for name in found.question.left_out):
                values = self.left(found, key)
            words.append(("label", str(LabelFilter(key, tuple(values)))))
        words += [("where", each) for each in found.question.where]
        words += [
            ("level", f"{key}:{level}") for key, level in levels.items() if any(key == name for name, _ in labels)
        ]
        words += [(name, self.question.one(name)) for name in ("round", "version")]
        words += [("parts", "single")] if found.question.parts == "single" else []
        query = urlencode([(name, value) for name, value in words if value])
        return f"{reverse('items', args=[self.seat.study.slug])}?{query}"

    def left(self, found: AnalysisResult, key: str) -> tuple[str, ...]:
        """The categories of a column that were counted, where some are left out; folded ones each."""
        folded = found.folded.get(key)
        rare = folded.categories if folded else ()
        column = found.columns[key]
        n = parts_by_category(column)
        kept = [value for value, each in zip(column.categories.keys, n.tolist(), strict=True) if each]
        lifted = self.groups[key].categories.lifted(self.levels(found).get(key, "leaf"))[0]
        return (*(value for value in kept if value in lifted.place), *rare) or ("~any",)

    def item_url(self, pk: int) -> str:
        """Where one item stands."""
        return reverse("item", args=[self.seat.study.slug, pk])

    def choices_of(self, among: Mapping[str, Any], none: str = "") -> list[tuple[str, str]]:
        """(key, title) of columns, for a menu; with `none` a first entry for no column."""
        found = [(key, each.title) for key, each in among.items()]
        return [("", none), *found] if none else found
