"""Markdown to safe HTML as GitHub shows it: text is hostile, and external images wait for a click."""

import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from functools import cache as once
from html import escape, unescape
from importlib import import_module
from io import StringIO
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.core.cache import cache
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin
from mdit_py_plugins.gfm_autolink.index import _protocol_rule
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from ingest.identifiers import GITHUB_HOST
from ingest.rendering.budget import CODE_UNITS, UNITS_OF_TEXT, Budget, formatted_end, units_of
from ingest.rendering.emoji import SHORTCODE, emoji_of
from ingest.rendering.footnotes import footnote_plugin
from ingest.rendering.formulas import DRAWN, drawn_at, formula_plugin
from ingest.rendering.images import frame_of, sources_of
from shared.addresses import may_be_linked

logger = logging.getLogger(__name__)

VERSION = 10  # Part of the cache's key: raise it when the output changes.
FOLD_LINES = 40
CHARACTERS_MAX = 400_000
CODE_CHARACTERS = 8  # Highlighting as many takes about as long as a token.
CELLS_MAX = 5_000  # That a table may lack in its rows; each is written.
HIGHLIGHTED_MAX = 60_000
HIGHLIGHT_BLOCK_MAX = 8_000
HIGHLIGHT_CPU_SECONDS = 0.3
"""Of all code of a text, looked at after each token. One token of a known language takes milliseconds in any block."""
LANGUAGES = frozenset(
    [
        "Bash",
        "Bash Session",
        "C",
        "C++",
        "CMake",
        "CUDA",
        "Diff",
        "Docker",
        "Go",
        "HTML",
        "INI",
        "JSON",
        "Java",
        "JavaScript",
        "Makefile",
        "Python",
        "Python Traceback",
        "Python console session",
        "Rust",
        "SQL",
        "TOML",
        "TypeScript",
        "XML",
        "YAML",
    ]
)
"""Names of the lexers of Pygments whose tokens are quick to find in any text; code of others is not colored."""
CACHED_FROM = 2_000
CACHED_SECONDS = 24 * 3600
CACHED_MOST = 1_000_000
"""Longer HTML is not kept: the cache is in memory. Most of such a text is unformatted, which takes no time."""
PROTOCOLS = ("http", "https", "mailto", "xmpp")
PENDING_KEPT = 16
RAW_TAGS_MAX = 5_000  # Sanitising deep nests takes quadratic time.

_TAG_NAMES = (
    "a b blockquote br caption code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img input ins kbd li mark ol p "
    "pre q rp rt ruby s samp section small span strike strong sub summary sup table tbody td tfoot th thead tr tt u ul "
    "var wbr"
)
TAGS = set(_TAG_NAMES.split())
ATTRIBUTES: dict[str, set[str]] = {
    "*": set(),
    "a": {"href", "title"},
    "img": {"src", "alt", "title", "width", "height"},
    "td": {"align", "valign", "colspan", "rowspan"},
    "th": {"align", "valign", "colspan", "rowspan", "scope"},
    "tr": {"align", "valign"},
    "p": {"align"},
    "div": {"align"},
    "h1": {"align"},
    "h2": {"align"},
    "h3": {"align"},
    "ol": {"start", "type", "reversed"},
    "li": {"value"},
    "details": {"open"},
    "input": {"checked"},
    "abbr": {"title"},
}
ALIGNMENTS = {"left", "right", "center", "justify"}
ALERTS = ("note", "tip", "important", "warning", "caution")
CLASSES = {
    "div": {"class": {f"markdown-alert markdown-alert-{kind}" for kind in ALERTS}},
    "p": {"class": {"markdown-alert-title"}},
    **{f"h{level}": {"class": {f"level-{typed}" for typed in range(1, 7)}} for level in range(2, 7)},
}

_LINE_END = re.compile(r"\r\n?")
# The sanitiser writes `<`, `>` and `"` within attributes as entities, so this finds real tags only.
_IMAGE = re.compile(r'<img((?:\s+[a-z-]+="[^"]*")*)\s*/?>')
_TAG = re.compile(r"(<[^>]*>)")
_CODE_TAG = re.compile(r"</?(?:code|pre|tt)\b")
_ATTRIBUTE = re.compile(r'([a-z-]+)="([^"]*)"')
_REFERENCE = re.compile(
    r"(?<![\w/#&@.-])(?:"
    r"(?:(?P<repository>[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}))?#(?P<number>[1-9]\d{0,9})(?!\w)"
    r"|GH-(?P<gh>[1-9]\d{0,9})(?!\w)"
    r"|@(?P<login>[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9])){0,38})(?![\w/@.]*[\w/@])"
    r"|(?:(?P<of>[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100})@)?(?P<sha>[0-9a-f]{40})(?!\w))"
)
_ADDRESS = re.compile(
    r"https?://(?P<host>[^/\s]+)/(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)/"
    r"(?:(?:issues|pull|discussions)/(?P<number>\d+)(?P<part>[#/?].*)?|commit/(?P<sha>[0-9a-f]{7,40}))/?"
)


