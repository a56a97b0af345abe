"""Agreement page, and the items behind its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from agreement import COEFFICIENTS, FREE_TEXT
from annotation.agreement_report.queries.across_rounds import CHOICES, AgreementQuery, visible_rounds
from annotation.agreement_report.queries.exclusions import BECAUSE
from annotation.agreement_report.queries.headline import WORD, HeadlineSet, headline_set
from annotation.agreement_report.queries.more_items import WIDTH, units_needed, width_of
from annotation.agreement_report.queries.options import ask, choices
from annotation.agreement_report.queries.report import agreement_report
from annotation.agreement_report.queries.units_behind import DrillDown, drill_down_units
from annotation.agreement_report.views.charts import files_of, section_charts, trend_charts
from annotation.agreement_report.views.tables import DimensionSection, Links, comparison_tables, section
from annotation.agreement_report.views.trend import trend
from annotation.agreement_report.views.words import Names, which_rounds
from annotation.assignments.actions.reading_log import PAGE, note_reading, note_results
from annotation.core.access import Seat, get_round
from annotation.core.errors import Invalid
from annotation.core.imported import earlier_imports, rounds_of
from annotation.core.reader_pages import open_to_reader_links, reading_seat
from annotation.labels.queries.item_history import value_words
from annotation.labels.queries.read_before import readers_before_each
from annotation.labels.queries.version_mapping import target_version
from annotation.labels.registration import has_coefficients
from annotation.models import Round

MOST = 2**31 - 1
ALL = "all"
SLICE = (
    "round", "version", "when", "parts", "pending", "applies", "level", "metric", "weights", "repository", "stratum",
    "raters",
)  # fmt: skip
WORDS = {
    "when": ("Discussion", {"before": "before", "after": "after"}),
    "parts": ("Parts", {"aligned": "aligned by number", "single": "items in one part"}),
    "pending": ("Proposals", {"category": "as a category", "left_out": "excluded"}),
    "applies": ("Conditional dimensions", {"both": "applied for both", "either": "applied for either"}),
    "level": ("Level", {"leaf": "as labeled", "parent": "parent level", "root": "top level"}),
}
SLICED = {
    "repository": ("Repository", "all of them"),
    "stratum": ("Stratum", "all of them"),
    "raters": ("Raters", "all of them"),
}


def _page(request: HttpRequest, seat: Seat, template: str, tab: str, **context: Any) -> HttpResponse:
    context |= {"seat": seat, "study": seat.study, "tab": tab}
    return render(request, f"annotation/agreement_report/{template}.html", context)


def number_of(request: HttpRequest, name: str) -> int | None:
    given = request.GET.get(name, "")
    if not given:
        return None
    if not given.isascii() or not given.isdecimal() or len(given) > 10 or int(given) > MOST:
        raise Invalid("Some query parameters are not valid.", fields={name: ["Enter a whole number."]})
    return int(given)


@dataclass(frozen=True)
class ChosenRounds:
    """The rounds that an address asks about: one (`round`), the headline set, or all that the reader may see."""

    rounds: Sequence[Round]
    round: Round | None
    headline: HeadlineSet
    word: str

    @property
    def is_headline(self) -> bool:
        return self.headline.is_of(self.rounds)

    @property
    def number(self) -> int | None:
        return self.round.number if self.round else None


def chosen_rounds(request: HttpRequest, seat: Seat, default: str = ALL) -> ChosenRounds:
    """`?round=` with a number, `headline` or `all`; without it the default, where there is a headline.

    Raises Invalid, NotFound, Blind.
    """
    word = request.GET.get("round", "")
    headline = headline_set(seat) if default == WORD or word == WORD else HeadlineSet()
    word = word or (default if headline.rounds else ALL)
    if word == WORD:
        return ChosenRounds(list(headline.rounds), None, headline, WORD)
    if word == ALL:
        return ChosenRounds(visible_rounds(seat), None, headline, ALL)
    round_ = get_round(seat, number_of(request, "round") or 0)
    seat.require_sight(round_)
    return ChosenRounds([round_], round_, headline, word)


def read_choice(request: HttpRequest, seat: Seat, default: str = ALL) -> tuple[AgreementQuery, ChosenRounds, Links]:
    """What the address asks for. Raises Invalid, NotFound, Blind."""
    asked = ask(seat, {name: str(value) for name, value in request.GET.items()})
    chosen = chosen_rounds(request, seat, default)
    asked = replace(asked, version=target_version(seat, number_of(request, "version"), chosen.round))
    words = {name: request.GET[name] for name in SLICE if request.GET.get(name)} | {"round": chosen.word}
    return asked, chosen, Links(seat.study.slug, words)


@open_to_reader_links
@require_safe
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """Agreement per dimension: the primary number, the trend, what to talk about, matrices, all coefficients."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    asked, found_rounds, links = read_choice(request, seat, WORD)
    round_, headline = found_rounds.round, found_rounds.headline
    found = agreement_report(seat, asked, found_rounds.rounds, round_=round_, is_headline=found_rounds.is_headline)
    sections = [section(each, links, found.models.get(each.across.dimension.key, [])) for each in found.dimensions]
    note_results(seat, "agreement", PAGE)  # The trend shows the other rounds, too.
    return _page(
        request,
        seat,
        "agreement",
        "agreement",
        report=found,
        asked=asked,
        only=_only(asked),
        round=round_,
        chosen=found_rounds,
        of_sheets=_of_sheets(seat, found.chosen),
        read_before=[each.sentence for each in readers_before_each(found.chosen, found.every)],
        headline=headline,
        headline_rounds=which_rounds(headline.rounds) if headline.rounds else "",
        filters=[*_filters(request, seat, found.dimensions), *_slices(seat, asked)],
        versions=found.versions if len(found.versions) > 1 or asked.version else [],
        dimensions=[(each.across.dimension.key, each.across.dimension.title) for each in found.dimensions],
        sections=sections,
        drawn=[
            (each, section_charts(each, links), comparison_tables(told, each.key, links, of.across))
            for each, told, of in zip(sections, found.raters, found.dimensions, strict=True)
        ],
        plan=_plan(request, sections, links),
        trend_charts=trend_charts(found.dimensions, found.compared, links),
        trend_files=files_of("trend", links),
        free_text=FREE_TEXT,
        has_units=any(each.units or each.left_out for each in sections),
        trend=trend(found.dimensions, found.compared, found.chosen, links),
        json_url=_json_url(request, slug, found_rounds.word),
        all_url=links.page(round=ALL),
        own_versions_url=links.page(version=""),
        wide_url=links.page(),
        whole_url=links.page(repository="", stratum="", raters=""),
    )


