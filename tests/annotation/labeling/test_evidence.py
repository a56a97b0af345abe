"""Quotes from the shown text are found again in the typed one, stored with the rating they speak for, and read back."""

import json
import random
import time
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.core.errors import Invalid
from annotation.labeling.actions.answers import submit_annotation
from annotation.labeling.queries.assignments import answer_of
from annotation.labels.evidence import Places, Quote, Source, skeleton
from annotation.models import Annotation, Assignment, Evidence, Rating, Round
from ingest.rendering.markdown import render_markdown
from taxonomy.queries import published_version
from tests import builders as make
from tests.asserts import assert_queries

DEMO = Path(__file__).resolve().parents[3] / "annotation" / "demo" / "issues.json"
MADE = """
Training **hangs** after [step 400](https://example.org/a_(b)/long?x=1), see #12 &amp; <b>the `nccl` log</b>:

```python
for step in range(3):
    print("all_reduce <start>", step)
```

| rank | state |
| ---- | ----- |
| 0 | _waiting_ |
| 1 | ~~dead~~ |

<!-- Please fill in the template. -->
![a picture](https://example.org/picture.png)
- [x] I searched https://github.com/acme/rocket/issues/7 and https://github.com/other/one/issues/8#issuecomment-1
A note[^long] is cited here.
1. İstanbul, straße, ﬁne 训练挂起 👩‍🚀 and the same words; and the same words; and the same words.

[^long]: What the note says.
"""


