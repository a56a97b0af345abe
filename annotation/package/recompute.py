#!/usr/bin/env python3
"""Recomputation of results/*.json from data/*.csv alone, and of the samples, with a comparison.

    python recompute.py [FOLDER]

FOLDER is the unpacked package, this file's folder if left out. It needs Python 3.11 or later, NumPy, pandas, and the
folders `agreement` and `kinds` beside it: the coefficients, and the kinds of questions, as the software that made the
package has them. All else is written out here once more: which answers count, agreed labels, analyses, draws of
samples. It ends with exit status 0 and "n of n values agree", or with 1 and every value that differs: file, key,
reported, recomputed.
"""

import json
import math
import random
import re
import sys
from collections import Counter, defaultdict
from functools import cache
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pandas as pd

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))  # `python -I` leaves it out
    sys.dont_write_bytecode = True  # an unpacked package stays as it is

from kinds import KINDS

from agreement import Clusters, Patterns, category_label, summary, weights_over

TOLERANCE = 1e-9
TINY = 1e-12
Z = 1.959963984540054  # the 97.5 percentile of the normal distribution
PENDING, NOT_ASKED = "PENDING", "(does not apply)"
OFF_SCALE = (PENDING, NOT_ASKED)
MOST_SHOWN = 50
UNSEEN = (
    "\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180e\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
DEFUSED = re.compile(f"'+[{UNSEEN}]*[=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b]")


class ComparisonReport:
    """What was compared so far."""

    def __init__(self):
        self.n, self.by_file, self.differing, self.not_recomputed = 0, Counter(), [], []

    def compare(self, file, key, reported, found, tolerance=TOLERANCE):
        self.n += 1
        self.by_file[file] += 1
        if not same(reported, found, tolerance):
            self.differing.append((file, key, reported, found))

    def leave(self, sentence):
        if sentence not in self.not_recomputed:
            self.not_recomputed.append(sentence)


def same(one, other, tolerance=TOLERANCE):
    """Whether two values are the same: numbers to 1e-9 (of themselves, where they are above 1)."""
    if is_number(one) and is_number(other):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return abs(one - other) <= tolerance * max(1.0, abs(one))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(same(a, b, tolerance) for a, b in zip(one, other, strict=True))
    return one == other


def is_number(value):
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


# The data -------------------------------------------------------------------------------------------------------------


def text_of(cell):
    """A cell without the apostrophe that keeps spreadsheets from running it."""
    return cell[1:] if cell[:1] == "'" and DEFUSED.match(cell) else cell


def in_code_order(code):
    """R2 before R10."""
    return len(code), code


class VersionDimension:
    """A question under one version of a taxonomy."""

    def __init__(self, row):
        self.key, self.kind, self.required = row.dimension, KINDS[row.kind], row.required == "true"
        self.above = row.applies_when or None
        self.when = set(row.applies_when_is.split(";")) if row.applies_when_is else set()
        self.paths, self.selectable = {}, []

    def below(self):
        """The values of the question above under which this one is asked, given that question."""
        return self.when

    def value(self, cell):
        """What stands in a cell: a set (multi), a number, or a text."""
        return self.kind.value_in(cell)


class PackageData:
    """The tables of the package, each cell a text."""

    def __init__(self, folder):
        self.folder = folder
        rounds = self.table("rounds")
        self.rounds = {int(row.round): row for row in rounds.itertuples()}
        self.dimensions = defaultdict(dict)
        for row in self.table("dimensions").itertuples():
            self.dimensions[row.taxonomy, row.taxonomy_version][row.dimension] = VersionDimension(row)
        for row in self.table("categories").itertuples():
            dimension = self.dimensions[row.taxonomy, row.taxonomy_version][row.dimension]
            dimension.paths[row.category] = tuple(row.path.split("/"))
            if row.selectable == "true":
                dimension.selectable.append(row.category)
        for version in self.dimensions.values():
            for dimension in version.values():
                if dimension.above:  # a category stands for all below it
                    paths = version[dimension.above].paths
                    dimension.when |= {key for key, path in paths.items() if dimension.when & set(path)}
        self.round_items = {(int(row.round), row.item): row for row in self.table("round_items").itertuples()}
        self.answers = self.table("answers")
        self.ratings = self.table("ratings")
        self.items = self.table("items")
        self.labels = self.table("labels")
        self.read_changes()

    def read_changes(self):
        """What became of categories: (taxonomy, version, dimension, backwards) -> category -> what it may be."""
        self.changes, self.parents = defaultdict(lambda: defaultdict(list)), {}
        numbers = defaultdict(set)
        for taxonomy, number in self.dimensions:
            numbers[taxonomy].add(int(number))
        for taxonomy, every in numbers.items():
            for before, number in pairwise(sorted(every)):
                self.parents[taxonomy, number] = before
        path = self.folder / "taxonomy" / "changes.json"
        for each in json.loads(path.read_text(encoding="utf-8")) if path.exists() else []:
            taxonomy, number, old, new = each["taxonomy"], each["to"], each["old"], each["new"]
            self.parents[taxonomy, number] = each["from"]
            if old is not None and new is not None:
                self.changes[taxonomy, number, new["dimension"], False][old["category"]].append(new["category"])
                self.changes[taxonomy, number, new["dimension"], True][new["category"]].append(old["category"])

    def ancestors(self, taxonomy, number):
        """A version and those it came from, the nearest first."""
        found = []
        while number is not None and number not in found:
            found.append(number)
            number = self.parents.get((taxonomy, number))
        return found

    def table(self, name):
        found = pd.read_csv(self.folder / "data" / f"{name}.csv", dtype=str, keep_default_na=False, encoding="utf-8")
        found = found.map(text_of) if len(found) else found
        sets = found.columns[2:] if name == "labels_wide" else found.columns.intersection(["values", "original_values"])
        return found.assign(**{column: found[column].replace("[]", "") for column in sets})  # the empty set

    def version_of(self, number):
        row = self.rounds[number]
        return self.dimensions[row.taxonomy, row.taxonomy_version]

    def is_training(self, number, item):
        return self.round_items[number, item].training == "true"


# Agreement ------------------------------------------------------------------------------------------------------------


class AnswerRevision:
    """One revision of what a rater said of an item in a round."""

    def __init__(self, row):
        self.round, self.item, self.rater, self.role = int(row.round), row.item, row.rater, row.role
        self.revision = int(row.revision)
        self.is_skip = row.state == "skipped"
        self.n_parts, self.places, self.is_matched, self.blind = 0, {}, False, None
        self.given = defaultdict(dict)  # part -> dimension -> value

    def has(self, place):
        """Whether this rater found the bug that is the part `place` of the item."""
        if self.is_matched:
            return place in self.places.values()
        return self.n_parts >= place

    def own_part(self, place):
        return next((part for part, at in self.places.items() if at == place), place)


def answers_of(data, which):
    """The answers that count: `which` is blind (before discussion), current (after it) or first (before feedback)."""
    found = {}
    for row in data.answers[data.answers[which] == "true"].itertuples():
        key = (row.round, row.item, row.rater)
        answer = found.setdefault(key, AnswerRevision(row))
        if row.part:
            answer.n_parts = max(answer.n_parts, int(row.part))
            if row.matched == "true":
                answer.is_matched = True
                answer.places[int(row.part)] = int(row.agreed_part)
    for row in data.ratings[data.ratings[which] == "true"].itertuples():
        answer = found[row.round, row.item, row.rater]
        dimension = data.version_of(answer.round)[row.dimension]
        answer.given[int(row.part)][row.dimension] = dimension.value(row.values)
    return list(found.values())


def was_asked(dimension, said):
    """Whether a question applies under a rater's own answer to the one above."""
    above = said.get(dimension.above)
    if above is None:
        return False
    return bool(dimension.when & (above if isinstance(above, frozenset) else {above}))


def units_of(data, answers, entry):
    """(round, item, part) -> rater -> value, for the dimension and the rounds of an entry."""
    key, rounds = entry["dimension"], set(entry["rounds"])
    units = defaultdict(dict)
    comparable = []
    for answer in answers:
        if answer.round not in rounds or answer.role != "rater" or data.is_training(answer.round, answer.item):
            continue
        dimension = data.version_of(answer.round).get(key)
        if dimension is None:
            continue
        comparable.append((answer, dimension))
        for part, said in answer.given.items():
            if key in said and (dimension.above is None or was_asked(dimension, said)):
                place = answer.places.get(part, part)
                units[answer.round, answer.item, place][answer.rater] = said[key]
    if entry["applies"] == "either":
        by_item = defaultdict(list)
        for answer, dimension in comparable:
            by_item[answer.round, answer.item].append((answer, dimension))
        for (number, item, place), given in units.items():
            for answer, dimension in by_item[number, item]:
                if dimension.above is None or dimension.kind.is_open or answer.is_skip:
                    continue
                said = answer.given.get(answer.own_part(place), {})
                if answer.rater not in given and answer.has(place) and not was_asked(dimension, said):
                    given[answer.rater] = frozenset([NOT_ASKED]) if dimension.kind.is_set else NOT_ASKED
    return units


def categories_of(data, entry, used):
    """The categories in their order: of the newest version first; of an ordinal question the whole scale."""
    key = entry["dimension"]
    numbers = sorted((n for n in entry["rounds"] if key in data.version_of(n)), reverse=True)
    dimensions = [data.version_of(number)[key] for number in numbers]
    if not dimensions[0].kind.takes_one_category:
        return sorted(used, key=lambda value: sorted(value) if isinstance(value, frozenset) else value)
    scale = set(dimensions[0].selectable) if dimensions[0].kind.has_steps else set()
    order = dict.fromkeys(each for dimension in dimensions for each in dimension.paths)
    found = [each for each in order if each in used or each in scale] + [each for each in OFF_SCALE if each in used]
    return found + sorted(used - {*found})


def patterns_of(data, answers, entry):
    """The ratings of an entry; the units, as rows of values, of each item that has several."""
    units = units_of(data, answers, entry)
    raters = sorted({rater for given in units.values() for rater in given}, key=in_code_order)
    used = {value for given in units.values() for value in given.values()}
    by_item = defaultdict(list)
    for (_, item, _), given in units.items():
        by_item[item].append([given.get(rater) for rater in raters])
    rows = [row for own in by_item.values() for row in own]
    patterns = Patterns.from_table(rows, raters=raters, categories=categories_of(data, entry, used))
    return patterns, [own for own in by_item.values() if len(own) > 1]


def summary_of(data, answers, entry, fixed):
    """What `agreement` computes from the ratings of an entry, by the names of results/agreement.json."""
    patterns, several = patterns_of(data, answers, entry)
    has_coefficients = KINDS[entry["kind"]].has_coefficients
    paths, weights = {}, entry["weights"]
    for number in sorted(entry["rounds"], reverse=True):
        dimension = data.version_of(number).get(entry["dimension"])
        for key, path in (dimension.paths if dimension else {}).items():
            paths.setdefault(key, path)
    if weights == "custom":
        weights = weights_over(fixed["weights"], fixed["scale"], patterns.categories, apart=OFF_SCALE)
    return summary(
        patterns,
        kind=KINDS[entry["kind"]].variable,
        metric=entry["metric"],
        weights=weights,
        paths=paths,
        apart=OFF_SCALE,
        thresholds=fixed.get("threshold"),
        coefficient=fixed.get("coefficient", "krippendorff_alpha"),
        # The parts of an item, in all of these rounds, are one cluster.
        clusters=Clusters.of(patterns, several) if several and has_coefficients else None,
    )


def check_agreement(data, report):
    """Every number of results/agreement.json."""
    file = "results/agreement.json"
    document = json.loads((data.folder / file).read_text(encoding="utf-8"))
    every = {"before": answers_of(data, "blind"), "after": answers_of(data, "current")}
    for entry in document["entries"]:
        where = f"rounds {entry['rounds']}" if entry["round"] is None else f"round {entry['round']}"
        at = f"{entry['dimension']}, {where}"
        at += f", {entry['when']}"

        def check(key, reported, found, at=at):
            report.compare(file, f"{at}: {key}", reported, found)

        fixed = document["fixed"].get(entry["dimension"], {})
        found = summary_of(data, every[entry["when"]], entry, fixed)
        for name in ("units", "left_out", "raters", "ratings", "categories"):
            check(name, entry[name], found[name])
        check_coefficients(check, entry, found, fixed.get("threshold"))
        check_parts(check, entry, found)


def check_coefficients(check, entry, found, threshold):
    by_name = {each["name"]: each for each in found["coefficients"]}
    check("coefficients", [each["name"] for each in entry["coefficients"]], list(by_name))
    for each in entry["coefficients"]:
        name, own = each["name"], by_name[each["name"]]
        check(name, each["value"], own["value"])
        check(f"{name}, standard error", each["se"], own["se"])
        check(f"{name}, 95% CI", [each["ci_low"], each["ci_high"]], [own["ci_low"], own["ci_high"]])
        check(f"{name}, method of the 95% CI", each["ci_method"], own["ci_method"])
        check(f"{name}, confidence of reaching {threshold}", each["p_threshold"], own["p_threshold"])


def check_parts(check, entry, found):
    """Agreement by category and pair, confusion, and the pairs of categories that are confused."""

    def each_of(name, *keys):
        def at(each):
            return tuple(tuple(each[key]) if isinstance(each[key], list) else each[key] for key in keys)

        own = {at(each): each for each in found[name]}
        check(f"{name}, which", sorted(at(each) for each in entry[name]), sorted(own))
        return [(each, own.get(at(each), {})) for each in entry[name]]

    for each, own in each_of("by_category", "category"):
        for name in ("agreement", "n", "positive", "negative", "prevalence", "bias", "pabak"):
            check(f"category {each['category']}, {name}", each[name], own.get(name))
    for each, own in each_of("by_pair", "raters"):
        for name in ("cohen_kappa", "percent_agreement", "n"):
            check(f"{' and '.join(each['raters'])}, {name}", each[name], own.get(name))
    for each, own in each_of("confusion", "a", "b"):
        check(f"confusion of {each['a']} and {each['b']}", each["n"], own.get("n"))
    for each, own in each_of("confused_pairs", "a", "b"):
        for name in ("n", "share", "coefficient", "gain", "percent_gain"):
            check(f"{each['a']} and {each['b']} as one, {name}", each[name], own.get(name))


# Training items -------------------------------------------------------------------------------------------------------


def known_of(data):
    """(round, item) -> one dict of values by dimension for each part that is known."""
    found = {}
    for row in data.table("known_labels").itertuples():
        parts = found.setdefault((int(row.round), row.item), [{} for _ in range(int(row.n_parts))])
        parts[int(row.part) - 1][row.dimension] = data.version_of(int(row.round))[row.dimension].value(row.values)
    return found


def check_training(data, report):
    """Every number of results/training.json: first answers to training items, and current ones where some changed."""
    file = "results/training.json"
    if not (data.folder / file).exists():
        return
    known = known_of(data)
    first, current = (
        {(each.round, each.rater, each.item): each for each in answers_of(data, which)}
        for which in ("first", "current")
    )
    items = defaultdict(list)
    for number, rater, item in first:
        if (number, item) in known:
            items[number, rater].append(item)
    tries = json.loads((data.folder / file).read_text(encoding="utf-8"))["tries"]
    report.compare(file, "tries", sorted((each["round"], each["rater"]) for each in tries), sorted(items))
    for each in tries:
        number, rater = each["round"], each["rater"]
        had = items[number, rater]
        n_revised = sum(current[number, rater, item].revision > 1 for item in had)
        report.compare(file, f"round {number}, {rater}: items", each["n_items"], len(had))
        report.compare(file, f"round {number}, {rater}: revised", each["n_revised"], n_revised)
        for when, told, answers in (("first", each["first"], first), ("after", each["after"], current)):
            if when == "after" and not n_revised:
                report.compare(file, f"round {number}, {rater}: after", told, None)
                continue

            def check(key, reported, found, at=f"round {number}, {rater}, {when}"):
                report.compare(file, f"{at}: {key}", reported, found)

            check_try(check, data.version_of(number), told, [answers[number, rater, item] for item in had], known)


def check_try(check, dimensions, told, answers, known):
    judged, n_right = defaultdict(list), 0
    for answer in answers:
        here = judged_labels(dimensions, answer, known[answer.round, answer.item])
        n_right += all(given == right for _, given, right, _ in here)
        for key, given, right, missing in here:
            judged[key].append((given, right, missing))
    check("items right", told["n_right"], n_right)
    check("dimensions", sorted(each["dimension"] for each in told["dimensions"]), sorted(judged))
    for each in told["dimensions"]:
        key, here = each["dimension"], judged[each["dimension"]]
        check(f"{key}, known", each["n_known"], len(here))
        check(f"{key}, right", each["n_right"], sum(given == right for given, right, _ in here))
        check(f"{key}, answered", each["n_answered"], sum(given is not None for given, _, _ in here))
        for name in ("skipped", "not_asked"):
            check(f"{key}, {name}", each[f"n_{name}"], sum(missing == name for _, _, missing in here))
        if "coefficient" in each:
            both = [(given, right) for given, right, _ in here if given is not None and right is not None]
            check(f"{key}, {each['coefficient']}", each["value"], against_known(dimensions[key], both, each))


def judged_labels(dimensions, answer, known):
    """(dimension, given, known, why nothing was given) of each part, for all that is known.

    In a part that only the rater has, dimensions that are known in some part are judged, and wrong.
    """
    found = []
    somewhere = {key for part in known for key in part}
    for part in range(1, max(answer.n_parts, len(known)) + 1):
        said = answer.given.get(part, {})
        right = known[part - 1] if part <= len(known) else dict.fromkeys(somewhere & set(said))
        for key, value in right.items():
            missing = ""
            if key not in said and answer.is_skip:
                missing = "skipped"
            elif key not in said and part <= answer.n_parts:
                dimension = dimensions[key]
                is_asked = dimension.above is None or was_asked(dimension, said)
                missing = "" if is_asked else "not_asked"
            found.append((key, said.get(key), value, missing))
    return found


def against_known(dimension, both, told):
    """The coefficient of a rater's labels against the known ones, None where it is undefined."""
    used = {value for pair in both for value in pair}
    if dimension.kind.has_steps:
        categories = [*dimension.selectable, *(each for each in OFF_SCALE if each in used)]
    else:
        categories = sorted(used, key=lambda value: sorted(value) if isinstance(value, frozenset) else value)
    if not both:
        return None
    found = summary(
        Patterns.from_table([list(pair) for pair in both], raters=["rater", "known"], categories=categories),
        kind=dimension.kind.variable,
        metric=told["metric"],
        weights=told["weights"],
        paths=dimension.paths,
        apart=OFF_SCALE,
        intervals=False,
        coefficient=told["coefficient"],
    )
    return next(each["value"] for each in found["coefficients"] if each["name"] == told["coefficient"])


# Agreed labels --------------------------------------------------------------------------------------------------------


class ValueMapping:
    """What values become on the way from one version of a taxonomy to another; `is_known` where mappings lead there."""

    def __init__(self, data, taxonomy, old, new):
        self.data, self.taxonomy, self.old, self.new = data, taxonomy, old, new
        up, down = data.ancestors(taxonomy, old), data.ancestors(taxonomy, new)
        shared = next((number for number in up if number in down), None)
        self.is_known, self.steps = shared is not None, []
        if self.is_known:  # (the version with the changes, the version that is reached, whether it is gone backwards)
            back = up[: up.index(shared) + 1]
            self.steps = [(number, reached, True) for number, reached in pairwise(back)]
            self.steps += [(number, number, False) for number in reversed(down[: down.index(shared)])]

    def kind(self, number, key):
        dimension = self.data.dimensions[self.taxonomy, str(number)].get(key)
        return dimension.kind if dimension else None

    def ends(self, key):
        """Why no answer to a question can be told: (what happened, words), None where it goes on."""
        kind = self.kind(self.old, key)
        for _, reached, _ in self.steps:
            after = self.kind(reached, key)
            if after is None:
                return "dimension", f"its dimension is not in version {reached}"
            if kind is not None and not kind.is_like(after):
                return "kind", f"its dimension is of another kind in version {reached}"
            kind = after
        return None

    def category(self, key, category):
        """(what one category becomes, None), or (None, why it can't be told)."""
        now, loss, parting = {category}, False, None
        for number, _, is_back in self.steps:
            into = self.data.changes[self.taxonomy, number, key, is_back]
            heirs = {each: into.get(each, []) for each in now}
            after = list(dict.fromkeys(one for each in heirs.values() for one in each))
            if not after:
                return None, f"{'added' if is_back else 'retired'} in version {number}"
            loss = loss or not all(heirs.values())
            if len(after) > 1:
                which = "merged in version {} from {}" if is_back else "split in version {} into {}"
                parting = parting or which.format(number, ", ".join(after))
            elif not loss:
                parting = None
            now = dict.fromkeys(after)
        return (None, parting) if parting else (next(iter(now)), None)

    def tell(self, key, value):
        """(a value in terms of the version at the end, None), or (None, why there is none)."""
        if self.old == self.new:
            return value, None
        if not self.is_known:
            return None, f"no mapping leads to version {self.new}"
        if end := self.ends(key):
            return None, end[1]
        if (kind := self.kind(self.old, key)) is not None and not kind.has_categories:
            return value, None
        found = set()
        for each in sorted(as_set(value)):
            told, why = (each, None) if each == PENDING else self.category(key, each)
            if why:
                return None, why
            found.add(told)
        if (kind := self.kind(self.new, key)) is not None and kind.is_set:
            return frozenset(found), None
        if len(found) != 1:
            return None, f"its dimension is of another kind in version {self.new}"
        return found.pop(), None


class PartStatus:
    """How a part of an item stands on a question of a round: `value` is what is agreed, None for nothing.

    `ratings` (rater -> value) are what it rests on. `first` tells where a value comes from that a worklist carries on:
    (round, version, value, raters). `is_against` marks what disagrees with a label that was agreed before.
    """

    def __init__(self, place, value, method, ratings, is_open=False, is_decided=False, is_against=False):
        self.place, self.value, self.method, self.ratings = place, value, method, ratings
        self.is_open, self.is_decided, self.is_against, self.first = is_open, is_decided, is_against, None

    def carried(self, first, value, ratings):
        found = PartStatus(self.place, value, self.method, ratings, is_decided=self.is_decided)
        found.first = first
        return found


class PreviousLabel:
    """What was agreed on an item of a worklist before it, in terms of the worklist's version."""

    def __init__(self, asked, n_parts, new):
        self.asked, self.n_parts, self.new = asked, n_parts, new
        self.kept, self.unsettled, self.others, self.all = {}, set(), {}, {}

    def above(self, part, dimensions):
        """The questions of a part that decide whether something which is asked there applies; without one, all such."""
        found = set()
        for key in reversed(list(dimensions)):
            if dimensions[key].above and (not self.asked or (part, key) in self.asked or key in found):
                found.add(dimensions[key].above)
        return found

    def is_judged(self, place, dimension, judged):
        """Whether the answers of the worklist count at a place that is not kept."""
        if place in self.asked or place in self.unsettled:
            return place in self.asked
        return place[0] > self.n_parts or place[1] in self.new or dimension.above in judged


class AgreedLabels:
    """What counts for each item in each round, from what raters gave and what was decided."""

    def __init__(self, data):
        self.data, self.known, self.ways = data, {}, {}
        self.decided, self.said = defaultdict(dict), defaultdict(list)
        for row in data.table("resolutions").sort_values("revision", key=lambda each: each.astype(int)).itertuples():
            method = "discussion" if row.reported_as == "meeting" else row.method
            self.decided[int(row.round), row.item][int(row.part), row.dimension] = row._replace(method=method)
        blind = {(each.round, each.item, each.rater): each for each in answers_of(data, "blind")}
        for answer in sorted(answers_of(data, "current"), key=lambda each: in_code_order(each.rater)):
            answer.blind = blind.get((answer.round, answer.item, answer.rater))
            if answer.role != "machine":
                self.said[answer.round, answer.item].append(answer)
        waiting = data.answers[(data.answers.role == "rater") & data.answers.state.isin(["waiting", "leased"])]
        self.unfinished = {(int(row.round), row.item) for row in waiting.itertuples()}

    def version(self, number):
        return int(self.data.rounds[number].taxonomy_version)

    def way(self, taxonomy, old, new):
        if (taxonomy, old, new) not in self.ways:
            self.ways[taxonomy, old, new] = ValueMapping(self.data, taxonomy, old, new)
        return self.ways[taxonomy, old, new]

    def is_complete(self, number, item):
        """Whether all raters of an item are done with it, or their round is over."""
        if self.data.rounds[number].state != "open":
            return True
        n_done = sum(answer.role == "rater" for answer in self.said[number, item])
        return (number, item) not in self.unfinished and n_done >= int(self.data.round_items[number, item].n_raters)

    def stands(self, number, item):
        """How an item stands in a round: a list of `PartStatus`; what was agreed before a worklist (None elsewhere)."""
        if (number, item) not in self.known:
            place, before = self.data.round_items[number, item], self.before(number, item)
            decided = {at: row for at, row in self.decided[number, item].items() if row.method != "reopened"}
            dimensions, answers = self.data.version_of(number), self.said[number, item]
            is_relabel = self.data.rounds[number].kind == "relabel"
            found = judged(dimensions, answers, decided, int(place.n_raters), before, is_relabel)
            self.known[number, item] = found, before
        return self.known[number, item]

    def before(self, number, item):
        """Of an item of a worklist that is asked in places: how it stood in its newest earlier round that is over."""
        asked = self.data.round_items[number, item].asked
        if self.data.rounds[number].kind != "relabel" or not asked:
            return None
        earlier = [
            each
            for each, row in self.data.rounds.items()
            if each < number
            and row.state != "open"
            and row.kind != "screening"
            and (each, item) in self.data.round_items
            and not self.data.is_training(each, item)
        ]
        if not earlier:
            return None
        last, taxonomy = max(earlier), self.data.rounds[number].taxonomy
        way = self.way(taxonomy, self.version(last), self.version(number))
        stands, _ = self.stands(last, item)
        here, there = self.data.version_of(number), self.data.version_of(last)
        new = {key for key in here if key not in there or (way.is_known and (way.ends(key) or ("",))[0] == "dimension")}
        n_parts = max((stand.place[0] for stand in stands), default=0)
        before = PreviousLabel({(part, key) for part, key in json.loads(asked)}, n_parts, new)

        def told(key, value):
            return None if key not in here or value is None else way.tell(key, value)[0]

        for stand in stands:
            at, key = stand.place, stand.place[1]
            ratings = {who: value for who, given in stand.ratings.items() if (value := told(key, given)) is not None}
            if at in before.asked and not stand.is_decided:
                before.others[at] = {who: each for who, each in ratings.items() if PENDING not in as_set(each)}
            if stand.is_open:
                before.unsettled.add(at)
                continue
            first = stand.first or (last, self.version(last), stand.value, sorted(stand.ratings, key=in_code_order))
            now = stand.carried(first, told(key, stand.value), ratings)
            if stand.value is not None:
                before.all[at] = now
            if stand.value is not None and now.value is None and key not in new:
                before.unsettled.add(at)
            elif at not in before.asked and key in here:
                before.kept[at] = now
        return before

    def labels(self, number, item, version):
        """(part, dimension) -> (`PartStatus`, value told in a version or None, why there is none): the agreed labels.

        Also the places that wait for a decision.
        """
        if not self.is_complete(number, item):
            return {}, set()
        stands, before = self.stands(number, item)
        settled = {stand.place: stand for stand in stands if stand.value is not None}
        here = set(settled) | {stand.place for stand in stands if stand.is_decided}
        against = {stand.place for stand in stands if stand.is_against}
        waits = {stand.place for stand in stands if stand.is_against and stand.is_open}
        for key, dimension in self.data.version_of(number).items():
            waits |= {(part, key) for part, above in waits if above == dimension.above}
        against |= waits
        for at, stand in before.all.items() if before else ():
            if at not in here and (at in before.asked or at in against or stand.value is None):
                settled[at] = stand
        taxonomy, found, is_moved = self.data.rounds[number].taxonomy, {}, False
        for at, stand in settled.items():
            _, own, value, _ = stand.first or (number, self.version(number), stand.value, ())
            is_moved = is_moved or own != version
            found[at] = (stand, *self.way(taxonomy, own, version).tell(at[1], value))
        if is_moved:
            dimensions = self.data.dimensions[taxonomy, str(version)]
            said = {at: value for at, (_, value, _) in found.items() if value is not None}
            found = {at: each for at, each in found.items() if still_applies(dimensions, at, said)}
        return found, {stand.place for stand in stands if stand.is_open}


def still_applies(dimensions, at, said):
    """Whether a question is asked under values told in another version; what is not told speaks against nothing."""
    part, key = at
    dimension = dimensions.get(key)
    if dimension is None or dimension.above is None or (part, dimension.above) not in said:
        return True
    above = (part, dimension.above)
    return still_applies(dimensions, above, said) and was_asked(dimension, {dimension.above: said[above]})


def check_labels(data, agreed, report):
    """data/labels.csv, from what raters gave and what was decided; and labels_wide.csv, from labels.csv."""
    file, found = "data/labels.csv", {}
    for number, item in rounds_that_count(data):
        version = int(data.rounds[number].told_version)
        for (part, key), (stand, value, why) in agreed.labels(number, item, version)[0].items():
            own = (number, agreed.version(number), stand.value, sorted(stand.ratings, key=in_code_order))
            round_, of, original, raters = stand.first or own
            told = {"values": "" if value is None else cell_of(value), "told in version": str(version)}
            told |= {"why there are none": why or "", "method": stand.method, "round": str(round_)}
            told |= {"raters": ";".join(raters), "as agreed": cell_of(original), "agreed in version": str(of)}
            found[item, part, key] = told
    for row in data.labels.itertuples():
        at = f"{row.item}, part {row.part}, {row.dimension}"
        told = found.pop((row.item, int(row.part), row.dimension), None)
        if told is None:
            report.compare(file, at, row.values, None)
            continue
        reported = {"values": row.values, "told in version": row.taxonomy_version, "why there are none": row.unmapped}
        reported |= {"method": row.method, "round": row.round, "raters": row.raters}
        reported |= {"as agreed": row.original_values, "agreed in version": row.original_version}
        for name, value in reported.items():
            report.compare(file, f"{at}: {name}", value, told[name])
    for (item, part, key), told in found.items():
        report.compare(file, f"{item}, part {part}, {key}", None, told["as agreed"])
    check_wide(data, report)


def rounds_that_count(data, wanted=None):
    """The round in which each item's labels count: closed before not closed, then the newest; no screening.

    Of one round that is `wanted` all items.
    """
    best = {}
    for (number, item), row in data.round_items.items():
        round_ = data.rounds[number]
        if row.training == "true" or (round_.kind == "screening" if wanted is None else number != wanted):
            continue
        rank = 2 if round_.state == "closed" else 1
        if round_.kind == "relabel":
            rank = 0 if round_.state == "open" else 2
        best[item] = max(best.get(item, (-1, -1)), (rank, number))
    return sorted((number, item) for item, (_, number) in best.items())


def judged(dimensions, answers, decided, n_raters, before=None, is_relabel=False):
    """How each part of one item stands on each question: what is agreed, was decided, or waits."""
    given = []
    for answer in answers:
        back = {answer.places.get(part, part): part for part in range(1, answer.n_parts + 1)}
        given.append((answer, {} if answer.is_skip else back))
    kept = before.kept if before else {}
    asked = before.asked if before else ()
    n_parts = max([0, *(at for _, back in given for at in back), *(part for part, _ in [*decided, *kept, *asked])])
    found = []
    for part in range(1, n_parts + 1):
        gone = [key for key in dimensions if (part, key) in decided and decided[part, key].no_part == "true"]
        if gone:
            found += [PartStatus((part, key), None, decided[part, key].method, {}, is_decided=True) for key in gone]
            continue
        values, waits, blank, anew, settled_by = {}, set(), set(), set(), {}
        above = before.above(part, dimensions) if before else ()
        for key, dimension in dimensions.items():
            at, required = (part, key), dimension.required
            if dimension.above in waits:
                waits.add(key)
                continue
            if dimension.above in blank:
                required = False
            elif dimension.above is not None and not was_asked(dimension, values):
                continue
            if at not in decided and at in kept:
                stand = kept[at]
                if key in above and is_changed(at, given, stand):
                    stand = PartStatus(at, None, None, {}, is_open=True, is_against=True)
            elif at not in decided and before and not before.is_judged(at, dimension, anew):
                stand = None
            else:
                anew.add(key)
                is_new = required and (part, dimension.above) in decided
                others = before.others.get(at, {}) if before else {}
                stand = judged_here(at, dimension, given, decided.get(at), n_raters, required, is_new, others)
                if stand and not stand.is_open and not stand.is_decided:
                    settled = settled_by.get(dimension.above)
                    stand.method = "relabel" if is_relabel else rests_on(at, given, stand, n_raters, settled)
                    if is_relabel and len(stand.ratings) == 1:
                        stand.method = "relabel_single"
                if before and at in before.asked and at not in decided:
                    stand = asked_again(at, given, stand, required, before.all.get(at))
            if stand is None:
                blank.add(key)
                continue
            found.append(stand)
            if stand.method not in (None, "unanimous", "single"):
                settled_by[key] = stand.method
            if stand.is_open:
                waits.add(key)
            elif stand.value is not None:
                values[key] = stand.value
    return found


def is_changed(at, given, stand):
    """Whether an answer of a worklist is another than the label that stands, and than what its rater said before."""
    part, key = at
    for answer, back in given:
        value = answer.given.get(back[part], {}).get(key) if part in back else None
        if (
            value is not None
            and stand.value is not None
            and value not in (stand.value, stand.ratings.get(answer.rater))
        ):
            return True
    return False


def asked_again(at, given, stand, required, before):
    """How a place stands that a worklist asks for: one answer alone replaces no label that was decided."""
    if stand is None:
        is_answered = any(not answer.is_skip for answer, _ in given)
        waits = is_answered and (before is not None or required)
        return PartStatus(at, None, None, {}, is_open=True, is_against=before is not None) if waits else None
    if stand.is_open or before is None or not before.is_decided or len(stand.ratings) > 1:
        return stand
    if before.value is not None and stand.value == before.value:
        return before
    return PartStatus(at, None, None, stand.ratings, is_open=True, is_against=True)


def judged_here(at, dimension, given, decision, n_raters, required, is_new, others):
    """How one place stands by the answers of its round, and by earlier ones of `others` who are not asked again."""
    part, key = at
    earlier = {rater: value for rater, value in others.items() if rater not in {answer.rater for answer, _ in given}}
    ratings = dict(earlier)
    for answer, back in given:
        value = answer.given.get(back[part], {}).get(key) if part in back else None
        if value is not None:
            ratings[answer.rater] = value
    if decision is not None:
        has_value = decision.values or dimension.kind.is_set
        value = dimension.value(decision.values) if has_value else None
        return PartStatus(at, value, decision.method, ratings, is_decided=True)
    n_raters += len(earlier)
    present = [ratings[rater] for rater in sorted(ratings, key=in_code_order)]
    if differ(present, given, part, n_raters, required, is_new):
        return PartStatus(at, None, None, ratings, is_open=True)
    if not present:
        return None
    return PartStatus(at, present[0], None, ratings)


def rests_on(at, given, stand, n_raters, settled):
    """The method of a label on which all who answered are alike: that of all planned raters only where each was blind.

    `settled` is the method that settled the question above, where one did.
    """
    planned = [(answer, back) for answer, back in given if answer.role == "rater" and not answer.is_skip]
    alike = [(answer, back) for answer, back in planned if answer.rater in stand.ratings]
    is_missing = len(alike) < len(planned)
    if len(alike) < min(n_raters, 2) or (is_missing and len(alike) < len(stand.ratings)):
        return "third_rater"
    if settled and is_missing:
        return settled
    if not all(was_blind(answer, at) for answer, _ in alike):
        return "not_blind"
    return "single" if n_raters == 1 else "unanimous"


def was_blind(answer, at):
    """Whether a rater had given their value at a place before they could read others' answers."""
    part, key = at
    then = answer.blind
    if then is None or not then.has(part):
        return False
    now = answer.given.get(answer.own_part(part), {}).get(key)
    return then.given.get(then.own_part(part), {}).get(key) == now


def differ(present, given, part, n_raters, required, is_new):
    """Whether this waits for a decision."""
    if any(PENDING in value if isinstance(value, frozenset) else value == PENDING for value in present):
        return True
    if any(value != present[0] for value in present):
        return True
    answered = [(answer, back) for answer, back in given if not answer.is_skip]
    holders = [answer for answer, back in answered if part in back]
    if holders and len(holders) < len(answered) and (present or required):
        return True
    if not present:
        return bool(is_new and holders)
    return n_raters > 1 and len(present) < 2


def cell_of(value):
    return ";".join(sorted(value)) if isinstance(value, frozenset) else category_label(value)


def check_wide(data, report):
    """labels_wide.csv holds the same values as labels.csv, a row for each item and part."""
    wide = data.table("labels_wide")
    columns = [name for name in wide.columns if name not in ("item", "part")]
    found = {(row.item, row.part, row.dimension): row.values for row in data.labels.itertuples()}
    for row in wide.to_dict("records"):
        for name in columns:
            reported = found.pop((row["item"], row["part"], name), "")
            report.compare("data/labels_wide.csv", f"{row['item']}, part {row['part']}, {name}", row[name], reported)
    for key in found:
        report.compare("data/labels_wide.csv", ", ".join(key), None, found[key])


# Analyses of agreed labels --------------------------------------------------------------------------------------------

EXACT = 9  # with so many values or fewer, tests go through every order
MOST_DRAWN = 30_000_000  # labels that are shuffled for one p-value


BY_FIX = {
    "merged_fix": ("n_fixes", (), "merged fix"),
    "fixes": ("n_fixes", ((1, "1 fix"), (2, "2 fixes")), "3 fixes or more"),
    "fix_lines": (
        "lines",
        ((10, "1 to 10 lines"), (50, "11 to 50 lines"), (200, "51 to 200 lines")),
        "more than 200 lines",
    ),
    "fix_files": ("files", ((1, "1 file"), (5, "2 to 5 files")), "more than 5 files"),
    "days_to_fix": (
        "days_to_fix",
        ((1, "within a day"), (7, "within a week"), (30, "within 30 days")),
        "later than 30 days",
    ),
}
"""Groups of items by what fixed them: the column, the upper bounds of the groups, and the group above these."""


class LabelRows:
    """The agreed labels as rows, one per part of an item, with dimensions and what is known of items as columns.

    Those of all rounds or of one, in the versions that the study tells them in or in the one that is asked for.
    """

    def __init__(self, data, agreed, number=None, version=None):
        self.labels, self.rounds = defaultdict(dict), {}
        every = [data.rounds[number]] if number is not None else data.rounds.values()
        every = [row for row in every if number is not None or row.kind != "screening"]
        versions = {(row.taxonomy, version or int(row.told_version)) for row in every}
        self.dimensions, self.paths = {}, defaultdict(dict)
        for taxonomy, each in sorted(versions, key=lambda one: -one[1]):
            for key, dimension in data.dimensions[taxonomy, str(each)].items():
                self.dimensions.setdefault(key, dimension)
                for category, path in dimension.paths.items():
                    self.paths[key].setdefault(category, path)
        for counting, item in rounds_that_count(data, number):
            labels, waiting = agreed.labels(counting, item, version or int(data.rounds[counting].told_version))
            for part, key in waiting:
                self.labels[item, part].setdefault(key, None)
                self.rounds[item, part] = str(counting)
            for (part, key), (_, value, _) in labels.items():
                self.rounds[item, part] = str(counting)
                self.labels[item, part][key] = of_kind(self.dimensions.get(key), value)
        self.places = sorted(self.labels)
        self.positions = {(at, item): int(row.position) for (at, item), row in data.round_items.items()}
        self.items = {row.item: row for row in data.items.itertuples()}
        self.attributes = {item: json.loads(row.attributes or "{}") for item, row in self.items.items()}

    def column(self, key, places):
        """The values of a dimension or attribute: None for none, a set where there can be several."""
        dimension = self.dimensions.get(key)
        if dimension is not None and not dimension.kind.is_open:
            return [self.labels[place].get(key) for place in places]
        return [self.attribute(key, place) for place in places]

    def in_order(self, places):
        """Where places stand in the order of labelling: round, place of the item in it, part."""

        def order(at):
            item, part = places[at]
            number = int(self.rounds.get(places[at], 0))
            return number, self.positions.get((number, item), 0), part

        return sorted(range(len(places)), key=order)

    def attribute(self, key, place):
        row = self.items[place[0]]
        if key in ("repository", "state"):
            return getattr(row, key) or None
        if key == "year":
            return row.created_at[:4] or None
        if key == "round":
            return self.rounds.get(place)
        if key in BY_FIX and not any(key in imported for imported in self.attributes.values()):
            return self.band_of_fix(row, *BY_FIX[key])
        value = self.attributes[place[0]].get(key.removeprefix("attribute."))
        if value is None or value == "":
            return None
        return value if isinstance(value, str) else json.dumps(value)

    def band_of_fix(self, row, column, bounds, above):
        """The group of an item by what fixed it; None where that is not known."""
        if row.n_fixes == "" or float(row.n_fixes) == 0:
            return None if row.n_fixes == "" else "no merged fix"
        value = getattr(row, column)
        if value == "":
            return None
        return next((words for bound, words in bounds if float(value) <= bound), above)

    def measure(self, key, places):
        """Numbers, NaN where none is known."""
        if key in self.dimensions:
            return np.array([math.nan if (v := self.labels[p].get(key)) is None else v for p in places])
        cells = [getattr(self.items[item], key) for item, _ in places]
        return np.array([float(cell) if cell else math.nan for cell in cells])

    def below(self, key, category):
        """A category and all below it."""
        found = {each for each, path in self.paths[key].items() if category in path}
        return found or {category}


def of_kind(dimension, value):
    """A value as a dimension of the newest version has it."""
    if value is None or dimension is None:
        return None
    if dimension.kind.is_set:
        return as_set(value)
    if isinstance(value, frozenset):
        return next(iter(value)) if len(value) == 1 else None
    return value


class QuestionRows:
    """The places and columns that a question is about, told at their level, without what was left out, and folded."""

    def __init__(self, rows, question):
        self.rows, self.question, places = rows, question, rows.places
        if question["parts"] == "single":
            n_parts = Counter(item for item, _ in places)
            places = [place for place in places if n_parts[place[0]] == 1]
        wanted = defaultdict(set)
        for each in question["where"]:
            key, _, value = each.partition(":")
            wanted[key] |= rows.below(key, value)
        for key, values in wanted.items():
            here = rows.column(key, places)
            places = [place for place, value in zip(places, here, strict=True) if as_set(value) & values]
        self.places = places
        self.items = [item for item, _ in places]

    def column(self, key):
        values, question = self.rows.column(key, self.places), self.question
        is_asked = key in question["dimensions"]
        gone = set()
        for each in question["left_out"]:
            named, colon, category = each.partition(":")
            if colon and named == key:
                gone |= self.rows.below(key, category)
            elif len(question["dimensions"]) == 1 and is_asked and each in self.rows.paths[key]:
                gone |= self.rows.below(key, each)
        level = question["levels"].get(key, question["levels"].get("", "leaf") if is_asked else "leaf")
        fold = question["folds"].get(key, question["folds"].get("", 0) if is_asked else 0)
        values = [self.lifted(key, without(value, gone), level) for value in values]
        return folded(values, fold)

    def lifted(self, key, value, level):
        if value is None or level == "leaf":
            return value
        if isinstance(value, frozenset):
            return frozenset(self.lifted(key, each, level) for each in value)
        path = self.rows.paths[key].get(value, (value,))
        return path[0] if level == "root" else path[-2] if len(path) > 1 else value


def as_set(value):
    return value if isinstance(value, frozenset) else {value} - {None}


def without(value, gone):
    if isinstance(value, frozenset):
        return (value - gone) or (None if value else value)
    return None if value in gone else value


def folded(values, fold):
    """Rare categories told as others: below a number of parts from 1 on, below 1 a share of those with a value."""
    if fold <= 0:
        return values
    n = Counter(each for value in values for each in as_set(value))
    least = fold if fold >= 1 else fold * sum(value is not None for value in values)
    rare = {each for each, times in n.items() if times < least}
    if not rare:
        return values

    def told(each):
        return "others" if each in rare else each

    return [
        None if v is None else frozenset(told(each) for each in v) if isinstance(v, frozenset) else told(v)
        for v in values
    ]


def wilson(n, of):
    """The share with Wilson's interval."""
    if of == 0:
        return {"n": n, "of": of, "share": None, "ci_low": None, "ci_high": None}
    p, square = n / of, Z * Z / of
    middle = (p + square / 2) / (1 + square)
    half = Z * math.sqrt(p * (1 - p) / of + square / (4 * of)) / (1 + square)
    low, high = 0.0 if n == 0 else middle - half, 1.0 if n == of else middle + half
    return {"n": n, "of": of, "share": p, "ci_low": low, "ci_high": high}


def check_share(check, key, reported, n, of):
    """A share, without an interval where items have several parts, which are not independent."""
    no_interval = {} if check.are_independent else {"ci_low": None, "ci_high": None}
    for name, value in {**wilson(n, of), **no_interval}.items():
        check(f"{key}, {name}", reported[name], value)


def check_analyses(data, agreed, report):
    """Every table of results/analyses.json."""
    file = "results/analyses.json"
    if not (data.folder / file).exists():
        return
    document = json.loads((data.folder / file).read_text(encoding="utf-8"))
    read = {}
    for entry in document["analyses"]:
        question, answer = entry["question"], entry["answer"]
        if answer is None:
            continue
        at, which = entry["title"], (question["round"], question["version"])
        if which[0] is not None and which[0] not in data.rounds:
            report.leave(f"the analysis “{at}”: of a round that is not in the package")
            continue
        if which not in read:
            read[which] = LabelRows(data, agreed, *which)

        def check(key, reported, found, tolerance=TOLERANCE, at=at):
            report.compare(file, f"{at}: {key}", reported, found, tolerance)

        asked = QuestionRows(read[which], question)
        is_of_items = entry["kind"] == "numbers" and answer["counted"] == "item"
        check.are_independent = is_of_items or len(set(asked.items)) == len(asked.items)
        CHECKS[entry["kind"]](check, asked, question, answer, report)


def check_categories(check, key, reported, n, of):
    """Categories with their shares; `of` is a number, or one for each category."""
    listed = {each["category"] for each in reported}
    check(f"{key}, categories", [], sorted(each for each, times in n.items() if times and each not in listed))
    for each in reported:
        whole = of.get(each["category"], 0) if isinstance(of, Counter) else of
        check_share(check, f"{key}, {each['category']}", each, n[each["category"]], whole)


def counted(values, among=None):
    """How many parts have each category."""
    return Counter(each for at, value in enumerate(values) if among is None or among[at] for each in as_set(value))


def check_counts(check, asked, question, answer, report):
    values = asked.column(question["dimensions"][0])
    n = sum(value is not None for value in values)
    check("n", answer["n"], n)
    check_categories(check, "all", answer["categories"], counted(values), n)
    if not question["by"]:
        return
    by = asked.column(question["by"])
    both = [a is not None and b is not None for a, b in zip(values, by, strict=True)]
    groups = counted(by, both)
    check("groups", sorted(each["value"] for each in answer["groups"]), sorted(groups))
    per_category = counted(values, both)
    for group in answer["groups"]:
        here = [is_both and group["value"] in as_set(b) for is_both, b in zip(both, by, strict=True)]
        check(f"{group['value']}, n", group["n"], sum(here))
        of = {"group": sum(here), "category": per_category, "all": n}[question["of"] or "group"]
        check_categories(check, group["value"], group["categories"], counted(values, here), of)


def check_marks(check, asked, question, answer, report):
    mark = asked.column(question["mark"])
    wanted = asked.rows.below(question["mark"], question["value"] or "true")
    is_marked = [None if value is None else bool(as_set(value) & wanted) for value in mark]
    values = asked.column(question["dimensions"][0]) if question["dimensions"] else [frozenset()] * len(mark)
    by = asked.column(question["by"]) if question["by"] else [None] * len(mark)

    def group(key, reported, here):
        said = [m for m, is_here in zip(is_marked, here, strict=True) if is_here and m is not None]
        check_share(check, key, reported, sum(said), len(said))
        check(f"{key}, unknown", reported["unknown"], sum(here) - len(said))
        for each in reported["categories"]:
            inside = [is_here and each["category"] in as_set(v) for is_here, v in zip(here, values, strict=True)]
            known = [m for m, is_here in zip(is_marked, inside, strict=True) if is_here and m is not None]
            check_share(check, f"{key}, {each['category']}", each, sum(known), len(known))

    group("all", answer["total"], [True] * len(mark))
    for reported in answer["groups"]:
        group(reported["value"], reported, [reported["value"] in as_set(value) for value in by])


def check_crosstab(check, asked, question, answer, report):
    rows, columns = (asked.column(key) for key in question["dimensions"])
    both = [(as_set(a), as_set(b)) for a, b in zip(rows, columns, strict=True) if a is not None and b is not None]
    table = Counter((a, b) for left, right in both for a in left for b in right)
    keys, heads = ([each["category"] for each in answer[name]] for name in ("row_categories", "column_categories"))
    check("n", answer["n"], len(both))
    for side, name in ((0, "row_categories"), (1, "column_categories")):
        totals = Counter(each for pair in both for each in pair[side])
        check(name, {each["category"]: each["n"] for each in answer[name]}, dict(totals))
    found = np.array([[table[a, b] for b in heads] for a in keys], dtype=float).reshape(len(keys), len(heads))
    check("counts", answer["counts"], found.astype(int).tolist())
    totals = {each["category"]: each["n"] for each in answer["row_categories"] + answer["column_categories"]}
    for i, a in enumerate(keys):
        for j, b in enumerate(heads):
            of = {"row": totals[a], "column": totals[b], "all": max(len(both), 1)}[question["of"]]
            check(f"share of {a} and {b}", answer["shares"][i][j], found[i, j] / of)
    if answer["test"] is not None:
        check_association(check, found, answer, report)


def check_association(check, table, answer, report):
    n, down, across = table.sum(), table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(down, across) / n
    statistic = float(((table - expected) ** 2 / expected).sum())
    df, narrow = (len(down) - 1) * (len(across) - 1), min(table.shape) - 1
    residuals = (table - expected) / np.sqrt(expected * np.outer(1 - down / n, 1 - across / n))
    test = answer["test"]
    check("chi-square", test["statistic"], statistic)
    check("degrees of freedom", test["df"], df)
    if test["method"] == "chi_square":
        check("p-value", test["p_value"], 1 - chi_square_below(statistic, df))
    elif test["method"] == "fisher":
        check("p-value", test["p_value"], fisher(table.astype(int)))
    elif test["method"] == "exact":
        check("p-value", test["p_value"], every_table(table.astype(int)))
    else:
        p, error = drawn_p(table.astype(int), statistic, test)
        check(f"p-value (random tables: to {error:.4f})", test["p_value"], p, error)
    v = answer["cramers_v"]
    check("Cramér's V", v["value"], min(1.0, math.sqrt(statistic / (n * narrow))))
    bounds = [noncentrality(statistic, df, p) for p in (0.975, 0.025)]
    limits = [min(1.0, math.sqrt(bound / (n * narrow))) for bound in bounds]
    check("Cramér's V, interval (to 1e-6)", [v["ci_low"], v["ci_high"]], limits, 1e-6)
    if n > 1:
        square = max(0.0, statistic / n - df / (n - 1))
        size = min(rank - (rank - 1) ** 2 / (n - 1) for rank in table.shape) - 1
        check("Cramér's V without bias", v["corrected"], min(1.0, math.sqrt(square / size)) if size > 0 else None)
    check("expected counts", answer["expected"], expected.tolist())
    check("adjusted residuals", answer["residuals"], residuals.tolist())
    check("test of residuals", answer["residuals_method"], "fisher" if n <= EXACT else "normal")
    p = [math.erfc(abs(each) / math.sqrt(2)) for each in residuals.ravel()]
    if n <= EXACT:
        whole = table.astype(int)
        p = [fisher(two_by_two(whole, *at)) for at in np.ndindex(whole.shape)]
    check("p-values of residuals", answer["p_residuals"], np.reshape(holm(p), table.shape).tolist())


def two_by_two(table, row, column):
    """A cell, the rest of its row, the rest of its column, and everything else."""
    both = table[row, column]
    down, across = table[row].sum() - both, table[:, column].sum() - both
    return np.array([[both, down], [across, table.sum() - both - down - across]])


@cache
def orders(n):
    """Every order of n places, a row each."""
    return np.array(list(permutations(range(n))))


def every_table(table):
    """The share of all orders of the second values whose table has a chi-square as large as this one."""
    first, second = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    height, width = table.shape
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    cells = first * width + second[orders(len(first))]
    squares = np.zeros(len(cells))
    for cell in range(height * width):
        squares += (cells == cell).sum(axis=1) ** 2 / expected.flat[cell]
    return float((squares >= (table**2 / expected).sum() - TOLERANCE).mean())


def drawn_p(table, statistic, test):
    """The share of tables with the same margins that are as far out, by shuffling; and how far off it may be.

    Both shares are drawn, so they differ by chance: hardly ever by more than five standard errors.
    """
    rows, columns = np.repeat(np.indices(table.shape).reshape(2, -1), table.ravel(), axis=1)
    n, (height, width) = len(rows), table.shape
    draws = max(200, min(test["draws"], MOST_DRAWN // max(n, 1)))
    rng = np.random.default_rng(test["seed"])
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)).ravel() / n
    as_large, at_once = 0, max(1, 2_000_000 // max(n, height * width))
    for start in range(0, draws, at_once):
        here = min(at_once, draws - start)
        shuffled = rng.permuted(np.broadcast_to(columns, (here, n)), axis=1)
        cells = (np.arange(here)[:, None] * height + rows) * width + shuffled
        counts = np.bincount(cells.ravel(), minlength=here * height * width).reshape(here, -1)
        as_large += int(((counts**2 / expected).sum(axis=1) - n >= statistic * (1 - TOLERANCE) - TOLERANCE).sum())
    p = (as_large + 1) / (draws + 1)
    each = 1 / draws + 1 / test["draws"]
    middle = min(max((p + test["p_value"]) / 2, each), 1 - each)
    return p, 5 * math.sqrt(middle * (1 - middle) * each) + each


def check_profiles(check, asked, question, answer, report):
    check_counts(check, asked, question, answer, report)
    times = {
        group["value"]: {each["category"]: each["n"] for each in group["categories"]} for group in answer["groups"]
    }
    named = [(each["a"], each["b"]) for each in answer["correlations"]]
    check("pairs", named, list(combinations(times, 2)))
    for each in answer["correlations"]:
        a, b = times[each["a"]], times[each["b"]]
        either = [key for key in {**a, **b} if a.get(key, 0) or b.get(key, 0)]
        rho, p, method = spearman(*(np.array([side.get(key, 0) for key in either], dtype=float) for side in (a, b)))
        at = f"{each['a']} and {each['b']}"
        check(f"{at}, categories", each["n_categories"], len(either))
        check(f"{at}, rho", each["rho"], rho)
        check(f"{at}, p-value (to 1e-7)", each["p_value"], p, 1e-7)
        check(f"{at}, test", each["method"], method)


def spearman(x, y):
    """The correlation of ranks, its p-value (exact up to nine, else by Student's t), the test; None without one."""
    if len(x) < 3 or len(set(x)) == 1 or len(set(y)) == 1:
        return None, None, None
    a, b = (ranks_of(each) - (len(each) + 1) / 2 for each in (x, y))
    rho = float((a * b).sum() / math.sqrt((a * a).sum() * (b * b).sum()))
    rho = max(-1.0, min(1.0, rho))
    if len(x) <= EXACT:
        sums, seen = b[orders(len(b))] @ a, (a * b).sum()
        tails = (sums >= seen - TOLERANCE).mean(), (sums <= seen + TOLERANCE).mean()
        return rho, float(min(1.0, 2 * min(tails))), "exact"
    return rho, student(rho, len(x) - 2), "t"


def student(rho, df):
    """The two-sided p-value of t = rho √(df ∕ (1 − rho²)): the density of rho under independence, from there on.

    With rho = sin(angle) the density is a power of the cosine, which Simpson's rule takes exactly enough.
    """
    if 1 - abs(rho) < TINY:
        return 0.0
    angles = [np.linspace(low, math.pi / 2, 20_001) for low in (math.asin(abs(rho)), 0.0)]
    weights = np.ones(20_001)
    weights[1:-1:2], weights[2:-1:2] = 4, 2
    tail, half = ((np.cos(each) ** (df - 1) * weights).sum() * (each[1] - each[0]) for each in angles)
    return float(tail / half)


def check_saturation(check, asked, question, answer, report):
    values = asked.column(question["dimensions"][0])
    order = asked.rows.in_order(asked.places)
    place, has = {}, defaultdict(set)
    for at in order:
        if values[at] is not None:
            number = place.setdefault(asked.places[at][0], len(place) + 1)
            for each in as_set(values[at]):
                has[each].add(number)
    n = len(place)
    check("items", answer["n_items"], n)
    check("categories", answer["n_categories"], len(has))
    once = sum(len(each) == 1 for each in has.values())
    check("in one item only", answer["n_once"], once)
    check("chance of a new one", answer["chance_new"], min(1.0, once / n) if n else None)
    first = {each["category"]: [each["place"], each["n_items"]] for each in answer["first_seen"]}
    check("first seen", sorted(first.items()), sorted((key, [min(each), len(each)]) for key, each in has.items()))
    for point in answer["curve"]:
        taken = point["n_items"]
        at = f"after {taken} items"
        check(at, point["n_categories"], sum(min(each) <= taken for each in has.values()))
        missed = sum(math.comb(n - len(each), taken) / math.comb(n, taken) for each in has.values())
        check(f"{at}, over all orders", point["mean"], len(has) - missed)


def check_combinations(check, asked, question, answer, report):
    columns = [asked.column(key) for key in question["dimensions"]]
    together, n = Counter(), 0
    for values in zip(*columns, strict=True):
        if any(value is None for value in values):
            continue
        n += 1
        here = [
            (key, each) for key, value in zip(question["dimensions"], values, strict=True) for each in as_set(value)
        ]
        for size in range(1, question["largest"] + 1):
            together.update(frozenset(each) for each in combinations(here, size))
    check("n", answer["n"], n)
    often = [each for each, times in together.items() if len(each) > 1 and times >= answer["least"]]
    check("how many", answer["n_found"], len(often))
    most = sorted((together[each] for each in often), reverse=True)[: len(answer["combinations"])]
    check("how often", [each["n"] for each in answer["combinations"]], most)
    for reported in answer["combinations"]:
        values = frozenset((each["dimension"], each["category"]) for each in reported["values"])
        at = " + ".join(sorted(each for _, each in values))
        check_share(check, at, reported, together[values], n)
        alone = math.prod(together[frozenset([each])] / n for each in values) if n else 0
        check(f"{at}, lift", reported["lift"], together[values] / n / alone if alone else None)


def holm(p_values):
    """Adjusted p-values of a family of tests."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    found, most = [0.0] * len(p_values), 0.0
    for rank, at in enumerate(order):
        most = max(most, (len(order) - rank) * p_values[at])
        found[at] = min(1.0, most)
    return found


def chi_square_below(x, df):
    """The distribution function of chi-square: the incomplete gamma function, by series or continued fraction."""
    a, x = df / 2, x / 2
    if x <= 0:
        return 0.0
    scale = math.exp(-x + a * math.log(x) - math.lgamma(a))
    if x < a + 1:
        term = added = 1 / a
        k = a
        while term > added * 1e-17:
            k += 1
            term *= x / k
            added += term
        return added * scale
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 10_000):
        step = -i * (i - a)
        b += 2
        d = 1 / (step * d + b)
        c = b + step / c
        h *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return 1 - scale * h


def noncentral_below(x, df, nc):
    """The distribution function of the noncentral chi-square, as a mixture of central ones."""
    mean, found, seen = nc / 2, 0.0, 0.0
    begin = max(0, int(mean - 12 * math.sqrt(mean + 1)))
    for k in range(begin, int(mean + 12 * math.sqrt(mean + 1)) + 40):
        weight = math.exp(-mean + k * math.log(mean) - math.lgamma(k + 1)) if mean > 0 else float(k == 0)
        found += weight * chi_square_below(x, df + 2 * k)
        seen += weight
    return found / seen


def noncentrality(x, df, p):
    """The noncentrality at which x lies at the percentile p."""
    if chi_square_below(x, df) <= p:
        return 0.0
    low, high = 0.0, x + 10 * math.sqrt(x) + 10 * df
    while noncentral_below(x, df, high) > p:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if noncentral_below(x, df, middle) > p else (low, middle)
    return (low + high) / 2


def fisher(table):
    """Fisher's exact test of a 2 x 2 table, two-sided."""
    (a, b), (c, d) = table.tolist()
    row, column, n = a + b, a + c, a + b + c + d

    def chance(k):
        return math.comb(column, k) * math.comb(n - column, row - k)

    possible = range(max(0, row + column - n), min(row, column) + 1)
    likely = sum(each for k in possible if (each := chance(k)) <= chance(a) * (1 + 1e-7))
    return min(1.0, likely / math.comb(n, row))


def check_flow(check, asked, question, answer, report):
    steps = [asked.column(key) for key in question["dimensions"]]
    within = asked.column(question["by"]) if question["by"] else [frozenset(["all"])] * len(asked.places)
    whole = [all(as_set(each) for each in values) for values in zip(*steps, within, strict=True)]
    check("n", answer["n"], sum(whole))
    for group in answer["groups"]:
        name = "all" if group["value"] is None else group["value"]
        here = [at for at, value in enumerate(within) if whole[at] and name in as_set(value)]
        n = len(here)
        nodes, bands, paths = Counter(), Counter(), Counter()
        for at in here:
            taken = [sorted(as_set(step[at])) for step in steps]
            for key, categories in zip(question["dimensions"], taken, strict=True):
                nodes.update((key, each) for each in categories)
            for place in range(len(steps) - 1):
                pair = question["dimensions"][place : place + 2]
                bands.update((pair[0], a, pair[1], b) for a in taken[place] for b in taken[place + 1])
            ways = [()]
            for categories in taken:
                ways = [(*way, each) for way in ways for each in categories]
            paths.update(ways)
        check(f"{name}, nodes", len(group["nodes"]), len(nodes))
        check(f"{name}, bands", len(group["bands"]), len(bands))
        check(f"{name}, paths", len(group["paths"]), len(paths))
        for each in group["nodes"]:
            key = (each["dimension"], each["category"])
            check_share(check, f"{name}, {' '.join(key)}", each, nodes[key], n)
        for each in group["bands"]:
            key = (each["from_dimension"], each["from"], each["to_dimension"], each["to"])
            check_share(check, f"{name}, {' '.join(key)}", each, bands[key], n)
            start = nodes[each["from_dimension"], each["from"]]
            check(f"{name}, {' '.join(key)}, share of from", each["share_of_from"], bands[key] / max(start, 1))
        for each in group["paths"]:
            check_share(check, f"{name}, {' '.join(each['categories'])}", each, paths[tuple(each["categories"])], n)


def check_numbers(check, asked, question, answer, report):
    values, of_item = asked.rows.measure(question["measure"], asked.places), answer["counted"] == "item"
    first = {}
    for at, item in enumerate(asked.items):
        first.setdefault(item, at)
    total = values[sorted(first.values())] if of_item else values
    check_distribution(check, "all", answer["total"], total, answer["cut"])
    if not question["by"]:
        return
    by, groups, seen = asked.column(question["by"]), defaultdict(list), set()
    for at, value in enumerate(by):
        for each in as_set(value):
            place = (asked.items[at] if of_item else at, each)
            if place not in seen:
                seen.add(place)
                groups[each].append(values[at])
    check("groups", sorted(each["value"] for each in answer["groups"]), sorted(groups))
    for each in answer["groups"]:
        check_distribution(check, each["value"], each, np.array(groups[each["value"]]), answer["cut"])
    if answer["comparison"] is not None:
        check_comparison(check, answer["comparison"], {key: np.array(each) for key, each in groups.items()})


def check_distribution(check, key, reported, values, cut):
    known = np.sort(values[~np.isnan(values)])
    n = len(known)
    check(f"{key}, n", reported["n"], n)
    check(f"{key}, not known", reported["n_missing"], len(values) - n)
    if not n:
        return
    for name, value in (("minimum", known[0]), ("maximum", known[-1]), ("mean", known.mean())):
        check(f"{key}, {name}", reported[name], float(value))
    check(f"{key}, standard deviation", reported["sd"], float(known.std(ddof=1)) if n > 1 else None)
    for each in reported["quantiles"]:
        check(f"{key}, quantile {each['share']}", each["value"], float(np.quantile(known, each["share"])))
    if cut is not None:
        check_share(check, f"{key}, at or under {cut}", reported["at_or_under"], int((known <= cut).sum()), n)
    for each in reported["curve"]:
        under = int((known <= each["value"]).sum())
        check(f"{key}, curve at {each['value']}", [each["n"], each["share"]], [under, under / n])


def check_comparison(check, reported, groups):
    groups = {key: each[~np.isnan(each)] for key, each in groups.items()}
    named = [groups[key] for key in reported["groups"]]
    check("compared", reported["n"], sum(len(each) for each in named))
    whole = reported["kruskal_wallis"]
    if whole["h"] is not None:
        every = np.concatenate(named)
        n, ranks = len(every), ranks_of(every)
        begins = np.cumsum([0, *(len(each) for each in named)])
        sums = [ranks[a:b].sum() ** 2 / (b - a) for a, b in pairwise(begins)]
        times = np.unique(every, return_counts=True)[1].astype(float)
        h = (12 / (n * (n + 1)) * sum(sums) - 3 * (n + 1)) / (1 - (times**3 - times).sum() / (n**3 - n))
        check("Kruskal-Wallis H", whole["h"], float(h))
        check("Kruskal-Wallis, degrees of freedom", whole["df"], len(named) - 1)
        check("Kruskal-Wallis, test", whole["method"], "exact" if n <= EXACT else "chi_square")
        p = 1 - chi_square_below(float(h), len(named) - 1)
        if n <= EXACT:
            shuffled = ranks[orders(n)]
            found = sum(shuffled[:, a:b].sum(axis=1) ** 2 / (b - a) for a, b in pairwise(begins))
            p = float((found >= sum(sums) - TOLERANCE).mean())
        check("Kruskal-Wallis, p-value", whole["p_value"], p)
        check("epsilon-squared", whole["epsilon_squared"], min(1.0, float(h) / (n - 1)))
    found = [pair(groups[each["a"]], groups[each["b"]], each["method"]) for each in reported["pairs"]]
    tested = [at for at, each in enumerate(reported["pairs"]) if each["p_value"] is not None]
    adjusted = dict(zip(tested, holm([found[at]["p_value"] for at in tested]), strict=True))
    for at, each in enumerate(reported["pairs"]):
        key = f"{each['a']} and {each['b']}"
        for name, value in found[at].items():
            is_told = at in adjusted or name in ("n_a", "n_b")  # where all numbers are equal nothing is tested
            check(f"{key}, {name}", each[name], value if is_told else None)
        check(f"{key}, p_holm", each["p_holm"], adjusted.get(at))


def ranks_of(values):
    """Ranks from 1, ties in the middle."""
    _, place, times = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(times)
    return (last - (times - 1) / 2)[place]


def pair(x, y, method):
    """Mann and Whitney's U with its p-value, Cliff's delta with its interval."""
    n, m = len(x), len(y)
    above, equal = x[:, None] > y[None, :], x[:, None] == y[None, :]
    u = above.sum() + equal.sum() / 2
    signs = above.astype(float) - (x[:, None] < y[None, :])
    delta = float(signs.mean())
    low = high = None
    if min(n, m) > 1 and abs(delta) == 1:
        inner = (min(n, m) - Z**2) / (min(n, m) + Z**2)
        low, high = (inner, 1.0) if delta > 0 else (-1.0, -inner)
    elif min(n, m) > 1:
        of_x, of_y = signs.mean(axis=1), signs.mean(axis=0)
        of_pairs = max(0.0, 1 - equal.mean() - delta**2)
        variance = ((m - 1) * of_x.var(ddof=1) + (n - 1) * of_y.var(ddof=1) + of_pairs) / (n * m)
        half = Z * math.sqrt(variance) * math.sqrt((1 - delta**2) ** 2 + Z**2 * variance)
        size = 1 - delta**2 + Z**2 * variance
        low, high = max(-1.0, (delta - delta**3 - half) / size), min(1.0, (delta - delta**3 + half) / size)
    if method == "exact":
        p = exact_u(x, y)
    else:
        times = np.unique(np.concatenate([x, y]), return_counts=True)[1].astype(float)
        ties = (times**3 - times).sum() / ((n + m) * (n + m - 1))
        spread = math.sqrt(n * m / 12 * max(n + m + 1 - ties, TINY))
        p = min(1.0, math.erfc(max(0.0, abs(u - n * m / 2) - 0.5) / spread / math.sqrt(2)))
    return {"n_a": n, "n_b": m, "u": float(u), "p_value": p, "delta": delta, "ci_low": low, "ci_high": high}


def exact_u(x, y):
    """The two-sided p-value of U: in how many ways to choose the smaller group its sum of ranks is as far out."""
    x, y = sorted((x, y), key=len)
    ranks = [round(2 * each) for each in ranks_of(np.concatenate([x, y]))]  # doubled, so that ties have whole ones
    most = sum(ranks)
    ways = [np.zeros(most + 1) for _ in range(len(x) + 1)]  # by how many are chosen: how often each sum comes up
    ways[0][0] = 1.0
    for rank in ranks:
        for chosen in range(len(x), 0, -1):
            ways[chosen][rank:] += ways[chosen - 1][: most + 1 - rank]
    seen, every = sum(ranks[: len(x)]), ways[-1].sum()
    tails = ways[-1][: seen + 1].sum() / every, ways[-1][seen:].sum() / every
    return float(min(1.0, 2 * min(tails)))


CHECKS = {
    "counts": check_counts,
    "shares": check_marks,
    "crosstab": check_crosstab,
    "flow": check_flow,
    "numbers": check_numbers,
    "profiles": check_profiles,
    "saturation": check_saturation,
    "combinations": check_combinations,
}


# Samples --------------------------------------------------------------------------------------------------------------


def check_samples(folder, report):
    """Draws each sample again: from the rows of its frame, in their order, with its size, seed and strata."""
    for path in sorted(folder.glob("sample/sample-*.json")):
        sample = json.loads(path.read_text(encoding="utf-8"))
        name = f"{path.stem}-frame.csv"
        if not (path.parent / name).exists():
            report.leave(f"the draw of sample {sample['sample']}, whose frame is not in the package")
            continue
        frame = pd.read_csv(path.parent / name, dtype=str, keep_default_na=False, encoding="utf-8").map(text_of)
        places = {int(place): row for row, place in enumerate(frame["drawn"]) if place}
        drawn = drawn_again(sample, list(frame["stratum"]))
        report.compare(f"sample/{name}", "rows", sample["n_frame"], len(frame))
        report.compare(f"sample/{name}", "drawn", [places[each] for each in sorted(places)], drawn)


def drawn_again(sample, strata):
    """The rows of the frame that the seed draws, in order of the draw."""
    rng = random.Random(f"sample {sample['seed']}")
    if not sample["stratify_by"]:
        return rng.sample(range(len(strata)), sample["size"])
    members = defaultdict(list)
    for row, stratum in enumerate(strata):
        members[stratum].append(row)
    shares = shares_of({name: len(rows) for name, rows in members.items()}, sample)
    drawn = [row for name in sorted(members) for row in rng.sample(members[name], shares[name])]
    rng.shuffle(drawn)
    return drawn


def shares_of(sizes, sample):
    """How many rows each stratum gives."""
    size, names = sample["size"], sorted(sizes)
    if sample["allocation"] == "equal":  # one each in turn, by name, until enough; a stratum gives no more than it has
        shares = dict.fromkeys(names, 0)
        while sum(shares.values()) < size:
            for name in [each for each in names if shares[each] < sizes[each]][: size - sum(shares.values())]:
                shares[name] += 1
        return shares
    total = sum(sizes.values())  # in proportion: whole parts, and the rest to the largest remainders
    shares = {name: size * sizes[name] // total for name in names}
    by_remainder = sorted(names, key=lambda name: (-(size * sizes[name] % total), name))
    for name in by_remainder[: size - sum(shares.values())]:
        shares[name] += 1
    if sample["at_least_one"]:
        for name in [each for each in names if not shares[each]]:
            giver = max((each for each in names if shares[each] > 1), key=lambda each: (shares[each], each))
            shares[giver] -= 1
            shares[name] = 1
    return shares


def main(folder):
    data, report = PackageData(folder), ComparisonReport()
    check_samples(folder, report)
    agreed = AgreedLabels(data)
    check_labels(data, agreed, report)
    check_agreement(data, report)
    check_training(data, report)
    check_analyses(data, agreed, report)
    return told(report)


def told(report):
    """Prints what came out; the exit status."""
    for file, n in sorted(report.by_file.items()):
        wrong = sum(each[0] == file for each in report.differing)
        print(f"{file}: {n - wrong} of {n} values agree")
    for sentence in report.not_recomputed:
        print(f"Not recomputed: {sentence}.")
    for file, key, reported, found in report.differing[:MOST_SHOWN]:
        found = float(found) if isinstance(found, np.floating) else found
        print(f"DIFFERS  {file}: {key}: reported {reported!r}, recomputed {found!r}")
    if len(report.differing) > MOST_SHOWN:
        print(f"… and {len(report.differing) - MOST_SHOWN} more.")
    print(f"{report.n - len(report.differing)} of {report.n} values agree")
    return 1 if report.differing or not report.n else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent))
