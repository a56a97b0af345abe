"""Footnotes as GitHub shows them: a number in the text, and the notes at its end.

A note without a reference stays where it was typed, so that no text is lost.
"""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.footnote.index import footnote_def

DEPTH_MAX = 8
_REFERENCE = re.compile(r"\[\^([^\]\s]{1,100})\]")


def footnote_plugin(made: MarkdownIt) -> None:
    """Adds footnotes; `env["page"]` keeps what the sanitizer would take away."""
    made.block.ruler.before("reference", "footnote_def", _definition, {"alt": ["paragraph", "reference"]})
    made.inline.ruler.after("image", "footnote_ref", _reference)
    made.core.ruler.after("inline", "footnote_tail", _gather)
    made.add_render_rule("footnote_ref", _render_reference)
    made.add_render_rule("footnote_title", _render_title)
    made.add_render_rule("footnote_anchor", _render_anchor)


def _definition(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The plugin's rule, not for notes deep within notes: what is nested too deeply the parser drops."""
    return state.level < DEPTH_MAX and footnote_def(state, start, end, silent)


def _reference(state: StateInline, silent: bool) -> bool:
    """`[^label]` of a note that the text has."""
    found = _REFERENCE.match(state.src, state.pos, state.posMax)
    notes = state.env.get("footnotes")
    if not (found and notes and f":{found[1]}" in notes["refs"]):
        return False
    if not silent:
        number = notes["list"].setdefault(found[1], len(notes["list"]) + 1)
        n_references = notes.setdefault("n_references", {})
        n_references[found[1]] = n_references.get(found[1], 0) + 1
        token = state.push("footnote_ref", "", 0)
        token.meta = {"number": number, "place": n_references[found[1]]}
    state.pos = found.end()
    return True


def _gather(state: StateCore) -> None:
    """Moves the notes that are referred to to the end of the text, in the order of their numbers."""
    notes = state.env.get("footnotes")
    if not notes:
        return
    found: dict[str, list[Token]] = {}
    open_ones: list[tuple[str, list[Token]]] = [("", [])]
    for token in state.tokens:
        if token.type == "footnote_reference_open":
            open_ones.append((token.meta["label"], []))
        elif token.type == "footnote_reference_close":
            label, inner = open_ones.pop()
            if label in notes["list"] and label not in found:
                found[label] = inner
            else:
                open_ones[-1][1].extend([*_paragraph(f"[^{label}]:"), *inner])
        else:
            open_ones[-1][1].append(token)
    state.tokens = open_ones[0][1]
    if not found:
        return
    state.tokens += [Token("footnote_title", "", 0), Token("ordered_list_open", "ol", 1, block=True)]
    for label, number in notes["list"].items():
        opening, closing = Token("list_item_open", "li", 1, block=True), Token("list_item_close", "li", -1, block=True)
        anchor = Token("footnote_anchor", "", 0, meta={"number": number, "n": notes["n_references"][label]})
        state.tokens += [opening, anchor, *found.get(label, ()), closing]
    state.tokens.append(Token("ordered_list_close", "ol", -1, block=True))


def _paragraph(text: str) -> list[Token]:
    inline = Token("inline", "", 0, content=text, children=[Token("text", "", 0, content=text)])
    return [Token("paragraph_open", "p", 1, block=True), inline, Token("paragraph_close", "p", -1, block=True)]


def _render_reference(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    page, number, place = env["page"], tokens[position].meta["number"], tokens[position].meta["place"]
    mark: str = page.keep(
        f'<a class="footnote-ref muted" id="fnref-{page.key}-{number}-{place}" href="#fn-{page.key}-{number}" '
        f'aria-label="Footnote {number}">{number}</a>'
    )
    return f"<sup>{mark}</sup>"


def _render_title(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    mark: str = env["page"].keep('<p class="footnotes-title muted">Footnotes</p>')
    return f"\n<div>{mark}</div>\n"


def _render_anchor(
    renderer: RendererHTML, tokens: Sequence[Token], position: int, options: OptionsDict, env: EnvType
) -> str:
    """Where the number leads, and the ways back to where it stands."""
    page, number, n = env["page"], tokens[position].meta["number"], tokens[position].meta["n"]
    back = " ".join(
        f'<a href="#fnref-{page.key}-{number}-{place}" aria-label="Back to footnote {number}, place {place}">↩</a>'
        for place in range(1, n + 1)
    )
    mark: str = page.keep(f'<span class="footnote-back muted" id="fn-{page.key}-{number}">{back}</span>')
    return mark
