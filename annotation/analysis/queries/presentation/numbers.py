"""Presentation of numbers, group comparisons, and saturation."""

from collections.abc import Mapping
from typing import cast

from agreement import interval_words
from annotation.analysis.comparison import GroupComparison
from annotation.analysis.numbers import Distribution, Numbers
from annotation.analysis.queries import AnalysisResult as Told
from annotation.analysis.queries.effort import MEASURES
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
from annotation.analysis.queries.presentation.counts import rounded, said_of
from annotation.analysis.queries.presentation.provenance import exclusion_lines, nothing
from annotation.analysis.queries.presentation.question import AnalysisRequest
from annotation.analysis.saturation import Saturation
from annotation.charts.analysis import Box, Boxes, Curve, Curves, boxes, curves
from annotation.models import Item
from shared.wording import plural
from taxonomy.kinds.number import number_words

CUTS = {"lines": 10.0}
"""What the share at or under is asked of where no cut is given: the small fixes of Yu et al."""
MOST_CURVES = 6
SURE = 0.05


def present_numbers(asked: AnalysisRequest) -> AnalysisPresentation:
    """How much work items were: quantiles, the share at or under a cut, and whether groups differ."""
    if not asked.labeled.columns.n_rows:
        return nothing("Numbers", asked=asked)
    own = asked.labeled.columns.numbers
    measures = {
        **{key: title for key, (title, *_) in MEASURES.items()},
        **{key: each.title for key, each in own.items()},
    }
    measure = asked.question.one("measure") or next(iter(measures))
    cut = CUTS.get(measure)
    told = asked.ask(measure=measure, cut="" if cut is None else number_words(cut))
    found = cast(Numbers, told.found)
    assert told.number is not None
    by, unit = told.question.by, told.number.unit or told.number.title.lower()
    title = f"{told.number.title}{f' by {told.columns[by].title.lower()}' if by else ''}"
    groups = {"": ("All", found.total), **{each.value: (each.name, each.distribution) for each in found.groups}}
    known = {key: each for key, each in groups.items() if each[1].n}
    sentences = [*_first(found, unit), *(_compared(found, told) if by and found.total.n else [])]
    sections: list[AnalysisSection] = []
    if not found.total.n:
        sections.append(AnalysisSection(""))
    elif by and len(known) > 1:
        figure = _box_figure(asked, told, title, known, unit)
        sections.append(AnalysisSection("", [], figure, _quantiles(asked, told, title, groups, found.cut, unit)))
    else:
        sections.append(AnalysisSection("", [], None, _quantiles(asked, told, title, groups, found.cut, unit)))
    if found.total.n:
        sections.append(
            AnalysisSection("At or below", [], _curve_figure(asked, told, title, known, found.cut, unit), None)
        )
    if found.comparison is not None and found.comparison.pairs:
        names = {each.value: each.name for each in found.groups}
        sections.append(AnalysisSection("By group", [], None, _pair_table(found.comparison, names)))
    return AnalysisPresentation(
        title=title,
        sentences=sentences,
        sections=sections,
        choices=[
            AnalysisMenu("measure", "Measure", list(measures.items()), measure),
            AnalysisMenu("by", "By", asked.choices_of(asked.groups, "all together"), by),
            AnalysisMenu(
                "cut",
                "Cut",
                (),
                asked.question.one("cut") or ("" if cut is None else number_words(cut)),
                control="number",
            ),
        ],
        left_out=exclusion_lines(asked, told, found.left_out),
        read=[by] if by else [],
    )


def _first(found: Numbers, unit: str) -> list[str]:
    total = found.total
    if total.undefined:
        return [f"Not known for any of the {plural(total.n_missing, found.counted)}."]
    quantiles = dict(total.quantiles)
    said = [
        "Known for "
        f"{plural(total.n, found.counted)}{f', not for {total.n_missing:,}' if total.n_missing else ''}: "
        f"median {quantiles[0.5]:.3g} {unit}, lower quartile {quantiles[0.25]:.3g}, upper quartile "
        f"{quantiles[0.75]:.3g}."
    ]
    if total.at_or_under is not None and found.cut is not None:
        said.append(f"At or below {number_words(found.cut)} {unit}: {said_of(total.at_or_under)}.")
    return said


