"""A thousand searches over real issues find what a plain filter in Python finds: over REST, on the page and in a frame.

Neither the generator nor the filter knows anything of the parser, the index or the rule as it is coded: they follow
`docs/fetching.md`.
"""

import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from django.test import Client

from accounts.actions import make_token
from accounts.models import User
from ingest import filters, queries
from ingest.models import Issue
from ingest.search import conditions
from tests.published import VLLM, needs_vllm

pytestmark = pytest.mark.django_db

Filter = Callable[[dict[str, Any]], bool]


@dataclass(frozen=True)
class Asked:
    """A search as someone types it, and what it asks for."""

    kind: str
    typed: str
    fits: Filter


# The plain filter


@cache
def folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def is_east_asian(letter: str) -> bool:
    names = ("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH", "HIRAGANA", "KATAKANA", "HANGUL", "HALFWIDTH")
    return letter.isalnum() and unicodedata.name(letter, "").startswith(names)


def parts(before: str, after: str) -> bool:
    """Whether one may end and the other begin where the first of them is no letter or digit, or for East Asian ones."""
    return is_east_asian(before) or is_east_asian(after)


def occurs(wanted: str, text: str, *, is_whole: bool) -> bool:
    wanted, text = folded(wanted), folded(text)
    for found in re.finditer(f"(?={re.escape(wanted)})", text):
        start, end = found.start(), found.start() + len(wanted)
        before, after = text[start - 1 : start], text[end : end + 1]
        if before and before.isalnum() and not parts(before, text[start]):
            continue
        if is_whole and after and after.isalnum() and not parts(text[end - 1], after):
            continue
        return True
    return False


def has(wanted: str, *, is_whole: bool = True, places: tuple[str, ...] = ("title", "body")) -> Filter:
    def fits(row: dict[str, Any]) -> bool:
        texts = [row["title"]] * ("title" in places) + [row["body"] or ""] * ("body" in places)
        texts += [each["body"] for each in row["comments"]] * ("comments" in places)
        return any(occurs(wanted, text, is_whole=is_whole) for text in texts)

    return fits


def all_of(*conditions: Filter) -> Filter:
    return lambda row: all(fits(row) for fits in conditions)


def none_of(fits: Filter) -> Filter:
    return lambda row: not fits(row)


# The issues


def real_issues() -> list[dict[str, Any]]:
    """Those of vLLM in two repositories, with logins, times of change and threads, which the file does not have."""
    rows = [json.loads(line) for line in VLLM.read_text(encoding="utf-8").splitlines()]
    draw = random.Random(5)
    logins = ["Ann-Lee", "ann-lee", "bob", "Dependabot[bot]", "x-9"]
    for row in rows:
        name = draw.choice(["vllm-project/vllm", "other/Copy"])
        row["html_url"] = f"https://github.com/{name}/issues/{row['number']}"
        row["repository"] = name
        row["user"] = {"login": draw.choice(logins)}
        row["updated_at"] = None
        if draw.random() < 0.8:
            row["updated_at"] = (
                f"{draw.choice((2024, 2025))}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}T12:30:00+00:00"
            )
        row["labels"] = [draw.choice([each, each.title()]) for each in row["labels"]]
        row["comments"] = [
            {
                "user": {"login": draw.choice(logins)},
                "body": draw.choice(rows)["body"] or "none",
                "id": draw.randint(1, 2**40),
            }
            for _ in range(draw.choice((0, 0, 1, 3)))
        ]
        for each in row["comments"]:
            each["created_at"] = "2024-05-01T00:00:00Z"
    return rows


def names_of(row: dict[str, Any]) -> str:
    return f"{row['repository']}#{row['number']}"


# The generator


def quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def spelled(draw: random.Random, text: str) -> str:
    return draw.choice([text, text.upper(), text.lower(), text.title()])


