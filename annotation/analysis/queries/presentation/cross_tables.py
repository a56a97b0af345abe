"""Presentation of cross tables and of flows."""

from typing import cast

import numpy as np

from annotation.analysis.association import Strength
from annotation.analysis.crosstab import Crosstab
from annotation.analysis.flow import Flow, FlowGroup
from annotation.analysis.queries import AnalysisResult as Told
from annotation.analysis.queries.presentation.blocks import (
    TESTS,
    AnalysisCell,
    AnalysisFigure,
    AnalysisMenu,
    AnalysisPresentation,
    AnalysisSection,
    AnalysisTable,
    p_words,
    percent,
)
from annotation.analysis.queries.presentation.provenance import exclusion_lines, nothing
from annotation.analysis.queries.presentation.question import STEPS, AnalysisRequest
from annotation.charts.heat_map import HeatCell, HeatMap, heat_map
from annotation.charts.sankey import Sankey, SankeyBand, SankeyNode, sankey
from shared.wording import plural

OF = {"row": "of the row", "column": "of the column", "all": "of all"}
HEATS = (0.02, 0.1, 0.25, 0.5, 0.75)
"""From which share on a cell is as hot as its place says, from 1."""
MORE, FEWER = "▲", "▼"
SURE = 0.05
LARGEST_TABLE = 60


def present_crosstab(asked: AnalysisRequest) -> AnalysisPresentation:
    """How often the categories of two dimensions meet, with a test where the parts allow one."""
    keys = [*asked.groups]
    if len(keys) < 2 or not asked.dimensions:
        return nothing("Cross table", "A cross table needs two dimensions or attributes with labels.")
    first = asked.question.one("rows") or next(key for key in keys if key != asked.question.one("columns"))
    told = asked.ask(rows=first, columns=next(key for key in keys if key != first))
    found = cast(Crosstab, told.found)
    rows_key, columns_key = told.question.dimensions
    rows, columns = told.columns[rows_key], told.columns[columns_key]
    title = f"{rows.title} by {columns.title.lower()}"
    return AnalysisPresentation(
        title=title,
        sentences=_tested(found, rows.title, columns.title),
        sections=[
            AnalysisSection("", [], _heat(asked, told, title, found), _table(asked, told, title, found)),
            *_stand_out(asked, told, found),
        ],
        choices=[
            AnalysisMenu("rows", "Rows", asked.choices_of(asked.groups), rows_key),
            AnalysisMenu("columns", "Columns", asked.choices_of(asked.groups), columns_key),
            AnalysisMenu("of", "Shares", list(OF.items()), told.question.of),
        ],
        left_out=exclusion_lines(asked, told, found.left_out),
        notes=found.notes,
        read=[rows_key, columns_key],
    )


def _tested(found: Crosstab, rows: str, columns: str) -> list[str]:
    """What the table says in sentences that a reader understands."""
    said = [f"{plural(found.n, 'part')} of {plural(found.n_items, 'item')} have a value of both."]
    if found.untested:
        return [*said, f"Not tested: {found.untested[0].lower()}{found.untested[1:]}"]
    association = found.association
    if association is None or association.undefined or association.test is None:
        reason = association.undefined if association and association.undefined else "Nothing to compare."
        return [*said, f"Not tested: {reason[0].lower()}{reason[1:]}"]
    test, strength = association.test, association.strength
    how = {
        "chi_square": f"chi-square {test.statistic:.2f}, {test.df} degrees of freedom",
        "fisher": "Fisher’s exact test",
        "exact": f"chi-square {test.statistic:.2f}, {TESTS['exact']}",
        "monte_carlo": f"chi-square {test.statistic:.2f}, by {test.draws or 0:,} tables drawn with the same margins",
    }[test.method]
    if test.p_value < SURE:
        said.append(
            f"{rows} and {columns.lower()} are associated: counts this uneven are rare under independence "
            f"({p_words(test.p_value)}; {how})."
        )
    else:
        said.append(
            f"There is no evidence that {rows.lower()} and {columns.lower()} are associated: such counts are "
            f"common under independence ({p_words(test.p_value)}; {how})."
        )
    if strength is not None:
        said += strength_said(strength)
    said.append(f"Choice of test: {test.because[0].lower()}{test.because[1:]}")
    n_marked = int((_marks(found) != 0).sum())
    if n_marked:
        said.append(
            f"{MORE} and {FEWER} mark the {plural(n_marked, 'cell')} with more or fewer parts than expected "
            "under independence (adjusted residuals, p < 0.05 after Holm, "
            f"{TESTS[association.residuals_method or 'normal']})."
        )
    return said


