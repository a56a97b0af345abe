"""Formulas in Markdown: shown as typed, with a link to GitHub, which draws them."""

import re
from collections.abc import Sequence
from html import escape

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

_FORMULA = re.compile(
    r"\$`[^`\n]{1,1000}`\$(?![\w$])"
    r"|\$\$(?:[^$\\]|\\.){1,2000}?\$\$"
    r"|\$(?![\s$`])(?:[^$\n\\]|\\.){0,1000}?(?:[^\s$\\]|\\[^\s])\$(?![\w$])",
    re.DOTALL,
)
_INSIDE = re.compile(r"[\w$\\]")
DRAWN = {"math": "formula", "mermaid": "diagram", "geojson": "map", "topojson": "map", "stl": "model"}
"""Languages of blocks of code that GitHub draws, and what it draws."""


def formula_plugin(made: MarkdownIt) -> None:
    """Keeps `$x_1$`, `$$…$$` and their like from being read as Markdown."""
    made.inline.ruler.before("escape", "formula", _formula)
    made.add_render_rule("formula", _render)


def drawn_at(kind: str, address: str) -> str:
    """A sentence that GitHub draws this, with a link where the address is known."""
    where = f'<a href="{escape(address)}" target="_blank" rel="nofollow noopener noreferrer">See it at GitHub</a>.'
    return f'<p class="drawn muted">GitHub draws this {kind}. {where if address else ""}</p>'


def _formula(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "$" or (state.pos and _INSIDE.match(state.src[state.pos - 1])):
        return False
    found = _FORMULA.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("formula", "", 0).content = found[0]
    state.pos = found.end()
    return True


def _render(renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType) -> str:
    source, address = escape(tokens[position].content), env["page"].address
    if not address:
        mark: str = env["page"].keep(f'<span class="formula"><code>{source}</code></span>')
        return mark
    mark = env["page"].keep(
        f'<a class="formula" href="{escape(address)}" target="_blank" rel="nofollow noopener noreferrer" '
        f'title="GitHub draws this formula: open it there"><code>{source}</code></a>'
    )
    return mark