class Generator:
    """Searches of ten kinds, taken from what the issues say, and one in five of them spoiled so that nothing has it."""

    def __init__(self, rows: list[dict[str, Any]], seed: int) -> None:
        self.rows, self.draw = rows, random.Random(seed)
        self.east_asian = [
            run
            for row in rows
            for run in re.findall("[\u4e00-\u9fff\u3041-\u30ff\uac00-\ud7a3]+", row["title"] + (row["body"] or ""))
        ]

    def text(self) -> str:
        row = self.draw.choice(self.rows)
        return row["title"] + "\n" + (row["body"] or "") if self.draw.random() < 0.6 else row["title"]

    def one_of(self, expression: str) -> str:
        while True:
            if found := re.findall(expression, self.text()):
                return self.draw.choice(found)

    def plain_word(self) -> str:
        return self.one_of(r"[A-Za-z0-9]{2,}")

    def words(self) -> tuple[str, Filter]:
        return (word := self.plain_word()), has(word)

    def identifiers(self) -> tuple[str, Filter]:
        word = self.one_of(r"(?<![\S])[A-Za-z0-9]+(?:[._/-]+[A-Za-z0-9]+)+")
        return word, has(word)

    def phrases(self) -> tuple[str, Filter]:
        text = self.text().replace("\\", " ")
        size = self.draw.randint(3, 40)
        at = self.draw.randrange(max(1, len(text) - size))
        if self.draw.random() < 0.7:  # where a word begins
            while at < len(text) - 1 and at and text[at - 1].isalnum():
                at += 1
        phrase = text[at : at + size]
        if not phrase.strip():
            return self.phrases()
        return quoted(phrase), has(phrase, is_whole=False)

    def east_asian_words(self) -> tuple[str, Filter]:
        run = self.draw.choice(self.east_asian)
        size = self.draw.randint(1, min(5, len(run)))
        at = self.draw.randrange(len(run) - size + 1)
        word = run[at : at + size]
        return (quoted(word), has(word, is_whole=False)) if self.draw.random() < 0.3 else (word, has(word))

    def several(self) -> tuple[str, Filter]:
        n = self.draw.randint(2, 4)
        asked = [self.draw.choice([self.words, self.identifiers, self.phrases])() for _ in range(n)]
        return " ".join(typed for typed, _ in asked), all_of(*(fits for _, fits in asked))

    def exclusions(self) -> tuple[str, Filter]:
        first, second = self.words(), self.draw.choice([self.words, self.phrases, self.labels])()
        if " " in second[0] and not second[0].startswith(('"', "label:")):
            return self.exclusions()
        return f"{first[0]} -{second[0]}", all_of(first[1], none_of(second[1]))

    def labels(self) -> tuple[str, Filter]:
        row = self.draw.choice([row for row in self.rows if row["labels"]])
        asked = self.draw.sample(row["labels"], k=1)
        if self.draw.random() < 0.3:
            asked.append("documentation")
        typed = ",".join(quoted(spelled(self.draw, each)) for each in asked)
        wanted = {folded(each) for each in asked}
        return f"label:{typed}", lambda row: bool(wanted & {folded(each) for each in row["labels"]})

    def people_and_states(self) -> tuple[str, Filter]:
        login = spelled(self.draw, self.draw.choice(["ann-lee", "bob", "dependabot[bot]", "x-9"]))
        state = self.draw.choice(["open", "closed"])
        repository = spelled(self.draw, self.draw.choice(["vllm-project/vllm", "other/copy"]))
        choices: list[tuple[str, Filter]] = [
            (f"author:{login}", lambda row: folded(row["user"]["login"]) == folded(login)),
            (f"{self.draw.choice(['is', 'state'])}:{state}", lambda row: row["state"] == state),
            (f"repo:{repository}", lambda row: row["repository"].lower() == repository.lower()),
            ("no:label", lambda row: not row["labels"]),
        ]
        asked = [
            (f"-{typed}", none_of(fits)) if self.draw.random() < 0.3 else (typed, fits)
            for typed, fits in self.draw.sample(choices, k=self.draw.randint(1, 3))
        ]
        if self.draw.random() < 0.5:
            asked.append(self.words())
        return " ".join(typed for typed, _ in asked), all_of(*(fits for _, fits in asked))

    def ranges(self) -> tuple[str, Filter]:
        name = self.draw.choice(["created", "closed", "updated", "comments"])
        if name == "comments":
            low = self.draw.randint(0, 4)
            high = low + self.draw.randint(0, 3)
            value: Callable[[dict[str, Any]], Any] = lambda row: len(row["comments"])  # noqa: E731
            first, last = str(low), str(high)
        else:
            start = datetime(2023, 3, 1, tzinfo=UTC) + timedelta(days=self.draw.randint(0, 900))
            first = start.date().isoformat()
            last = (start + timedelta(days=self.draw.randint(0, 200))).date().isoformat()
            value = lambda row: (row[f"{name}_at"] or "")[:10] or None  # noqa: E731
        low_key, high_key = (int(first), int(last)) if name == "comments" else (first, last)
        choices: list[tuple[str, Callable[[Any], bool]]] = [
            (first, lambda x: x == low_key),
            (f">{first}", lambda x: x > low_key),
            (f">={first}", lambda x: x >= low_key),
            (f"<{last}", lambda x: x < high_key),
            (f"<={last}", lambda x: x <= high_key),
            (f"{first}..{last}", lambda x: low_key <= x <= high_key),
            (f"{first}..*", lambda x: x >= low_key),
            (f"*..{last}", lambda x: x <= high_key),
        ]
        typed, holds = self.draw.choice(choices)

        def fits(row: dict[str, Any]) -> bool:
            return value(row) is not None and holds(value(row))

        return (f"-{name}:{typed}", none_of(fits)) if self.draw.random() < 0.25 else (f"{name}:{typed}", fits)

    def places(self) -> tuple[str, Filter]:
        chosen = self.draw.choice(
            [("title",), ("body",), ("comments",), ("title", "comments"), ("title", "body", "comments")]
        )
        word = self.plain_word()
        given = f"in:{','.join(chosen)}" if self.draw.random() < 0.5 else " ".join(f"in:{place}" for place in chosen)
        is_phrase = self.draw.random() < 0.3
        fits = has(word, is_whole=not is_phrase, places=chosen)
        return f"{given} {quoted(word) if is_phrase else word}", fits

    KINDS = (
        words, identifiers, phrases, east_asian_words, several, exclusions, labels, people_and_states, ranges, places,
    )  # fmt: skip

    def asked(self, n_of_kind: int) -> Iterator[Asked]:
        """Kind after kind in turn."""
        for turn in range(n_of_kind):
            for kind in self.KINDS:
                typed, fits = kind(self)
                if turn % 5 == 4:
                    absent = self.draw.choice(["zqxj", "no_such.thing", "永遠沒有"])
                    typed, fits = f"{typed} {absent}", all_of(fits, has(absent))
                    if kind is Generator.places:
                        fits = lambda row: False  # noqa: E731
                yield Asked(kind.__name__, typed, fits)


