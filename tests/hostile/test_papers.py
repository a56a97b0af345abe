"""LaTeX that goes out: whatever names and texts hold, it is a table or a paragraph and nothing else."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.analysis.queries.presentation.blocks import AnalysisCell, AnalysisTable
from annotation.core import latex
from annotation.core.latex import escape_latex
from tests.annotation import permission_study
from tests.hostile.corpus import PLACES
from tests.hostile.hostile_study import MARK, make_hostile_study
from tests.simulation import examples

TOKEN = re.compile(r"\\([a-zA-Z]+|.|\Z)|([{}&%$#_^~])", re.DOTALL)
SIGNS = set("{}&%$#_\\")
FORMULA = re.compile(rf"(?<!\\)\$(?:-|{'|'.join(map(re.escape, latex.SIGNS.split()[1::2]))})\$")
"""A sign that stands in mathematics alone."""
WORDS = {
    "begin", "end", "caption", "label", "centering", "toprule", "midrule", "bottomrule", "multicolumn", "emph",
    "textbf", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater", "textbar",
    "textasciigrave",
}  # fmt: skip
"""Commands that our tables and paragraphs consist of."""
MORE = [
    "[3pt]", "*", "[x", "*[1em]", "^^5cinput{x}", "\\\\[9cm]", "a\n\nb", "\\", "{", "}", "}}", "%", "&&",
    "\\end{tabular}", "\\newcommand", "$$", "\x1b[2J", "\x7f", "\u2028", "\ud7ff", "a\\\r\n*b", "`'``''",
]  # fmt: skip


def wrong_in(latex: str) -> list[str]:
    """What a text of LaTeX says that no table of ours says, and where its groups, lines or cells are not whole."""
    wrong, depth, open_ = [], 0, []
    latex = FORMULA.sub("", latex)
    for found in TOKEN.finditer(latex):
        word, bare = found.groups()
        if word is not None and not (word in WORDS or word in SIGNS):
            wrong.append(f"\\{word}")
        if word in ("begin", "end"):
            name = re.match(r"\{(\w+)\}", latex[found.end() :])
            if word == "begin":
                open_.append(name and name[1])
            elif not open_ or open_.pop() != (name and name[1]):
                wrong.append("an environment ends that did not begin")
        depth += {"{": 1, "}": -1}.get(bare or "", 0)
        if bare in ("%", "$", "#", "^", "~") or depth < 0:
            wrong.append(f"a bare {bare}")
    rows = [line.strip() for line in latex.splitlines() if line.endswith("\\\\") and "\\multicolumn" not in line]
    if len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) > 1:
        wrong.append("rows of unlike length")
    wrong += [f"a row that begins with {line.strip()[0]}" for line in latex.splitlines() if re.match(r"\s*[*\[]", line)]
    if depth or open_ or "\n\n\n" in latex or re.search(r"[\x00-\x09\x0b-\x1f\x7f]", latex):
        wrong.append("something is left open, or a control character")
    return wrong


def test_what_is_wrong_is_found() -> None:
    for text in (*MORE[:1], "\\input{x}", "a % b", "a $ b", "}", "{", "\\end{table}", "^^5c"):
        assert wrong_in(f"    {text} & 1 \\\\\n    Hang & 2 \\\\\n"), text


def table_of(*texts: str) -> str:
    cells = [[AnalysisCell(text), AnalysisCell("1")] for text in texts]
    return AnalysisTable(key="counts", title="", heads=["Subject", "n"], rows=cells).as_latex(" ".join(texts))


@pytest.mark.parametrize("text", [*PLACES, *MORE])
def test_a_hostile_name_is_text_in_every_place_of_a_table(text: str) -> None:
    assert not wrong_in(table_of(text, "Hang", text, "[x]", text))


@settings(max_examples=examples(200), deadline=None)
@given(st.text(alphabet=st.sampled_from("\\{}&%$#_^~[]*`'\n ab5c<>|") | st.characters(), max_size=40))
def test_any_name_is_text(text: str) -> None:
    assert not wrong_in(table_of(text, text))
    assert not wrong_in(f"\\emph{{{escape_latex(text)}}}")


@pytest.mark.slow
@pytest.mark.django_db
def test_the_files_of_a_study_full_of_hostile_names_are_tables_all_the_same() -> None:
    make_hostile_study()
    visitor = permission_study.Visitor("ida")
    paths = {path for _, base, path in permission_study.table() if base == permission_study.PAGES and ".tex" in path}
    paths |= {path.replace("?", f"{and_}") for path in paths for and_ in ("?round=1&", "?dimension=symptom&")}
    shown = {}
    for path in paths:
        answer = visitor.get(permission_study.PAGES, path)
        if answer.status_code == 200:
            shown[path] = answer.content.decode()
            assert not (wrong := wrong_in(shown[path])), f"{path}: {wrong}\n{shown[path]}"
    assert len(shown) > 1 and any(MARK in text for text in shown.values())