def strength_said(strength: Strength) -> list[str]:
    """Cramér's V, and why it may lie above its own interval; without a word for its size, which has no one source."""
    corrected = "" if strength.cramers_v_corrected is None else f" ({strength.cramers_v_corrected:.2f} bias-corrected)"
    said = [
        f"Cramér’s V = {strength.cramers_v:.2f}, 95% CI [{strength.ci_low:.2f}, {strength.ci_high:.2f}]{corrected}."
    ]
    if strength.cramers_v > strength.ci_high:
        said.append(
            "V is above the interval, which is that of the population’s V. With few parts in many cells, "
            "chance alone makes V large. Report the bias-corrected value."
        )
    return said


def _marks(found: Crosstab) -> np.ndarray:
    """R × C: 1 where there are more than expected, −1 fewer, 0 where nothing can be said."""
    association = found.association
    if association is None or association.residuals is None or association.p_residuals is None:
        return np.zeros(found.counts.shape, dtype=np.int64)
    sure = np.nan_to_num(association.p_residuals, nan=1.0) < SURE
    return np.where(sure, np.sign(np.nan_to_num(association.residuals)), 0).astype(np.int64)


def _heat(asked: AnalysisRequest, told: Told, title: str, found: Crosstab) -> AnalysisFigure | None:
    rows_key, columns_key = told.question.dimensions
    if not found.n or max(found.counts.shape) > LARGEST_TABLE:
        return None
    shares, denominator = found.shares(told.question.of)
    marks = _marks(found)
    cells = []
    for row, (key, name) in enumerate(zip(found.rows.keys, found.rows.names, strict=True)):
        for place, (other, other_name) in enumerate(zip(found.columns.keys, found.columns.names, strict=True)):
            n, share = int(found.counts[row, place]), float(shares[row, place])
            if not n and not marks[row, place]:
                continue
            sign = {1: MORE, -1: FEWER, 0: ""}[int(marks[row, place])]
            heat = sum(share >= least for least in HEATS)
            words = f"{name}, {other_name}: {plural(n, 'part')}, {percent(share)} {denominator.words}"
            url = asked.items_url(told, (rows_key, key), (columns_key, other)) if n else ""
            cells.append(HeatCell(row, place, f"{n}{sign}", heat, words, url))
    steps = ", ".join(f"{least * 100:g}" for least in HEATS)
    drawn = HeatMap(
        title=title,
        subtitle=f"Color: share {denominator.words}, steps at {steps}%.",
        position=asked.position(rows_key),
        rows=list(found.rows.names),
        columns=list(found.columns.names),
        row_axis="",
        column_axis="",
        cells=cells,
        is_slanted=True,
    )
    return AnalysisFigure(
        "crosstab",
        f"{title}: joint counts",
        lambda look, width: heat_map(drawn, look, width),
        is_map=True,
    )