BOUNDS = {name: getattr(conditions, name) for name in ("COMPARED_MOST", "LISTED_MOST")}
SORTED_BY: dict[str, Callable[[dict[str, Any]], Any]] = {
    "created": lambda row: row["created_at"] or "",
    "updated": lambda row: row["updated_at"] or "",
    "comments": lambda row: len(row["comments"]),
}


# Where people are


class Doors:
    """REST, the page and a frame."""

    def __init__(self, user: User) -> None:
        self.headers = {"Authorization": f"Bearer {make_token(user=user, name='t', scope='read')[1]}"}
        self.page = Client()
        self.page.force_login(user)
        self.everything = Issue.objects.select_related("repository")

    def by_rest(self, typed: str) -> list[str]:
        answer = Client().get("/api/v1/issues/", {"search": typed, "page_size": 1000}, headers=self.headers)
        assert answer.status_code == 200, (typed, answer.content)
        assert answer.json()["next"] is None
        return [row["item"] for row in answer.json()["results"]]

    def by_page(self, typed: str, *, walks: bool) -> tuple[list[str], int | None]:
        """The rows, of the first page or all, and how many there are as the page shows it; None: more than that."""
        answer = self.page.get("/issues/", {"search": typed})
        counted = answer.context["counted"]
        n_found = None if counted.is_more else counted.n
        found: list[str] = []
        while True:
            assert answer.status_code == 200, (typed, answer.context["problem"])
            found += [issue.identifier for issue in answer.context["rows"]]
            if not (walks and answer.context["next_url"]):
                return found, n_found
            answer = self.page.get(f"/issues/{answer.context['next_url']}")

    def by_frame(self, typed: str) -> list[str]:
        found = filters.frame(filters.read({"words": typed}), Issue.objects.all())
        names = {issue.pk: issue.identifier for issue in self.everything.filter(pk__in=found.issues.tolist())}
        return [names[pk] for pk in found.issues]


def compare(take: Any, patch: Any, rows: list[dict[str, Any]], n_of_kind: int, *, walks_pages: bool) -> None:
    ann = User.objects.create_user("ann")
    run = take("\n".join(map(json.dumps, rows)).encode(), user=ann)
    assert (run.n_new, run.n_refused) == (len(rows), 0)
    doors = Doors(ann)
    n_without = 0
    n_asked: Counter[str] = Counter()
    by_name = {names_of(row): row for row in rows}
    draw = random.Random(21)
    for n, asked in enumerate(Generator(rows, seed=20).asked(n_of_kind)):
        # As where few issues have the words, where many have them, and where so many have them that none is listed.
        for name, most in BOUNDS.items():
            patch.setattr(conditions, name, 3 if name in [(), ("COMPARED_MOST",), tuple(BOUNDS)][n % 3] else most)
        wanted = sorted(names_of(row) for row in rows if asked.fits(row))
        by, way = draw.choice(list(SORTED_BY)), draw.choice(["asc", "desc"])
        typed = asked.typed if draw.random() < 0.6 else f"{asked.typed} sort:{by}-{way}"
        found = doors.by_rest(typed)
        assert sorted(found) == wanted, (asked.kind, typed)
        if typed != asked.typed:
            keys = [SORTED_BY[by](by_name[name]) for name in found]
            assert keys == sorted(keys, reverse=way == "desc"), typed
        shown, n_found = doors.by_page(typed, walks=walks_pages)
        assert shown == (found if walks_pages else found[:50]), typed
        assert n_found == (len(found) if len(found) <= queries.COUNTED_MOST else None), typed
        assert sorted(doors.by_frame(asked.typed)) == wanted, (asked.kind, asked.typed)
        n_asked[asked.kind] += 1
        n_without += not wanted
    assert len(n_asked) == len(Generator.KINDS) and min(n_asked.values()) == n_of_kind
    assert 2 * n_of_kind <= n_without <= 6 * n_of_kind


@needs_vllm
@pytest.mark.slow
def test_a_tenth_of_a_thousand_searches_finds_what_a_plain_filter_finds(take: Any, monkeypatch: Any) -> None:
    compare(take, monkeypatch, real_issues()[::4], 10, walks_pages=False)


@needs_vllm
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_searches_find_what_a_plain_filter_finds(take: Any, monkeypatch: Any) -> None:
    compare(take, monkeypatch, real_issues(), 100, walks_pages=True)
