"""What was exported of a study: the tables of its package, its audit log, and its members and settings over REST."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tests.annotation.claims.statistics import Table

Rows = Sequence[Mapping[str, str]]
COUNTING = ("pilot", "main")
PENDING = "PENDING"


@dataclass(frozen=True)
class Answer:
    """What a rater did with an item in a round; `blind` and `current` are numbers of revisions, 0 for none.

    `skipped`: the one before discussion was a skip.
    """

    state: str
    blind: int
    current: int
    skipped: bool


@dataclass
class Exported:
    """Rows by table, lines of the audit log (newest first), `study` and `members` as REST answers them."""

    tables: Mapping[str, Rows]
    audit: Sequence[Mapping[str, Any]]
    study: Mapping[str, Any]
    members: Sequence[Mapping[str, Any]]
    software: str
    samples: Sequence[Mapping[str, Any]] = ()
    known: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    """By round the known answers of its training items, as REST answers them; `minima` and `round_raters`, too."""
    minima: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    round_raters: Mapping[int, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    first: Sequence[Mapping[str, Any]] = ()
    """The ratings of first answers to training items, as REST answers them."""
    issues: Mapping[str, set[tuple[str, str]]] = field(default_factory=dict)
    """By number of a sample the issues that its frame file has as drawn."""
    reader: str = ""
    """The code of the rater who reads a text; empty: an owner who rates nothing."""
    source: "Exported | None" = None
    """Of a copy, what was exported of the study that it was duplicated from."""
    tables_made: dict[tuple[str, tuple[int, ...], str], Table] = field(default_factory=dict)

    @cached_property
    def rounds(self) -> dict[int, Mapping[str, str]]:
        return {int(row["round"]): row for row in self.tables["rounds"] if row["kind"] in COUNTING}

    @cached_property
    def headline(self) -> list[int]:
        """The finished main rounds of the newest version that has one, or those that an owner fixed."""
        finished = {
            number: row
            for number, row in self.rounds.items()
            if row["kind"] == "main" and row["state"] in ("resolving", "closed")
        }
        fixed = next((line["detail"]["rounds"] for line in self.audit if line["what"] == "headline fixed"), None)
        if fixed:
            return sorted(set(fixed) & set(finished))
        newest = max((int(row["taxonomy_version"]) for row in finished.values()), default=0)
        return sorted(number for number, row in finished.items() if int(row["taxonomy_version"]) == newest)

    @cached_property
    def training(self) -> set[tuple[int, str]]:
        return {(int(row["round"]), row["item"]) for row in self.tables["round_items"] if row["training"] == "true"}

    def given_in_training(self, of: int, who: str) -> dict[str, list[dict[str, Any]]]:
        """What someone answered first to the training items of a round: by item the labels of each part."""
        found: dict[str, list[dict[str, Any]]] = {
            row["item"]: []
            for row in self.tables["answers"]
            if (int(row["round"]), row["rater"]) == (of, who)
            and (of, row["item"]) in self.training
            and row["state"] in ("submitted", "skipped")
        }
        for row in self.first:
            if (row["round"], row["rater"]) == (of, who):
                parts = found[row["item"]]
                parts += [{} for _ in range(row["part"] - len(parts))]
                parts[row["part"] - 1][row["dimension"]] = sorted(map(str, row["values"]))
        return found

    def is_known(self, of: int, item: str, labels: Sequence[Mapping[str, Any]]) -> bool:
        """Whether every known label of a training item is among these, in as many parts."""
        known = [part["labels"] for part in self.known[of][item]["parts"]]
        return len(labels) == len(known) and all(
            given.get(key) == sorted(map(str, value if isinstance(value, list) else [value]))
            for given, part in zip(labels, known, strict=True)
            for key, value in part.items()
        )

    @cached_property
    def people(self) -> set[str]:
        return {row["rater"] for row in self.tables["raters"] if row["kind"] == "person"}

    @cached_property
    def answers(self) -> dict[tuple[int, str, str], Answer]:
        """What the raters who hold a place did with items that are not for training."""
        found: dict[tuple[int, str, str], Answer] = {}
        for row in self.tables["answers"]:
            place = (int(row["round"]), row["item"], row["rater"])
            if row["role"] != "rater" or place[0] not in self.rounds or place[:2] in self.training:
                continue
            before = found.get(place, Answer(row["state"], 0, 0, False))
            revision = int(row["revision"])
            found[place] = Answer(
                row["state"],
                revision if row["blind"] == "true" else before.blind,
                revision if row["current"] == "true" else before.current,
                bool(row["skip_reason"]) if row["blind"] == "true" else before.skipped,
            )
        return found

    @cached_property
    def labeled(self) -> set[tuple[int, str, str]]:
        """The places with a current label: an answer can be blank."""
        rows = self.tables["ratings"]
        return {(int(row["round"]), row["item"], row["rater"]) for row in rows if row["current"] == "true"}

    def submitted(self, round_: int | None = None, *, blank: bool = False) -> list[tuple[int, str, str]]:
        """Round, item and rater of answers with a label; `blank`: of those without one, too."""
        return [
            place
            for place, each in self.answers.items()
            if each.state == "submitted"
            and place[2] in self.people
            and round_ in (None, place[0])
            and (blank or place in self.labeled)
        ]

    @cached_property
    def submitted_in_training(self) -> list[tuple[int, str, str]]:
        """The same of answers to calibration items."""
        places = {
            (int(row["round"]), row["item"], row["rater"])
            for row in self.tables["answers"]
            if row["role"] == "rater" and row["state"] == "submitted" and row["rater"] in self.people
        }
        return sorted(place for place in places & self.labeled if place[:2] in self.training)

    @cached_property
    def trained(self) -> set[tuple[int, str, str]]:
        """Round, item and rater of calibration items that someone answered or skipped."""
        rows = [row for row in self.tables["answers"] if row["state"] in ("submitted", "skipped")]
        places = {(int(row["round"]), row["item"], row["rater"]) for row in rows}
        return {place for place in places if place[:2] in self.training}

    @cached_property
    def told_by(self) -> dict[tuple[int, str], set[str]]:
        """By round and item who gave a label there in any role, or resolved it; "" for what was imported."""
        found: dict[tuple[int, str], set[str]] = defaultdict(set)
        for of, item, who in self.labeled:
            found[of, item].add(who)
        for row in self.tables["resolutions"]:
            if row["method"] != "reopened":
                who = "" if row["method"] == "imported" else row["decided_by"]
                found[int(row["round"]), row["item"]].add(who)
        return found

    @cached_property
    def versions(self) -> list[int]:
        return sorted({int(self.rounds[place[0]]["taxonomy_version"]) for place in self.submitted()})

    @cached_property
    def dimensions(self) -> dict[str, Mapping[str, str]]:
        """The questions of the newest version by key, in their order."""
        rows = [row for row in self.tables["dimensions"] if row["taxonomy"] == self.study["taxonomy"]]
        used = max((int(row["taxonomy_version"]) for row in self.rounds.values()), default=0)
        newest = used or max(int(row["taxonomy_version"]) for row in rows)
        return {row["dimension"]: row for row in rows if int(row["taxonomy_version"]) == newest}

    @cached_property
    def measured(self) -> list[str]:
        return [key for key, row in self.dimensions.items() if row["kind"] != "text"]

    def key_of(self, title: str) -> str | None:
        return next((key for key, row in self.dimensions.items() if row["title"] == title), None)

    def newest_categories(self, key: str) -> list[Mapping[str, str]]:
        """Those that can be chosen in the newest version of a round that counts, in order."""
        rows = [row for row in self.tables["categories"] if row["dimension"] == key and row["selectable"] == "true"]
        used = max((int(row["taxonomy_version"]) for row in self.rounds.values()), default=0)
        newest = max(
            (number for row in rows if (number := int(row["taxonomy_version"])) <= (used or number)), default=0
        )
        return [row for row in rows if int(row["taxonomy_version"]) == newest]

    def categories(self, key: str) -> list[str]:
        return [row["category"] for row in self.newest_categories(key)]

    def places(self) -> dict[tuple[int, str, str, int, int], int]:
        """Which part of the item a part of an answer is, where parts were matched."""
        return {
            (int(row["round"]), row["item"], row["rater"], int(row["revision"]), int(row["part"])): int(
                row["agreed_part"] or row["part"]
            )
            for row in self.tables["answers"]
        }

    @cached_property
    def with_label(self) -> set[tuple[str, int]]:
        """The parts of which something other than a text was agreed."""
        kinds = {key: row["kind"] for key, row in self.dimensions.items()}
        return {
            (row["item"], int(row["part"]))
            for row in self.tables["labels"]
            if (kind := kinds.get(row["dimension"], "")) != "text"
            and (row["values"] not in ("", "[]") or kind == "multi" or row["unmapped"])
        }

    def units(self, key: str, rounds: Sequence[int], when: str) -> dict[tuple[int, str, int], dict[str, Any]]:
        """Round, item and part → rater → value, before or after discussion."""
        flag, kind, places = {"before": "blind", "after": "current"}[when], self.dimensions[key]["kind"], self.places()
        found: dict[tuple[int, str, int], dict[str, Any]] = defaultdict(dict)
        for row in self.tables["ratings"]:
            place = (int(row["round"]), row["item"], row["rater"])
            if row[flag] != "true" or row["dimension"] != key or place[0] not in rounds or place not in self.answers:
                continue
            part = places[*place, int(row["revision"]), int(row["part"])]
            value: Any = row["values"]
            if kind == "multi":
                value = frozenset(each for each in value.split(";") if each)
            elif kind == "number":
                value = float(value)
            found[place[0], place[1], part][place[2]] = value
        return found

    def table(self, key: str, rounds: Sequence[int], when: str = "before") -> Table:
        """As statistics need it; a proposal is no level of an order."""
        units, kind = self.units(key, rounds, when), self.dimensions[key]["kind"]
        order: dict[str, int] = {each: at for at, each in enumerate(self.keys(key))}
        by = {
            "multi": sorted,
            "number": lambda value: value,
        }.get(kind, lambda value: order.get(value, len(order)))
        scale = self.categories(key) if kind == "ordinal" else None
        places = [(number, item) for number, item, _ in units]
        return Table(list(units.values()), places, by, scale)

    def keys(self, key: str) -> list[str]:
        return [row["category"] for row in self.tables["categories"] if row["dimension"] == key] or ["false", "true"]

    @cached_property
    def resolutions(self) -> dict[tuple[int, str, int, str], Mapping[str, str]]:
        """The newest resolution of each place that was not reopened, in rounds that count."""
        newest: dict[tuple[int, str, int, str], Mapping[str, str]] = {}
        for row in self.tables["resolutions"]:
            place = (int(row["round"]), row["item"], int(row["part"]), row["dimension"])
            if place[0] in self.rounds and int(row["revision"]) >= int(
                newest.get(place, {"revision": "0"})["revision"]
            ):
                newest[place] = row
        return {place: row for place, row in newest.items() if row["method"] != "reopened"}

    def excluded(self, key: str, rounds: Sequence[int]) -> Counter[str]:
        """Units of the headline with one rating, by what the other raters of the item did: the least and the most."""
        found: Counter[str] = Counter()
        for (number, item, _), given in self.units(key, rounds, "before").items():
            if len(given) < 2:
                found["all"] += 1
                others = [
                    each
                    for (round_, of, rater), each in self.answers.items()
                    if (round_, of) == (number, item) and rater not in given
                ]
                places = {(int(row["round"]), row["item"]): row["n_raters"] for row in self.tables["round_items"]}
                found["alone"] += places[number, item] == "1"
                found["skipped"] += any(each.skipped for each in others)
                found["submitted"] += any(each.blind and not each.skipped for each in others)
        return found