def _of_sheets(seat: Seat, chosen: Sequence[Round]) -> str:
    """Which of these rounds have labels from a sheet, in words; one query."""
    numbers = {number for detail in earlier_imports(seat.study) for number in rounds_of(detail)}
    found = [each for each in chosen if each.label or each.is_from_sheet or each.number in numbers]
    return f"{which_rounds(found)} {'has' if len(found) == 1 else 'have'}" if found else ""


def _plan(request: HttpRequest, sections: Sequence[DimensionSection], links: Links) -> dict[str, Any]:
    """How many more units the primary coefficient of each dimension needs, for the width that the address asks for."""
    width = width_of(request.GET.get("width", "")) or WIDTH
    return {
        "width": f"{width:g}",
        "hidden": [(name, value) for name, value in request.GET.items() if name in (*links.slice, "dimension")],
        "lines": [
            (each.title, COEFFICIENTS[each.headline.coefficient].title, units_needed(each.headline, width))
            for each in sections
            if has_coefficients(each.kind)
        ],
    }


def _json_url(request: HttpRequest, slug: str, word: str) -> str:
    query = request.GET.copy()
    query.pop("round", None)
    if word != ALL:
        query["round"] = word
    return f"{reverse('api_agreement', args=[slug])}?{query.urlencode()}"


