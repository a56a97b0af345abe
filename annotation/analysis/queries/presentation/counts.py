"""Presentation of counts, marks, profiles, and combinations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from annotation.analysis.combinations import Combinations
from annotation.analysis.counts import CountGroup, Counts
from annotation.analysis.marks import MarkedGroup, MarkShares
from annotation.analysis.profiles import Profiles
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
from annotation.analysis.shares import Share
from annotation.charts.analysis import MOST_PANELS, ShareBar, ShareBars, bars
from annotation.charts.heat_map import HeatCell, HeatMap, heat_map
from annotation.labels.columns import MultiColumn, SingleColumn
from shared.wording import plural, series

OF_WORDS = {"group": "of the group", "all": "of all", "category": "of the category"}
MOST_LISTED, MOST_DRAWN, MOST_TIED = 100, 20, 5
SHARES, WITH_MARK = "share", "share with the mark"


def present_counts(asked: AnalysisRequest) -> AnalysisPresentation:
    """How often each category was agreed on, in all or by another dimension or attribute."""
    if not asked.dimensions:
        return nothing("Counts", asked=asked)
    told = asked.ask(dimension=next(iter(asked.dimensions)))
    found = cast(Counts, told.found)
    (key,), by = told.question.dimensions, told.question.by
    column = told.columns[key]
    title = f"{column.title} by {told.columns[by].title.lower()}" if by else column.title
    sentences = [f"{plural(found.n, 'part')} of {found.n_parts:,} have an agreed value of {column.title.lower()}."]
    sentences += _most(found.total)
    sentences.append(_of_words(told, found))
    if by and len(found.groups) > MOST_PANELS:
        sentences.append(f"The figure pools all {len(found.groups)} groups. The table shows each group.")
    return AnalysisPresentation(
        title=title,
        sentences=[*sentences, *_unused(found, column, is_part=bool(asked.labeled.n_hidden))],
        sections=[AnalysisSection("", figure=_bars_of(asked, told, title, found), table=_table(asked, told, found))],
        choices=[
            AnalysisMenu("dimension", "Count", asked.choices_of(asked.groups), key),
            AnalysisMenu("by", "By", asked.choices_of(asked.groups, "all together"), by),
            *([AnalysisMenu("of", "Shares", list(OF_WORDS.items()), told.question.of)] if by else []),
        ],
        left_out=exclusion_lines(asked, told, found.left_out),
        notes=found.notes,
        read=[key, *([by] if by else [])],
    )


def _unused(found: Counts, column: SingleColumn | MultiColumn, *, is_part: bool) -> list[str]:
    """How many categories did not occur: neither themselves nor, of a group of categories, any of those in it."""
    title = column.title
    used = {each.category for each in found.total.categories if each.share.n}
    codes = {column.categories.place[key] for key in used if key in column.categories.place}
    n = sum(not each.share.n and not column.categories.family(each.category) & codes for each in found.total.categories)
    if not n:
        return []
    are = "is" if n == 1 else "are"
    where = "in the labels included here " if is_part else ""
    return [f"{plural(n, 'category', 'categories')} of {title.lower()} did not occur {where}and {are} not listed."]


def _most(group: CountGroup) -> list[str]:
    told = sorted((each for each in group.categories if each.share.n), key=lambda each: -each.share.n)
    if not told or told[0].share.share is None:
        return []
    first = told[0]
    tied = [f"“{each.name}”" for each in told if each.share.n == first.share.n]
    how_many = f"{first.share.n:,}{' each' if len(tied) > 1 else ''}, {with_interval(first.share)}"
    if len(tied) > MOST_TIED:
        return [f"{len(tied)} categories are equally frequent, and none is more frequent: {how_many}."]
    return [f"The most frequent {'is' if len(tied) == 1 else 'are'} {series(tied)}: {how_many}."]


def _of_words(told: Told, found: Counts) -> str:
    """Of what shares are, in words."""
    of, title = told.question.of, told.columns[told.question.dimensions[0]].title.lower()
    if not told.question.by or not found.groups or of == "all":
        return f"Shares are {found.total.denominator.words}."
    if of == "group":
        return f"Shares are of the parts of each group that have a value of {title}."
    return f"Shares are {found.groups[0].denominator.words}."


def _bars_of(asked: AnalysisRequest, told: Told, title: str, found: Counts) -> AnalysisFigure | None:
    rows = [place for place, each in enumerate(found.total.categories) if each.share.n]
    if not rows or found.n == 0:
        return None
    key, by = told.question.dimensions[0], told.question.by
    names = [found.total.categories[place].name for place in rows]
    groups = list(found.groups) if by and 1 < len(found.groups) <= MOST_PANELS else [found.total]
    drawn = []
    for panel, group in enumerate(groups):
        for row, place in enumerate(rows):
            each = group.categories[place]
            labels = [(key, each.category), *([(by, group.value)] if group.value is not None else [])]
            words = f"{each.name}{'' if group.value is None else f', {group.name}'}: {said_of(each.share)}"
            drawn.append(bar_of(row, panel, each.share, words, asked.items_url(told, *labels)))
    panels = [f"{group.name}, n = {group.n:,}" for group in groups] if len(groups) > 1 else [""]
    figure = ShareBars(title, _axis(SHARES, drawn), names, panels, drawn, asked.position(key))
    return AnalysisFigure("counts", title, lambda look, width: bars(figure, look, width))


def bar_of(row: int, panel: int, share: Share, words: str, url: str) -> ShareBar:
    return ShareBar(row, panel, share.n, share.share, share.ci_low, share.ci_high, words, url)


def _axis(words: str, drawn: Sequence[ShareBar]) -> str:
    return f"{words}, with 95% CI" if any(each.low is not None for each in drawn) else words


def said_of(share: Share) -> str:
    if share.share is None:
        return f"{share.n:,}"
    return f"{share.n:,} of {share.of:,}, {with_interval(share)}"


def with_interval(share: Share) -> str:
    """`45.1% (40.0% to 50.3%)`; without an interval the share alone."""
    between = "" if share.ci_low is None else f" ({percent(share.ci_low)} to {percent(share.ci_high)})"
    return f"{percent(share.share)}{between}"


def _table(asked: AnalysisRequest, told: Told, found: Counts) -> AnalysisTable:
    key, by = told.question.dimensions[0], told.question.by
    title = told.columns[key].title
    having = [place for place, each in enumerate(found.total.categories) if each.share.n]
    whole = [
        AnalysisCell("All", is_strong=True),
        AnalysisCell(f"{found.n:,}", asked.items_url(told, (key, "~any")), found.n),
    ]
    if not by:
        rows = [
            [
                AnalysisCell(each.name),
                _n(each.share, asked.items_url(told, (key, each.category))),
                *_share_cells(each.share),
            ]
            for each in (found.total.categories[place] for place in having)
        ]
        heads = [title, "n", "Share", "95% CI"]
        return AnalysisTable(
            "counts", title, heads, [*rows, [*whole, AnalysisCell(""), AnalysisCell("")]], frozenset({1, 2, 3})
        )
    heads = [title, "All", *(name for group in found.groups for name in (group.name, f"{group.name}, share"))]
    rows = []
    for place in having:
        each = found.total.categories[place]
        cells = [AnalysisCell(each.name), _n(each.share, asked.items_url(told, (key, each.category)))]
        for group in found.groups:
            here = group.categories[place].share
            url = asked.items_url(told, (key, each.category), (by, group.value or ""))
            share, interval = _share_cells(here)
            cells += [_n(here, url), replace(share, words=interval.text)]
        rows.append(cells)
    for group in found.groups:
        url = asked.items_url(told, (key, "~any"), (by, group.value or ""))
        whole += [AnalysisCell(f"{group.n:,}", url, group.n), AnalysisCell("")]
    return AnalysisTable("counts", title, heads, [*rows, whole], frozenset(range(1, len(heads))))


def _n(share: Share, url: str) -> AnalysisCell:
    return AnalysisCell(f"{share.n:,}", url if share.n else "", share.n)


def _share_cells(share: Share) -> tuple[AnalysisCell, AnalysisCell]:
    low, high = share.ci_low, share.ci_high
    interval = "" if low is None or high is None else f"{low * 100:.1f}–{high * 100:.1f}%"
    return AnalysisCell(percent(share.share), value=rounded(share.share)), AnalysisCell(interval)


def rounded(share: float | None) -> float | str:
    return "" if share is None else round(share, 6)


def present_marks(asked: AnalysisRequest) -> AnalysisPresentation:
    """How many parts carry a mark, in each category and group."""
    singles = {key: each for key, each in asked.dimensions.items() if isinstance(each, SingleColumn)}
    booleans = [key for key, each in singles.items() if each.is_two_valued]
    if not singles:
        return nothing("Share of a yes/no dimension", asked=asked)
    mark = asked.question.one("mark") or (booleans or list(singles))[0]
    rest = {key: each for key, each in asked.groups.items() if key != mark}
    keys = asked.groups[mark].categories.keys if mark in asked.groups else ()
    if asked.question.one("value") not in keys:  # of the mark that was chosen before
        asked.question = asked.question.with_words(value=[])
    is_boolean = mark in singles and singles[mark].is_two_valued
    told = asked.ask(mark=mark, value="true" if is_boolean or not keys else keys[0], dimension=next(iter(rest), ""))
    found = cast(MarkShares, told.found)
    column, value = told.columns[mark], told.question.value
    key, by = next(iter(told.question.dimensions), ""), told.question.by
    names = dict(zip(column.categories.keys, column.categories.names, strict=True))
    name = column.title if is_boolean and value == "true" else f"{column.title}: {names.get(value, value)}"
    title = f"{name}{f' by {told.columns[key].title.lower()}' if key else ''}"
    sections = [
        AnalysisSection(
            "" if group is found.total else group.name,
            [] if group is found.total else [f"{said_of(group.share)}."],
            _mark_bars(asked, told, title, group, place),
            _mark_table(asked, told, title, group, place),
        )
        for place, group in enumerate((found.total, *found.groups))
        if group.categories
    ]
    return AnalysisPresentation(
        title=title,
        sentences=[
            f"{name}: {said_of(found.total.share)} of the parts of which it is known.",
            f"Shares are {found.denominator}.",
        ],
        sections=sections or [AnalysisSection("")],
        choices=[
            AnalysisMenu("mark", "Mark", asked.choices_of(singles), mark),
            AnalysisMenu("value", "Value", list(names.items()), value),
            AnalysisMenu("dimension", "By category of", asked.choices_of(rest), key),
            AnalysisMenu("by", "Within", asked.choices_of(rest, "all together"), by),
        ],
        left_out=exclusion_lines(asked, told, found.left_out),
        read=[each for each in (key, by) if each],
    )


def _mark_url(asked: AnalysisRequest, told: Told, group: MarkedGroup, category: str, value: str) -> str:
    question = told.question
    labels = [(question.dimensions[0], category), (question.mark, value)]
    return asked.items_url(told, *labels, *([(question.by, group.value)] if group.value is not None else []))


def _mark_bars(asked: AnalysisRequest, told: Told, title: str, group: MarkedGroup, place: int) -> AnalysisFigure | None:
    having = [each for each in group.categories if each.share.of]
    if not having:
        return None
    value = told.question.value
    drawn = [
        bar_of(
            row,
            0,
            each.share,
            f"{each.name}: {said_of(each.share)}",
            _mark_url(asked, told, group, each.category, value),
        )
        for row, each in enumerate(having)
    ]
    shows = title if group.value is None else f"{title}, {group.name}"
    names = [each.name for each in having]
    figure = ShareBars(
        shows,
        _axis(WITH_MARK, drawn),
        names,
        [""],
        drawn,
        asked.position(told.question.mark),
    )
    return AnalysisFigure(
        f"shares-{place}" if place else "shares", shows, lambda look, width: bars(figure, look, width)
    )


def _mark_table(asked: AnalysisRequest, told: Told, title: str, group: MarkedGroup, place: int) -> AnalysisTable:
    value = told.question.value
    rows = [
        [
            AnalysisCell(each.name),
            _n(each.share, _mark_url(asked, told, group, each.category, value)),
            AnalysisCell(f"{each.share.of:,}", _mark_url(asked, told, group, each.category, "~any"), each.share.of),
            *_share_cells(each.share),
            AnalysisCell(f"{each.unknown:,}", value=each.unknown),
        ]
        for each in group.categories
        if each.share.of or each.unknown
    ]
    heads = [told.columns[told.question.dimensions[0]].title, "With it", "Of", "Share", "95% CI", "Not known"]
    return AnalysisTable(f"shares-{place}" if place else "shares", title, heads, rows, frozenset({1, 2, 3, 4, 5}))


def present_profiles(asked: AnalysisRequest) -> AnalysisPresentation:
    """Whether categories have the same order of frequency in two groups."""
    if not asked.dimensions:
        return nothing("Profiles", asked=asked)
    key = asked.question.one("dimension") or next(iter(asked.dimensions))
    rest = {name: each for name, each in asked.groups.items() if name != key}
    if not rest:
        return nothing("Profiles", "No profiles to compare.")
    told = asked.ask(dimension=key, by="repository" if "repository" in rest else next(iter(rest)))
    found = cast(Profiles, told.found)
    by = told.question.by
    column, of = told.columns[key], told.columns[by]
    names = {group.value: group.name for group in found.counts.groups}
    title = f"{column.title}: profiles by {of.title.lower()}"
    rows = [
        [
            AnalysisCell(names.get(each.a, each.a)),
            AnalysisCell(names.get(each.b, each.b)),
            AnalysisCell(f"{each.n_categories}", value=each.n_categories),
            AnalysisCell("–" if each.rho is None else f"{each.rho:.2f}", value=rounded(each.rho)),
            AnalysisCell(
                each.undefined or p_words(each.p_value).removeprefix("p = "), value=each.undefined or each.p_value
            ),
            AnalysisCell(TESTS.get(each.method or "", "")),
        ]
        for each in found.correlations
    ]
    heads = [of.title, "and", "Categories", "Spearman’s rho", "p", "Test"]
    sentences = [
        "Spearman’s rank correlation of the categories’ counts, over the categories that either of two groups has; "
        f"{plural(len(found.counts.groups), 'group')}."
    ]
    for each in found.correlations[:3]:
        if each.rho is not None:
            how = "similar" if each.rho > 0.7 else "partly similar" if each.rho > 0.4 else "not similar"
            pair = f"{names.get(each.a)} and {names.get(each.b)}"
            sentences.append(
                f"{pair} are {how}: rho = {each.rho:.2f}, {p_words(each.p_value)} ({TESTS[each.method or 't']})."
            )
    sections = [
        AnalysisSection(
            "Correlation",
            [],
            _correlation_map(title, found, names),
            AnalysisTable("profiles", title, heads, rows, frozenset({2, 3, 4})),
        ),
        AnalysisSection(
            "The profiles", [], _bars_of(asked, told, title, found.counts), _table(asked, told, found.counts)
        ),
    ]
    return AnalysisPresentation(
        title=title,
        sentences=sentences,
        sections=sections,
        choices=[
            AnalysisMenu("dimension", "Profile of", asked.choices_of(asked.dimensions), key),
            AnalysisMenu("by", "Of each", asked.choices_of(rest), by),
        ],
        left_out=exclusion_lines(asked, told, found.counts.left_out),
        notes=found.counts.notes,
        read=[key, by],
    )


def _correlation_map(title: str, found: Profiles, names: dict[str | None, str]) -> AnalysisFigure | None:
    groups = list(dict.fromkeys(code for each in found.correlations for code in (each.a, each.b)))
    place = {code: at for at, code in enumerate(groups)}
    cells = [
        HeatCell(
            place[each.b] - 1,
            place[each.a],
            f"{each.rho:.2f}",
            min(5, max(0, int(each.rho * 5 + 0.5))),
            f"{names.get(each.a)} and {names.get(each.b)}: rho {each.rho:.2f} over {each.n_categories} categories",
        )
        for each in found.correlations
        if each.rho is not None
    ]
    if len(groups) < 3 or not cells:
        return None
    drawn = HeatMap(
        title=title,
        subtitle="Spearman’s rho. The stronger the color, the more similar.",
        position=0,
        rows=[names.get(code, code) for code in groups[1:]],
        columns=[names.get(code, code) for code in groups[:-1]],
        row_axis="",
        column_axis="",
        cells=cells,
        is_slanted=True,
    )
    return AnalysisFigure("correlation", title, lambda look, width: heat_map(drawn, look, width), is_map=True)


def present_combinations(asked: AnalysisRequest) -> AnalysisPresentation:
    """Which values of several dimensions parts have together."""
    if len(asked.groups) < 2:
        return nothing("Combinations", "Combinations need two dimensions or attributes with labels.")
    first_ones = [*asked.dimensions, *(key for key in asked.groups if key not in asked.dimensions)]
    told = asked.ask(dimensions=",".join(first_ones[: max(2, min(4, len(asked.dimensions)))]))
    found = cast(Combinations, told.found)
    keys = told.question.dimensions
    names = {
        (key, value): name
        for key in keys
        for value, name in zip(told.columns[key].categories.keys, told.columns[key].categories.names, strict=True)
    }
    first = found.combinations[:MOST_LISTED]
    shown = [(each, " + ".join(names[value] for value in each.values)) for each in first]
    rows = [
        [
            AnalysisCell(words),
            _n(each.share, asked.items_url(told, *each.values)),
            AnalysisCell(percent(each.share.share), value=rounded(each.share.share)),
            AnalysisCell(f"{each.lift:.2f}", value=round(each.lift, 4)),
        ]
        for each, words in shown
    ]
    title = "Values that occur together"
    figure = None
    if shown:
        top = shown[:MOST_DRAWN]
        shown_shares = [
            bar_of(
                row,
                0,
                each.share,
                f"{words}: {said_of(each.share)}, lift {each.lift:.2f}",
                asked.items_url(told, *each.values),
            )
            for row, (each, words) in enumerate(top)
        ]
        of_rows = [words for _, words in top]
        drawn = ShareBars(title, _axis(SHARES, shown_shares), of_rows, [""], shown_shares, asked.position(keys[0]))
        words = f"The {len(top)} most frequent combinations"
        figure = AnalysisFigure("combinations", words, lambda look, width: bars(drawn, look, width))
    listed = "" if found.n_found == len(first) else f" The {len(first)} most frequent are listed."
    table = AnalysisTable("combinations", title, ["Values", "n", "Share", "Lift"], rows, frozenset({1, 2, 3}))
    menus = [
        AnalysisMenu(name, words, asked.choices_of(asked.groups, "–"), keys[place] if place < len(keys) else "")
        for place, (name, words) in enumerate(zip(STEPS, ("Of", "and", "and", "and"), strict=True))
    ]
    return AnalysisPresentation(
        title=title,
        sentences=[
            f"{plural(found.n_found, 'combination')} of two to four values that at least "
            f"{plural(found.least, 'part')} {'has' if found.least == 1 else 'have'}.{listed} "
            f"Shares are {found.denominator.words}.",
            "Lift is the ratio of the observed frequency to the frequency expected if values were independent.",
        ],
        sections=[AnalysisSection("", [], figure, table)],
        choices=[*menus, AnalysisMenu("least", "At least n", (), asked.question.one("least"), control="number")],
        left_out=exclusion_lines(asked, told, found.left_out),
        read=keys,
    )
