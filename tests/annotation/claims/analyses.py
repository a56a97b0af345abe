"""The checker of analyses: reads tables of a package and their captions, and recomputes each number from exported rows."""
# ruff: noqa: E501 (a pattern stays on one line)

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np
from scipy import optimize, stats

from tests.annotation.claims.checker import is_printed, rounds_in
from tests.annotation.claims.rows import Exported

P = r"p (?:=|<) [\d.]+"
N = r"([\d,]+)"
SURE, SMALLEST = 0.05, 9
"""From which p-value on nothing is said, and how many parts are tested by going through every table."""
Values = tuple[str, ...] | None


def plain(text: str) -> str:
    """LaTeX as it is read."""
    for command, sign in (
        (r"\%", "%"),
        (r"\#", "#"),
        (r"\textless{}", "<"),
        ("``", "“"),
        ("''", "”"),
        ("{[}", "["),
        ("{]}", "]"),
        (r"$\uparrow$", "▲"),
        (r"$\downarrow$", "▼"),
        (r"$\rightarrow$", "→"),
        ("$-$", "−"),
    ):
        text = text.replace(command, sign)
    return text


def number(word: str) -> int:
    return int(word.replace(",", ""))


def with_names(words: str) -> str:
    return words[0].upper() + words[1:]


class Analyses:
    """Holds the tables of saved analyses against rows; `complaints` are what it could not trace."""

    def __init__(self, rows: Exported) -> None:
        self.rows = rows
        self.complaints: list[str] = []

    # What the rows give

    @cached_property
    def counting(self) -> dict[str, int]:
        """The round in which the labels of each item count: closed before not closed, then the newest."""
        best: dict[str, tuple[bool, int]] = {}
        for row in self.rows.tables["round_items"]:
            of = int(row["round"])
            if of in self.rows.rounds and row["training"] != "true":
                rank = (self.rows.rounds[of]["state"] == "closed", of)
                best[row["item"]] = max(best.get(row["item"], rank), rank)
        return {item: of for item, (_, of) in best.items()}

    @cached_property
    def parts(self) -> list[tuple[str, int]]:
        """Item and part of everything that was rated in the round that counts."""
        places = self.rows.places()
        return sorted(
            {
                (row["item"], places[of, row["item"], row["rater"], int(row["revision"]), int(row["part"])])
                for row in self.rows.tables["ratings"]
                if row["current"] == "true" and (of := int(row["round"])) == self.counting.get(row["item"])
            }
        )

    @cached_property
    def labels(self) -> dict[tuple[str, int], Mapping[str, str]]:
        return {(row["item"], int(row["part"])): row for row in self.rows.tables["labels_wide"]}

    def looked_at(self, is_single: bool) -> list[tuple[str, int]]:
        times = Counter(item for item, _ in self.parts)
        return [place for place in self.parts if not is_single or times[place[0]] == 1]

    def values(self, key: str, place: tuple[str, int]) -> Values:
        """The values of a part, none of an empty set; None where there is no label."""
        cell = self.labels.get(place, {}).get(key, "")
        if cell == "":
            return None
        return tuple(each for each in cell.split(";") if each and each != "[]")

    def name(self, key: str, value: str) -> str:
        if self.rows.dimensions[key]["kind"] == "boolean":
            return {"true": "yes", "false": "no"}[value]
        return next(row["name"] for row in self.newest(key) if row["category"] == value)

    def newest(self, key: str) -> list[Mapping[str, str]]:
        found = [row for row in self.rows.tables["categories"] if row["dimension"] == key]
        last = max((int(row["taxonomy_version"]) for row in found), default=0)
        return [row for row in found if int(row["taxonomy_version"]) == last]

    def keys(self, key: str) -> list[str]:
        return [row["category"] for row in self.newest(key)] or ["false", "true"]

    def title(self, key: str) -> str:
        return self.rows.dimensions[key]["title"]

    # Complaints

    def expect(self, is_so: bool, claim: str, truth: object = "") -> None:
        if not is_so:
            self.complaints.append(f"{claim!r} is not borne out: {truth}")

    def same(self, claim: str, said: object, truth: object) -> None:
        self.expect(said == truth, claim, f"{said} said, {truth} found")

    def printed(self, claim: str, word: str, truth: float | None) -> None:
        self.expect(is_printed(truth, word.replace("+", "")), claim, f"{word} said, {truth} found")

    # Captions

    def table(self, kind: str, question: Mapping[str, Any], title: str, key: str, text: str) -> list[str]:
        """Complaints about one table of an analysis (`key`: crosstab, residuals, flow-1 …) with its caption."""
        self.complaints = []
        caption = plain(re.search(r"\\caption\{(.*)\}\n", text)[1])  # type: ignore[index]
        self.expect(caption.startswith(f"{title}. "), caption, title)
        heads, *lines = [
            plain(line.strip()).removesuffix(r" \\") for line in text.splitlines() if line.endswith(r" \\")
        ]
        rows = [line.split(" & ") for line in lines]
        is_single = question.get("parts") == ["single"]
        rest = self.about_labels(caption[len(title) + 2 :], is_single)
        {"crosstab": self.crosstab, "flow": self.flow, "saturation": self.saturation}[kind](
            question, key, rest, heads.split(" & "), rows, is_single
        )
        return self.complaints

    def about_labels(self, caption: str, is_single: bool) -> str:
        """Reads the end, on which labels an analysis rests; what is before it."""
        end = re.search(
            rf"Agreed labels of (rounds? [\d, and]+), mapped to version (\d+) of the taxonomy: {N} parts? of {N} items?\.(?: {N} further parts? (?:has|have) no agreed label; free text is not counted\.)?(?: The analysis includes {N} parts? of {N} items?\.)?(?: {N} parts are of {N} items, so they are not independent, and shares have no confidence interval\.)?$",
            caption,
        )
        if end is None:
            self.complaints.append(f"no pattern reads the labels of {caption!r}")
            return caption
        rounds, version, n, n_items, further, looked_at, of, dependent, on = end.groups()
        labels = {int(row["round"]) for row in self.rows.tables["labels"]}
        self.expect(labels <= set(rounds_in(rounds)) <= set(self.rows.rounds), end[0], labels)
        self.same(end[0], version, str(max(self.rows.versions)))
        agreed = self.rows.with_label
        self.same(end[0], (number(n), number(n_items)), (len(agreed), len({item for item, _ in agreed})))
        self.same(end[0], number(further or "0"), len(set(self.parts) - agreed))
        self.same(end[0], looked_at is not None, is_single)
        if looked_at is not None:
            chosen = self.looked_at(True)
            self.same(end[0], (number(looked_at), number(of)), (len(chosen), len({item for item, _ in chosen})))
        if dependent is not None:
            chosen = self.looked_at(is_single)
            self.same(end[0], (number(dependent), number(on)), (len(chosen), len({item for item, _ in chosen})))
            self.expect(number(dependent) > number(on), end[0], "one part for each item")
        return caption[: end.start()].strip()

    def read(self, text: str, patterns: Sequence[tuple[str, Callable[..., None]]]) -> list[str]:
        """Reads sentences by patterns, each of which checks what it reads; the patterns that were read."""
        found = []
        while text:
            for pattern, check in patterns:
                if match := re.match(pattern, text):
                    check(match[0].strip(), *match.groups())
                    found.append(pattern)
                    text = text[match.end() :].lstrip()
                    break
            else:
                self.complaints.append(f"no pattern reads {text[:100]!r}")
                return found
        return found

    # Cross tables

    def crosstab(
        self, question: Mapping[str, Any], key: str, text: str, heads: Sequence[str], rows: Any, is_single: bool
    ) -> None:
        down, across = question["rows"][0], question["columns"][0]
        both = [
            (place, a, b)
            for place in self.looked_at(is_single)
            if (a := self.values(down, place)) is not None and (b := self.values(across, place)) is not None
        ]
        n, n_items = len(both), len({item for (item, _), *_ in both})
        cells = Counter((x, y) for _, a, b in both for x in a for y in b)
        totals = [Counter(x for each in both for x in each[side]) for side in (1, 2)]
        kept = [[x for x in self.keys(of) if totals[side][x]] for side, of in enumerate((down, across))]
        table = np.array([[cells[x, y] for y in kept[1]] for x in kept[0]], dtype=int).reshape(
            len(kept[0]), len(kept[1])
        )
        why = self.untested(down, across, n, n_items, table)
        test = None if why else association(tuple(map(tuple, table.tolist())))
        marks = test.marks if test else np.zeros(table.shape, dtype=int)
        said: set[str] = set()

        def counts(claim: str, of: str, items: str) -> None:
            self.same(claim, (number(of), number(items)), (n, n_items))

        def not_tested(claim: str, reason: str) -> None:
            said.add("untested")
            self.same(claim, reason, why)

        def tested(claim: str, nothing: str | None, a: str, b: str, p: str, how: str) -> None:
            said.add("tested")
            self.same(claim, (with_names(a), b), (self.title(down), self.title(across).lower()))
            self.test(claim, test, bool(nothing), p, how)

        def strength(claim: str, v: str, low: str, high: str, corrected: str | None) -> None:
            said.add("strength")
            assert test is not None
            self.printed(claim, v, test.v)
            for word, truth in zip((low, high), test.interval, strict=True):
                self.printed(claim, word, truth)
            self.same(claim, corrected is None, test.corrected is None)
            if corrected is not None:
                self.printed(claim, corrected, test.corrected)

        def above(claim: str) -> None:
            said.add("above")
            self.expect(test is not None and test.v > test.interval[1], claim)

        def because(claim: str, small: str, of: str, least: str) -> None:
            said.add("because")
            assert test is not None
            expected = test.expected
            self.same(claim, (number(small), number(of)), (int((expected < 5).sum()), expected.size))
            if least == "none below 1":
                self.expect(expected.min() >= 1 and test.is_large, claim, expected.min())
            else:
                self.same(claim, least.rpartition(" ")[2], f"{expected.min():.2g}")

        def marked(claim: str, n_cells: str, method: str) -> None:
            said.add("marks")
            self.same(claim, number(n_cells), int((marks != 0).sum()))
            exact = "Fisher's exact test of each cell"
            self.same(claim, method, exact if n <= SMALLEST else "normal approximation")

        self.read(
            text.removeprefix("Cells that differ from independence. "),
            [
                (rf"{N} parts? of {N} items? have a value of both\.", counts),
                (r"Not tested: (.*?)\.$", not_tested),
                (rf"(There is no evidence that )?(.+?) and (.+?) are associated: (?:counts this uneven are rare under independence|such counts are common under independence) \(({P}); (.+?)\)\.", tested),
                (r"Cramér's V = ([\d.]+), 95 ?% CI \[([\d.]+), ([\d.]+)\](?: \(([\d.]+) bias-corrected\))?\.", strength),
                (r"V is above the interval, .*? Report the bias-corrected value\.", above),
                (f"Choice of test: {N} of {N} expected counts are below 5(?:, |; )(none below 1|the smallest "
                    "is [\\d.e+-]+)\\.(?= |$)", because),
                (rf"▲ and ▼ mark the {N} cells? with more or fewer parts than expected under independence \(adjusted residuals, p < 0\.05 after Holm, (.+?)\)\.", marked),
            ],
        )  # fmt: skip
        wanted = {"untested"} if why else {"tested", "strength", "because"}
        wanted |= {"marks"} if (marks != 0).any() else set()
        wanted |= {"above"} if test and test.v > test.interval[1] else set()
        self.same(text, said, wanted)
        names = [[self.name(of, x) for x in kept[side]] for side, of in enumerate((down, across))]
        if key == "residuals":
            self.stand_out(test, marks, names, rows)
            return
        self.same("heads", list(heads), [self.title(down), *names[1], "All"])
        sign = {1: " ▲", -1: " ▼", 0: ""}
        truth = [
            [name, *(f"{table[i, j]:,}{sign[int(marks[i, j])]}" for j in range(len(kept[1]))), f"{totals[0][x]:,}"]
            for i, (name, x) in enumerate(zip(names[0], kept[0], strict=True))
        ]
        truth.append(["All", *(f"{totals[1][y]:,}" for y in kept[1]), f"{n:,}"])
        self.same("cells of the table", rows, truth)

    def untested(self, down: str, across: str, n: int, n_items: int, table: Any) -> str:
        several = [self.title(key).lower() for key in (down, across) if self.rows.dimensions[key]["kind"] == "multi"]
        if several:
            return f"a part can have several values of {' and of '.join(several)}, so that counts are not independent"
        if n_items < n:
            return (
                f"{n} parts are of {n_items} items, so that counts are not independent; ask for items of a single part "
                "to have a test"
            )
        if not n:
            return "no part has a value of both"
        if min(table.shape) < 2:
            return f"all counts are in one {'row' if table.shape[0] < 2 else 'column'}; a test needs two"
        return ""

    def test(self, claim: str, test: "Association | None", is_nothing: bool, p: str, how: str) -> None:
        assert test is not None
        found = re.fullmatch(
            rf"(?:chi-square ([\d.]+), )?(?:(\d+) degrees? of freedom|(Fisher's exact test|exact permutation test)|by {N} tables drawn with the same margins)",
            how,
        )
        if found is None:
            self.complaints.append(f"no pattern reads the test {how!r}")
            return
        statistic, df, exact, draws = found.groups()
        method = "chi_square" if df else "drawn" if draws else {"F": "fisher", "e": "exact"}[exact[0]]
        self.same(claim, method, test.method)
        if statistic:
            self.printed(claim, statistic, test.statistic)
        self.expect(bool(statistic) == (method != "fisher"), claim)
        if df:
            self.same(claim, int(df), test.df)
        error = 0.0
        if draws:
            self.same(claim, number(draws), 9_999 if test.table.size <= 150 else 999)
            error = 5 * math.sqrt(test.p * (1 - test.p) / number(draws)) + 1 / number(draws)
        sign, word = p[2], p.split()[-1]
        is_borne_out = test.p - error < 0.001 if sign == "<" else abs(test.p - float(word)) <= 0.0005 + error + 1e-9
        self.expect(is_borne_out and (sign == "=" or word == "0.001"), claim, test.p)
        self.expect(is_nothing == (float(word) >= SURE), claim, test.p)

    def stand_out(self, test: "Association | None", marks: Any, names: Any, rows: Any) -> None:
        assert test is not None
        truth = {}
        for i, j in zip(*np.nonzero(marks), strict=True):
            truth[names[0][i], names[1][j]] = (test.table[i, j], test.expected[i, j], test.residuals[i, j])
        self.same("cells that stand out", sorted((row[0], row[1]) for row in rows), sorted(truth))
        for a, b, n, expected, residual in rows:
            count, mean, far = truth.get((a, b), (None, None, None))
            self.same(f"{a} and {b}", number(n), count)
            self.printed(f"{a} and {b}, expected", expected, mean)
            self.printed(f"{a} and {b}, residual", residual, far)
            self.expect((residual[0] == "+") == (far is not None and far >= 0), residual)

    # Flows

    def flow(
        self, question: Mapping[str, Any], key: str, text: str, heads: Sequence[str], rows: Any, is_single: bool
    ) -> None:
        steps = question["dimensions"][0].split(",")
        within = question.get("within", [""])[0]
        every = [*steps, within] if within else steps
        looked_at = self.looked_at(is_single)
        whole = [place for place in looked_at if all(self.values(each, place) for each in every)]
        group, called = whole, ""
        if within:
            used = [x for x in self.keys(within) if any(x in (self.values(within, place) or ()) for place in whole)]
            value = used[int(key.rpartition("-")[2]) - 1]
            called = self.name(within, value)
            group = [place for place in whole if value in (self.values(within, place) or ())]
        ways = Counter(way for place in group for way in product(*(self.values(step, place) or () for step in steps)))
        titles = [self.title(step).lower() for step in steps]
        of_titles = f"{', '.join(titles[:-1])} and {titles[-1]}"
        more = max(0, len(ways) - len(rows))
        table = "Paths of the parts" + (f": {called}" if within else "")

        def drawn(claim: str, n: str, of: str) -> None:
            self.same(claim, (number(n), number(of)), (len(whole), len(looked_at)))

        def shares(claim: str, n: str, of: str) -> None:
            self.same(claim, number(n), len(group))
            named = f"{self.title(within).lower()} “{called}” and " if within else ""
            self.same(claim, of, f"{named}a value of {of_titles}")

        def unlisted(claim: str, n: str) -> None:
            self.same(claim, (number(n), len(rows)), (more, 200))

        found = self.read(
            text.removeprefix(f"{table}. "),
            [
                (rf"{N} parts? of {N} have a value in every step and are drawn\.", drawn),
                (rf"Shares are of the {N} parts? with (.+?)\.(?= \d|$)", shares),
                (rf"{N} more paths of fewer parts are not listed\.", unlisted),
            ],
        )
        self.same(text, len(found), 3 if more else 2)
        self.expect(text.startswith(f"{table}. "), text, table)
        self.same("heads", list(heads), [*(self.title(step) for step in steps), "n", "Share"])
        truth = {tuple(self.name(step, x) for step, x in zip(steps, way, strict=True)): n for way, n in ways.items()}
        told = [tuple(row[: len(steps)]) for row in rows]
        self.expect(len(set(told)) == len(told) and set(told) <= set(truth) and len(told) + more == len(truth), "ways")
        for *way, n, share in rows:
            count = truth.get(tuple(way), 0)
            self.same(" → ".join(way), number(n), count)
            self.printed(f"{' → '.join(way)}, share", share.removesuffix("%"), 100 * count / max(len(group), 1))

    # Saturation

    def saturation(
        self, question: Mapping[str, Any], key: str, text: str, heads: Sequence[str], rows: Any, is_single: bool
    ) -> None:
        of = question["dimension"][0]
        rounds = {(row["item"], int(row["part"])): int(row["round"]) for row in self.rows.tables["labels"]}
        positions = {(int(row["round"]), row["item"]): int(row["position"]) for row in self.rows.tables["round_items"]}
        having = [place for place in self.looked_at(is_single) if self.values(of, place) is not None]
        having.sort(key=lambda place: (rounds[place], positions[rounds[place], place[0]], place[1]))
        order = list(dict.fromkeys(item for item, _ in having))
        items: dict[str, set[str]] = {}
        for item, part in having:
            for value in self.values(of, (item, part)) or ():
                items.setdefault(value, set()).add(item)
        first = {value: min(order.index(item) + 1 for item in found) for value, found in items.items()}
        n_once = sum(len(found) == 1 for found in items.values())
        paths = [row["path"].split("/") for row in self.newest(of)]
        n_unseen = sum(
            not any(path[-1] in way for value in items for way in paths if way[-1] == value) for path in paths
        )
        n_unseen += 0 if paths else 2 - len(items)

        def brought(claim: str, n: str, categories: str, unseen: str) -> None:
            self.same(claim, (number(n), number(categories), number(unseen)), (len(order), len(items), n_unseen))

        def last(claim: str, name: str, place: str, n: str) -> None:
            latest = max(first.values())
            self.same(claim, (number(place), number(n)), (latest, len(order)))
            self.expect(name in {self.name(of, value) for value, at in first.items() if at == latest}, claim, first)

        def new(claim: str, n: str, share: str) -> None:
            self.same(claim, number(n), n_once)
            self.printed(claim, share, 100 * min(1.0, n_once / len(order)))

        table = "First item of each category. "
        found = self.read(
            text.removeprefix(table),
            [
                (rf"{N} items? brought {N} categor(?:y|ies); {N} of the taxonomy did not occur\.", brought),
                (rf"The last new one was “(.+?)”, with item {N} of {N}\.", last),
                (rf"{N} categor(?:y|ies) occurred in one item only, so about ([\d.]+)% of further items would bring a category that no item had \(Good and Turing\)\.", new),
            ],
        )  # fmt: skip
        self.expect(text.startswith(table), text, table)
        self.same(text, len(found), 1 + bool(items) + bool(order))
        self.same("heads", list(heads), [self.title(of), "With item", "Which", "Items that have it"])
        truth = [[self.name(of, value), first[value], order[first[value] - 1], len(items[value])] for value in items]
        told = [[name, number(place), item, number(n)] for name, place, item, n in rows]
        self.same("when each came up", sorted(told), sorted(truth))
        self.same("the order", [row[1] for row in told], sorted(row[1] for row in told))