def _filters(request: HttpRequest, seat: Seat, reports: Sequence[Any]) -> list[dict[str, Any]]:
    """The choices of the bar that can change something here."""
    every = [one.dimension for each in reports for one in each.across.counted]
    shown = {
        "level": any(category.parent for dimension in every for category in dimension.categories),
        "applies": any(dimension.applies_when for dimension in every),
    }
    found = []
    for name, every_choice in CHOICES.items():
        first = seat.study.applies if name == "applies" else every_choice[0]
        ordered = sorted(every_choice, key=lambda choice: choice != first)
        if shown.get(name, True):
            choices = [(choice, WORDS[name][1][choice]) for choice in ordered]
            chosen = request.GET.get(name) or first
            found.append({"name": name, "title": WORDS[name][0], "choices": choices, "chosen": chosen})
    return found


def _only(asked: AgreementQuery) -> str:
    """What the numbers are narrowed down to, as `items of acme/rocket, what R1 and R2 gave`; empty where to nothing."""
    part = asked.slice
    found = [f"items of {part.repository}"] if part.repository else []
    found += [f"items drawn from {part.stratum}"] if part.stratum else []
    found += [f"labels of {' and '.join(asked.raters)}"] if asked.raters else []
    return ", ".join(found)


def _slices(seat: Seat, asked: AgreementQuery) -> list[dict[str, Any]]:
    """The choices of the bar that narrow down whose ratings count, and of which items."""
    chosen = {
        "repository": asked.slice.repository,
        "stratum": asked.slice.stratum,
        "raters": ",".join(asked.raters),
    }
    return [
        {
            "name": name,
            "title": SLICED[name][0],
            "choices": [("", SLICED[name][1]), *((each, each.replace(",", " and ")) for each in names)],
            "chosen": chosen[name],
        }
        for name, names in choices(seat).items()
    ]


@open_to_reader_links
@require_safe
def agreement_items(request: HttpRequest, slug: str) -> HttpResponse:
    """The items behind a number of the page of agreement."""
    seat = reading_seat(request, slug)
    seat.require_reading()
    asked, chosen, links = read_choice(request, seat)
    round_, every = chosen.round, chosen.rounds
    rounds = [each for each in every if each.pk not in seat.sealed_round_ids]
    if every and not rounds:
        seat.require_answers(every[0])
    behind = DrillDown.read({name: str(value) for name, value in request.GET.items()})
    found = drill_down_units(seat, rounds, asked, behind)
    note_reading(seat, rounds, "items behind agreement", PAGE)
    names = Names(found.across)
    query = request.GET.copy()
    query["after"] = found.next
    key = found.across.dimension.key
    return _page(
        request,
        seat,
        "items_behind",
        "agreement",
        asked=asked,
        only=_only(asked),
        because=BECAUSE.get(behind.because, ""),
        round=round_,
        behind=behind,
        title=found.across.dimension.title,
        is_conditional=found.across.dimension.applies_when is not None,
        a=names.of(behind.a) if behind.a else "",
        b=names.of(behind.b) if behind.b else "",
        lines=[
            (
                line,
                [
                    (code, value_words(line.dimension_of(code), given), line.unmapped.get(code, ""))
                    for code, given in line.given
                ],
            )
            for line in found.lines
        ],
        next_url=f"{request.path}?{query.urlencode()}" if found.next else "",
        has_titles=seat.sees_issues and any(line.title for line in found.lines),
        back_url=links.page() + f"#{key}",
        shows=[
            (show, words, links.units(key, **behind.address(show=show)))
            for show, words in (("compared", "all compared"), ("differ", "differing"), ("agree", "alike"))
        ]
        if not behind.b and behind.show in ("compared", "differ", "agree")
        else [],
    )
