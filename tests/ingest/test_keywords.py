"""Keywords are found in what someone wrote, and not in code, addresses or what a page does not show."""

import json
import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ingest.search.keywords import pattern, prose, read_keywords
from tests.published import VLLM, needs_vllm
from tests.simulation import examples


def finds(keyword: str, text: str) -> bool:
    found = read_keywords({"any": [keyword], "in": ["body"]})
    assert found is not None
    return found.fit([text])


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("hang", "It will HANG."),
        ("hang", "**hang**, _hang_ or ~~hang~~"),
        ("hang", "(hang)"),
        ("hang*", "It hangs."),
        ("*lock", "A deadlock"),
        ("time*out", "time out? no: timeout"),
        ("out of memory", "ran out\n  of memory"),
        ("NCCL", "an nccl-test"),
        ("c++", "written in C++."),
        ("größe", "die GRÖSSE nicht, aber die Größe"),
        ("内存", "显存 内存 不足"),
        ("NCCL_TIMEOUT", "set NCCL_TIMEOUT to 10"),
        ("hang", "- a list\n\n      more of it\n\n  hang"),
        ("hang", "- one\n\n    hang in a paragraph of the list"),
        ("hang", "```\ncode\n```\nhang"),
        ("hang", "~~~\n```\n~~~\nhang"),
        ("hang", "a `` ` `` then hang ` alone"),
        ("hang", "one ` tick\n\nhang\n\nanother ` tick"),
        ("hang", "[hang](https://example.org/x)"),
        ("hang", "> it says hang"),
        ("hang", "see https://example.org/(x) hang"),
        ("hang", "text\n    hang, since code can't interrupt a paragraph"),
        ("hang", "<!-- say what happens -->hang"),
    ],
)
def test_a_keyword_is_found(keyword: str, text: str) -> None:
    assert finds(keyword, text)


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("hang", "hangs, hanging, change, exchange"),
        ("nccl", "NCCL_TIMEOUT=10"),
        ("hang", "```\nhang\n```"),
        ("hang", "```python title\nhang"),
        ("hang", "~~~\nhang\n```\nhang\n~~~"),
        ("hang", "> ```\n> hang\n> ```"),
        ("hang", "- item\n  ```\n  hang\n  ```"),
        ("hang", "text\n\n    hang\n\ttabbed hang"),
        ("hang", "`hang`, ``hang ` hang``"),
        ("hang", "`a\nhang`"),
        ("hang", "<pre>\nhang\n</pre><code>hang</code>"),
        ("hang", "<!-- hang\n\nhang --> <!--hang-->"),
        ("hang", "https://example.org/hang?x=hang#hang"),
        ("hang", "<https://example.org/hang>, www.hang.org/hang, ssh://git@x/hang"),
        ("hang", "[here](docs/hang.md) ![pic](hang.png)"),
        ("hang", "[1]: https://example.org/hang"),
        ("hang", "hang@example.org, git@hang.org:hang/hang.git"),
        ("hang", "@hang and @org/hang"),
        ("out of memory", "out `of` memory"),
        ("out of memory", "out-of-memory"),
        ("a b", "a https://example.org b"),
    ],
)
def test_a_keyword_is_not_found(keyword: str, text: str) -> None:
    assert not finds(keyword, text)


def test_any_all_and_none_go_together_over_all_places() -> None:
    wanted = read_keywords({"any": ["hang", "deadlock"], "all": ["gpu"], "none": ["docs"], "in": ["title", "comments"]})
    assert wanted is not None and wanted.places == ("title", "comments")
    assert str(wanted) == "keywords: any of hang, deadlock; all of gpu; none of docs (in title or comments)"
    assert wanted.fit(["It hangs? It did hang", "on a GPU"])
    assert not wanted.fit(["hang"]) and not wanted.fit(["gpu"])
    assert not wanted.fit(["hang on gpu", "only docs"]) and wanted.fit(["hang on gpu", "only `docs`"])