def render_markdown(text: str, repository: str = "", budget: Budget | None = None, address: str = "") -> str:
    """Safe HTML of a body or comment; never raises.

    `repository` (`owner/name` or `host/owner/name`) is where `#12` points. `address` is where GitHub shows the text,
    with the formulas and diagrams that it draws. `budget` is that of the page, and what this
    text takes is taken from it; where it is spent, the rest of the text follows unformatted, every character of it.
    Long texts are kept in the cache by their SHA-256, so that a log of 100 kB is rendered once.
    """
    budget = budget or Budget()
    if len(text) < CACHED_FROM:
        found, units = _render(text, repository, budget.of_text, address)
    else:
        parts = json.dumps([repository, address, text])  # no part can pass for the beginning of the next
        mark = hashlib.sha256(parts.encode()).hexdigest()
        key = f"markdown:{VERSION}:{budget.of_text}:{mark}"
        if (kept := cache.get(key)) is not None:
            found, units = kept
        else:
            found, units = _render(text, repository, budget.of_text, address)
            if len(found) <= CACHED_MOST:
                cache.set(key, (found, units), CACHED_SECONDS)
    budget.units -= units
    return str(found)


def _render(text: str, repository: str, most: int = UNITS_OF_TEXT, address: str = "") -> tuple[str, int]:
    """The HTML, and how many units of work it took."""
    text = _LINE_END.sub("\n", text.replace("\x00", "\ufffd")).encode("utf-8", "replace").decode()
    end = min(formatted_end(text, most), CHARACTERS_MAX)
    page = _Rendering(repository, address)
    try:
        found = page.render(text[:end])
    except Exception:
        logger.warning("a text could not be rendered and is shown as it is", exc_info=True)
        return plain(text), page.units
    return found + _unformatted(text[end:]) if end < len(text) else found, page.units


def _unformatted(rest: str) -> str:
    """What is left of a text that takes too long to format, with a sentence that is no part of it."""
    sentence = f"The last {len(rest):,} characters are shown without formatting, which would take too long."
    return f'<p class="muted unformatted">{sentence}</p>{plain(rest)}'


def plain(text: str) -> str:
    """A text as it is, for what no renderer can read."""
    return f'<pre class="as-it-is">{escape(text)}</pre>'


