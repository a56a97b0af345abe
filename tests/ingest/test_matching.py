"""What words and phrases find, as a rule; and that lexemes and marked texts find the same, whatever the texts are."""

import random
from zlib import crc32

import pytest

from ingest.search.matching import (
    BEGIN,
    EVERYTHING,
    LEXEME_CHARACTERS,
    LEXEMES_BYTES,
    Term,
    as_tsquery,
    as_tsvector,
    fold,
    lexemes,
    mark_boundaries,
)


def phrase(text: str) -> Term:
    return Term(fold(text), is_phrase=True)


def word(text: str) -> Term:
    return Term(fold(text))


@pytest.mark.parametrize(
    ("term", "text", "is_found"),
    [
        (phrase("out of memory"), "CUDA out of memory.", True),
        (phrase("out of memory"), "timeout of memory", False),
        (phrase("out of memory"), "out of\nmemory", False),
        (phrase("out of\nmemory"), "OUT of\nMemory", True),
        (phrase("tensor parallel"), "Tensor parallelism", True),
        (phrase("parallel"), "data_parallel", True),
        (phrase("rallel"), "parallel", False),
        (phrase("(self"), "forward (self)", True),
        (phrase("(self"), "forward(self)", False),
        (word("hang"), "It hangs", False),
        (word("hang"), "change", False),
        (word("hang"), "hang-up", True),
        (word("HANG"), "(hang)", True),
        (word("all_reduce"), "dist.all_reduce(x)", True),
        (word("all_reduce"), "my_all_reduce_op", True),
        (word("reduce"), "all_reduce", True),
        (word("all_reduce"), "all_reduced", False),
        (word("llm_engine.py"), "vllm/engine/llm_engine.py:120", True),
        (word("torch.distributed"), "torch.distributed.init", True),
        (word("2.1"), "2.1.0", True),
        (word("2.1"), "12.1", False),
        (word("c++"), "C++ code", True),
        (word("推理"), "使用vllm推理错误", True),
        (word("理错"), "使用vllm推理错误", True),
        (word("vllm"), "使用vllm推理错误", True),
        (word("오류"), "메모리오류가", True),
        (word("理"), "推理", True),
        (word("straße"), "STRASSE", True),
        (word("cafe\u0301"), "Café", True),
        (word("cafe"), "café", False),
    ],
)
def test_the_rule_and_the_index_find(term: Term, text: str, is_found: bool) -> None:
    folded = fold(text)
    assert term.is_in(folded) == is_found
    assert (term.pattern in mark_boundaries(folded)) == is_found
    assert not is_found or has_lexemes(term, lexemes(folded))


def has_lexemes(term: Term, found: set[str]) -> bool:
    needed, beginning = term.needed
    return needed <= found and any(each.startswith(beginning) for each in found or {""})


ALPHABET = [
    "a",
    "b",
    "ab",
    "1",
    "_",
    ".",
    "/",
    " ",
    "\n",
    "-",
    "推",
    "理",
    "ー",
    "가",
    "é",
    "e\u0301",
    "ß",
    "İ",
    "٣",
    BEGIN,
]


def test_marked_texts_and_lexemes_agree_with_the_rule_on_any_text() -> None:
    draw = random.Random(1)
    n_found = n_exact = 0
    for _ in range(20_000):
        text = fold("".join(draw.choices(ALPHABET, k=draw.randint(0, 12))))
        wanted = fold("".join(draw.choices(ALPHABET, k=draw.randint(1, 4))))
        term = Term(wanted, is_phrase=draw.random() < 0.5)
        is_found = term.is_in(text)
        assert (term.pattern in mark_boundaries(text)) == is_found, (term, text)
        assert not is_found or has_lexemes(term, lexemes(text)), (term, text)
        assert not term.has_exact_lexeme or is_found == has_lexemes(term, lexemes(text)), (term, text)
        n_found += is_found
        n_exact += is_found and term.has_exact_lexeme
    assert n_found > 500 and n_exact > 200


def test_long_words_and_texts_with_too_many_lexemes_are_candidates_still() -> None:
    long = "x" * 5000
    assert lexemes(long) == {"x" * LEXEME_CHARACTERS}
    assert lexemes(fold("all_Reduce 推")) == {"all", "reduce", f"={crc32(b'all_'):x} reduce", "推"}
    assert has_lexemes(word(long), lexemes(long)) and has_lexemes(phrase(long[:40]), lexemes(long))
    assert as_tsvector({f"{n:020}" for n in range(LEXEMES_BYTES // 20 + 1)}) == f"'{EVERYTHING}'"
    pair, begun = f"={crc32(b'all_'):x} reduce", f"={crc32(b'tensor '):x} par"
    assert as_tsquery([word("all_reduce"), phrase("tensor par")], ("title", "comments")) == (
        f"(('^{pair}' | '/{pair}') & ('^tensor' & '^{begun}':* | '/tensor' & '/{begun}':*)) | '*'"
    )
    assert as_tsquery([word("--")], ("title",)) == ""
    for places, excluded in ((("title", "body"), " & (!('tensor'))"), (("body",), "")):
        wanted = f"(('all'){excluded}) | '*'"
        assert as_tsquery([word("all")], places, [word("tensor"), word("all_reduce")]) == wanted


def test_lexemes_decide_words_and_beginnings_that_they_hold_whole() -> None:
    for text in ("x" * (LEXEME_CHARACTERS - 1), "推", "推理"):
        assert word(text).has_exact_lexeme and phrase(text).has_exact_lexeme
    for text in ("x" * (LEXEME_CHARACTERS + 1), "推理錯", "all_reduce", "(hang)", "推a"):
        assert not word(text).has_exact_lexeme and not phrase(text).has_exact_lexeme
    assert phrase("x" * LEXEME_CHARACTERS).has_exact_lexeme and not word("x" * LEXEME_CHARACTERS).has_exact_lexeme
