# ruff: noqa: E501 (a pattern stays on one line)
"""The checker: reads a methods paragraph, a checklist and a table back, and holds every claim against exported rows.

A sentence that no pattern reads, and a number, name, date or adverb that the rows do not bear out, is a complaint.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import pairwise
from typing import Any

from tests.annotation.claims import statistics
from tests.annotation.claims.rows import Exported

ONES = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
SPELLED = {word: n for n, word in enumerate(ONES)}
SPELLED |= {word: 20 + 10 * n for n, word in enumerate(TENS)}
SPELLED |= {f"{ten}-{ONES[one]}": 20 + 10 * n + one for n, ten in enumerate(TENS) for one in range(1, 10)}
WAYS = {
    "discussed in meetings, as reported in Concord": "meeting",
    "in meetings without a rater of the item, as reported in Concord": "other_meeting",
    "discussed in writing": "discussion",
    "in writing": "discussion",
    "by adjudication": "adjudicator",
    "by a third rater": "third_rater",
    "by the majority of the raters": "majority",
    "by the owner of the study": "owner",
}


def answers_of(kind: str, n: int) -> str:
    told = ANSWERS[kind].format(n=n)
    return told.replace("categories", "category").replace("levels", "level") if n == 1 else told


ANSWERS = {
    "single": "one of {n} categories",
    "multi": "any of {n} categories",
    "ordinal": "one of {n} levels in an order",
    "boolean": "yes or no",
    "number": "a number",
    "text": "a text",
}
SCALES = {
    "single": "nominal",
    "multi": "nominal, several values",
    "ordinal": "ordinal",
    "boolean": "nominal, two values",
    "number": "interval",
    "text": "nominal",
}
PHRASES = {
    "one-sided Clopper-Pearson bounds by the number of items, where all ratings agree (exact for percent agreement; for "
    "other coefficients, chance agreement is taken as known)": None,
    "beta intervals by the effective number of units, after Korn and Graubard 1998": False,
    "beta intervals by the effective number of units, after Korn and Graubard 1998, with all parts of an item, in all "
    "rounds, as one cluster": True,
}
"""How intervals are computed, where this checker computes them as well: whether with clusters, None: it may be."""
DEFAULT = ("Krippendorff’s α", 0.8)
BENCHMARKS = {
    "Krippendorff": [(0.8, "reliable"), (0.667, "tentative conclusions only"), (-1, "not reliable")],
    "Landis and Koch": [
        (0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (0.0, "slight"), (-1, "poor"),
    ],
}  # fmt: skip
NUMBER = r"(−?\d+\.\d+|undefined)"
COUNT = r"(\d[\d,]*|[A-Z][a-z]+(?:-[a-z]+)?)"
ROUNDS = r"(rounds? [\d, and to]+?)"


def number(word: str) -> int:
    lower = word.replace(",", "").lower()
    return SPELLED[lower] if lower in SPELLED else int(lower)


def decimal(word: str) -> tuple[float, int]:
    """A number as printed, and its decimals."""
    return (math.nan, 0) if word == "undefined" else (float(word.replace("−", "-")), len(word.partition(".")[2]))


def several(words: str) -> list[str]:
    return [each for each in re.split(r", | and ", words) if each]


def rounds_in(words: str) -> list[int]:
    """`round 2`, `rounds 1 to 5`, `rounds 1 and 3`."""
    words = words.partition(" ")[2]
    if " to " in words:
        first, last = words.split(" to ")
        return list(range(int(first), int(last) + 1))
    return [int(each) for each in several(words)]


def is_printed(value: float | None, word: str) -> bool:
    """Whether a value rounds to what is printed."""
    printed, places = decimal(word)
    if value is None or math.isnan(value):
        return math.isnan(printed)
    return not math.isnan(printed) and abs(value - printed) <= 0.5 * 10.0**-places + 1e-9


def moment(word: str) -> datetime:
    return datetime.fromisoformat(word)


def day(words: str) -> str:
    return datetime.strptime(words, "%d %B %Y").date().isoformat()


def wilson(n: int, whole: int) -> tuple[float, float]:
    """Wilson 1927: the 95% score interval of a share."""
    z, p = 1.959963984540054, n / whole
    middle, half = p + z * z / (2 * whole), z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole))
    return (middle - half) / (1 + z * z / whole), (middle + half) / (1 + z * z / whole)


class Checker:
    """Holds texts against rows; `complaints` are what it could not trace."""

    def __init__(self, rows: Exported) -> None:
        self.rows = rows
        self.complaints: list[str] = []
        self.seen: dict[str, list[Any]] = {}
        self.tables = rows.tables_made
        self.confirmed: set[tuple[int, str, int, str]] = set()
        titles = sorted((row["title"] for row in rows.dimensions.values()), key=len, reverse=True)
        one = "|".join(re.escape(title) for title in titles)
        self.title = f"({one})"
        self.titles = f"((?:{one})(?:(?:, | and )(?:{one}))*|every dimension)"

    # What the rows give

    def table(self, key: str, rounds: list[int], when: str = "before") -> statistics.Table:
        place = (key, tuple(rounds), when)
        if place not in self.tables:
            self.tables[place] = self.rows.table(key, rounds, when)
        return self.tables[place]

    def of(self, title: str) -> str:
        key = self.rows.key_of(title)
        assert key is not None
        return key

    def those(self, titles: str) -> list[str]:
        if titles == "every dimension":
            return list(self.rows.measured)
        found = [
            (titles.find(row["title"]), key) for key, row in self.rows.dimensions.items() if row["title"] in titles
        ]
        return [key for _, key in sorted(found)]

    def expect(self, is_so: bool, claim: str, truth: object = "") -> None:
        if not is_so:
            self.complaints.append(f"{claim!r} is not borne out{f': {truth}' if truth != '' else ''}")

    def same(self, claim: str, said: object, truth: object) -> None:
        self.expect(said == truth, claim, f"{said} said, {truth} found")

    # Reading

    def paragraph(self, text: str) -> list[str]:
        """Complaints about a methods paragraph."""
        for part in text.strip().split("\n\n"):
            self.sentences(part)
        self._whole()
        return self.complaints

    def sentences(self, text: str) -> None:
        text = " ".join(text.split())
        while text:
            for pattern, check in self.patterns:
                if found := pattern.match(text):
                    try:
                        check(self, found[0], *found.groups())
                    except (KeyError, ValueError, AssertionError, IndexError, StopIteration) as error:
                        self.complaints.append(f"{found[0]!r} can't be traced: {error!r}")
                    text = text[found.end() :].lstrip()
                    break
            else:
                unknown, _, text = text.partition(". ")
                self.complaints.append(f"no pattern reads {unknown!r}")

    @property
    def patterns(self) -> list[tuple[re.Pattern[str], Callable[..., None]]]:
        if not hasattr(self, "_patterns"):
            filled = [
                (pattern.replace("<TITLES>", self.titles).replace("<TITLE>", self.title), check)
                for pattern, check in SENTENCES
            ]
            self._patterns = [(re.compile(pattern), check) for pattern, check in filled]
        return self._patterns

    def _whole(self) -> None:
        """What has to be there once the sentences are read."""
        rows = self.rows
        for key in rows.measured if rows.headline else ():
            said = sum(n for of, n in self.seen.get("excluded", []) if of == key)
            table = self.table(key, rows.headline)
            if table.n_units:
                self.same(f"units excluded from {rows.dimensions[key]['title']}", said, table.n_single)
        wanted = {"labeled", "headline"} if rows.submitted() else set()
        wanted |= {"matched"} if self.matched_by_hand and rows.measured else set()
        wanted |= {"unrated"} if rows.submitted() and set(rows.dimensions) - self.rated else set()
        readable = [*self.readable_before.items(), *self.third_readable_before.items()]
        certain = {of for of, those in readable if any(any(each.values()) for each in those.values())}
        said = set(self.seen.get("read before", []))
        self.expect(certain <= said <= {of for of, _ in readable}, "who could read labels before", certain)
        self.same("resolutions entered before", self.n_resolved_before, 0)
        wanted |= {"rated elsewhere"} if self.labeled_elsewhere else set()
        wanted |= {"hidden elsewhere"} if self.is_source_under_way and rows.submitted() else set()
        wanted |= {"skipped"} if self.n_third_skipped else set()
        wanted |= {"read otherwise"} if self.read_otherwise else set()
        wanted |= {"read apart"} if self.read_apart else set()
        self.same("what was withdrawn", sorted(self.seen.get("withdrawn", [])), sorted(self.left_unfinished.items()))
        wanted |= {"third"} if self.third_labels else set()
        wanted |= {"screened by hand"} if self.hand_screened else set()
        copies = [line for line in rows.audit if line["what"] == "duplicated from a study" and line["detail"]["items"]]
        wanted |= {"copied"} if copies and rows.submitted() else set()
        wanted |= {"models shown"} if self.read_with_models else set()
        wanted |= {"third asked"} if self.third_asked_for[0] else set()
        wanted |= {"by rater"} if len({rater for *_, rater in rows.submitted()}) > 1 else set()
        self.same("who left or joined", self.seen.get("turnover", []), self.turnovers)
        is_resolved = any(row["method"] for row in rows.resolutions.values())
        wanted |= {"unanswered"} if self.n_unanswered else set()
        wanted |= {"overlapping"} if self.in_several_samples else set()
        wanted |= {"reopened"} if self.n_reopened else set()
        changed = [key for key in rows.measured if self.is_registered(key) and self.kind_changes(key)]
        wanted |= {"changed since"} if changed else set()
        wanted |= {"moot"} if any(not self.is_standing(place) for place in rows.resolutions) else set()
        wanted |= {"unresolved"} if is_resolved and self.n_left else set()
        wanted |= {f"resolved in {kind}" for kind in ("relabel", "screening") if self.elsewhere(kind)}
        for what in sorted(wanted):
            self.expect(what in self.seen, f"a sentence on {what}")

    # Sentences: sampling and taxonomy

    def drawn(self, claim: str, n: str, seed: str, frame: str | None) -> None:
        line = next(each for each in self.rows.samples if (each["size"], each["seed"]) == (number(n), int(seed)))
        if frame is not None:
            self.same(claim, number(frame), line["n_frame"])

    @property
    def in_several_samples(self) -> int:
        return sum(
            n > 1 for n in Counter(issue for each in self.samples_used for issue in self.rows.issues[each]).values()
        )

    @property
    def samples_used(self) -> set[str]:
        """The samples that pilot and main rounds took items from."""
        return {str(row["sample"]) for row in self.rows.rounds.values() if row["sample"]}

    def overlapping(self, claim: str, n: str) -> None:
        self.seen["overlapping"] = [claim]
        self.same(claim, number(n), self.in_several_samples)

    def filtered(self, claim: str, n: str) -> None:
        self.expect(any(line["counts"][0]["n"] == number(n) for line in self.rows.samples), claim)

    def stratified(self, claim: str, by: str, how: str, each: str | None) -> None:
        in_words = {
            "whether a merged fix closed the issue": "merged_fix",
            "the number of fixes": "fixes",
            "the lines that fixes changed": "fix_lines",
            "the files that fixes changed": "fix_files",
            "the time to the first fix": "days_to_fix",
            "the folder of the first fix": "fix_folder",
        }
        wanted = {"stratify_by": in_words.get(by, by), "allocation": how, "at_least_one": bool(each)}
        self.expect(any(all(line[name] == word for name, word in wanted.items()) for line in self.rows.samples), claim)

    # Sentences: screening

    def stands(self, sample: Mapping[str, Any]) -> dict[str, list[Mapping[str, str]]]:
        """The items of a sample that are kept, out, or left open; the others of its issues are not screened."""
        asking = {row["round"] for row in self.rows.tables["rounds"] if row["kind"] == "screening"}
        asked = {row["item"] for row in self.rows.tables["round_items"] if row["round"] in asking}
        found: dict[str, list[Mapping[str, str]]] = {"kept": [], "out": [], "unresolved": [], "not screened": []}
        for row in self.rows.tables["items"]:
            if str(sample["sample"]) in row["samples"].split(";"):
                other = "unresolved" if row["item"] in asked else "not screened"
                found[{"in": "kept", "out": "out"}.get(row["screening"], other)].append(row)
        return found

    def kept_again(self, sample: Mapping[str, Any]) -> int:
        """How many items of a sample are kept that are of a control stretch of what screening excluded."""
        if "screened_out_of" in sample["filter"]:
            return 0
        controls = {str(each["sample"]) for each in self.rows.samples if "screened_out_of" in each["filter"]}
        return sum(bool(controls & set(row["samples"].split(";"))) for row in self.stands(sample)["kept"])

    def screened_out(self, claim: str, n: str, again: str | None, reasons: str | None) -> None:
        inner = re.findall(r"([\d,]+) “(.*?)”", reasons or "")
        told = {reason: int(each.replace(",", "")) for each, reason in inner}
        self.same(claim, 0 if n == "No" else number(n), sum(told.values()))
        every = [
            (Counter(row["screening_reason"] for row in self.stands(each)["out"]), self.kept_again(each))
            for each in self.rows.samples
        ]
        self.expect((told, number(again or "0")) in every, claim, every)

    def stood(self, claim: str, inner: str) -> None:
        told = {
            words: int(n.replace(",", ""))
            for n, words in re.findall(r"([\d,]+) (?:was|were) ([a-z ]+?)(?=,| and|$)", inner)
        }
        every = []
        for sample in self.rows.samples:
            stands = self.stands(sample)
            n_of = {words: len(stands[words]) for words in ("kept", "unresolved")}
            n_of["not screened"] = sample["size"] - sum(n_of.values()) - len(stands["out"])
            every.append({words: n for words, n in n_of.items() if n})
        self.expect(told in every, claim, every)

    def coded(self, claim: str, n: str, inner: str) -> None:
        words = {
            "kept": "kept", "not screened": "not screened", "unresolved": "unresolved at screening", "out": "screened out",
        }  # fmt: skip
        told = {each: int(n_) for n_, each in re.findall(r"(\d+) ([a-z ]+?)(?=,| and|$)", inner)}
        self.same(claim, number(n), sum(told.values()))
        coding = {row["round"] for row in self.rows.tables["rounds"] if row["kind"] != "screening"}
        held = {
            row["item"]
            for row in self.rows.tables["round_items"]
            if row["round"] in coding and row["training"] == "false"
        }
        every = [
            {
                words[how]: n_
                for how, those in self.stands(each).items()
                if (n_ := sum(row["item"] in held for row in those))
            }
            for each in self.rows.samples
        ]
        self.expect(told in every, claim, every)

    def stretch(self, claim: str, by: str, told: tuple[Any, ...]) -> None:
        """Holds what is told of a control stretch against each that was screened whole."""
        word = "left_out_of" if by == "the filter" else "screened_out_of"
        own = r"excluded by the filter of sample (\d+)|screened out of sample (\d+)"
        every = []
        for sample in self.rows.samples:
            if word not in sample["filter"]:
                continue
            said = [each["step"] for each in sample["counts"]]
            (controlled,) = (found[1] or found[2] for each in said if (found := re.fullmatch(own, each)))
            (whole,) = (each for each in self.rows.samples if str(each["sample"]) == controlled)
            named, among = ({*each["filter"].get("repository", [])} for each in (sample, whole))
            further = [each for each in said[1:] if not each.startswith("repository: ") and not re.fullmatch(own, each)]
            stands = self.stands(sample)
            n_in, size = len(stands["kept"]), sample["size"]
            if len(stands["out"]) + n_in < size:
                continue
            n_of = sample["n_frame"]
            most = max(  # the number missed with which more than 5% of all draws have so few or fewer
                missed
                for missed in range(n_in, n_of - size + n_in + 1)
                if 20 * sum(math.comb(missed, k) * math.comb(n_of - missed, size - k) for k in range(n_in + 1))
                > math.comb(n_of, size)
            )
            how = "census" if size == n_of else sample["allocation"] if sample["stratify_by"] else "simple"
            every.append(
                (
                    size, n_of, set() if among <= named else named, "; ".join(further), how,
                    sample["stratify_by"] if how in ("equal", "proportional") else None, n_in,
                    None if how == "equal" else (n_in if how == "census" else most, f"{most / n_of:.1%}"),
                )
            )  # fmt: skip
        self.expect(told in every, claim, every)

    def control(
        self, claim: str, is_simple: str | None, n: str, n_frame: str, repositories: str | None, steps: str | None,
        by: str, allocation: str | None, stratified: str | None, n_kept: str, most: str | None, whole: str | None,
        share: str | None, bound: str | None,
    ) -> None:  # fmt: skip
        how = allocation or "simple"
        self.same(claim, bool(is_simple), how == "simple")
        self.same(claim, whole, n_frame if most else None)
        exact = {"simple": "exact one-sided 95% hypergeometric bound", "equal": None}
        as_of = "one-sided 95% hypergeometric bound as of a simple random sample"
        self.same(claim, bound, exact.get(how, as_of))
        told = (
            number(n), number(n_frame), set(several(repositories)) if repositories else set(), steps or "", how,
            stratified, number(n_kept), (number(most), f"{share}%") if most else None,
        )  # fmt: skip
        self.stretch(claim, by, told)

    def census(
        self, claim: str, n: str | None, repositories: str | None, steps: str | None, by: str, again: str | None,
        n_kept: str, share: str,
    ) -> None:  # fmt: skip
        self.same(claim, bool(again), by == "screening")
        n_frame = number(n or "1")
        self.same(claim, n is None, n_frame == 1)
        told = (
            n_frame, n_frame, set(several(repositories)) if repositories else set(), steps or "", "census", None,
            number(n_kept), (number(n_kept), f"{share}%"),
        )  # fmt: skip
        self.stretch(claim, by, told)

    def screeners(self, claim: str, n: str, codes: str, n_items: str, rounds: str) -> None:
        over = [
            int(row["round"]) for row in self.rows.tables["rounds"]
            if row["kind"] == "screening" and row["state"] in ("resolving", "closed")
        ]  # fmt: skip
        self.same(claim, rounds_in(rounds), over)
        given = [
            row for row in self.rows.tables["answers"]
            if int(row["round"]) in over and (row["state"], row["role"]) == ("submitted", "rater")
        ]  # fmt: skip
        raters = sorted({row["rater"] for row in given}, key=lambda code: (len(code), code))
        self.same(claim, (number(n), several(codes)), (len(raters), raters))
        self.same(claim, number(n_items), len({row["item"] for row in given}))

    def screening_agreement(
        self, claim: str, rounds: str | None, again: str | None, name: str | None, value: str, n: str, raters: str
    ) -> None:
        asking = {row["round"]: row for row in self.rows.tables["rounds"] if row["kind"] == "screening"}
        of_control = {str(each["sample"]) for each in self.rows.samples if "screened_out_of" in each["filter"]}
        those = {number for number, row in asking.items() if (row["sample"] in of_control) == bool(again)}
        if rounds:
            self.same(claim, {str(each) for each in rounds_in(rounds)}, those)
        else:
            self.same(claim, len(asking), 1)
        units: dict[tuple[int, str], dict[str, str]] = {}
        for row in self.rows.tables["ratings"]:
            if row["round"] in those and row["dimension"] == "screening" and row["blind"] == "true":
                units.setdefault((int(row["round"]), row["item"]), {})[row["rater"]] = row["values"]
        table = statistics.Table(list(units.values()), list(units), str, None)
        self.same(claim, (number(n), int(raters)), (table.n_units, len(table.raters)))
        self.same(claim, name, None if value == "undefined" else "Krippendorff’s α")
        truth = statistics.value_of("Krippendorff’s α (nominal metric)", table)
        self.expect(is_printed(truth, value), claim, truth)

    def screened_by_hand(self, claim: str, n: str, inner: str) -> None:
        self.seen["screened by hand"] = [claim]
        codes = {member["user"]: member["code"] for member in self.rows.members if member["code"]}
        did = self.hand_screened
        self.same(claim, number(n), len({item for _, item in did}))
        by = Counter(code for code, _ in {(codes.get(who, ""), item) for who, item in did})
        others = len({who for who, _ in did if who not in codes})
        told: dict[str, int] = {}
        for count, who, people in re.findall(
            r"([\d,]+) by (?:(R\d+)|(\d+) (?:person|people) without a rater’s code)", inner
        ):
            told[who] = int(count.replace(",", ""))
            if people:
                self.same(claim, int(people), others)
        self.same(claim, told, dict(by))

    @property
    def hand_screened(self) -> set[tuple[str, str]]:
        """Who screened which item by hand, by the audit log; of items that are screened now."""
        now = {row["item"] for row in self.rows.tables["items"] if row["screening"] in ("in", "out")}
        return {
            (line["who"], item)
            for line in self.rows.audit
            if line["what"] in ("items screened: in", "items screened: out")
            for item in line["detail"]["items"]
            if item in now
        }

    def labeled_out(self, claim: str, n: str, how: str) -> None:
        kept = self.rows.study["screened_out"] == "keep"
        self.same(claim, how, "all numbers include" if kept else "no number includes")
        out = {row["item"] for row in self.rows.tables["items"] if row["screening"] == "out"}
        submitted = {item for _, item, _ in self.rows.submitted()}
        if kept:
            self.same(claim, number(n), len(out & submitted))
        else:  # files hold none of them; the log says of each screening how many had labels
            self.expect(not out & submitted, claim)
            told = [line["detail"].get("labeled", 0) for line in self.rows.audit if "screened" in line["what"]]
            self.same(claim, number(n), sum(told))

    def by_hand(self, claim: str, n: str) -> None:
        drawn = {
            row["item"]
            for row in self.rows.tables["round_items"]
            if int(row["round"]) in self.rows.rounds
            and self.rows.rounds[int(row["round"])]["sample"]
            and row["training"] == "false"
        }
        used = {row["sample"] for row in self.rows.rounds.values() if row["sample"]}
        drawn |= {row["item"] for row in self.rows.tables["items"] if used & set(row["samples"].split(";"))}
        self.same(claim, number(n), len({item for _, item, _ in self.rows.submitted()} - drawn))

    def taxonomy(self, claim: str, versions: str, title: str, n: str, newest: str | None, inner: str) -> None:
        self.same(claim, rounds_in(versions), self.rows.versions)
        if newest or len(self.rows.versions) > 1:
            of_rounds = {int(row["taxonomy_version"]) for row in self.rows.rounds.values()}
            self.same(claim, newest, str(max(of_rounds)))
        self.same(claim, title, self.rows.study["taxonomy_title"])
        told = [
            f"{row['title']}, {answers_of(row['kind'], len(self.rows.categories(key)))}"
            for key, row in self.rows.dimensions.items()
            if key in self.rated
        ]
        self.same(claim, number(n), len(told))
        self.same(claim, inner.split("; "), told)

    @property
    def rated(self) -> set[str]:
        """The dimensions on which a person's label counts now."""
        return {
            row["dimension"]
            for row in self.rows.tables["ratings"]
            if row["current"] == "true"
            and int(row["round"]) in self.rows.rounds
            and row["rater"] in self.rows.people
            and (int(row["round"]), row["item"]) not in self.rows.training
        }

    def unrated(self, claim: str, titles: str) -> None:
        self.seen["unrated"] = [claim]
        self.same(claim, set(self.those(titles)), set(self.rows.dimensions) - self.rated)

    @property
    def opened(self) -> list[str]:
        return [
            line["at"] for line in self.rows.audit
            if line["what"] == "round opened" and line["detail"]["round"] in self.rows.rounds
        ]  # fmt: skip

    def conditional(
        self, claim: str, by: str | None, titles: str, titles_asked: str | None, where: str, chosen: str | None
    ) -> None:
        self.same(claim, bool(by), bool(self.sheets))
        titles = titles or titles_asked or ""
        changed = [line["at"] for line in self.rows.audit if "applies" in line["detail"]]
        late = max((at for at in changed if self.opened and at > min(self.opened)), default=None)
        self.same(claim, day(chosen) if chosen else None, late and late[:10])
        asked = [key for key, row in self.rows.dimensions.items() if row["applies_when"] and key in self.rated]
        self.same(claim, self.those(titles), asked)
        self.same(
            claim, where, {"both": "both raters", "either": "at least one of two raters"}[self.rows.study["applies"]]
        )

    def nothing(self, claim: str, *groups: str) -> None:
        """A sentence on the method itself, or a request to the authors, which claims nothing of this study."""

    # Raters

    def labeled(self, claim: str, n: str, codes: str, n_items: str, rounds: str) -> None:
        self.seen["labeled"] = [claim]
        places = self.rows.submitted()
        raters = sorted({rater for *_, rater in places}, key=lambda code: (len(code), code))
        self.same(claim, (number(n), several(codes)), (len(raters), raters))
        self.same(claim, number(n_items), len({item for _, item, _ in places}))
        told = re.findall(r"(\d+) (pilot|main) rounds? \(([\d, and]+) items?\)", rounds)
        truth = []
        for kind in ("pilot", "main"):
            sizes = [
                str(len({item for _, item, _ in self.rows.submitted(each)}))
                for each, row in self.rows.rounds.items()
                if row["kind"] == kind and self.rows.submitted(each)
            ]
            truth += [(str(len(sizes)), kind, sizes)] if sizes else []
        self.same(claim, [(n_, kind, several(sizes)) for n_, kind, sizes in told], truth)

    def double(self, claim: str, n: str, whole: str, percent: str) -> None:
        by: dict[tuple[int, str], int] = {}
        for number_, item, _ in self.rows.submitted():
            by[number_, item] = by.get((number_, item), 0) + 1
        items = {item for _, item in by}
        two = {item for (_, item), n_ in by.items() if n_ > 1}
        self.same(claim, (number(n), number(whole)), (len(two), len(items)))
        share = 100 * len(two) / len(items)
        self.expect(abs(share - float(percent)) < 0.1 and (percent == "100") == (two == items), claim, share)

    @property
    def third_labels(self) -> dict[str, set[str]]:
        """The items that third raters labeled, by code."""
        places = {
            (row["round"], row["item"], row["rater"])
            for row in self.rows.tables["answers"]
            if row["role"] == "third_rater" and int(row["round"]) in self.rows.rounds
        }
        found: dict[str, set[str]] = {}
        for row in self.rows.tables["ratings"]:
            if (row["round"], row["item"], row["rater"]) in places:
                found.setdefault(row["rater"], set()).add(row["item"])
        return found

    def third(self, claim: str, who: str) -> None:
        self.seen["third"] = [claim]
        found = self.third_labels
        told = {code: number(n) for code, n in re.findall(r"(R\d+) labeled ([\d,]+) items?", who)}
        self.same(claim, told, {code: len(items) for code, items in found.items()})

    def by_rater(self, claim: str, each: str | None, least: str | None, most: str | None) -> None:
        self.seen["by rater"] = [claim]
        found: dict[str, set[str]] = {}
        for _, item, rater in self.rows.submitted():
            found.setdefault(rater, set()).add(item)
        sizes = {rater: len(items) for rater, items in found.items()}
        if each is None:
            self.same(
                claim, (number(least or ""), number(most or least or "")), (min(sizes.values()), max(sizes.values()))
            )
        else:
            told = re.findall(r"([\d,]+) \((R\d+)\)", each)
            self.same(claim, {code: number(n) for n, code in told}, sizes)

    @property
    def turnovers(self) -> list[tuple[str, int, str, int, dict[str, int], int]]:
        """Who left or joined a round, by the audit log: what, round, rater, unfinished, given to whom, waiting."""
        found, gone = [], set()
        for line in reversed(self.rows.audit):
            detail = line["detail"]
            if line["what"] not in ("rater withdrawn", "rater added") or detail["round"] not in self.rows.rounds:
                continue
            place = (detail["round"], detail["rater"])
            if line["what"] == "rater withdrawn":
                gone.add(place)
                found.append(("left", *place, detail["withdrawn"], detail["given"], detail["waiting"]))
            else:
                found.append(("rejoined" if place in gone else "joined", *place, 0, {}, 0))
        return found

    def left(
        self, claim: str, code: str, of: str, n: str, whole: str | None, given: str | None, n_: str | None
    ) -> None:
        to = {who: number(each) for who, each in re.findall(r"(R\d+) ([\d,]+)", given or "")}
        self.same(claim, sum(to.values()), number(whole) if whole else 0)
        told = ("left", int(of), code, 0 if n == "no" else number(n), to, number(n_) if n_ else 0)
        self.seen.setdefault("turnover", []).append(told)

    def joined(self, claim: str, code: str, again: str, of: str) -> None:
        self.seen.setdefault("turnover", []).append((f"{again}joined", int(of), code, 0, {}, 0))

    @property
    def third_asked_for(self) -> tuple[int, int, int]:
        """Requests to third raters by the audit log: all, those of people, and those that nobody holds any more."""
        lines = [line for line in self.rows.audit if line["detail"].get("round") in self.rows.rounds]
        by_hand = sum(line["what"] == "third rater asked" for line in lines)
        by_rule = sum(line["detail"]["items"] for line in lines if line["what"] == "third raters asked by rule")
        held = {(each["round"], each["item"], each["rater"]) for each in self.third_answers}
        return by_rule + by_hand, by_hand, by_rule + by_hand - len(held)

    @property
    def third_answers(self) -> list[Mapping[str, str]]:
        rows = self.rows.tables["answers"]
        return [
            row for row in rows
            if row["role"] == "third_rater" and int(row["round"]) in set(self.rows.rounds) - set(self.sheets)
        ]  # fmt: skip

    def third_asked(self, claim: str, n: str, how: str, withdrawn: str | None) -> None:
        self.seen["third asked"] = [claim]
        whole, by_hand, n_withdrawn = self.third_asked_for
        rule, people = "by the study’s rule for items on which raters disagree", "by the adjudicator or the owner"
        # Of requests about items that were screened out later the files have nothing but their number in the log.
        n_out = sum(row["screening"] == "out" for row in self.rows.tables["items"])
        unknown = whole - number(n)
        self.expect(0 <= unknown <= n_out, claim, whole)
        self.same(claim, number(withdrawn or "0"), n_withdrawn - unknown)
        both = f"{number(n) - by_hand:,} {rule} and {by_hand:,} {people}"
        self.same(claim, how, rule if not by_hand else people if by_hand == number(n) else both)

    def migrated(self, claim: str, n: str, apart: str | None, version: str, without: str, more: str | None) -> None:
        rows = self.rows.tables["labels"]
        relabeling = {row["round"] for row in self.rows.tables["rounds"] if row["kind"] == "relabel"}
        new = [row for row in rows if row["original_version"] == row["taxonomy_version"] and row["round"] in relabeling]
        self.same(claim, (bool(apart), number(more or "0")), (bool(new), len(new)))
        rows = [row for row in rows if int(row["original_version"]) < int(row["taxonomy_version"])]
        told = [row for row in rows if not row["unmapped"]]
        self.same(claim, number(n), len(rows))
        self.same(claim, version, str(max(int(row["taxonomy_version"]) for row in rows)))
        lacking = len(rows) - len(told)
        self.same(claim, number(without.partition(" ")[0]) if without[0].isdigit() else 0, lacking)

    def relabeled(self, claim: str, n: str, of: str, version: str) -> None:
        row = next(each for each in self.rows.tables["rounds"] if each["round"] == of)
        self.same(claim, (row["kind"], row["taxonomy_version"]), ("relabel", version))
        items = {each["item"] for each in self.rows.tables["ratings"] if each["round"] == of}
        self.same(claim, number(n), len(items))

    def outstanding(self, claim: str, of: str, n: str, whole: str) -> None:
        here = [each for (number_, *_), each in self.rows.answers.items() if number_ == int(of)]
        left = sum(each.state in ("waiting", "leased") for each in here)
        self.same(claim, (self.rows.rounds[int(of)]["state"], number(n), number(whole)), ("open", left, len(here)))

    @property
    def matched_by_hand(self) -> set[str]:
        """The items of which an answer's parts were matched."""
        return {
            row["item"]
            for row in self.rows.tables["answers"]
            if row["matched"] == "true" and (int(row["round"]), row["item"], row["rater"]) in self.rows.submitted()
        }

    @property
    def read_otherwise(self) -> list[tuple[int, str, str]]:
        """Round, item and rater of what was submitted on another state than the item's."""
        pinned = {row["item"]: row["snapshot"] for row in self.rows.tables["items"]}
        read = self.states_read
        return [each for each in self.rows.submitted(blank=True) if read[each] not in ("", pinned[each[1]])]

    @property
    def states_read(self) -> dict[tuple[int, str, str], str]:
        rows = [row for row in self.rows.tables["answers"] if row["current"] == "true"]
        return {(int(row["round"]), row["item"], row["rater"]): row["snapshot"] for row in rows}

    def on_other_states(self, claim: str, n: str, whole: str, n_items: str) -> None:
        self.seen["read otherwise"] = [claim]
        truth = (len(self.read_otherwise), len(self.rows.submitted(blank=True)))
        self.same(claim, (number(n), number(whole)), truth)
        self.same(claim, number(n_items), len({item for _, item, _ in self.read_otherwise}))

    @property
    def read_apart(self) -> set[str]:
        """The items of which raters of one round read different states."""
        states: dict[tuple[int, str], set[str]] = defaultdict(set)
        for place in self.rows.submitted(blank=True):
            states[place[:2]].add(self.states_read[place])
        return {item for (_, item), those in states.items() if len(those - {""}) > 1}

    def apart(self, claim: str, n: str) -> None:
        self.seen["read apart"] = [claim]
        self.same(claim, number(n), len(self.read_apart))

    def matched(self, claim: str, n: str) -> None:
        self.seen["matched"] = [claim]
        self.same(claim, number(n), len(self.matched_by_hand))

    @property
    def n_third_skipped(self) -> int:
        found = [
            row for row in self.rows.tables["answers"] if (row["role"], row["state"]) == ("third_rater", "skipped")
        ]
        return sum(row["current"] == "true" and int(row["round"]) in self.rows.rounds for row in found)

    def skipped(self, claim: str, n: str | None, n_third: str | None, alone: str | None) -> None:
        self.seen["skipped"] = [claim]
        told = (number(n or "0"), number(n_third or alone or "0"))
        own = sum(each.state == "skipped" for each in self.rows.answers.values())
        self.same(claim, told, (own, self.n_third_skipped))

    @property
    def left_unfinished(self) -> dict[int, int]:
        """How many assignments were withdrawn when each round ended, by the audit log."""
        lines = [line["detail"] for line in self.rows.audit if line["what"] == "round moved to resolving"]
        return {
            each["round"]: each["withdrawn"]
            for each in lines
            if each["withdrawn"] and each["round"] in self.rows.rounds
        }

    def withdrawn(self, claim: str, of: str, n: str) -> None:
        self.seen.setdefault("withdrawn", []).append((int(of), number(n)))

    def blind(self, claim: str, when: str, other: str | None) -> None:
        labeled = sorted({number_ for number_, *_ in self.rows.submitted()} - set(self.sheets))
        rounds = labeled if when.startswith("a round") else rounds_in(when.removesuffix(" was").removesuffix(" were"))
        self.same(claim, rounds, labeled)
        unblinded = {place for place, each in self.rows.answers.items() if each.state == "submitted" and not each.blind}
        self.same(claim, bool(other), bool(unblinded))
        members = {member["user"]: member["code"] for member in self.rows.members if member["code"]}
        for line in self.rows.audit:
            if line["what"] == "answers of an open round read":
                code, of = members.get(line["who"]), line["detail"]["round"]
                reads = of in rounds and any(place[0] == of and place[2] == code for place in self.rows.submitted())
                self.expect(not reads or bool(other), claim, f"{line['who']} read answers of round {of}")
        self.expect(not set(rounds) & set(self.sheets), claim, "answers were imported")

    @property
    def sheets(self) -> list[int]:
        """The rounds whose answers came from sheets."""
        lines = [line["detail"]["rounds"] for line in self.rows.audit if line["what"] == "ratings imported"]
        numbers = [list(each.values()) if isinstance(each, dict) else each for each in lines]
        return sorted({number_ for each in numbers for number_ in each} & set(self.rows.rounds))

    def from_sheets(self, claim: str, rounds: str) -> None:
        self.same(claim, rounds_in(rounds), self.sheets)

    def final(self, claim: str, n: str) -> None:
        self.same(claim, number(n), self.disputed.get("imported", 0))

    def model_raters(self, claim: str, codes: str) -> None:
        truth = sorted({row["rater"] for row in self.rows.tables["raters"] if row["kind"] == "machine"})
        self.same(claim, several(codes), truth)

    @property
    def read_with_models(self) -> set[str]:
        """The items that a model labeled and of which a person resolved something."""
        machine = {
            (row["round"], row["item"])
            for row in self.rows.tables["answers"]
            if row["role"] == "machine" and row["current"] == "true"
        }
        return {
            row["item"]
            for row in self.rows.tables["resolutions"]
            if row["decider"] == "person" and row["method"] != "reopened" and (row["round"], row["item"]) in machine
        }

    def models_shown(self, claim: str, n: str) -> None:
        self.seen["models shown"] = [claim]
        self.same(claim, number(n), len(self.read_with_models))

    def unblinded(self, claim: str, who: str) -> None:
        found: dict[str, list[int]] = {}
        for (of, _, rater), each in self.rows.answers.items():
            if each.state == "submitted" and not each.blind and of not in found.get(rater, []):
                found.setdefault(rater, []).append(of)
        told = {code: rounds_in(rounds) for code, rounds in re.findall(rf"(R\d+) \({ROUNDS}\)", who)}
        self.same(claim, told, {rater: sorted(rounds) for rater, rounds in found.items()})

    @property
    def labeled_again(self) -> set[str]:
        """Items that a rater labeled after an earlier round, in which they can have been calibration items."""
        first: dict[tuple[str, str], int] = {}
        thirds = [place for place in self.rows.labeled if place[2] in self.rows.people and place[0] in self.rows.rounds]
        for of, item, who in sorted([*self.rows.submitted(), *self.rows.submitted_in_training, *thirds]):
            first.setdefault((item, who), of)
        return {item for of, item, who in self.rows.submitted() if first[item, who] < of}

    def blind_since(self, of: int, who: str) -> datetime:
        """When a round opened (the last time), or a rater came into it."""
        opened_at = moment(self.rows.rounds[of]["opened_at"]).replace(microsecond=0)
        came = [
            moment(line["at"]).replace(microsecond=0)
            for line in self.rows.audit
            if line["what"] == "rater added" and (line["detail"]["round"], line["detail"]["rater"]) == (of, who)
        ]
        return max([*came, opened_at])

    def roles_since(self, who: str, roles: set[str]) -> datetime | None:
        """The second when a rater first had one of these roles, by the audit log; the beginning where it has none.

        Times of rounds are exported in whole seconds.
        """
        member = next((each for each in self.rows.members if each["code"] == who), {"user": "", "roles": ["rater"]})
        lines = [
            line
            for line in self.rows.audit
            if line["what"] in ("member set", "member accepted", "invitation accepted")
            and line["detail"]["member"] == member["user"]
        ]
        came = [moment(line["at"]).replace(microsecond=0) for line in lines if roles & set(line["detail"]["roles"])]
        return min(came, default=datetime.min.replace(tzinfo=UTC) if roles & set(member["roles"]) else None)

    @cached_property
    def readable_before(self) -> dict[int, dict[str, dict[str, bool]]]:
        """By round and rater the items of which they could read labels of others in another round before their own.

        False: in the same second, as far as exported; or as an owner or adjudicator while that one was open.
        """
        places, at = self.rows.submitted(), self.rows.rounds
        labeled = {*places, *self.rows.submitted_in_training}
        anyone = {"owner", "adjudicator", "rater", "reader"}
        found: dict[int, dict[str, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
        for of, item, who in sorted(places):
            if of in self.sheets or not self.rows.answers[of, item, who].blind:
                continue
            until = self.blind_since(of, who)
            for before in at:
                if before != of and (before, item, who) in self.rows.trained:
                    found[of][who].setdefault(item, False)  # told what is known, at a time that is compared
                if before == of or not self.rows.told_by[before, item] - {who}:
                    continue
                if not any((before, item, other) in labeled for other in self.rows.people - {who}):
                    found[of][who].setdefault(item, False)  # told by others, at a time that is compared
                    continue
                over, since = at[before]["resolving_at"], self.roles_since(who, anyone)
                if over and since is not None and max(moment(over), since) <= until:
                    found[of][who][item] = max(moment(over), since) < until or found[of][who].get(item, False)
                decides = self.roles_since(who, {"owner", "adjudicator"})
                is_rater = any(row["code"] == who for row in self.rows.round_raters[before])
                if decides is not None and max(moment(at[before]["opened_at"]), decides) <= until and not is_rater:
                    found[of][who].setdefault(item, False)
        return found

    def third_asked_between(self, of: int) -> tuple[datetime, datetime]:
        """When the first and the last third rater of a round was asked, by the audit log."""
        verbs = ("third rater asked", "third raters asked by rule")
        lines = [line for line in self.rows.audit if line["what"] in verbs and line["detail"]["round"] == of]
        asked = [moment(line["at"]).replace(microsecond=0) for line in lines]
        return min(asked, default=datetime.min.replace(tzinfo=UTC)), max(
            asked, default=datetime.min.replace(tzinfo=UTC)
        )

    @cached_property
    def third_readable_before(self) -> dict[int, dict[str, dict[str, bool]]]:
        """The same of third raters, until they were asked; False, too: when they may have been raters of the round."""
        labeled, at = [*self.rows.submitted(), *self.rows.submitted_in_training], self.rows.rounds
        found: dict[int, dict[str, dict[str, bool]]] = defaultdict(lambda: defaultdict(dict))
        for row in self.third_answers:
            of, item, who = int(row["round"]), row["item"], row["rater"]
            if row["blind"] != "true" or (of, item, who) not in self.rows.labeled:
                continue
            first, last = self.third_asked_between(of)
            is_rater = any(each["code"] == who for each in self.rows.round_raters[of])
            for before in at:
                if before == of or not self.rows.told_by[before, item] - {who}:
                    continue
                if not any(place[:2] == (before, item) and place[2] != who for place in labeled):
                    found[of][who].setdefault(item, False)
                    continue
                over, since = (
                    at[before]["resolving_at"],
                    self.roles_since(who, {"owner", "adjudicator", "rater", "reader"}),
                )
                start = max(moment(over), since) if over and since is not None else None
                if start is not None and start <= last:
                    is_certain = start < (moment(at[of]["opened_at"]) if is_rater else first)
                    found[of][who][item] = is_certain or found[of][who].get(item, False)
                elif self.roles_since(who, {"owner", "adjudicator"}) is not None:
                    found[of][who].setdefault(item, False)
        return found

    def read_before(self, claim: str, of: str, inner: str) -> None:
        told = {code: number(n) for code, n in re.findall(r"(R\d+) \(([\d,]+) items?\)", inner)}
        planned, thirds = self.readable_before.get(int(of), {}), self.third_readable_before.get(int(of), {})
        truth = {code: {**planned.get(code, {}), **thirds.get(code, {})} for code in {*planned, *thirds}}
        self.seen.setdefault("read before", []).append(int(of))
        for code in {*told, *truth}:
            items = truth.get(code, {})
            self.expect(sum(items.values()) <= told.get(code, 0) <= len(items), claim, items)
        self.expect("R" not in re.sub(r"(R\d+) \(([\d,]+) items?\)", "", inner), claim)
        self.resolved_before = {
            code: n
            for code, items in truth.items()
            if (n := len({
                row["item"]
                for row in self.rows.tables["resolutions"]
                if row["decided_by"] == code and row["item"] in items and int(row["round"]) != int(of)
                and moment(row["decided_at"])
                < (self.third_asked_between(int(of))[1] if row["item"] in thirds.get(code, {}) else self.blind_since(int(of), code))
            }))
        }  # fmt: skip
        self.n_resolved_before = self.n_resolved_before + bool(self.resolved_before)

    n_resolved_before = 0

    def had_resolved(self, claim: str, inner: str) -> None:
        told = {code: number(n) for code, n in re.findall(r"(R\d+) for ([\d,]+) items?", inner)}
        self.same(claim, told, self.resolved_before)
        self.n_resolved_before -= 1

    def though(self, claim: str, had_given: str | None, n: str | None, rounds: Sequence[int]) -> None:
        """How many items of some rounds raters labeled who had given, or could read, labels of them elsewhere."""
        items = [each for of in rounds for those in self.readable_before.get(of, {}).values() for each in those.items()]
        given = {item for of, item in self.labeled_elsewhere if of in rounds}
        least, most = {item for item, is_known in items if is_known} | given, {item for item, _ in items} | given
        self.expect(len(least) <= number(n or "0") <= len(most), claim, (len(least), len(most)))
        self.same(claim, bool(had_given), bool(given))

    def withheld(self, claim: str, n: str) -> None:
        """Items that the reader labels in an open round, and that are in another one."""
        own = {
            of
            for of, row in self.rows.rounds.items()
            if row["state"] == "open" and any(each["code"] == self.rows.reader for each in self.rows.round_raters[of])
        }
        rows = [row for row in self.rows.tables["round_items"] if int(row["round"]) in self.rows.rounds]
        here = {row["item"] for row in rows if int(row["round"]) in own}
        self.same(claim, number(n), len({row["item"] for row in rows if int(row["round"]) not in own} & here))

    @property
    def is_source_under_way(self) -> bool:
        """Whether a round of the study that this one was duplicated from is open or being resolved."""
        tables = {} if self.rows.source is None else self.rows.source.tables
        return any(row["state"] in ("open", "resolving") for row in tables.get("rounds", ()))

    @cached_property
    def labeled_elsewhere(self) -> set[tuple[int, str]]:
        """Round and item of what the same account labeled in the study that this one was duplicated from."""
        if self.rows.source is None or self.is_source_under_way:
            return set()
        users = [{each["code"]: each["user"] for each in rows.members} for rows in (self.rows, self.rows.source)]
        there = {(item, users[1][who]) for _, item, who in self.rows.source.submitted()}
        return {(of, item) for of, item, who in self.rows.submitted() if (item, users[0][who]) in there}

    def rated_elsewhere(self, claim: str, n: str) -> None:
        self.seen["rated elsewhere"] = [claim]
        self.same(claim, number(n), len({item for _, item in self.labeled_elsewhere}))

    def hidden_elsewhere(self, claim: str) -> None:
        self.seen["hidden elsewhere"] = [claim]
        self.same(claim, True, self.is_source_under_way)

    def labeled_before(self, claim: str, n: str) -> None:
        self.same(claim, number(n), len(self.labeled_again))

    def trained(self, claim: str, n: str) -> None:
        self.same(claim, number(n), len(self.trained_on))

    @property
    def trained_on(self) -> set[str]:
        """The items with known labels that a person labeled."""
        return {
            row["item"]
            for row in self.rows.tables["answers"]
            if (int(row["round"]), row["item"]) in self.rows.training
            and (row["state"], row["rater"] in self.rows.people) == ("submitted", True)
        }

    def tries(self, claim: str, inner: str) -> None:
        told = re.findall(
            r"([\d,]+) of ([\d,]+) submissions? in the (\w+) try \((\d+) raters?(?:, ([\d,]+) skipped)?\)", inner
        )
        self.same(claim, [nth for _, _, nth, *_ in told], ["first", "second", "third", "fourth"][: len(told)])
        skips = {
            (int(row["round"]), row["rater"], row["item"])
            for row in self.rows.tables["answers"]
            if row["first"] == "true" and row["skip_reason"]
        }
        found: dict[int, list[tuple[str, int, int, int]]] = defaultdict(list)
        had: Counter[str] = Counter()
        for of in sorted({of for of, _ in self.rows.training}):
            for who in sorted(self.rows.people):
                given = self.rows.given_in_training(of, who)
                if given:
                    had[who] += 1
                    right = sum(self.rows.is_known(of, item, labels) for item, labels in given.items())
                    skipped = sum((of, who, item) in skips for item in given)
                    found[had[who]].append((who, right, len(given) - skipped, skipped))
        truth = [
            (*(sum(each[at] for each in those) for at in (1, 2, 3)), len(those)) for _, those in sorted(found.items())
        ]
        self.same(
            claim,
            [(number(right), number(n), number(skipped or "0"), int(raters)) for right, n, _, raters, skipped in told],
            truth,
        )

    def minimum(self, claim: str, of: str, words: str, rest: str) -> None:
        minimum = self.rows.minima[int(of)]
        told = re.search("([\\d.]+)% of the items correct", words)
        self.same(claim, float(told[1]) / 100 if told else None, minimum.get("share"))
        for key, each in minimum.get("dimensions", {}).items():
            self.expect(f"{self.rows.dimensions[key]['title']}: " in words, claim)
            self.expect(f"of at least {each['minimum']:g}" in words, claim)
        came = {row["code"]: row["admission"] for row in self.rows.round_raters[int(of)] if row["admission"]}
        reached = re.search(r"^(R[\dR, and]+) reached it", rest)
        self.same(
            claim,
            re.findall(r"R\d+", reached[1]) if reached else [],
            sorted(code for code, each in came.items() if each["how"] == "reached"),
        )
        let_in = re.findall(r"(R\d+) was let in for the stated reason “(.*?)”", rest)
        truth = {
            line["detail"]["rater"]: line["detail"]["reason"].rstrip(".")
            for line in self.rows.audit
            if line["what"] == "rater let in below the minimum" and line["detail"]["round"] == int(of)
        }
        self.same(claim, dict(let_in), truth)

    def untrained(self, claim: str) -> None:
        self.expect(not self.trained_on, claim)

    # Agreement

    def headline(self, claim: str, rounds: str, chosen: str) -> None:
        self.seen["headline"] = [claim]
        self.same(claim, rounds_in(rounds), self.rows.headline)
        fixed = next((line for line in self.rows.audit if line["what"] == "headline fixed"), None)
        if found := re.fullmatch(
            r"chosen by an owner of the study on (.+), before (?:it was|the first of them was) opened", chosen
        ):
            assert fixed is not None
            self.same(claim, day(found[1]), fixed["at"][:10])
            opened = [line["at"] for line in self.rows.audit if line["what"] == "round opened"
                      and line["detail"]["round"] in self.rows.headline]  # fmt: skip
            self.expect(fixed["at"] < min(opened), claim)
            return
        found = re.fullmatch(r"(the only|all) finished main rounds? under version (\d+) of the taxonomy", chosen)
        assert found is not None
        self.expect(fixed is None, claim)
        self.same(claim, found[1], "the only" if len(self.rows.headline) == 1 else "all")
        self.same(claim, {found[2]}, {self.rows.rounds[each]["taxonomy_version"] for each in self.rows.headline})

    def no_headline(self, claim: str, because: str) -> None:
        self.seen["headline"] = [claim]
        if (
            found := re.fullmatch("no unit has two labels that count( before discussion)?", because)
        ) and self.rows.headline:
            self.same(claim, found[1] is None, self.is_undated)
            tables = [self.table(key, self.rows.headline) for key in self.rows.measured]
            self.expect(not any(table.n_units for table in tables), claim)
            return
        self.same(claim, [], self.rows.headline)
        self.same(claim, because, self.why_none)

    @property
    def why_none(self) -> str:
        """Why there is no headline."""
        fixed = next((line["detail"]["rounds"] for line in self.rows.audit if line["what"] == "headline fixed"), [])
        if len(fixed) == 1:
            return f"round {fixed[0]}, fixed as the headline, is not finished"
        return "rounds fixed as the headline are not finished" if fixed else "no main round is finished"

    @property
    def is_undated(self) -> bool:
        """Whether sheets brought labels of the headline: nobody knows whether they are from before discussion."""
        return bool(set(self.sheets) & set(self.rows.headline))

    def not_compared(self, claim: str, title: str, before: str | None) -> None:
        self.same(claim, before is None, self.is_undated)
        self.same(claim, self.table(self.of(title), self.rows.headline).n_units, 0)

    def chosen(self, titles: str, name: str, threshold: str | None, claim: str) -> None:
        """A coefficient is that of the study's settings, and the threshold too."""
        for key in self.those(titles):
            entry = self.rows.study["primary"].get(key, {})
            self.same(claim, name, self.name_of(key))
            self.same(claim, None if threshold is None else float(threshold), entry.get("threshold"))

    def registered_name(self, key: str) -> str:
        """The name under the kind that the dimension had in its first version."""
        rows = [row for row in self.rows.tables["dimensions"] if row["dimension"] == key]
        return self.name_of(key, min(rows, key=lambda row: int(row["taxonomy_version"]))["kind"])

    def name_of(self, key: str, kind: str = "") -> str:
        entry = self.rows.study["primary"][key]
        kind = kind or self.rows.dimensions[key]["kind"]
        metric = {"multi": "MASI distance", "ordinal": "ordinal metric", "number": "interval metric"}.get(
            kind, "nominal metric"
        )
        return {
            "krippendorff_alpha": f"Krippendorff’s α ({metric})",
            "cohen_kappa": "Cohen’s κ",
            "fleiss_kappa": "Fleiss’ κ",
            "gwet_ac1": "Gwet’s AC1",
            "percent_agreement": "percent agreement",
            "weighted_kappa": f"weighted κ ({entry.get('weights') or 'quadratic'} weights)"
            if kind in ("ordinal", "number")
            else "weighted κ",
        }[entry["coefficient"]]

    def kind_changes(self, key: str) -> list[tuple[int, str, str]]:
        """The versions up to the newest one used that changed the kind of a dimension, with both kinds."""
        newest = max(int(row["taxonomy_version"]) for row in self.rows.rounds.values())
        rows = [row for row in self.rows.tables["dimensions"] if row["dimension"] == key]
        rows = sorted(rows, key=lambda row: int(row["taxonomy_version"]))
        return [
            (int(row["taxonomy_version"]), before["kind"], row["kind"])
            for before, row in pairwise(rows)
            if before["kind"] != row["kind"] and int(row["taxonomy_version"]) <= newest
        ]

    def changed_since(self, claim: str, inner: str) -> None:
        kinds = {answers.replace("{n}", "the"): kind for kind, answers in ANSWERS.items()}
        told = re.findall(
            r"version (\d+) of the taxonomy changed the answers to (.*?) from (.*?) to (.*?)(?=, version| and version|$)",
            inner,
        )
        (titles,) = {titles for _, titles, *_ in told}
        for key in self.those(titles):
            self.seen.setdefault("changed since", []).append(key)
            found = [(int(number_), kinds[before], kinds[after]) for number_, _, before, after in told]
            self.same(claim, found, self.kind_changes(key))

    def computed_instead(self, claim: str, of: str, name: str | None, none: str | None) -> None:
        key = self.seen["changed since"][-1]
        self.same(claim, int(of), self.kind_changes(key)[0][0])
        has_none = self.name_of(key) == "weighted κ"
        self.same(claim, (name, none), (None, "weighted κ") if has_none else (self.name_of(key), None))

    def registered_as(self, claim: str, title: str, name: str) -> None:
        self.same(claim, name, self.registered_name(self.of(title)))

    @property
    def is_copy(self) -> bool:
        return any(line["what"] == "duplicated from a study" for line in self.rows.audit)

    def copied(self, claim: str, n: str) -> None:
        self.seen["copied"] = [claim]
        (line,) = [line for line in self.rows.audit if line["what"] == "duplicated from a study"]
        self.same(claim, number(n), line["detail"]["items"])

    def registered(
        self, claim: str, titles: str, name: str, threshold: str | None, when: str, before: str, here: str | None
    ) -> None:
        self.same(claim, bool(here), self.is_copy)
        self.same(claim, before == "labeling began", not self.sheets)
        for key in self.those(titles):
            entry = self.rows.study["primary"][key]
            self.same(claim, None if threshold is None else float(threshold), entry.get("threshold"))
            self.same(claim, name, self.registered_name(key))
            self.expect(self.is_registered(key, day(when)), claim, f"nothing registers {key} on that day")

    def is_registered(self, key: str, on: str | None = None) -> bool:
        """Whether the audit log has a confirmation of a dimension's coefficient from before the first opening."""
        opened = [
            line["at"]
            for line in self.rows.audit
            if (line["what"] == "round opened" and line["detail"]["round"] in self.rows.rounds)
            or line["what"] == "ratings imported"
        ]
        for line in self.rows.audit:
            detail = line["detail"]
            named = (
                (line["what"] == "study created" and key in detail.get("registered", []))
                or (line["what"] == "coefficients registered" and key in detail.get("dimensions", []))
                or (line["what"] == "study changed" and "primary" in detail.get("fields", []))
            )
            is_early = not opened or line["at"] <= min(opened)
            if named and is_early and on in (None, line["at"][:10]):
                return bool(self.rows.study["primary"].get(key, {}).get("registered"))
        return False

    def unregistered(self, claim: str, titles: str, name: str, threshold: str | None, default: str | None) -> None:
        self.chosen(titles, name, threshold, claim)
        for key in self.those(titles):
            self.expect(not self.is_registered(key), claim, f"{key} was registered")
            is_default = (self.name_of(key).startswith(DEFAULT[0]), threshold and float(threshold)) == (
                True,
                DEFAULT[1],
            )
            self.same(claim, bool(default), is_default)

    def reason(self, claim: str, titles: str, words: str) -> None:
        for key in self.those(titles):
            given = self.rows.study["primary"][key].get("reason", "").strip().rstrip(".")
            self.same(claim, words, given)

    def agreement(
        self, claim: str, title: str, when: str | None, had_given: str | None, though: str | None, name: str,
        value: str, low: str | None, high: str | None, n: str, raters: str, apart: str | None,
    ) -> None:  # fmt: skip
        when = self.time(claim, when)
        key = self.of(title)
        table = self.table(key, self.rows.headline, when)
        full = self.name_of(key)
        self.expect(full.startswith(name), claim, full)
        self.expect(is_printed(statistics.value_of(full, table), value), claim, statistics.value_of(full, table))
        self.same(claim, (number(n), number(raters)), (table.n_units, len(table.raters)))
        self.same(claim, bool(apart), when == "after")
        self.though(claim, had_given, though, self.rows.headline if when == "before" else ())
        self.seen.setdefault("agreement", []).append((key, when, low, high, claim))

    def time(self, claim: str, when: str | None) -> str:
        self.expect(when == "after" or (when is None) == self.is_undated, claim)
        return when or "before"

    def undefined(
        self, claim: str, name: str, title: str, when: str | None, had_given: str | None, though: str | None, n: str,
        raters: str,
    ) -> None:  # fmt: skip
        when = self.time(claim, when)
        key = self.of(title)
        self.though(claim, had_given, though, self.rows.headline if when == "before" else ())
        table = self.table(key, self.rows.headline, when)
        self.expect(math.isnan(statistics.value_of(self.name_of(key), table)), claim)
        self.same(claim, (number(n), number(raters)), (table.n_units, len(table.raters)))

    def threshold(self, claim: str, stands: str, at: str, part: str | None) -> None:
        key, when, low, high, _ = self.seen["agreement"][-1]
        value = statistics.value_of(self.name_of(key), self.table(key, self.rows.headline, when))
        self.same(claim, float(at), self.rows.study["primary"][key].get("threshold"))
        self.same(claim, stands, "reaches" if value >= float(at) - 1e-9 else "is below")
        edges = [decimal(each)[0] for each in (low, high) if each]
        includes = bool(edges) and (edges[0] < float(at) if stands == "reaches" else edges[1] >= float(at))
        wanted = (" lower values" if stands == "reaches" else " it") if includes else None
        close = edges and min(abs(edge - float(at)) for edge in edges) < 0.006
        self.expect(part == wanted or bool(close), claim)

    def by_round(self, claim: str, name: str, title: str, inner: str) -> None:
        key = self.of(title)
        told = re.findall(rf"{NUMBER} \((pilot )?round (\d+), n = ([\d,]+) units?\)", inner)
        having = []
        for of, row in self.rows.rounds.items():
            table = self.table(key, [of])
            if table.n_units:
                having.append((of, row["kind"] == "pilot", table.n_units))
        self.same(claim, [(int(of), bool(pilot), number(n)) for _, pilot, of, n in told], having)
        self.expect(self.name_of(key).startswith(name), claim)
        for value, _, of, _ in told:
            found = statistics.value_of(self.name_of(key), self.table(key, [int(of)]))
            self.expect(is_printed(found, value), claim, found)

    def excluded(self, claim: str, title: str, n: str, why: str) -> None:
        key = self.of(title)
        found = self.rows.excluded(key, self.rows.headline)
        most = {
            "only one label on the dimension counts" + (" before discussion" * (not self.is_undated)): found["all"],
            "the item has only one rater" if self.is_undated else "only one rater was planned for the item": found[
                "alone"
            ],
            "another rater skipped the item": found["skipped"],
            "the dimension did not apply for another rater": found["submitted"],
        }[why]
        self.expect(0 < number(n) <= most, claim, most)
        self.seen.setdefault("excluded", []).append((key, number(n)))

    def computed(self, claim: str, titles: str | None, how: str, software: str) -> None:
        self.same(claim, software, self.rows.software)
        self.expect(how in PHRASES, claim, "a method that this checker does not compute")
        for key, when, low, high, of in self.seen.get("agreement", []):
            if titles is not None and key not in self.those(titles):
                continue
            table = self.table(key, self.rows.headline, when)
            if when == "before" and low is not None:
                is_exact = how.startswith("one-sided")
                self.same(f"{claim} of {key}", is_exact, statistics.is_perfect(table))
                self.expect(is_exact or PHRASES.get(how, bool(table.clusters)) == bool(table.clusters), claim, key)
            self.interval(key, table, low, high, of, clustered=bool(table.clusters), is_known=how in PHRASES)

    def interval(
        self, key: str, table: statistics.Table, low: str | None, high: str | None, claim: str, *, clustered: bool,
        is_known: bool = True,
    ) -> None:  # fmt: skip
        if low is None or high is None or not is_known:
            return
        found = statistics.interval(self.name_of(key), table, clustered=clustered)
        self.expect(
            found is not None and is_printed(found[0], low) and is_printed(found[1], high), claim, f"interval {found}"
        )

    def few_units(self, claim: str, once: str) -> None:
        """Some value has no interval, and each that has none is of a table for which none is computed."""
        bare = [(key, when) for key, when, low, _, _ in self.seen.get("agreement", []) if low is None]
        tables = [self.table(key, self.rows.headline, when) for key, when in bare]
        for (key, _), table in zip(bare, tables, strict=True):
            found = statistics.interval(self.name_of(key), table, clustered=bool(table.clusters))
            self.expect(found is None, claim, key)
        self.expect(any(table.n_units < 5 for table in tables) if not once else bool(tables), claim, tables)
        self.same(claim, bool(once), any(table.n_units >= 5 for table in tables))

    def no_interval(self, claim: str, software: str) -> None:
        self.same(claim, software, self.rows.software)

    # Disagreements

    def revised(self, claim: str, n: str, whole: str) -> None:
        those = [self.rows.answers[place] for place in self.rows.submitted(blank=True)]
        changed = sum(0 < each.blind < each.current for each in those)
        self.same(claim, (number(n), number(whole)), (changed, len(those)))

    @property
    def disputed(self) -> Mapping[str, int]:
        """Resolutions by way: those of places on which raters agreed are overruled labels, unless they say the same."""
        found: dict[str, int] = {}
        for place, row in self.rows.resolutions.items():
            if not self.is_standing(place):
                continue
            number_, item, part, key = place
            given = self.rows.units(key, [number_], "after").get((number_, item, part), {})
            of_raters = {rater for of, at, rater in self.rows.submitted(number_) if at == item}
            values = list(given.values())
            agreed = len(values) > 1 and len(set(map(repr, values))) == 1 and len(values) == len(of_raters)
            skipped = any(
                each.state == "skipped"
                for (of, at, _), each in self.rows.answers.items()
                if (of, at) == (number_, item)
            )
            way = row.get("reported_as") or row["method"]
            if way == "meeting" and not self.is_met(place, row):
                way = "other_meeting"
            agreed = agreed and all(self.is_same(values[0], words) for words in self.third_values.get(place, ()))
            is_agreed = agreed and not skipped and way != "imported" and "PENDING" not in repr(values)
            if is_agreed and self.is_same(values[0], row["values"]):
                self.confirmed.add(place)
                continue
            is_new = not values and place in self.of_new_questions
            if is_new or (len(values) < 2 and way != "imported" and self.is_of_one((number_, item)) and not skipped):
                if values and self.is_same(values[0], row["values"]):
                    self.confirmed.add(place)
                    continue
                way = "alone"
            found["overruled" if is_agreed else way] = found.get("overruled" if is_agreed else way, 0) + 1
        return found

    @cached_property
    def of_new_questions(self) -> set[tuple[int, str, int, str]]:
        """The places whose question depends on one that was resolved."""
        return {
            place
            for place in self.rows.resolutions
            if (above := self.above(place)[0]) and (*place[:3], above) in self.rows.resolutions
        }

    def above(self, place: tuple[int, str, int, str]) -> tuple[str, str, str]:
        """The question that another one depends on, the values that call for it, and the version."""
        version = self.rows.rounds[place[0]]["taxonomy_version"]
        for row in self.rows.tables["dimensions"]:
            if (row["taxonomy_version"], row["dimension"]) == (version, place[3]):
                return row["applies_when"], row["applies_when_is"], version
        return "", "", version

    @property
    def n_unanswered(self) -> int:
        """Required questions of closed rounds that arose from a resolution, and that nobody answered or resolved."""
        found = 0
        for of, item, part, key in self.rows.resolutions:
            for row in self.rows.tables["dimensions"] if self.rows.rounds[of]["state"] == "closed" else ():
                place = (of, item, part, row["dimension"])
                is_asked = self.above(place)[0] == key and self.is_standing(place) and row["required"] == "true"
                if is_asked and row["taxonomy_version"] == self.rows.rounds[of]["taxonomy_version"]:
                    given = self.rows.units(row["dimension"], [of], "after").get((of, item, part), {})
                    found += not given and place not in self.rows.resolutions
        return found

    def unanswered(self, claim: str, n: str) -> None:
        self.seen["unanswered"] = [claim]
        self.same(claim, number(n), self.n_unanswered)

    def is_of_one(self, place: tuple[int, str]) -> bool:
        """Whether one rater was planned for an item, so that nobody can differ."""
        rows = self.rows.tables["round_items"]
        return any((int(row["round"]), row["item"], row["n_raters"]) == (*place, "1") for row in rows)

    def is_standing(self, place: tuple[int, str, int, str]) -> bool:
        """Whether the question of a place applies under what raters agreed on or was resolved above it."""
        of, item, part, _ = place
        above, values_asked, version = self.above(place)
        if not above:
            return True
        asks = set(values_asked.split(";"))
        if not self.is_standing((of, item, part, above)):
            return False
        if (row := self.rows.resolutions.get((of, item, part, above))) is not None:
            values = set(row["values"].split(";"))
        else:
            given = self.rows.units(above, [of], "after").get((of, item, part), {})
            if not given:
                return True
            sets = [value if isinstance(value, frozenset) else {str(value)} for value in given.values()]
            if any(each != sets[0] for each in sets):
                return False
            values = set(sets[0])
        parents = {
            row["category"]: row["parent"] for row in self.rows.tables["categories"]
            if (row["dimension"], row["taxonomy_version"]) == (above, version)
        }  # fmt: skip
        while values:
            if values & asks:
                return True
            values = {parents[each] for each in values if parents.get(each)}
        return False

    def alone(self, claim: str, n: str) -> None:
        self.same(claim, number(n), self.disputed.get("alone", 0))

    @property
    def n_reopened(self) -> int:
        newest: dict[tuple[str, ...], Mapping[str, str]] = {}
        for row in sorted(self.rows.tables["resolutions"], key=lambda row: int(row["revision"])):
            newest[row["round"], row["item"], row["part"], row["dimension"]] = row
        return sum(row["method"] == "reopened" and int(row["round"]) in self.rows.rounds for row in newest.values())

    def reopened(self, claim: str, n: str) -> None:
        self.seen["reopened"] = [claim]
        self.same(claim, number(n), self.n_reopened)

    def moot(self, claim: str, n: str) -> None:
        self.seen["moot"] = [claim]
        self.same(claim, number(n), sum(not self.is_standing(place) for place in self.rows.resolutions))

    def is_met(self, place: tuple[int, str, int, str], row: Mapping[str, str]) -> bool:
        """Whether a rater who answered the item took part in the meeting."""
        here = {
            each["rater"]
            for each in self.rows.tables["answers"]
            if (int(each["round"]), each["item"]) == place[:2] and each["current"] == "true"
        }
        return bool(here & set(row["meeting_participants"].split(";")))

    def present(self, claim: str, who: str) -> None:
        """Who took part in meetings without a rater of the item."""
        apart: set[str] = set()
        for place, row in self.rows.resolutions.items():
            if row["reported_as"] == "meeting" and not self.is_met(place, row):
                apart |= set(row["meeting_participants"].split(";"))
        codes = {each for each in apart if re.fullmatch(r"R\d+", each)}
        others = re.search(r"(\d+) other (?:person|people)", who)
        self.same(claim, set(re.findall(r"R\d+", who)), codes)
        self.same(claim, int(others[1]) if others else 0, len(apart - codes))

    @cached_property
    def third_values(self) -> dict[tuple[int, str, int, str], list[str]]:
        """What third raters gave last, by place: where they differ from raters who agree, there is a disagreement."""
        third = {(row["round"], row["item"], row["rater"]) for row in self.third_answers}
        found: dict[tuple[int, str, int, str], list[str]] = {}
        for row in self.rows.tables["ratings"]:
            if row["current"] == "true" and (row["round"], row["item"], row["rater"]) in third:
                place = (int(row["round"]), row["item"], int(row["part"]), row["dimension"])
                found.setdefault(place, []).append(row["values"].strip("[]"))
        return found

    @staticmethod
    def is_same(value: Any, words: str) -> bool:
        if isinstance(value, float):
            return bool(words) and float(words) == value
        return (value if isinstance(value, frozenset) else {value}) == {each for each in words.split(";") if each}

    def elsewhere(self, kind: str) -> dict[tuple[int, str, int, str], Mapping[str, str]]:
        """The newest resolution of each place in rounds of another kind, where it is of a disagreement."""
        rounds = {row["round"] for row in self.rows.tables["rounds"] if row["kind"] == kind}
        newest: dict[tuple[int, str, int, str], Mapping[str, str]] = {}
        for row in sorted(self.rows.tables["resolutions"], key=lambda row: int(row["revision"])):
            if row["round"] in rounds:
                newest[int(row["round"]), row["item"], int(row["part"]), row["dimension"]] = row
        return {place: row for place, row in newest.items() if row["method"] not in ("reopened", "imported")}

    def scoped(self, claim: str, scope: str | None) -> None:
        """Whether other disagreements were resolved is told with every count of those of pilot and main rounds."""
        self.same(claim, bool(scope), any(self.elsewhere(kind) for kind in ("relabel", "screening")))

    def resolved_elsewhere(self, claim: str, where: str, n: str, inner: str) -> None:
        kind = "relabel" if where.startswith("relabeling") else "screening"
        self.seen[f"resolved in {kind}"] = [claim]
        found = self.elsewhere(kind)
        told = {WAYS[words]: number(n_) for n_, words in (each.split(" ", 1) for each in inner.split("; "))}
        self.same(claim, told, dict(Counter(row["reported_as"] or row["method"] for row in found.values())))
        self.same(
            claim, (number(n), rounds_in(where.partition(" ")[2])), (len(found), sorted({of for of, *_ in found}))
        )

    def resolved(self, claim: str, n: str, scope: str | None, inner: str) -> None:
        self.seen["resolved"] = [claim]
        self.scoped(claim, scope)
        if who := re.search(r" as reported in Concord \((.*?)\)", inner):
            self.present(claim, who[1])
            inner = inner.replace(f" ({who[1]})", "")
        told = {WAYS[words]: number(n_) for n_, words in (each.split(" ", 1) for each in inner.split("; "))}
        self.same(claim, number(n), sum(told.values()))
        truth = {way: n_ for way, n_ in self.disputed.items() if way not in ("overruled", "imported", "alone")}
        self.same(claim, told, truth)

    def overruled(self, claim: str, n: str) -> None:
        self.same(claim, number(n), self.disputed.get("overruled", 0))

    def entered(self, claim: str, who: str) -> None:
        _ = self.disputed
        by = {
            row["decided_by"]
            for place, row in self.rows.resolutions.items()
            if row["method"] != "imported"
            and row["decided_by"]
            and place not in self.confirmed
            and self.is_standing(place)
        }
        codes = {code for code in by if re.fullmatch(r"R\d+", code)}
        others = re.search(r"(\d+) (?:person|people) who did not label", who)
        self.same(claim, set(re.findall(r"R\d+", who)), codes)
        self.same(claim, int(others[1]) if others else 0, len(by - codes))

    def unresolved(self, claim: str, n: str) -> None:
        self.seen["unresolved"] = [claim]
        self.expect(number(n) >= self.n_left, claim, self.n_left)
        self.expect(any(row["state"] == "closed" for row in self.rows.rounds.values()), claim)

    @property
    def n_left(self) -> int:
        """The places of closed rounds on which two raters gave values that differ, and nobody resolved: the least."""
        closed = [of for of, row in self.rows.rounds.items() if row["state"] == "closed"]
        differ = 0
        for key in self.rows.dimensions:
            for (of, item, part), given in self.rows.units(key, closed, "after").items():
                differ += len(set(map(repr, given.values()))) > 1 and (of, item, part, key) not in self.rows.resolutions
        return differ

    @property
    def n_differing(self) -> int:
        """The places on which raters who labeled an item differ, in a value or in having one."""
        labeled = Counter((of, item) for of, item, _ in self.rows.submitted())
        return sum(
            len(set(map(repr, given.values()))) > 1 or len(given) < labeled[of, item]
            for key in self.rows.dimensions
            for (of, item, _), given in self.rows.units(key, list(self.rows.rounds), "after").items()
        )

    def no_disagreement(self, claim: str, scope: str | None = None) -> None:
        self.scoped(claim, scope)
        places = [(of, item) for of, item, _ in self.rows.submitted()]
        self.expect(len(set(places)) < len(places), claim, "nothing was labeled twice")
        for key in self.rows.dimensions:
            for given in self.rows.units(key, list(self.rows.rounds), "after").values():
                self.expect(len(set(map(repr, given.values()))) < 2, claim, given)

    def not_resolved(self, claim: str, scope: str | None = None) -> None:
        self.scoped(claim, scope)
        self.expect(not {way for way in self.disputed if way not in ("overruled", "imported", "alone")}, claim)

    @property
    def not_closed(self) -> list[int]:
        """The rounds that are being resolved, without those of training items alone."""
        counting = {
            int(row["round"]) for row in self.rows.tables["round_items"]
            if (int(row["round"]), row["item"]) not in self.rows.training
        }  # fmt: skip
        return [of for of, row in self.rows.rounds.items() if row["state"] == "resolving" and of in counting]

    def resolving(self, claim: str, rounds: str) -> None:
        self.same(claim, rounds_in(rounds), self.not_closed)

    def used(self, claim: str, title: str, n: str, whole: str) -> None:
        key = self.of(title)
        self.expect(self.rows.dimensions[key]["kind"] in ("ordinal", "number"), claim)
        self.expect(self.name_of(key).startswith("Krippendorff"), claim)
        given = [
            list(each.values()) for each in self.rows.units(key, self.rows.headline, "before").values() if len(each) > 1
        ]
        used = sum(len([value for value in each if value != "PENDING"]) > 1 for each in given)
        self.same(claim, (number(n), number(whole)), (used, len(given)))

    def proposals(self, claim: str, n: str, several: str | None) -> None:
        self.same(claim, bool(several), number(n) > 1)
        those = {
            (row["round"], row["item"], row["rater"], row["part"], row["dimension"], row["proposal"])
            for row in self.rows.tables["ratings"]
            if row["proposal"]
            and (int(row["round"]), row["item"]) not in self.rows.training
            and row["rater"] in self.rows.people
        }
        self.same(claim, number(n), len(those))

    def versions(self, claim: str, inner: str) -> None:
        told = {
            number_: version
            for words, version in re.findall(r"([Rr]ounds? [\d, and to]+?) used version (\d+)", inner)
            for number_ in rounds_in(words)
        }
        truth = {number_: self.rows.rounds[number_]["taxonomy_version"] for number_, *_ in self.rows.submitted()}
        self.same(claim, told, truth)

    def gate(self, claim: str, of: str, how: str, pilot: str, rest: str) -> None:
        line = next(
            each for each in self.rows.audit
            if each["what"] == "round opened" and each["detail"]["round"] == int(of)
        )  # fmt: skip
        detail = line["detail"]
        self.same(claim, int(pilot), detail.get("pilot"))
        self.same(claim, how == "after", detail.get("advice") == "open")
        fixed = {
            key: entry["threshold"]
            for key, entry in self.rows.study["primary"].items()
            if entry["registered"] and entry.get("threshold") is not None and key in self.rows.dimensions
        }
        missed = []
        for key in self.rows.measured:
            if key in fixed:
                value = statistics.value_of(self.name_of(key), self.table(key, [int(pilot)]))
                if math.isnan(value) or value < fixed[key] - 1e-9:
                    missed.append(self.rows.dimensions[key]["title"])
        if how == "after":
            self.expect(not missed, claim, missed)
            n = re.fullmatch(r"the threshold|all (\d+) thresholds", rest)
            assert n is not None
            self.same(claim, int(n[1] or 1), len(fixed))
            return
        names, _, why = rest.partition(" for the stated reason ")
        self.same(claim, [self.rows.dimensions[key]["title"] for key in self.those(names)], missed)
        if why:
            self.same(claim, why.strip("“”"), detail.get("reason", "").strip().rstrip("."))

    # Checklist

    def checklist(self, found: Sequence[Mapping[str, str]]) -> list[str]:
        """Complaints about a checklist: entries with key, answer and evidence. What to mend is advice."""
        for each in found:
            key, evidence, answer = each["key"], each["evidence"], each["answer"]
            try:
                getattr(self, f"check_{key}")(evidence, answer)
            except (AttributeError, AssertionError, KeyError, ValueError, TypeError) as error:
                self.complaints.append(f"{key}: {evidence!r} can't be traced: {error!r}")
        return self.complaints

    def check_properties(self, text: str, answer: str) -> None:
        told = [
            f"{row['title']} ({answers_of(row['kind'], len(self.rows.categories(key)))})"
            for key, row in self.rows.dimensions.items()
            if key in self.rated
        ]
        if not told:
            self.same(text, text, "Nothing has been labeled yet.")
            return
        said, _, rest = text.partition(" No label was given on")
        self.same(text, said, f"{len(told)} dimension{'s' if len(told) != 1 else ''}: {'; '.join(told)}.")
        self.same(text, bool(rest), bool(set(self.rows.dimensions) - self.rated))
        self.sentences(f"No label was given on{rest}" if rest else "")

    def check_unit(self, text: str, answer: str) -> None:
        n = len({item for _, item, _ in self.rows.submitted()})
        told, _, rest = text.partition(" in total.")
        self.same(text, told, f"An item in a round, or each of its parts. {n} item{'s' if n != 1 else ''}")
        self.sentences(rest)
        self.same(text, bool(rest), bool(self.matched_by_hand))

    def check_raters(self, text: str, answer: str) -> None:
        if not self.rows.headline:
            self.same(text, answer, "missing")
            if self.rows.submitted():
                why, _, double = text.partition(". ")
                self.same(text, why.lower(), self.why_none)
                self.sentences(double)
            return
        said, _, double = text.partition(". ")
        self.sentences(double)
        who = (
            rf"(\d+) raters? \((R[\dR, and]+)\)(?:, of whom (\d+) \((R[\dR, and]+)\) were compared in {ROUNDS}(?=;|$))?"
        )
        for titles, n, codes, n_of, of, rounds in re.findall(rf"{self.titles}: {who}", said, re.IGNORECASE):
            self.expect(not rounds or rounds_in(rounds) == self.rows.headline, text, self.rows.headline)
            for key in self.those(titles if titles != "Every dimension" else "every dimension"):
                raters, every = self.table(key, self.rows.headline).raters, self.raters_of(key)
                if raters or titles.lower() != "every dimension":
                    self.same(text, (int(n), several(codes)), (len(every), every))
                    self.same(text, (int(n_of or n), several(of or codes)), (len(raters), raters))

    def raters_of(self, key: str) -> list[str]:
        """Who holds a label on a dimension in some round, third raters apart."""
        of = {
            row["rater"]
            for row in self.rows.tables["ratings"]
            if row["current"] == "true" and row["dimension"] == key
            and (int(row["round"]), row["item"], row["rater"]) in self.rows.answers
            and row["rater"] in self.rows.people
        }  # fmt: skip
        return sorted(of, key=lambda code: (len(code), code))

    def check_single_rater(self, text: str, answer: str) -> None:
        by: dict[str, dict[int, int]] = {}
        for number_, item, _ in self.rows.submitted():
            by.setdefault(item, {}).setdefault(number_, 0)
            by[item][number_] += 1
        n = sum(max(found.values()) < 2 for found in by.values())
        told = re.fullmatch(r"(\d+) items? had a single rater in every round\.", text)
        self.same(text, int(told[1]) if told else text, n or "Within a round, two or more raters labeled every item.")

    def check_independent(self, text: str, answer: str) -> None:
        of_all = re.match(
            r"All (\d+) submissions? came from sheets, which do not show whether raters worked independently\.$", text
        )
        if of_all is not None:
            n = sum(place[0] in self.sheets for place in self.rows.submitted(blank=True))
            self.same(text, (int(of_all[1]), answer), (n, "missing"))
            self.same(text, n, len(self.rows.submitted(blank=True)))
            return
        some = re.search(r" ?(\d+) of (\d+) submissions? came from sheets\.", text)
        if some is not None:
            n = sum(place[0] in self.sheets for place in self.rows.submitted(blank=True))
            self.same(text, (int(some[1]), int(some[2])), (n, len(self.rows.submitted(blank=True))))
        self.sentences(text.replace(some[0], "") if some else text)
        self.same(text, bool(self.labeled_again), "in an earlier round by at least one of the same raters" in text)
        read = {int(of) for of in re.findall(r"Before labeling items in round (\d+), R", text)}
        certain = {
            of for of, those in self.readable_before.items() if any(any(each.values()) for each in those.values())
        }
        self.expect(certain <= read <= set(self.readable_before), text, certain)
        again = bool(self.labeled_again or read or self.labeled_elsewhere)
        self.same(text, bool(self.labeled_elsewhere), "in a study that this one was duplicated from" in text)
        hidden = self.is_source_under_way
        self.same(text, hidden, "is a copy of is hidden" in text)
        copied = [
            line for line in self.rows.audit if line["what"] == "duplicated from a study" and line["detail"]["items"]
        ]
        self.same(text, bool(copied), "was duplicated from another one" in text)
        self.same(text, answer, "partly" if some or again or copied or hidden else "yes")

    def check_resolved(self, text: str, answer: str) -> None:
        if text.startswith("There was no disagreement to resolve"):
            self.sentences(text)
            return
        waiting = re.search(rf"Still being resolved: {ROUNDS}\.", text)
        truth = self.not_closed
        self.same(text, rounds_in(waiting[1]) if waiting else [], truth)
        said = text[: waiting.start()].strip() if waiting else text
        if brought := re.search(rf" ?(?:In total, )?{COUNT} final labels? (?:was|were) imported from sheets\.", said):
            self.final(brought[0], brought[1])
            said = said.replace(brought[0], "").strip()
        self.sentences(said)

    def check_scale(self, text: str, answer: str) -> None:
        told = [f"{row['title']}: {SCALES[row['kind']]}" for row in self.rows.dimensions.values()]
        self.same(text, text, "; ".join(told) + ".")

    def check_statistic(self, text: str, answer: str) -> None:
        if not self.rows.headline:
            self.same(text, text.lower(), f"{self.why_none}.")
            return
        keys = []
        for title, name, value, low, high in re.findall(
            rf"{self.title}: ([^:;]*?) {NUMBER}(?: \(\[{NUMBER}, {NUMBER}\]\))?(?=[;.])", text
        ):
            key = self.of(title)
            keys.append(key)
            table = self.table(key, self.rows.headline)
            self.same(text, name, self.name_of(key))
            self.expect(is_printed(statistics.value_of(name, table), value), f"{title}: {value}")
            self.interval(key, table, low or None, high or None, f"{title}: {low}", clustered=bool(table.clusters))
        self.same(text, keys, self.rows.measured)

    def check_materials(self, text: str, answer: str) -> None:
        found = re.fullmatch(
            r"The rating scheme is (versions? [\d, and to]+) of “(.*?)”(?:, with (its definitions|definitions of ([\d,]+) of ([\d,]+) categories))?\."
            r"( Concord lists the disagreements with the label of each rater\.)?( The table has the values by dimension and round\.)?"
            r"( The guidelines contain the decision rules\.)?",
            text,
        )
        assert found is not None
        self.same(text, (rounds_in(found[1]), found[2]), (self.rows.versions, self.rows.study["taxonomy_title"]))
        categories = [row for key in self.rows.dimensions for row in self.rows.newest_categories(key)]
        n = sum(bool(row["definition"].strip()) for row in categories)
        told = len(categories) if found[3] == "its definitions" else number(found[4] or "0")
        self.same(text, (told, number(found[5] or str(len(categories)))), (n, len(categories)))
        proposed = {row["proposal"] for row in self.rows.tables["ratings"] if row["proposal"]}
        self.expect(not found[6] or self.disputed or self.n_differing or len(proposed) > 1, text)
        compared = [self.table(key, self.rows.headline) for key in self.rows.measured if self.rows.headline]
        self.same(text, bool(found[7]), any(table.paired.any() for table in compared))
        self.same(text, bool(found[8]), bool(self.rows.study["guidelines"].strip()))

    def check_justified(self, text: str, answer: str) -> None:
        reasons = {
            self.rows.dimensions[key]["title"]: entry["reason"].strip().rstrip(".")
            for key, entry in self.rows.study["primary"].items()
            if entry.get("reason")
        }
        told = [
            f"{row['title']}: {reasons[row['title']]}"
            for row in self.rows.dimensions.values()
            if row["title"] in reasons
        ]
        self.same(text, text, "; ".join(told) + "." if told else "No reason is recorded for any dimension.")

    def check_thresholds(self, text: str, answer: str) -> None:
        pieces = re.split(rf"; (?={self.title}: )", text.rstrip("."))
        pieces = [piece for piece in pieces if ": " in piece]
        for piece in pieces if not self.rows.headline else ():
            found = re.fullmatch(rf"{self.title}: threshold (-?\d\.\d+), and {self.why_none}", piece)
            assert found is not None, piece
            self.same(piece, float(found[2]), self.rows.study["primary"][self.of(found[1])].get("threshold"))
        for piece in pieces if self.rows.headline else ():
            found = re.fullmatch(
                rf"{self.title}: {NUMBER} against (-?\d\.\d+)(?:, (reaches|is below) the threshold of (-?\d\.\d+)"
                r"(, but the 95% CI includes (?:lower values|it))?)?((?:, “[^”]+” on the scale of [A-Z][\w ]+?(?: \(at least “[^”]+”, 95%\))?)*)",
                piece,
            )
            assert found is not None, piece
            title, value, at, stands, again, _, words = found.groups()
            key = self.of(title)
            truth = (
                statistics.value_of(self.name_of(key), self.table(key, self.rows.headline))
                if self.rows.headline
                else math.nan
            )
            self.expect(is_printed(truth, value), piece, truth)
            self.same(piece, float(at), self.rows.study["primary"][key].get("threshold"))
            self.same(piece, again, at if stands else None)
            if stands:
                self.same(piece, stands, "reaches" if truth >= float(at) - 1e-9 else "is below")
            for word, scale, earned in re.findall(
                r"“([^”]+)” on the scale of ([A-Z][\w ]+?)(?: \(at least “([^”]+)”, 95%\))?(?=, “|$)", words
            ):
                classes = BENCHMARKS[scale]
                edge = 1e-9 if scale == "Landis and Koch" else -1e-9  # 0.41 to 0.60 are moderate
                mine = next(
                    (name for bound, name in classes if truth >= bound + (edge if bound > 0 else 0)), classes[-1][1]
                )
                names = [name for _, name in classes]
                self.same(piece, word, mine)
                table, of = self.table(key, self.rows.headline), self.name_of(key)
                self.same(piece, earned or None, self.earned(of, table, classes, edge))
                self.expect(not earned or names.index(mine) <= names.index(earned), piece, earned)

    @staticmethod
    def earned(name: str, table: statistics.Table, classes: Sequence[tuple[float, str]], edge: float) -> str | None:
        """The word of the lower limit of the interval, which no lowest class and no missing interval has."""
        found = statistics.interval(name, table, clustered=bool(table.clusters))
        low = -1.0 if found is None else found[0]
        return next((word for bound, word in classes[:-1] if low >= bound + (edge if bound > 0 else 0)), None)

    def check_anomalies(self, text: str, answer: str) -> None:
        """Warnings of the values: their counts are held against the table, other words are not claims of a number."""
        if self.rows.submitted() and not self.rows.headline:
            self.same(text, text, f"{self.why_none[0].upper()}{self.why_none[1:]}.")
            return
        for title, n in re.findall(rf"{self.title}: Only (\d+) units? carr(?:y|ies)", text):
            self.same(text[:60], int(n), self.table(self.of(title), self.rows.headline).n_units)
        for title, share in re.findall(rf"{self.title}: Raters agree on (\d+)%", text):
            table = self.table(self.of(title), self.rows.headline)
            self.expect(is_printed(100 * statistics.percent(table, table.counts), share + ".0") or abs(
                100 * statistics.percent(table, table.counts) - int(share)) <= 0.5, f"{title}: {share}%")  # fmt: skip

    def check_training(self, text: str, answer: str) -> None:
        labeled = {of for of, *_ in self.rows.submitted()}
        pilots = [number_ for number_, row in self.rows.rounds.items() if row["kind"] == "pilot" and number_ in labeled]
        told = re.search(rf"A pilot was labeled \({ROUNDS}\)\.", text)
        trained = re.search(rf"(?:In total, )?{COUNT} items? with known labels (?:was|were) labeled for training", text)
        self.same(text, rounds_in(told[1]) if told else [], pilots)
        self.same(text, number(trained[1]) if trained else 0, len(self.trained_on))
        if tries := re.search(r"Before the feedback, every known label was right in (.*?)\.$", text):
            self.tries(text, tries[1])
        self.same(text, bool(tries), bool(trained))
        if not told and not trained:
            self.same(text, text, "No pilot round and no calibration item was labeled.")

    def check_discussed(self, text: str, answer: str) -> None:
        way = {name: n for name, n in self.disputed.items() if name not in ("overruled", "imported", "alone")}
        known, met, written = sum(way.values()), way.get("meeting", 0), way.get("discussion", 0)
        if not known:
            self.expect(answer == "not needed" or text.startswith("No disagreement"), text)
            self.sentences(text)
            return
        scope = " in pilot and main rounds"
        self.same(text, scope in text, any(self.elsewhere(kind) for kind in ("relabel", "screening")))
        text = text.replace(scope, "")
        apart = re.search(
            r" ([\d,]+) of ([\d,]+) resolved disagreements? (?:was|were) resolved in meetings without a rater of the item, as "
            r"reported in Concord \((.*?)\)\.$",
            text,
        )
        n_apart = way.get("other_meeting", 0)
        self.same(text, (number(apart[1]), number(apart[2])) if apart else (0, known), (n_apart, known))
        if apart:
            self.present(text, apart[3])
            text = text.replace(apart[0], "")
        if apart and not met + written:
            self.same(text, (text, answer), ("No discussion with a rater of the item is recorded.", "missing"))
            return
        if not met + written:
            self.same(
                text,
                re.findall(r"No discussion is recorded for ([\d,]+) resolved disagreements?\.", text),
                [f"{known:,}"],
            )
            self.same(text, answer, "missing")
            return
        found = re.fullmatch(
            r"(\d+) of (\d+) resolved disagreements? (?:was|were) discussed(?:: (?:(\d+) in meetings, as reported "
            r"in Concord)?(?:; )?(?:(\d+) in writing)?)?\.",
            text,
        )
        assert found is not None
        self.same(text, [int(each or 0) for each in found.groups()], [met + written, known, met, written])
        self.same(text, answer == "yes", met + written == known)

    def check_more_raters(self, text: str, answer: str) -> None:
        sets = [self.rows.headline] if self.rows.headline else [[each] for each in self.rows.rounds]
        those = [self.table(key, rounds) for key in self.rows.measured for rounds in sets]
        most = max((len(table.raters) for table in those), default=0)
        if not most:
            self.expect("No labels of different raters were compared." in text, text)
            return
        every = max(len(self.raters_of(key)) for key in self.rows.measured)
        found = re.match(
            rf"(?:At most (\d+) raters? labeled a dimension\. )?Labels of at most (\d+) raters? were compared on a "
            rf"dimension in (one round|{ROUNDS[1:-1]})\.",
            text,
        )
        assert found is not None
        self.same(text, int(found[1] or found[2]), max(every, most))
        self.same(text, (int(found[2]), answer == "yes"), (most, max(every, most) > 3))
        self.same(text, [] if found[3] == "one round" else rounds_in(found[3]), self.rows.headline)

    def check_cycles(self, text: str, answer: str) -> None:
        n = len({number_ for number_, *_ in self.rows.submitted()})
        if n < 2:
            first, _, again = text.partition(" labels.")
            self.same(text, first, f"There is {'one' if n else 'no'} pilot or main round with")
            self.sentences(again)
            return
        found = re.match(r"(\d+) rounds under (versions? [\d, and to]+?)(?:; by round, ([^ ].*?))?\.(?: [A-Z]|$)", text)
        assert found is not None
        self.same(text, (int(found[1]), rounds_in(found[2])), (n, self.rows.versions))
        for title, values in re.findall(rf"{self.title}: ([^;]+)", found[3] or ""):
            key = self.of(title)
            tables = [table for of in self.rows.rounds if (table := self.table(key, [of])).n_units]
            self.same(text, len(several(values)), len(tables))
            for word, table in zip(several(values), tables, strict=False):
                self.expect(is_printed(statistics.value_of(self.name_of(key), table), word), f"{title}: {word}")

    def check_fixed(self, text: str, answer: str) -> None:
        early = {key for key in self.rows.measured if self.is_registered(key)}
        before = "labels were imported from sheets" if self.sheets else "labeling began"
        before += " in this study" if self.is_copy else ""
        text, _, since = text.partition(" For ")
        self.seen["changed since"] = []
        self.sentences(f"For {since}" if since else "")
        changed = [key for key in self.rows.measured if key in early and self.kind_changes(key)]
        self.same(text, self.seen["changed since"], changed)
        known = rf"(Registered before {before}: .*? on .*?\.|No coefficient was registered beforehand\.)"
        assert re.fullmatch(known + r"( Default of the software: [^.]*\.)?", text), "no pattern reads it"
        for title, when in re.findall(rf"{self.title} on (\d+ \w+ \d{{4}})", text):
            self.expect(self.is_registered(self.of(title), day(when)), f"{title} on {when}")
        told = {self.of(title) for title, _ in re.findall(rf"{self.title} on (\d+ \w+ \d{{4}})", text)}
        self.same(text, told, early)
        defaults = re.search(r"Default of the software: (.*)\.", text)
        self.same(text, set(self.those(defaults[1])) if defaults else set(), set(self.rows.measured) - early)

    def check_below(self, text: str, answer: str) -> None:
        below, known = set(), 0
        for key in self.rows.measured if self.rows.headline else ():
            at = self.rows.study["primary"][key].get("threshold")
            value = statistics.value_of(self.name_of(key), self.table(key, self.rows.headline))
            known += at is not None and not math.isnan(value)
            if at is not None and value < at - 1e-9:
                below.add(key)
        told = re.findall(rf"{self.title} \({NUMBER}, is below the threshold of (-?\d\.\d+)", text)
        self.same(text, {self.of(title) for title, *_ in told}, below)
        for title, word, at in told:
            key = self.of(title)
            value = statistics.value_of(self.name_of(key), self.table(key, self.rows.headline))
            self.expect(
                is_printed(value, word) and float(at) == self.rows.study["primary"][key]["threshold"],
                f"{title}: {word}",
            )
        if not told:
            words = "No value is below its threshold." if known else "There is no value with a threshold."
            if self.rows.submitted() and not self.rows.headline:
                words = f"{self.why_none[0].upper()}{self.why_none[1:]}."
            self.same(text, text, words)

    # Table

    def latex(self, text: str) -> list[str]:
        """Complaints about a table for LaTeX: every cell, and what its caption says of intervals."""
        plain = text.replace("$-$", "−").replace("{[}", "[").replace("{]}", "]").replace("\\%", "%")
        key, stated = "", ""
        for line in plain.splitlines():
            if head := re.search(rf"\\emph\{{{self.title}: (.*)\}}\}} ", line):
                key = self.of(head[1])
                stated = head[2].rpartition(", ")[2]
                at = self.rows.study["primary"][key].get("threshold")
                self.same(
                    line,
                    stated,
                    "no threshold"
                    if at is None
                    else f"threshold {at:.2f}"
                    if at == round(at, 2)
                    else f"threshold {at}",
                )
            elif cells := re.fullmatch(
                r"    (\d+|headline) & ([\d,]+) & (\d+) & (\S+) & (.*?)(?: & (\S+))? \\\\", line
            ):
                self.row(line, key, cells)
            elif " & " in line and not line.startswith("    Round"):
                self.complaints.append(f"no pattern reads {line!r}")
        caption = re.search(
            r"\\caption\{Agreement( before discussion)?(?:, though raters (had given or )?could read earlier labels of "
            rf"([\d,]+) items?)?,? by dimension and round: {re.escape(self.rows.study['title'])}\.(?: (.*))?\}}\n",
            plain,
        )
        if caption is not None:
            before, had_given, though, rest = caption[1], caption[2], caption[3], caption[4] or ""
            self.same(caption[0][:80], before is None, bool(self.sheets))
            self.though(caption[0][:80], had_given, though, list(self.rows.rounds))
            for software in re.findall(r"\((Concord [^)]+)\)", rest):
                self.same("caption", software, self.rows.software)
            is_changed = any(0 < each.blind < each.current for each in self.rows.answers.values())
            self.same("caption", "no measure of reliability" in rest, is_changed)
            matched = re.findall(r"The parts of ([\d,]+) items? were matched by hand", rest)
            wanted = len(self.matched_by_hand)
            self.same("caption", [number(each) for each in matched], [wanted] if wanted else [])
            self.caption_methods(rest)
            bare = self.seen.get("bare rows", [])
            told = re.findall(
                r"No confidence interval is given for fewer than 5 units, unless all ratings agree(; all parts [^.]*)?\.",
                rest,
            )
            once = "; all parts of an item, in all rounds, count once"
            self.same("caption", told, [once if max(bare) >= 5 else ""] if bare else [])
        elif r"\caption" in plain:
            self.complaints.append("no pattern reads the caption")
        return self.complaints

    def caption_methods(self, caption: str) -> None:
        """Which rows have which interval method: `Symptom (round 1 and headline) and Cause`."""
        truth: dict[str, set[tuple[str, str]]] = {}
        for key, where, how in self.seen.get("row methods", []):
            truth.setdefault(how, set()).add((key, where))
        found: dict[str, set[tuple[str, str]]] = {}
        for names, how in re.findall(r"Confidence intervals(?: for (.*?))? are (.*?) \(Concord [^)]+\)\.", caption):
            places = found.setdefault(how, set())
            every = [each for each in self.seen.get("row methods", []) if not names]
            places |= {(key, where) for key, where, _ in every}
            for title, rows in re.findall(rf"{self.title}(?: \((.*?)\))?(?:, | and |$)", names):
                key = self.of(title)
                own = {where for of, where, _ in self.seen.get("row methods", []) if of == key}
                places |= {(key, each.removeprefix("round ")) for each in (several(rows) if rows else own)}
        self.same("caption", found, truth)

    # Table of counts

    def counts(self, key: str, text: str) -> list[str]:
        """Complaints about a table of how often the agreed labels of a dimension occur, and its caption."""
        plain = text.replace("\\%", "%").replace("--", "–").replace("``", "“").replace("''", "”")
        wide, title = self.rows.tables["labels_wide"], self.rows.dimensions[key]["title"]
        found: dict[str, int] = {}
        for row in wide:
            if row[key]:
                found[row[key]] = found.get(row[key], 0) + 1
        names = {row["category"]: row["name"] for row in self.rows.tables["categories"] if row["dimension"] == key}
        whole, most = sum(found.values()), max(found.values(), default=0)
        places = self.rows.places()
        all_parts = {
            (row["item"], places[int(row["round"]), row["item"], row["rater"], int(row["revision"]), int(row["part"])])
            for row in self.rows.tables["ratings"]
            if row["current"] == "true" and int(row["round"]) in self.rows.rounds
        }
        caption = re.search(
            rf"\\caption\{{.*?\. (\d+) parts? of (\d+) ha(?:ve|s) an agreed value of {title.lower()}\. (?:The most frequent (?:is|are) (“.*?”)|(\d+) categories "
            rf"are equally frequent, and none is more frequent): (\d+)( each)?, ([\d.]+)%(?: \(([\d.]+)% to ([\d.]+)%\))?\. Shares are of the (\d+) parts? with a value of {title.lower()}\.(.*?) Agreed "
            r"labels of (rounds? [\d, and]+), mapped to version (\d+) of the taxonomy: (\d+) parts? of (\d+) items?\.(.*?)\}\n",
            plain,
        )
        if caption is None:
            self.complaints.append(f"no pattern reads the caption of {key}")
            return self.complaints
        n, of, named, tied, top, each_, share, low, high, base, rest, rounds, version, parts, items, why = (
            caption.groups()
        )
        self.same(caption[0], (int(n), int(of), int(base)), (whole, len(all_parts), whole))
        first = {names[each] for each, n_ in found.items() if n_ == most}
        told_ = set(re.findall(r"“(.*?)”", named)) if named else int(tied)
        self.expect(int(top) == most and bool(each_) == (len(first) > 1), caption[0], most)
        self.same(caption[0], told_, first if named else len(first))
        agreed = self.rows.with_label
        self.same(caption[0], (int(parts), int(items)), (len(agreed), len({item for item, _ in agreed})))
        n_further, n_items = len(all_parts - agreed), len({item for item, _ in all_parts})
        if n_further:
            have = "part has" if n_further == 1 else "parts have"
            further = f" {n_further} further {have} no agreed label; free text is not counted."
            self.expect(why.startswith(further), caption[0], n_further)
            why = why.removeprefix(further)
        self.same(caption[0], version, str(max(self.rows.versions)))
        labels = {int(row["round"]) for row in self.rows.tables["labels"]}
        self.expect(labels <= set(rounds_in(rounds)) <= set(self.rows.rounds), caption[0], labels)
        is_of_single_parts = len(all_parts) == n_items
        reason = (
            f" {len(all_parts)} parts are of {n_items} items, so they are not independent, and shares have no "
            "confidence interval."
        )
        self.same(caption[0], (low is None, why), (not is_of_single_parts, "" if is_of_single_parts else reason))
        for words, truth in zip((share, low, high), (most / whole, *wilson(most, whole)), strict=True):
            self.expect(words is None or is_printed(100 * truth, words), caption[0], truth)
        absent = re.fullmatch(
            rf" (\d+) categor(?:y|ies) of {title.lower()} did not occur and (?:is|are) not listed\.", rest
        )
        unused = [each for each in self.rows.categories(key) if each not in found]
        self.same(caption[0], int(absent[1]) if absent else rest, len(unused) or "")
        for name, n, share in re.findall(r"\n    (.+?) & (\d+) & ([\d.]+) % & ", plain):
            truth = next((found[each] for each, called in names.items() if called == name and each in found), 0)
            self.same(name, int(n), truth)
            self.expect(is_printed(100 * truth / whole, share), f"{name}: {share} %")
        return self.complaints

    # README of the package, which is the card of the data set

    def readme(self, text: str) -> list[str]:
        """Complaints about its counts of rows, its abstract, its card and how the labels came about."""
        tables = self.rows.tables
        for name, n in re.findall(r"\| `data/(\w+)` \| (\d+) \|", text):
            self.same(f"rows of {name}", int(n), len(tables[name]))
        abstract = re.search(
            r"\n(\d[\d,]*) items? labeled by (\d+) raters? against the taxonomy “(.*?)”: ([\d,]+) ratings? and "
            r"([\d,]+) resolutions?, later revisions included, (?:and )?([\d,]+) agreed labels?(\.|, and the agreement of the raters)",
            text,
        )
        if abstract is None:
            self.complaints.append("no pattern reads the abstract")
        else:
            places = self.rows.submitted()
            third = {
                row["rater"]
                for row in tables["answers"]
                if (row["role"], row["state"]) == ("third_rater", "submitted") and int(row["round"]) in self.rows.rounds
            }
            truth = [len({item for _, item, _ in places}), len({rater for *_, rater in places} | third)]
            no_training = [
                row for row in tables["ratings"] if (int(row["round"]), row["item"]) not in self.rows.training
            ]
            with_value = [
                row
                for row in tables["labels"]
                if row["values"] not in ("", "[]")
                or (row["values"] == "[]" and self.rows.dimensions[row["dimension"]]["kind"] == "multi")
            ]
            truth += [len(each) for each in (no_training, tables["resolutions"], with_value)]
            several_ = Counter((of, item) for of, item, _ in places)
            self.same(abstract[0], abstract[7] != ".", max(several_.values(), default=0) > 1)
            self.same(abstract[0], [number(abstract[at]) for at in (1, 2, 4, 5, 6)], truth)
            self.same(abstract[0], abstract[3], self.rows.study["taxonomy_title"])
        card = re.search(r"size_categories:\n- (\S+)\n", text)
        assert card is not None
        n = len(tables["labels"])
        sizes = {"n<1K": (0, 1000), "1K<n<10K": (1000, 10_000), "10K<n<100K": (10_000, 100_000)}
        self.expect(sizes[card[1]][0] <= n < sizes[card[1]][1], card[0], n)
        for name in re.findall(r"data_files: data/(\w+)\.parquet", text):
            self.expect(bool(tables[name]), f"table {name} of the card")
        made = re.search(r"made with (Concord \d[\d.]*\d)", text)
        self.same("made with", made and made[1], self.rows.software)
        came = text.partition("## How the labels came about\n")[2].partition("\n| Dimension |")[0]
        self.paragraph(re.sub(r"\\([\\`*_\[\]<>|~#])", r"\1", came.replace("**", "")))
        return self.complaints

    def row(self, line: str, key: str, cells: re.Match[str]) -> None:
        where, units, raters, value, between, after = cells.groups()
        rounds = self.rows.headline if where == "headline" else [int(where)]
        table, name = self.table(key, rounds), self.name_of(key)
        self.same(line, (number(units), int(raters)), (table.n_units, len(table.raters)))
        self.expect(is_printed(statistics.value_of(name, table), value), line, statistics.value_of(name, table))
        if after and after != "--":
            later = statistics.value_of(name, self.table(key, rounds, "after"))
            self.expect(is_printed(later, after), line, later)
        if edges := re.fullmatch(rf"\[{NUMBER}, {NUMBER}\]", between):
            is_clustered = bool(table.clusters)
            is_exact = statistics.is_perfect(table)
            (how,) = [
                each for each, of_clusters in PHRASES.items()
                if each.startswith("one-sided") == is_exact and (is_exact or of_clusters == is_clustered)
            ]  # fmt: skip
            self.seen.setdefault("row methods", []).append((key, where, how))
            self.interval(key, table, edges[1], edges[2], line, clustered=is_clustered)
        elif value != "undefined":
            self.seen.setdefault("bare rows", []).append(number(units))
            found = statistics.interval(name, table, clustered=bool(table.clusters))
            self.same(line, (between, found), ("--", None))


SENTENCES: list[tuple[str, Callable[..., None]]] = [
    (rf"(?:In total, )?{COUNT} issues? (?:was|were) drawn at random \(seed (\d+)\)(?: from a frame of ([\d,]+) issues?)?\.", Checker.drawn),
    (rf"(?:In total, )?{COUNT} issues? (?:is|are) in more than one of these samples and counts? in each\.", Checker.overlapping),
    (r"The frame was filtered from ([\d,]+) stored issues?\.", Checker.filtered),
    (r"The draw was stratified by ([\w ]+) with (equal|proportional) allocation(, and at least one issue of each stratum)?\.", Checker.stratified),
    (rf"(?:In total, )?{COUNT} drawn issues? (?:was|were) excluded at screening(?:, without ([\d,]+) that (?:was|were) excluded first and kept when screened again)?(?:: (.*?”))?\.", Checker.screened_out),
    (r"Of the other drawn issues, ([^.]*)\.", Checker.stood),
    (r"Coding rounds contain ([\d,]+) drawn issues?: ([^.]*)\.", Checker.coded),
    (r"Of (a random sample of )?([\d,]+) of the ([\d,]+) issues?(?: in (\S+(?:, \S+)*(?: and \S+)?))?(?: \((.*?)\))? that (the filter|screening) excluded(?:, drawn at random with (equal|proportional) allocation by ([\w ]+))?, ([\d,]+) (?:was|were) kept on screening; (?:at most ([\d,]+) of the ([\d,]+) \(([\d.]+)%\) were missed \((.*?)\)|no bound is given, because strata of equal size are no simple random sample)\.", Checker.control),
    (r"(?:All ([\d,]+) issues|The only issue)(?: in (\S+(?:, \S+)*(?: and \S+)?))?(?: \((.*?)\))? that (the filter|screening) excluded (?:was|were) screened( again)?; ([\d,]+) \(([\d.]+)%\) (?:was|were) kept\.", Checker.census),
    (rf"(?:In total, )?{COUNT} raters? \((R[\dR, and]+)\) screened ([\d,]+) items? in {ROUNDS}\.", Checker.screeners),
    (rf"Agreement on what was screened in or out(?: in {ROUNDS})?(, where issues that had been screened out were screened again)?, before discussion, was (?:([^=]*?) = )?{NUMBER}, n = ([\d,]+) units?, (\d+) raters?\.", Checker.screening_agreement),
    (rf"(?:In total, )?{COUNT} items? (?:was|were) screened by hand, outside of screening rounds: ([^.]*)\.", Checker.screened_by_hand),
    (rf"(?:In total, )?{COUNT} labeled items? (?:is|are) screened out; (all numbers include|no number includes) (?:it|them)\.", Checker.labeled_out),
    (r"\[missing: how the ([\d,]+) items? that no round took from a sample (?:was|were) chosen\]", Checker.by_hand),
    (r"Items were labeled against (versions? [\d, and to]+) of the taxonomy “([^”]+)” on (\d+) dimensions?(?: as of version (\d+))? \((.*?)\)\.", Checker.taxonomy),
    (r"(?:(By the taxonomy), <TITLES> (?:applies|apply) only where an earlier label calls for (?:it|them); (?:it was|they were) compared|<TITLES> (?:was|were) asked only where an earlier answer called for (?:it|them), and compared) where (both raters|at least one of two raters) reached (?:it|them)(?:, “does not apply” being the other rater’s label)?(?:; this rule was chosen on (\d+ \w+ \d{4}), after labeling had begun)?\.", Checker.conditional),
    (r"No label was given on <TITLES>\.", Checker.unrated),
    (r"The unit of analysis was an item in a round, or each part of an item that raters divided\.", Checker.nothing),
    (rf"(?:In total, )?{COUNT} raters? \((R[\dR, and]+)\) labeled ([\d,]+) items? in (.*?\))\.", Checker.labeled),
    (r"Within a round, two or more raters labeled ([\d,]+) of ([\d,]+) items? \(([\d.]+)%\)\.", Checker.double),
    (r"(?:By rater, the numbers of items labeled were (.*?\))|Each rater labeled ([\d,]+)(?: to ([\d,]+))? items?)\.", Checker.by_rater),
    (r"(R\d+) left round (\d+) with (no|[\d,]+) unfinished assignments?(?:, of which (?:([\d,]+) (?:was|were) reassigned \((.*?)\))?(?: and )?(?:([\d,]+) waited for another rater)?)?\.", Checker.left),
    (r"(R\d+) (re)?joined round (\d+)(?: after it had opened)?\.", lambda self, claim, code, again, of: self.joined(claim, code, again or "", of)),
    (r"Third raters received ([\d,]+) requests? to label an item, ([^.;]*)(?:; ([\d,]+) (?:was|were) withdrawn unanswered)?\.", Checker.third_asked),
    (r"The ([\d,]+) agreed labels?( that (?:was|were) not given in relabeling)? (?:was|were) migrated to version (\d+) of the taxonomy; (none|[\d,]+) of them (?:lacks a value|has no value|have no value) in that version(?:; relabeling gave ([\d,]+) other agreed labels?)?\.", Checker.migrated),
    (r"As (?:a third rater|third raters), ([^;]*); agreement excludes these labels\.", Checker.third),
    (rf"(?:In total, )?{COUNT} items? (?:was|were) relabeled in round (\d+) under version (\d+) of the taxonomy; agreement excludes these labels\.", Checker.relabeled),
    (r"\[missing: the end of round (\d+), which is open; ([\d,]+) of ([\d,]+) assignments? (?:is|are) outstanding, and the numbers above and below may change\]", Checker.outstanding),
    (r"The parts of ([\d,]+) items? were matched by hand, by an adjudicator or owner who could see the labels; agreement compares the matched parts\.", Checker.matched),
    (r"(?:Raters skipped ([\d,]+) assignments?(?:, and third raters skipped ([\d,]+))?|Third raters skipped ([\d,]+) assignments?)\.", Checker.skipped),
    (r"In round (\d+), ([\d,]+) unfinished assignments? (?:was|were) withdrawn\.", Checker.withdrawn),
    (r"Before labeling items in round (\d+), ([^.]*) could read labels that others had given to these items in other rounds; the new labels count as before discussion of their own round\.", Checker.read_before),
    (r"\[missing: ([\d,]+) items? that you label again in an open round; this text excludes (?:it|them) until that round is over, and members who do not label (?:it|them) there see other numbers\]", Checker.withheld),
    (r"This excludes ([\d,]+) items? that you label again in an open round\.", Checker.withheld),
    (rf"(?:In total, )?{COUNT} items? had been labeled before, by at least one of the same raters, in a study that this one was duplicated from\.", Checker.rated_elsewhere),
    (r"Resolutions had been entered there by ([^.]*)\.", Checker.had_resolved),
    (rf"While (a round was|{ROUNDS[1:-1]} (?:was|were)) open, (?:its|their) (other )?raters could not see each other’s labels\.", Checker.blind),
    (rf"(?:In total, )?{COUNT} items? with known labels (?:was|were) labeled for training\.", Checker.trained),
    (r"Before the feedback, every known label was right in (.*?\))\.", Checker.tries),
    (r"In round (\d+), raters had to reach a minimum on items with known labels before they were given others \((.*?)\): (.*?)\.(?= |$)", Checker.minimum),
    (r"\[missing: how raters were trained\]", Checker.untrained),
    (rf"\[missing: whether raters worked independently in {ROUNDS}, imported from sheets, and labeled before any discussion\]", Checker.from_sheets),
    (rf"(?:In total, )?{COUNT} final labels? (?:was|were) imported from sheets\.", Checker.final),
    (r"\[missing: how disagreements in the sheets were resolved\]", Checker.nothing),
    (r"(R[\dR, and]+) (?:is a model rater, and its labels are|are model raters, and their labels are) in none of these numbers\.", Checker.model_raters),
    (r"(R\d+ .*?\)) could see labels of other raters before labeling; the labels given after that are excluded from agreement before discussion\.", Checker.unblinded),
    (rf"(?:In total, )?{COUNT} items? had been labeled in an earlier round by at least one of the same raters\.", Checker.labeled_before),
    (rf"Agreement is reported for {ROUNDS}, ((?:the only|all|chosen by).*?(?:taxonomy|opened))\.", Checker.headline),
    (r"\[missing: the agreement of the study; (.*?)\]", Checker.no_headline),
    (r"For <TITLES>, ([^,.]*?(?:\([\w ]+\))?)(?: with a threshold of (-?\d\.\d+))? was registered on (\d+ \w+ \d{4}), before (labeling began|labels were imported from sheets)( in this study)?\.", Checker.registered),
    (r"After that, (version .*?)\.(?= From version)", Checker.changed_since),
    (r"From version (\d+) on, (?:agreement is not computed as registered, but as (.*?) of the new answers|(.*?) as registered is not computed, because the answers have no order)\.", Checker.computed_instead),
    (r"For <TITLE>, ([^,.]*?(?:\([\w ]+\))?) was registered\.", Checker.registered_as),
    (r"The study was duplicated from another one with ([\d,]+) items?\.", Checker.copied),
    (r"\[missing: whether raters had seen or labeled the items before; the study was duplicated from another one with ([\d,]+) items?\]", Checker.copied),
    (r"\[missing: whether raters had labeled the items before in a study that this one was duplicated from; that is hidden until each round there is closed\]", Checker.hidden_elsewhere),
    (r"Whether raters had labeled the items in the study that this one is a copy of is hidden until each round there is closed\.", Checker.hidden_elsewhere),
    (r"\[missing: whether <TITLES> had been labeled in the sheets before that\]", Checker.nothing),
    (r"For <TITLES>, ([^,.]*?(?:\([\w ]+\))?)(?: with a threshold of (-?\d\.\d+))? is reported(, the default of the software)?; it was not registered beforehand\.", Checker.unregistered),
    (r"\[missing: why .*? suits <TITLES>\]", Checker.nothing),
    (r"The reason given for <TITLES> was “(.*?)”\.", Checker.reason),
    (rf"Agreement on <TITLE>(?: (before|after) discussion)?(?:, though raters (had given or )?could read earlier labels of ([\d,]+) items?,)? was (.*?) = {NUMBER}(?:, (?:one-sided )?95% CI \[{NUMBER}, {NUMBER}\])?, n = ([\d,]+) units?, (\d+) raters?(, which is no measure of reliability)?\.", Checker.agreement),
    (r"(\S+ ?\S*) on <TITLE>(?: (before|after) discussion)?(?:, though raters (had given or )?could read earlier labels of ([\d,]+) items?,)? is undefined \(n = ([\d,]+) units?, (\d+) raters?\)(?:\.|: [^.]*?(?:: [^.]*?)?\.)", Checker.undefined),
    (r"\[missing: agreement on <TITLE>; no unit has two labels that count( before discussion)?\]", Checker.not_compared),
    (r"This (reaches|is below) the threshold of (-?\d\.\d+)(?:, but the 95% CI includes( lower values| it))?\.", Checker.threshold),
    (r"By round, (.*?) on <TITLE> was (.*?\))\.", Checker.by_round),
    (r"For <TITLE>, ([\d,]+) units? (?:was|were) excluded because ([^.]*)\.", Checker.excluded),
    (r"Confidence intervals(?: for <TITLES>)? are (.*?) \((Concord [^)]+)\)\.", Checker.computed),
    (r"No confidence interval is given for fewer than 5 units, unless all ratings agree(; all parts of an item, in all rounds, count once)?\.", Checker.few_units),
    (r"Agreement was computed with (Concord \S+)\.(?= |$)", Checker.no_interval),
    (rf"(?:In total, )?{COUNT} submissions? of ([\d,]+) \(for ([\d,]+) items?\) (?:was|were) made on another snapshot of the issue than the one pinned to the item now: title, description, comments, status, or labels differ\.", Checker.on_other_states),
    (r"For ([\d,]+) items?, those who entered resolutions could see labels of model raters before that\.", Checker.models_shown),
    (r"For ([\d,]+) items?, raters of the same round read different snapshots; agreement includes their labels\.", Checker.apart),
    (rf"(?:In total, )?{COUNT} submissions? of ([\d,]+) (?:was|were) revised after raters could see each other’s labels\.", Checker.revised),
    (rf"(?:In total, )?{COUNT} disagreements?( in pilot and main rounds)? (?:was|were) resolved: ([^.]*)\.", Checker.resolved),
    (r"In ((?:relabeling|screening) rounds? [\d, and to]+?), ([\d,]+) disagreements? (?:was|were) resolved: ([^.]*)\.", Checker.resolved_elsewhere),
    (rf"(?:In total, )?{COUNT} labels? on which raters agreed (?:was|were) replaced by resolution\.", Checker.overruled),
    (rf"(?:In total, )?{COUNT} other labels? (?:was|were) given by resolution where fewer than two raters had given one\.", Checker.alone),
    (rf"(?:In total, )?{COUNT} resolutions? (?:was|were) reopened and not replaced\.", Checker.reopened),
    (rf"(?:In total, )?{COUNT} other resolutions? (?:does|do) not count now: (?:its question does|their questions do) not apply, or waits? for answers or other resolutions\.", Checker.moot),
    (r"Resolutions were entered by ([^.]*)\.", Checker.entered),
    (r"\[missing: how disagreements( in pilot and main rounds)? were resolved; none is resolved in Concord yet\]", Checker.not_resolved),
    (rf"(?:In total, )?{COUNT} disagreements? (?:was|were) left unresolved\.", Checker.unresolved),
    (rf"(?:In total, )?{COUNT} questions? that no rater had answered (?:was|were) left open\.", Checker.unanswered),
    (r"There was no disagreement to resolve( in pilot and main rounds)?\.", Checker.no_disagreement),
    (r"No disagreement( in pilot and main rounds)? was resolved in Concord\.", Checker.not_resolved),
    (rf"\[missing: the end of resolving disagreements in {ROUNDS}, which (?:is|are) not closed\]", Checker.resolving),
    (r"Raters made ([\d,]+) proposals? for (?:a new category|new categories)\.( In agreement, all proposals on a dimension are one category: two different proposals for a unit agree\.)?", Checker.proposals),
    (r".*? on <TITLE> rests on ([\d,]+) of these ([\d,]+) units?, because (?:a proposal|“does not apply”).*? no level of its scale\.", Checker.used),
    (r"(Rounds? [\d, and to]+ used version \d+[^.]*) of the taxonomy\.", Checker.versions),
    (r"Round (\d+) was opened (after|although) the pilot \(round (\d+)\) had (?:not )?reached (?:the threshold for )?(.*?)\.(?= |$)", Checker.gate),
]  # fmt: skip
"""The patterns in which sentences are written, each with what holds it against the rows."""