class _Rendering:
    """One rendering: our own HTML is set in after sanitising, by marks that no author can guess."""

    def __init__(self, repository: str, address: str = "") -> None:
        self.nonce = secrets.token_hex(12)
        self.key = ""
        self.address = address if may_be_linked(address) else ""
        self.ours: list[str] = []
        self.n_highlighted = 0
        self.cpu_seconds = HIGHLIGHT_CPU_SECONDS
        self.units = 0
        parts = repository.split("/")
        self.host = parts[0] if len(parts) == 3 else GITHUB_HOST
        self.repository = "/".join(parts[-2:]) if len(parts) >= 2 else ""

    def render(self, text: str) -> str:
        self.key = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:10]
        tokens = parser().parse(text, env := {"page": self})
        self.units += sum(1 + len(token.children or ()) for token in tokens) + units_of(text)
        if sum(token.content.count("<") for token in raw(tokens)) > RAW_TAGS_MAX:
            return plain(text)
        html = parser().renderer.render(tokens, parser().options, env)
        clean = nh3.clean(
            html,
            tags=TAGS,
            attributes=ATTRIBUTES,
            attribute_filter=self._attribute,
            tag_attribute_values=CLASSES,
            url_schemes={"http", "https", "mailto"},
            link_rel="nofollow noopener noreferrer",
            set_tag_attribute_values={
                "a": {"target": "_blank"},
                "table": {"tabindex": "0"},
                "input": {"type": "checkbox", "disabled": "", "aria-label": "task"},
            },
            strip_comments=True,
        )
        clean = _IMAGE.sub(self._image, _with_emoji(clean))
        return re.sub(rf"{self.nonce}-(\d+)-", lambda found: self.ours[int(found[1])], clean)

    def keep(self, html: str) -> str:
        """Takes HTML of ours and answers the mark that stands for it until all else is sanitised."""
        self.ours.append(html)
        return f"{self.nonce}-{len(self.ours) - 1}-"

    def code(self, text: str, language: str) -> str:
        n_lines = text.count("\n") + (not text.endswith("\n") and bool(text))
        name = escape(language[:40])
        inner = self._highlighted(text, language)
        bar = (
            f'<div class="code-bar" data-language="{name}">'
            '<button type="button" class="code-wrap" aria-label="Wrap long lines" aria-pressed="false"></button></div>'
        )
        block = f'<div class="code">{bar}<pre tabindex="0"><code>{inner}</code></pre></div>'
        if language in DRAWN:
            block += drawn_at(DRAWN[language], self.address)
        if n_lines <= FOLD_LINES:
            return block
        what = f" of {name}" if name else ""
        return f'<details class="code-fold"><summary>{n_lines:,} lines{what}</summary>{block}</details>'

    def _highlighted(self, text: str, language: str) -> str:
        self.n_highlighted += len(text)
        if not language or self.n_highlighted > HIGHLIGHTED_MAX or len(text) > HIGHLIGHT_BLOCK_MAX:
            return escape(text)
        self.units += CODE_UNITS + len(text) // CODE_CHARACTERS
        try:
            lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
            tokens = self._tokens(lexer, text) if lexer.name in LANGUAGES else None
        except (ClassNotFound, RecursionError):
            tokens = None
        if tokens is None:
            return escape(text)
        out = StringIO()
        HtmlFormatter(nowrap=True).format(tokens, out)
        return out.getvalue()

    def _tokens(self, lexer: Any, text: str) -> list[Any] | None:
        """The tokens of a block; None where they take too long, as those of code made to be slow."""
        began, found = time.thread_time(), []
        for token in lexer.get_tokens(text):
            found.append(token)
            if time.thread_time() - began > self.cpu_seconds:
                found = []
                break
        self.cpu_seconds -= time.thread_time() - began
        return found or None

    def _attribute(self, tag: str, name: str, value: str) -> str | None:
        """Keeps an attribute, unless a mark of ours was lured into it: our HTML would close its quotes."""
        if name == "align" and value.lower() not in ALIGNMENTS:
            return None
        if name == "href" and not (value.lower().startswith("mailto:") or may_be_linked(value)):
            return None
        return None if self.nonce in value else value

    def _image(self, found: re.Match[str]) -> str:
        attributes = {name: unescape(value) for name, value in _ATTRIBUTE.findall(found[1])}
        address, alt = attributes.get("src", ""), attributes.get("alt", "").strip()
        if not sources_of(address):
            return escape(alt)
        width = attributes.get("width", "")
        host = escape(urlsplit(address).hostname or "")
        size = f' data-width="{width}"' if re.fullmatch(r"\d{1,4}", width) else ""
        return (
            f'<button type="button" class="remote-image" data-src="{escape(address)}" '
            f'data-frame="{escape(frame_of(address))}" data-alt="{escape(alt)}"{size}>'
            f'<span class="remote-image-alt">{escape(alt) or "Image"}</span> '
            f'<span class="remote-image-host">show from {host}</span></button>'
        )


def _with_emoji(html: str) -> str:
    """Emoji for their shortcodes in sanitized HTML, except in code. The text stays what was typed, also for quotes."""
    if not SHORTCODE.search(html):
        return html
    depth = 0
    parts = _TAG.split(html)
    for place, part in enumerate(parts):
        if place % 2:
            if _CODE_TAG.match(part):
                depth += -1 if part[1] == "/" else 1
        elif depth <= 0 and ":" in part:
            parts[place] = SHORTCODE.sub(_emoji, part)
    return "".join(parts)


def _emoji(found: re.Match[str]) -> str:
    emoji = emoji_of(found[1])
    return f'<span class="emoji" data-emoji="{emoji}"><span>{found[0]}</span></span>' if emoji else found[0]


def raw(tokens: Sequence[Token]) -> Iterator[Token]:
    """The tokens that are HTML as the author typed it."""
    for token in tokens:
        if token.type in {"html_block", "html_inline"}:
            yield token
        yield from raw(token.children or ())


@once
def parser() -> MarkdownIt:
    """GitHub's Markdown: tables, strikes, task lists, alerts, bare addresses, line breaks where they are typed."""
    made = MarkdownIt("gfm-like", {"breaks": True, "html": True, "linkify": False, "tasklists": True, "alerts": True})
    made.use(gfm_autolink_plugin)
    made.inline.ruler.at("gfm_autolink_protocol", _protocol)
    import_module("markdown_it.rules_block.table").MAX_AUTOCOMPLETED_CELLS = CELLS_MAX  # type: ignore[attr-defined]
    footnote_plugin(made)
    formula_plugin(made)
    made.core.ruler.push("github_references", references)
    made.add_render_rule("fence", _fence)
    made.add_render_rule("code_block", _fence)
    return made