def _compared(found: Numbers, told: Told) -> list[str]:
    """The tests in sentences that a reader understands."""
    if found.uncompared:
        return [f"Not compared: {found.uncompared[0].lower()}{found.uncompared[1:]}"]
    comparison = found.comparison
    if comparison is None:
        return []
    said = []
    names = {each.value: each.name for each in found.groups}
    if comparison.h is not None and comparison.p_value is not None:
        differ = "The groups differ" if comparison.p_value < SURE else "There is no evidence that the groups differ"
        said.append(
            f"{differ}: Kruskal–Wallis H = {comparison.h:.2f}, {comparison.df} degrees of freedom, "
            f"{p_words(comparison.p_value)} ({TESTS[comparison.method or 'chi_square']}), epsilon² = "
            f"{comparison.epsilon_squared or 0:.2f}."
        )
    elif comparison.undefined and not comparison.pairs:
        said.append(comparison.undefined)
    sure = [each for each in comparison.pairs if each.p_holm is not None and each.p_holm < SURE]
    for each in sorted(sure, key=lambda pair: pair.p_holm or 0)[:3]:
        more = "larger" if (each.delta or 0) > 0 else "smaller"
        said.append(
            f"Numbers of {names[each.a]} are {more} than those of {names[each.b]}: Cliff’s delta {each.delta:+.2f}, "
            f"{p_words(each.p_holm)} after Holm (Mann–Whitney, {TESTS[each.method or 'asymptotic']})."
        )
    if comparison.pairs and not sure and comparison.h is None:
        pair = comparison.pairs[0]
        how = f"{p_words(pair.p_value)} (Mann–Whitney, {TESTS[pair.method]})" if pair.method else p_words(None)
        said.append(f"There is no evidence that the two groups differ: {how}.")
    return said


def _number(value: float | None) -> AnalysisCell:
    if value is None:
        return AnalysisCell("–", value="")
    return AnalysisCell(f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}", value=round(value, 6))


def _quantiles(
    asked: AnalysisRequest,
    told: Told,
    title: str,
    groups: Mapping[str, tuple[str, Distribution]],
    cut: float | None,
    unit: str,
) -> AnalysisTable:
    shares = (0.05, 0.25, 0.5, 0.75, 0.95)
    heads = [told.columns[told.question.by].title if told.question.by else "", "n", "Not known", "Least"]
    heads += ["5%", "25%", "Median", "75%", "95%", "Most", "Mean", "SD"]
    heads += [] if cut is None else [f"At or below {number_words(cut)}", "95% CI"]
    rows = []
    for key, (name, each) in groups.items():
        at = dict(each.quantiles)
        cells = [
            AnalysisCell(name, is_strong=not key),
            AnalysisCell(f"{each.n:,}", _behind(asked, told, key, "~any") if each.n else "", each.n),
            AnalysisCell(
                f"{each.n_missing:,}", _behind(asked, told, key, "~none") if each.n_missing else "", each.n_missing
            ),
            _number(each.minimum),
            *(_number(at.get(share)) for share in shares),
            _number(each.maximum),
            _number(each.mean),
            _number(each.sd),
        ]
        if cut is not None:
            under = each.at_or_under
            between = (
                ""
                if under is None or under.ci_low is None or under.ci_high is None
                else f"{under.ci_low * 100:.1f}–{under.ci_high * 100:.1f}%"
            )
            share = under.share if under else None
            url = _behind(asked, told, key, f"<={number_words(cut)}") if under and under.n else ""
            cells += [AnalysisCell(percent(share), url, rounded(share)), AnalysisCell(between)]
        rows.append(cells)
    return AnalysisTable("numbers", f"{title}, in {unit}", heads, [*rows[1:], rows[0]], frozenset(range(1, len(heads))))


def _behind(asked: AnalysisRequest, told: Told, key: str, which: str) -> str:
    """Where the items of a group stand whose number is known, is not, or is up to another."""
    assert told.number is not None
    group = [(told.question.by, key)] if key else []
    return asked.items_url(told, *group, (told.number.key, which))


def _is_skewed(known: Mapping[str, tuple[str, Distribution]]) -> bool:
    """Whether a logarithm shows more: the 95th percentile is far from the median."""
    total = dict(known[""][1].quantiles) if "" in known else {}
    return total.get(0.95, 0) > 10 * max(total.get(0.5, 0), 0.5)


def _box_figure(
    asked: AnalysisRequest, told: Told, title: str, known: Mapping[str, tuple[str, Distribution]], unit: str
) -> AnalysisFigure:
    by = told.question.by
    drawn = []
    listed = [(key, *each) for key, each in known.items() if key]
    for row, (key, name, each) in enumerate(listed):
        at = dict(each.quantiles)
        words = f"{name}: median {at[0.5]:.3g} {unit}, n = {each.n:,}"
        five = (at[0.05], at[0.25], at[0.5], at[0.75], at[0.95])
        drawn.append(Box(row, five, words, asked.items_url(told, (by, key))))
    names = [known_of(name, each.n) for _, name, each in listed]
    is_log = _is_skewed(known)
    axis = f"{unit}{', logarithmic' if is_log else ''}: box 25 to 75%, whiskers 5 to 95%"
    found = Boxes(title, axis, names, drawn, is_log, asked.position(by))
    return AnalysisFigure("boxes", title, lambda look, width: boxes(found, look, width))


def known_of(name: str, n: int) -> str:
    """A group with how many it has, which stays in one line."""
    return f"{name}, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n:,}"