class _Shown(HTMLParser):
    """What a reader can select on a rendered page."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.open: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"br", "hr", "input", "wbr"}:
            return
        name = dict(attrs).get("class") or ""
        self.open.append((tag, bool({"code-bar", "remote-image", "muted"} & set(name.split())) or tag == "summary"))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(hidden for _, hidden in self.open):
            self.text += data


def shown(source: str) -> str:
    page = _Shown()
    page.feed(render_markdown(source, "acme/rocket"))
    return page.text


def _holds(text: str, letters: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in letters)


def texts() -> list[str]:
    bodies = [each["body"] for each in json.loads(DEMO.read_text())]
    log = "\n".join(
        f"[rank{n % 8}] **step {n}** loss={n * 37 % 101}/100 [log](https://example.org/{n})" for n in range(900)
    )
    return [MADE, log, *(body for body in bodies if body)]


@pytest.mark.django_db
def test_nearly_every_selection_of_a_rendered_issue_is_found_in_its_source() -> None:
    chance, n, n_found = random.Random(7), 0, 0
    for text in texts():
        page, source = shown(text), Source(text, "acme/rocket")
        for _ in range(20):
            start = chance.randrange(len(page))
            end = min(len(page), start + chance.choice((4, 15, 60, 300, 2000)))
            quote = page[start:end]
            if not skeleton(quote):
                continue
            asked = Quote("", "", "body", None, quote, page[max(start - 80, 0) : start], page[end : end + 80])
            place = source.locate(asked._replace(at=start / len(page)))
            n += 1
            if place is not None:
                letters = Source(text[slice(*place)], "acme/rocket").shown.letters
                n_found += _holds(skeleton(text[slice(*place)]), skeleton(quote)) or _holds(letters, skeleton(quote))
    assert n > 500 and n_found / n > 0.99, f"{n_found} of {n}"


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Training hangs after step 400", "Training **hangs** after [step 400"),
        ("hangs after step 400, see #12 & the nccl log", None),
        ('print("all_reduce <start>", step)', 'print("all_reduce <start>", step)'),
        ("searched #7 and other/one#8 (comment)", None),
        ("strasse", "straße"),
        ("A note is cited here.", "A note[^long] is cited here."),
        ("What the note says", "What the note says"),
        ("fine 训练挂起", "ﬁne 训练挂起"),
        ("waiting", "waiting"),
        ("👩‍🚀", "👩‍🚀"),
    ],
)
def test_a_quote_is_found_through_markup(quote: str, found: str | None) -> None:
    place = Source(MADE, "acme/rocket").locate(Quote("", "", "body", None, quote))
    assert place is not None
    got = MADE[slice(*place)]
    assert got == found if found else skeleton(quote.split()[0]) in skeleton(got)


def test_of_several_places_the_one_with_the_fitting_surroundings_counts() -> None:
    text = "one hang here; two hang there; one hang here"
    assert Source(text).locate(Quote("", "", "body", None, "hang", "two ", " there")) == (19, 23)
    assert Source(text).locate(Quote("", "", "body", None, "hang", "one ", " here", at=0.9)) == (35, 39)
    assert Source(text).locate(Quote("", "", "body", None, "hang", start=4, end=8)) == (4, 8)
    assert Source(text).locate(Quote("", "", "body", None, "hang", "two ", start=0, end=3)) == (19, 23)


@pytest.mark.parametrize("quote", ["nowhere to be seen", "///", "Training stops for ever after another step of it"])
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    assert Source(MADE).locate(Quote("", "", "body", None, quote)) is None


@pytest.mark.parametrize("unit", ["](" + " " * 20_000, "]((b)](b" * 3_000, "![](" + " " * 20_000, '<!--`]("' * 3_000])
def test_a_text_that_nearly_is_markup_is_walked_once(unit: str) -> None:
    assert Source(unit).locate(Quote("", "", "body", None, "nothing of it")) is None


QUOTE = {"dimension": "symptom", "category": "hang", "where": "body", "quote": "hangs after", "before": "Training "}


@pytest.fixture
def round_() -> Round:
    study = make.study(text=make.FAULTS)
    make.issues(3)
    make.new_state(
        1, [(1, "ann", "same here"), (2, "ben", "It is **stuck** at the barrier")], body="Training **hangs** after 3."
    )
    return make.open_round(study)


ANSWER = {"kind": ["fault"], "symptom": ["hang"], "fixes": ["config", "code"], "distributed": True}


@pytest.mark.django_db
def test_quotes_are_stored_with_the_rating_they_speak_for_and_come_back(round_: Round) -> None:
    quotes = [
        QUOTE,
        {"dimension": "fixes", "category": "code", "where": "comment", "comment": 2, "quote": "stuck at the barrier"},
        {"dimension": "distributed", "where": "title", "quote": "of rocket"},
        {"dimension": "distributed", "where": "body", "quote": "as said elsewhere"},
    ]
    make.submit(round_, "bob", 1, ANSWER, evidence=quotes)
    rows = list(Evidence.objects.select_related("rating__category", "comment"))
    told = [(row.rating.category and row.rating.category.key, row.where, row.start, row.end) for row in rows]
    assert told == [
        ("hang", "body", 11, 24),
        ("code", "comment", 8, 30),
        (None, "title", 8, 17),
        (None, "body", None, None),
    ]
    assert rows[1].comment is not None and rows[1].comment.body[8:30] == "stuck** at the barrier"
    place = Assignment.objects.select_related("current").get(pk=make.assignment(round_, "bob", 1).pk)
    answer = answer_of(place, published_version(round_.taxonomy_version_id))
    assert answer is not None
    parts = answer["parts"]
    assert isinstance(parts, list)
    back = parts[0]["evidence"]
    assert {tuple(sorted((k, v) for k, v in each.items() if k in QUOTE and v)) for each in back} == {
        tuple(sorted((k, v) for k, v in each.items() if k in QUOTE)) for each in quotes
    }
    assert [each.get("comment") for each in back if each["where"] == "comment"] == [2]


@pytest.mark.django_db
def test_a_proposed_category_takes_evidence_too(round_: Round) -> None:
    labels = {"kind": ["fault"], "distributed": True}
    part = {
        "labels": labels,
        "proposals": {"symptom": {"name": "Leak"}},
        "evidence": [{**QUOTE, "category": "PENDING"}],
    }
    make.submit(round_, "bob", 1, parts=[{"labels": {"kind": ["how-to"]}}, part])
    found = Evidence.objects.select_related("rating__proposal").get()
    assert found.rating.part == 2 and found.rating.proposal is not None and found.rating.proposal.name == "Leak"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"dimension": "colour"}, "no dimension “colour”"),
        ({"dimension": ["symptom"]}, "no dimension"),
        ({"category": "crash"}, "not among the categories selected"),
        ({"category": "PENDING"}, "has no proposal here"),
        ({"category": None}, "Name the category"),
        ({"dimension": "distributed"}, "has no categories"),
        ({"quote": " "}, "Give the quoted text"),
        ({"quote": "x" * 5001}, "at most 5,000"),
        ({"where": "footer"}, "title, body or comment"),
        ({"where": "comment"}, "number of the comment"),
        ({"where": "comment", "comment": 3}, "no comment 3"),
        ({"where": "comment", "comment": True}, "number of the comment"),
    ],
)
def test_evidence_that_says_nothing_is_refused_by_its_place_and_nothing_is_stored(
    round_: Round, wrong: dict[str, object], words: str
) -> None:
    bad = {**QUOTE, **wrong}
    with pytest.raises(Invalid) as refused:
        make.submit(round_, "bob", 1, parts=[{"labels": ANSWER, "evidence": [QUOTE, bad]}])
    assert list(refused.value.fields) == ["parts[1].evidence[2]"]
    assert words in refused.value.fields["parts[1].evidence[2]"][0]
    with pytest.raises(Invalid) as refused:
        make.submit(round_, "bob", 1, ANSWER, evidence=[bad])
    assert list(refused.value.fields) == ["evidence[1]"]
    assert not Annotation.objects.exists() and not Evidence.objects.exists()


@pytest.mark.django_db
def test_a_part_takes_a_hundred_quotes_and_not_one_more(round_: Round) -> None:
    with pytest.raises(Invalid, match="not saved"):
        make.submit(round_, "bob", 1, ANSWER, evidence=[QUOTE] * 101)
    make.submit(round_, "bob", 1, ANSWER, evidence=[QUOTE] * 100)
    assert Evidence.objects.count() == 100


@pytest.mark.django_db
def test_an_item_without_an_issue_can_not_be_quoted() -> None:
    study = make.study()
    round_ = make.open_round(study, 1)
    place = make.assignment(round_, "bob", 1)
    type(place.item).objects.filter(pk=place.item_id).update(issue=None, snapshot=None)
    with pytest.raises(Invalid) as refused:
        make.submit(round_, "bob", 1, {"symptom": ["hang"]}, evidence=[QUOTE])
    assert "without an issue" in refused.value.fields["evidence[1]"][0]


@pytest.mark.django_db
def test_evidence_is_part_of_the_request_but_not_of_the_labels(round_: Round) -> None:
    bob, place = make.seat(round_.study, "bob"), make.assignment(round_, "bob", 1).public_id
    plain = submit_annotation(seat=bob, assignment=place, body={"labels": ANSWER})
    quoted = submit_annotation(seat=bob, assignment=place, body={"labels": ANSWER, "evidence": [QUOTE]})
    again = submit_annotation(seat=bob, assignment=place, body={"labels": ANSWER, "evidence": [QUOTE]})
    assert (quoted.is_new, again.is_new) == (True, False)
    assert plain.annotation.answers_digest == quoted.annotation.answers_digest
    assert Evidence.objects.count() == 1


@pytest.mark.django_db
def test_evidence_costs_a_submit_two_queries_and_others_none(round_: Round) -> None:
    bob = make.seat(round_.study, "bob")
    counts = {}
    for number, evidence in ((2, []), (3, []), (1, [QUOTE] * 3)):
        place = make.assignment(round_, "bob", number).public_id
        with CaptureQueriesContext(connection) as counted:
            submit_annotation(seat=bob, assignment=place, body={"labels": ANSWER, "evidence": evidence})
        counts[number] = len(counted)
    assert counts[1] == counts[3] + 2 and Rating.objects.count() == 15


@pytest.mark.django_db
def test_an_answer_is_read_back_with_its_quotes_in_one_query(round_: Round) -> None:
    make.submit(round_, "bob", 1, ANSWER, evidence=[QUOTE] * 5)
    place = Assignment.objects.select_related("current").get(pk=make.assignment(round_, "bob", 1).pk)
    tree = published_version(round_.taxonomy_version_id)
    with assert_queries(1):
        answer_of(place, tree)


def test_many_quotes_of_a_long_text_are_located_in_short_time() -> None:
    text = "word ab. " * 20_000
    source = Source(text)
    asked = [
        Quote("", "", "body", None, "word ab", "ab. " * 20, "word ab. " * 9, start=n, end=len(text)) for n in range(100)
    ]
    begun = time.process_time()
    found = [source.locate(quote) for quote in asked]
    assert time.process_time() - begun < 4
    assert found[0] == (9, 16) and found[-1] is None, "what is not found any more is kept without a place"
    assert Source(text, places=Places()).locate(asked[-1]) == (9, 16)


def test_quotes_are_looked_for_in_so_many_letters_of_all_texts_of_an_answer() -> None:
    """The sign stands for eighteen letters, each of which takes memory."""
    places = Places(n_letters=300_000)
    sources = [Source("\ufdfa" * 10_000 + "end", places=places) for _ in range(3)]
    tracemalloc.start()
    assert [source.locate(Quote("", "", "body", None, "end")) for source in sources] == [(10_000, 10_003), None, None]
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (places.n_letters, most < 300_000 * 50) == (0, True), most


def test_quotes_are_looked_for_in_so_many_letters_whatever_the_answer_holds() -> None:
    """A quote that is not there is looked for by its beginnings and ends, too."""
    text = "a" * 1_000 + " it hangs after the first step"
    places = Places(n_looked=60_000)
    source = Source(text, places=places)
    assert source.locate(Quote("", "", "body", None, "hangs after")) == (1_004, 1_015)
    asked = Quote("", "", "body", None, "aaaab" * 10 + "000123" + "baaaa" * 10)
    assert [source.locate(asked) for _ in range(3)] == [None] * 3
    assert places.n_looked < 0 and source.locate(Quote("", "", "body", None, "hangs after")) is None
    given = Quote("", "", "body", None, "hangs after", start=1_004, end=1_015)
    assert source.locate(given) is None and Source(text).locate(given) == (1_004, 1_015)