def _protocol(state: StateInline, silent: bool) -> bool:
    """The plugin's rule for `http://…` with short reading: its own reads all pending text at every sign."""
    if state.src[state.pos] != ":" or not state.pending.endswith(PROTOCOLS):
        return False
    if not silent and len(state.pending) > PENDING_KEPT:
        name, state.pending = state.pending[-PENDING_KEPT:], state.pending[:-PENDING_KEPT]
        state.pushPending()
        state.pending = name
    return _protocol_rule(state, silent)


def _fence(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[position]
    words = token.info.strip().split()
    language = re.sub(r"[^\w+#.-]", "", words[0]).lower() if words else ""
    mark: str = env["page"].keep(env["page"].code(token.content, language))
    return f"\n<div>{mark}</div>\n"


def references(state: StateCore) -> None:
    """Links #12, owner/name#12, GH-12, @name and full commit hashes, and shortens addresses of issues, as GitHub does.

    Short commit hashes are left alone: only GitHub knows which of them are commits. Cells are aligned without a style.
    Headings come below the page's own title without a gap between their levels; their class says how they were typed.
    """
    page = state.env.get("page")
    if page is None:
        return
    levels = sorted({token.tag for token in state.tokens if token.type == "heading_open"})
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            if token.nesting == 1:
                token.attrSet("class", f"level-{token.tag[1]}")
            token.tag = f"h{min(levels.index(token.tag) + 2, 6)}"
        elif token.type == "inline" and token.children:
            token.children = _linked(token.children, page)
        elif token.type in {"th_open", "td_open"} and (style := token.attrGet("style")):
            token.attrs = {"align": str(style).removeprefix("text-align:")}


def _linked(children: list[Token], page: _Rendering) -> list[Token]:
    found: list[Token] = []
    depth = 0
    for position, token in enumerate(children):
        if token.type == "link_open":
            depth += 1
        elif token.type == "link_close":
            depth -= 1
        elif token.type == "html_inline":
            depth += _raw_link(token.content)
        if token.type != "text":
            found.append(token)
        elif depth > 0:
            before = children[position - 1] if position else None
            if before is not None and before.type == "link_open" and before.info == "auto":
                token.content = shortened(token.content, page)
            found.append(token)
        else:
            found.extend(_pieces(token, page))
    return found


def _raw_link(html: str) -> int:
    start = html[:3].lower()
    if start == "</a":
        return -1
    return 1 if start in {"<a ", "<a>"} else 0


def _pieces(token: Token, page: _Rendering) -> list[Token]:
    text, end = token.content, 0
    found: list[Token] = []
    for match in _REFERENCE.finditer(text):
        target = _target(match, page)
        if target is None:
            continue
        found.append(_text(text[end : match.start()], token.level))
        address, label = target
        opening = Token("link_open", "a", 1, attrs={"href": address}, level=token.level)
        closing = Token("link_close", "a", -1, level=token.level)
        found.extend((opening, _text(label, token.level + 1), closing))
        end = match.end()
    if not found:
        return [token]
    found.append(_text(text[end:], token.level))
    return found


def _text(content: str, level: int) -> Token:
    return Token("text", "", 0, content=content, level=level)


def _target(match: re.Match[str], page: _Rendering) -> tuple[str, str] | None:
    """Address and label of a reference, or None where it points nowhere (no repository known)."""
    site = f"https://{page.host}"
    if login := match["login"]:
        return f"{site}/{login}", match[0]
    repository = match["repository"] or match["of"] or page.repository
    if not repository:
        return None
    if sha := match["sha"]:
        label = f"{match['of']}@{sha[:7]}" if match["of"] else sha[:7]
        return f"{site}/{repository}/commit/{sha}", label
    return f"{site}/{repository}/issues/{match['number'] or match['gh']}", match[0]


def shortened(address: str, page: _Rendering) -> str:
    """`https://github.com/owner/name/issues/12` as `owner/name#12`, or `#12` within its own repository."""
    match = _ADDRESS.fullmatch(address)
    if match is None or match["host"].removeprefix("www.") != page.host:
        return address
    home = match["repository"].lower() == page.repository.lower()
    if match["sha"]:
        return match["sha"][:7] if home else f"{match['repository']}@{match['sha'][:7]}"
    name = f"#{match['number']}" if home else f"{match['repository']}#{match['number']}"
    part = match["part"] or ""
    if not part:
        return name
    return f"{name} (comment)" if "comment" in part else f"{name} (part)"