class Association:
    """A test of a table of counts without empty rows and columns, its strength, and the cells that stand out."""

    def __init__(self, table: Any) -> None:
        self.table, self.n = table, int(table.sum())
        down, across = table.sum(axis=1), table.sum(axis=0)
        self.expected = np.outer(down, across) / self.n
        self.statistic = float(((table - self.expected) ** 2 / self.expected).sum())
        self.df = (len(down) - 1) * (len(across) - 1)
        self.is_large = (self.expected < 5).mean() <= 0.2 and self.expected.min() >= 1
        self.residuals = (table - self.expected) / np.sqrt(
            self.expected * np.outer(1 - down / self.n, 1 - across / self.n)
        )
        if self.is_large:
            self.method, self.p = "chi_square", float(stats.chi2.sf(self.statistic, self.df))
        elif table.shape == (2, 2):
            self.method, self.p = "fisher", float(stats.fisher_exact(table)[1])
        else:
            self.method, self.p = "exact" if self.n <= SMALLEST else "drawn", self.of_all_tables()

    def of_all_tables(self) -> float:
        """The probability of a table with these margins whose chi-square is as large, table by table."""
        down, weights = self.table.sum(axis=1).tolist(), 1 / self.expected
        found: Counter[tuple[tuple[int, ...], float]] = Counter({(tuple(self.table.sum(axis=0).tolist()), 0.0): 1})
        for place, total in enumerate(down):
            after: Counter[tuple[tuple[int, ...], float]] = Counter()
            for (left, square), ways in found.items():
                for row in rows_of(total, left):
                    times = math.prod(math.comb(n, k) for n, k in zip(left, row, strict=True))
                    here = square + sum(k * k * w for k, w in zip(row, weights[place], strict=True))
                    after[tuple(n - k for n, k in zip(left, row, strict=True)), round(here, 9)] += ways * times
            found = after
        seen = float((self.table**2 * weights).sum())
        return sum(ways for (_, square), ways in found.items() if square >= seen - 1e-6) / sum(found.values())

    @cached_property
    def marks(self) -> Any:
        """1 where there are more parts than independence gives, −1 fewer, by p-values after Holm."""
        p = 2 * stats.norm.sf(np.abs(self.residuals))
        if self.n <= SMALLEST:
            p = np.array([[self.cell_p(i, j) for j in range(p.shape[1])] for i in range(p.shape[0])])
        order = np.argsort(p, axis=None, kind="stable")
        adjusted, most = np.empty(p.size), 0.0
        for rank, at in enumerate(order):
            most = max(most, (p.size - rank) * p.flat[at])
            adjusted[at] = min(1.0, most)
        return np.where(adjusted.reshape(p.shape) < SURE, np.sign(self.residuals), 0).astype(int)

    def cell_p(self, i: int, j: int) -> float:
        down, across, here = self.table[i].sum(), self.table[:, j].sum(), self.table[i, j]
        rest = [[here, down - here], [across - here, self.n - down - across + here]]
        return float(stats.fisher_exact(rest)[1])

    @property
    def v(self) -> float:
        return min(1.0, math.sqrt(self.statistic / (self.n * (min(self.table.shape) - 1))))

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Steiger 2004: the noncentralities at which this chi-square is at the percentiles 97.5 and 2.5."""
        found = []
        for p in (0.975, 0.025):
            if stats.chi2.cdf(self.statistic, self.df) <= p:
                found.append(0.0)
                continue
            most = 10 * self.statistic + 100 * self.df
            found.append(optimize.brentq(lambda nc, p=p: stats.ncx2.cdf(self.statistic, self.df, nc) - p, 1e-12, most))
        low, high = (min(1.0, math.sqrt(nc / (self.n * (min(self.table.shape) - 1)))) for nc in found)
        return low, high

    @property
    def corrected(self) -> float | None:
        """Bergsma 2013."""
        if self.n < 2:
            return None
        square = max(0.0, self.statistic / self.n - self.df / (self.n - 1))
        size = min(k - (k - 1) ** 2 / (self.n - 1) for k in self.table.shape) - 1
        return min(1.0, math.sqrt(square / size)) if size > 0 else None


@cache
def association(table: tuple[tuple[int, ...], ...]) -> Association:
    return Association(np.array(table))


def rows_of(total: int, left: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every way to put `total` into cells of which each takes at most what is left in its column."""
    if not left:
        return [()] if total == 0 else []
    return [(k, *rest) for k in range(min(total, left[0]) + 1) for rest in rows_of(total - k, left[1:])]