def _table(asked: AnalysisRequest, told: Told, title: str, found: Crosstab) -> AnalysisTable:
    rows_key, columns_key = told.question.dimensions
    shares, _ = found.shares(told.question.of) if found.n else (found.counts.astype(np.float64), None)
    marks = _marks(found)
    residuals = found.association.residuals if found.association is not None else None
    heads = [asked.groups[rows_key].title, *found.columns.names, "All"]
    rows = []
    for row, (key, name) in enumerate(zip(found.rows.keys, found.rows.names, strict=True)):
        cells = [AnalysisCell(name)]
        for place, other in enumerate(found.columns.keys):
            n = int(found.counts[row, place])
            sign = {1: f" {MORE}", -1: f" {FEWER}", 0: ""}[int(marks[row, place])]
            words = percent(float(shares[row, place])) if n else ""
            if residuals is not None and np.isfinite(residuals[row, place]):
                words = f"{words} residual {residuals[row, place]:+.2f}".strip()
            url = asked.items_url(told, (rows_key, key), (columns_key, other)) if n else ""
            cells.append(AnalysisCell(f"{n:,}{sign}", url, n, words=words))
        total = int(found.row_totals[row])
        cells.append(AnalysisCell(f"{total:,}", asked.items_url(told, (rows_key, key), (columns_key, "~any")), total))
        rows.append(cells)
    last = [AnalysisCell("All", is_strong=True)]
    for place, other in enumerate(found.columns.keys):
        total = int(found.column_totals[place])
        last.append(AnalysisCell(f"{total:,}", asked.items_url(told, (rows_key, "~any"), (columns_key, other)), total))
    last.append(AnalysisCell(f"{found.n:,}", asked.items_url(told, (rows_key, "~any"), (columns_key, "~any")), found.n))
    return AnalysisTable("crosstab", title, heads, [*rows, last], frozenset(range(1, len(heads))))


def _stand_out(asked: AnalysisRequest, told: Told, found: Crosstab) -> list[AnalysisSection]:
    """The cells that stand out, as a list with their residuals."""
    rows_key, columns_key = told.question.dimensions
    association = found.association
    if association is None or association.residuals is None or association.expected is None:
        return []
    marks = _marks(found)
    places = sorted(zip(*np.nonzero(marks), strict=True), key=lambda at: -abs(association.residuals[at]))  # type: ignore[index]
    if not places:
        return []
    rows = [
        [
            AnalysisCell(found.rows.names[row]),
            AnalysisCell(found.columns.names[place]),
            AnalysisCell(
                f"{int(found.counts[row, place]):,}",
                asked.items_url(told, (rows_key, found.rows.keys[row]), (columns_key, found.columns.keys[place]))
                if found.counts[row, place]
                else "",
                int(found.counts[row, place]),
            ),
            AnalysisCell(
                f"{association.expected[row, place]:.1f}", value=round(float(association.expected[row, place]), 4)
            ),
            AnalysisCell(
                f"{association.residuals[row, place]:+.2f}", value=round(float(association.residuals[row, place]), 4)
            ),
        ]
        for row, place in places
    ]
    heads = [asked.groups[rows_key].title, asked.groups[columns_key].title, "n", "Expected", "Adjusted residual"]
    table = AnalysisTable("residuals", "Cells that differ from independence", heads, rows, frozenset({2, 3, 4}))
    return [AnalysisSection("Cells that differ from independence", [], None, table)]


def present_flow(asked: AnalysisRequest) -> AnalysisPresentation:
    """How parts go from the categories of one dimension to those of the next."""
    known = asked.groups
    if len(known) < 2 or not asked.dimensions:
        return nothing("Flow", "A flow needs two dimensions or more with labels.")
    first_ones = [*asked.dimensions, *(key for key in known if key not in asked.dimensions)][:3]
    told = asked.ask(dimensions=",".join(first_ones))
    found = cast(Flow, told.found)
    keys, within = told.question.dimensions, told.question.by
    steps = [told.columns[key].title for key in keys]
    title = " → ".join(steps) + (f", within {told.columns[within].title.lower()}" if within else "")
    sections = [
        AnalysisSection(
            group.name if within else "",
            [f"Shares are {group.denominator.words}."],
            _sankey(asked, told, title, steps, group, place),
            _paths(asked, told, group, place),
        )
        for place, group in enumerate(found.groups)
    ]
    menus = [
        AnalysisMenu(name, words, asked.choices_of(known, none), keys[place] if place < len(keys) else "")
        for place, (name, words, none) in enumerate(
            zip(STEPS, ("From", "to", "then to", "then to"), ("", "", "no third step", "no fourth step"), strict=True)
        )
        if place <= len(keys)
    ]
    return AnalysisPresentation(
        title=title,
        sentences=_said(found),
        sections=sections,
        choices=[*menus, AnalysisMenu("within", "Within each", asked.choices_of(known, "all together"), within)],
        left_out=exclusion_lines(asked, told, found.left_out),
        notes=found.notes,
        read=[*keys, *([within] if within else [])],
    )


