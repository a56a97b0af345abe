"""How much of a hostile text is formatted: bounded by counted work, and nothing of the text is left out."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ingest.models import Comment, Issue, SnapshotComment
from ingest.rendering import markdown
from ingest.rendering.budget import UNITS_OF_PAGE, UNITS_OF_TEXT, Budget, formatted_end, units_of
from tests import builders as make

LENGTH = 240_000


def long(text: str) -> str:
    return (text * (LENGTH // len(text) + 1))[:LENGTH]


HOSTILE = {
    "nested quotes": ">" * LENGTH,
    "quotes and lists": long("> - > - > - a\n"),
    "lists": long("- a\n"),
    "nested lists": "\n".join(" " * (n % 60) + "- a" for n in range(6_000)),
    "links": long("[a](b) "),
    "brackets": long("!["),
    "links within links": "[" * 60_000 + "a" + "](b)" * 45_000,
    "emphasis": long("*a **b "),
    "emphasis that never ends": long("a**b"),
    "strikes": long("~~a ~b "),
    "tables": "|a|b|\n|-|-|\n" + long("|x|y|\n"),
    "a table that lacks cells": "|" + "a|" * 1_500 + "\n|" + "-|" * 1_500 + "\n" + "|x\n" * 60_000,
    "tags": long("<b><i>"),
    "attributes": long('<a href="x" '),
    "comments": long("<!-- "),
    "sections of XML": long("<![CDATA["),
    "blocks of code": long("```python\nx = 1\n```\n\n"),
    "backticks": " ".join("`" * n for n in range(1, 690)),
    "addresses": long("http://a.b((((( "),
    "half addresses": long("http:"),
    "colons": long("a:b://c "),
    "mail addresses": long("a@b.c "),
    "people and numbers": long("@a #1 "),
    "references": "".join(f"[a{n}]: b\n" for n in range(9_000)) + long("[a1] "),
    "footnotes": long("[^1]: a [^1]\n\n"),
    "entities": long("&amp;"),
    "line ends": long("a\n"),
    "a fence in a comment": "<!--\n\n```\n-->\n\n" + long("- a\n"),
    "a fence in HTML": "<pre>\n\n```\n</pre>\n\n" + long("- a\n"),
    "a fence in a block of HTML": "<div>\n```\n\n" + long("- a\n"),
    "a fence that is code": "a\n\n    ```\n" + long("- a\n"),
    "a fence with a backtick": "```a`\n" + long("- a\n"),
}


def shown(found: str) -> str:
    """What someone reads of the HTML, without the sentence that is ours."""
    ours = re.sub(r'<p class="muted unformatted">[^<]*</p>', "", found)
    return html.unescape(re.sub(r"<[^>]*>", "", ours))


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_the_work_for_a_hostile_text_is_bounded(text: str) -> None:
    end = formatted_end(text, UNITS_OF_TEXT)
    found, units = markdown._render(text, "owner/name")
    assert units <= 5 * UNITS_OF_TEXT
    assert end < len(text) and "without formatting, which would take too long" in found
    assert html.unescape(found).endswith(f"{text[end:]}</pre>")


def test_the_work_for_a_page_is_bounded_and_the_same_at_every_look() -> None:
    pieces = [text[at : at + 5_000] for text in (long("[a](b) "), long("- a\n")) for at in range(0, LENGTH, 5_000)]
    looks = []
    for _ in range(2):
        budget = Budget()
        looks.append([markdown.render_markdown(piece[:1_900], "o/r", budget) for piece in pieces])
        assert -UNITS_OF_TEXT < budget.units < UNITS_OF_PAGE
    assert looks[0] == looks[1]
    assert "unformatted" not in looks[0][0] and "unformatted" in looks[0][-1]


def test_a_block_of_code_is_not_cut_however_long_it_is() -> None:
    line = "(Worker rank=3) ERROR 09-01 10:00:00 engine.py:12] Traceback in <module> at 0x7f3c: `x` *args #12 @home\n"
    for before in ("", "What I saw:\n", "<!-- Describe it -->\n\n", "- one\n- two\n\n"):
        text = f"{before}```\n{line * 2_000}```\n\nThanks\n"
        assert formatted_end(text, UNITS_OF_TEXT) == len(text)


def test_ordinary_texts_are_formatted_whole() -> None:
    text = "With two nodes it *hangs* in `init_process_group`, and with one it does not; see #12 and the "
    text = text * 10 + "[log](https://example.org/log).\n\n- NCCL 2.18\n- torch 2.1\n\n"
    assert formatted_end(text * 50, UNITS_OF_TEXT) == len(text * 50) > 48_000
    budget = Budget()
    assert all("unformatted" not in markdown.render_markdown(text, "o/r", budget) for _ in range(50))


def test_a_text_is_cut_between_blocks_or_else_between_lines_or_words() -> None:
    blocks = "a *b*\n\n" * 5_000
    assert blocks[: formatted_end(blocks, 600)].endswith("\n\n")
    lines = "*a*\n" * 5_000
    assert lines[: formatted_end(lines, 600)].endswith("*\n")
    words = "*a* " * 5_000
    assert words[: formatted_end(words, 600)].endswith("* ")
    assert 0 < units_of(words[: formatted_end(words, 600)]) <= 600


@pytest.mark.django_db
def test_no_page_leaves_a_word_of_a_hostile_issue_out(client: Client) -> None:
    issue = make.issues(1)[0]
    snapshot = make.new_state(1, body=long("- [a](b) *c* <b>\n") + "THE END OF THE BODY")
    for place in range(1, 4):
        body = long("![ ")[:60_000] + f" THE END OF COMMENT {place}"
        comment = Comment.objects.create(sha256=f"{place:064x}", author_login="a", body=body, created_at=timezone.now())
        SnapshotComment.objects.create(snapshot=snapshot, comment=comment, position=place)
    Issue.objects.filter(pk=issue.pk).update(current_snapshot=snapshot)
    study = make.study()
    round_ = make.open_round(study, 1)
    for name, path in (
        ("olga", "/issues/acme/rocket/1/"),
        ("olga", "/issues/acme/rocket/1/comments/?after=0"),
        ("bob", f"/studies/study/rounds/1/label/{make.assignment(round_, 'bob', 1).public_id}/"),
    ):
        client.force_login(make.user(name))
        answer: Any = client.get(path, follow=True)
        words = answer.content.decode()
        assert answer.status_code == 200
        ends = [f"THE END OF COMMENT {place}" for place in range(1, 4)]
        ends += [] if "comments" in path else ["THE END OF THE BODY"]
        assert [end for end in ends if end not in words] == []
        assert words.count("muted unformatted") == len(ends)


def test_every_unit_of_a_budget_can_be_spent_only_once() -> None:
    assert Budget().of_text == UNITS_OF_TEXT
    assert Budget(units=1_000).of_text == 250
    assert Budget(units=-1).of_text == 0 == formatted_end("*b*", 0)
    assert shown(markdown.render_markdown("a *b* <c>", "o/r", Budget(units=0))) == "a\n*b* <c>"