def _curve_figure(
    asked: AnalysisRequest,
    told: Told,
    title: str,
    known: Mapping[str, tuple[str, Distribution]],
    cut: float | None,
    unit: str,
) -> AnalysisFigure:
    chosen = {key: each for key, each in known.items() if key} if 1 < len(known) <= MOST_CURVES + 1 else {"": known[""]}
    is_log = _is_skewed(known)
    lines = [
        Curve(
            known_of(name, each.n),
            [(point.value, point.share) for point in each.curve],
            [f"{name}: {percent(point.share)} at or below {point.value:.3g} {unit}" for point in each.curve],
            [_behind(asked, told, key, f"<={point.value!r}") for point in each.curve],
        )
        for key, (name, each) in chosen.items()
    ]
    found = Curves(
        f"{title}: share at or below",
        f"{unit}{', logarithmic' if is_log else ''}",
        "share at or below",
        lines,
        cut=cut if cut or not is_log else None,
        is_share=True,
        is_log=is_log,
        is_step=True,
    )
    return AnalysisFigure(
        "curve", f"{title}: share at or below each number", lambda look, width: curves(found, look, width)
    )


def _pair_table(comparison: GroupComparison, names: Mapping[str, str]) -> AnalysisTable:
    rows = [
        [
            AnalysisCell(names.get(each.a, each.a)),
            AnalysisCell(names.get(each.b, each.b)),
            AnalysisCell("–" if each.u is None else f"{each.u:,.1f}", value="" if each.u is None else each.u),
            AnalysisCell(each.undefined or p_words(each.p_value).removeprefix("p = "), value=each.p_value),
            AnalysisCell("" if each.p_holm is None else p_words(each.p_holm).removeprefix("p = "), value=each.p_holm),
            AnalysisCell(TESTS.get(each.method or "", "")),
            AnalysisCell("–" if each.delta is None else f"{each.delta:+.2f}", value=rounded(each.delta)),
            AnalysisCell(interval_words(each.ci_low, each.ci_high, None, 2)),
        ]
        for each in comparison.pairs
    ]
    heads = ["Group", "and", "Mann–Whitney U", "p", "p after Holm", "Test", "Cliff’s delta", "95% CI"]
    return AnalysisTable("pairs", "Groups compared by rank", heads, rows, frozenset({2, 3, 4, 6, 7}))


def present_saturation(asked: AnalysisRequest) -> AnalysisPresentation:
    """Whether labelling more items still brings new categories."""
    if not asked.dimensions:
        return nothing("Saturation", asked=asked)
    told = asked.ask(dimension=next(iter(asked.dimensions)))
    found = cast(Saturation, told.found)
    key = told.question.dimensions[0]
    column = told.columns[key]
    title = f"{column.title}: new categories by labeled items"
    identifiers = dict(
        Item.objects.filter(pk__in=[each.item for each in found.first_seen]).values_list("pk", "identifier")
    )
    rows = [
        [
            AnalysisCell(each.name),
            AnalysisCell(f"{each.place:,}", value=each.place),
            AnalysisCell(identifiers.get(each.item, ""), asked.item_url(each.item)),
            AnalysisCell(f"{each.n_items:,}", asked.items_url(told, (key, each.category)), each.n_items),
        ]
        for each in found.first_seen
    ]
    after = [(plural(point.n_items, "item"), point) for point in found.curve]
    drawn = Curves(
        title,
        "items labeled",
        "categories",
        [
            Curve(
                "in the order of labeling",
                [(point.n_items, point.n_categories) for point in found.curve],
                [f"after {items}: {plural(point.n_categories, 'category', 'categories')}" for items, point in after],
            ),
            Curve(
                "on average over all orders",
                [(point.n_items, point.mean) for point in found.curve],
                [f"after {items}, on average: {point.mean:.1f} categories" for items, point in after],
            ),
        ],
        position=asked.position(key),
    )
    sentences = [
        f"{plural(found.n_items, 'item')} brought {plural(found.n_categories, 'category', 'categories')}; "
        f"{found.n_unseen:,} of the taxonomy did not occur{' in these items' if asked.labeled.n_hidden else ''}."
    ]
    if found.first_seen:
        last = found.first_seen[-1]
        sentences.append(f"The last new one was “{last.name}”, with item {last.place:,} of {found.n_items:,}.")
    if found.chance_new is not None:
        sentences.append(
            f"{plural(found.n_once, 'category', 'categories')} occurred in one item only, so about "
            f"{percent(found.chance_new)} of further items would bring a category that no item had (Good and Turing)."
        )
    heads = [column.title, "With item", "Which", "Items that have it"]
    figure = (
        AnalysisFigure("saturation", title, lambda look, width: curves(drawn, look, width)) if found.n_items else None
    )
    table = AnalysisTable("saturation", "First item of each category", heads, rows, frozenset({1, 3}))
    return AnalysisPresentation(
        title=title,
        sentences=sentences,
        sections=[AnalysisSection("", [], figure, table)],
        choices=[AnalysisMenu("dimension", "Categories of", asked.choices_of(asked.dimensions), key)],
        left_out=exclusion_lines(asked, told, found.left_out),
        read=[key],
    )