def _said(found: Flow) -> list[str]:
    return [f"{plural(found.n, 'part')} of {found.n_parts:,} have a value in every step and are drawn."]


def _labels(told: Told, group: FlowGroup, *values: tuple[int, str]) -> list[tuple[str, str]]:
    """The labels of what takes part in the flow: some values, and any value at the other steps."""
    keys, within = told.question.dimensions, told.question.by
    chosen = dict(values)
    found = [(key, chosen.get(step, "~any")) for step, key in enumerate(keys)]
    return found + ([(within, group.value)] if within and group.value is not None else [])


def _sankey(
    asked: AnalysisRequest, told: Told, title: str, steps: list[str], group: FlowGroup, place: int
) -> AnalysisFigure | None:
    if not group.bands:
        return None
    names = {(node.step, node.category): node.name for node in group.nodes}
    nodes = [
        SankeyNode(
            node.step,
            node.category,
            node.name,
            node.share.n,
            f"{node.name}: {plural(node.share.n, 'part')}, {percent(node.share.share)}",
            asked.items_url(told, *_labels(told, group, (node.step, node.category))),
        )
        for node in group.nodes
    ]
    bands = [
        SankeyBand(
            band.step,
            band.start,
            band.end,
            band.share.n,
            f"{names[band.step, band.start]} → {names[band.step + 1, band.end]}: {plural(band.share.n, 'part')}, "
            f"{percent(band.of_start.share)} of {names[band.step, band.start]}",
            asked.items_url(told, *_labels(told, group, (band.step, band.start), (band.step + 1, band.end))),
        )
        for band in group.bands
    ]
    shows = f"{title}: {group.name}" if group.value is not None else title
    drawn = Sankey(shows, steps, _ordered(nodes, bands, len(steps)), bands)
    return AnalysisFigure(f"flow-{place + 1}", shows, lambda look, width: sankey(drawn, look, width))


def _ordered(nodes: list[SankeyNode], bands: list[SankeyBand], n_steps: int) -> list[SankeyNode]:
    """The most frequent on top of the first step; later ones by where their bands come from, so that few cross."""
    found: list[SankeyNode] = []
    for step in range(n_steps):
        here = [node for node in nodes if node.step == step]
        if step == 0:
            here.sort(key=lambda node: -node.n)
        else:
            at = {node.key: place for place, node in enumerate(each for each in found if each.step == step - 1)}
            middle = {}
            for node in here:
                coming = [(at[band.start], band.n) for band in bands if band.step == step - 1 and band.end == node.key]
                middle[node.key] = sum(place * n for place, n in coming) / max(sum(n for _, n in coming), 1)
            here.sort(key=lambda node: (middle[node.key], -node.n))
        found += here
    return found


MOST_PATHS = 200


def _paths(asked: AnalysisRequest, told: Told, group: FlowGroup, place: int) -> AnalysisTable:
    columns = [told.columns[key] for key in told.question.dimensions]
    names = [dict(zip(each.categories.keys, each.categories.names, strict=True)) for each in columns]
    rows = []
    for path in group.paths[:MOST_PATHS]:
        cells = [AnalysisCell(names[step].get(key, key)) for step, key in enumerate(path.categories)]
        url = asked.items_url(told, *_labels(told, group, *enumerate(path.categories)))
        cells += [
            AnalysisCell(f"{path.share.n:,}", url, path.share.n),
            AnalysisCell(
                percent(path.share.share), value="" if path.share.share is None else round(path.share.share, 6)
            ),
        ]
        rows.append(cells)
    heads = [*(each.title for each in columns), "n", "Share"]
    title = "Paths of the parts" + (f": {group.name}" if group.value is not None else "")
    more = len(group.paths) - MOST_PATHS
    caption = f"{more:,} more paths of fewer parts are not listed." if more > 0 else ""
    return AnalysisTable(f"flow-{place + 1}", title, heads, rows, frozenset({len(heads) - 2, len(heads) - 1}), caption)