@pytest.mark.parametrize("nothing", [None, "", [], {}, {"in": ["title"]}, [" "]])
def test_no_keyword_is_no_condition(nothing: object) -> None:
    assert read_keywords(nothing) is None


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (["*"], "no letter or digit"),
        ("!!", "no letter or digit"),
        ([1], "Send a keyword"),
        ({"any": {"a": 1}}, "Send a keyword"),
        ({"every": ["a"]}, "“every” is unknown"),
        ({"any": ["a"], "in": ["labels"]}, "“labels” is not a place"),
        (["a" * 201], "more than 200 characters"),
        ([f"a{n}" for n in range(201)], "more than 200 keywords"),
    ],
)
def test_what_cannot_be_looked_for_is_told(value: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_keywords(value)


@given(st.text("ab`~-> \n\t*_<!1.[](:/@", max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_any_text_is_read_and_nothing_is_made_up(text: str) -> None:
    found = prose(text)
    assert Counter(re.findall("[ab1]", found)) <= Counter(re.findall("[ab1]", text))


@pytest.mark.parametrize(
    "unit", ["`", "<!--", "[](", "a@", "```\n", "x`y``", "https://", "(", "<pre>", "<pre ", "<code a", "</pre"]
)
def test_hostile_text_takes_no_longer_than_its_length_asks(unit: str) -> None:
    began = time.process_time()
    prose(unit * 40_000)
    assert time.process_time() - began < 2


SLOW = [
    ("a*a*a*a*a*a*a*a*z", "a"),
    ("a********z", "a"),
    ("*a*a*z", "a"),
    ("a*z", "a___"),
    ("aa*a*_", "aa___"),
    ("_*a*z", "_"),
    ("a_*_", "a___b"),
    ("a-*a-*z", "a-a"),
    ("a * * * * z", "a "),
    ("a * * * * z", "a" + 400 * " "),
    ("* a", " "),
    (" ".join(["a*a*z"] * 30), "a "),
    (" ".join(["*"] * 90) + " z", "y "),
    ("a" * 100 + "*" + "b" * 90, "a"),
]


@pytest.mark.parametrize(("keyword", "unit"), SLOW)
def test_hostile_keywords_take_no_longer_than_the_text_asks(keyword: str, unit: str) -> None:
    wanted, text = pattern(keyword), (unit * 40_000)[:40_000]
    began = time.process_time()
    for each in (text, "z " + text, text + "b"):
        wanted.is_in(each)
    assert time.process_time() - began < 2


WORD = st.text("ab_*-", min_size=1, max_size=6)


@given(st.lists(WORD, min_size=1, max_size=3), st.text("ab_- ", max_size=30))
@settings(max_examples=examples(500), deadline=None)
def test_a_keyword_finds_what_its_plain_expression_finds(words: list[str], text: str) -> None:
    inner = r"\s+".join(r"\w*".join(map(re.escape, word.split("*"))) for word in words)
    begins = "" if words[0].startswith("*") else r"(?<![^\W_])(?<![^\W_]_)(?<![^\W_]__)"
    ends = "" if words[-1].endswith("*") else r"(?!_*[^\W_])"
    plain = re.compile(begins + inner + ends)
    keyword = " ".join(words)
    longest = sorted(re.split(r"[*\s]+", keyword), key=len)[-1]
    # A star alone between two words is a word; two blanks are none.
    if any(letter.isalnum() for letter in longest) and not any(set(word) == {"*"} for word in words[1:-1]):
        assert pattern(keyword).is_in(text) == (plain.search(text) is not None)


def test_a_keyword_is_compared_as_a_word_and_never_as_an_expression() -> None:
    assert pattern("a.c").expression.search("a.c") and not pattern("a.c").expression.search("abc")


@needs_vllm
def test_code_in_real_issues_is_told_from_prose_as_a_markdown_parser_does() -> None:
    markdown = MarkdownIt("commonmark")
    n, n_leaks = 0, 0
    for line in VLLM.read_text(encoding="utf-8").splitlines()[:250]:
        body = json.loads(line).get("body") or ""
        if len(body) > 20_000:
            continue
        tokens = [token for block in markdown.parse(body) for token in (block, *(block.children or ()))]
        code = Counter(
            word
            for token in tokens
            if token.type in {"fence", "code_block", "code_inline"}
            for word in words_of(token.content)
        )
        everywhere, here = Counter(words_of(body)), set(words_of(prose(body)))
        n += 1
        n_leaks += any(everywhere[word] == n_code and word in here for word, n_code in code.items())
    assert n > 150 and n_leaks == 0


def words_of(text: str) -> list[str]:
    return re.findall("[a-z]{4,}", text.lower())
