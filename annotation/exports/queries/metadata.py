"""Metadata exports: items, taxonomy versions, and agreement as rows."""

from collections.abc import Iterator, Mapping
from typing import Any

from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.agreement_report.queries.headline import headline_set
from annotation.agreement_report.queries.options import ask
from annotation.core.access import Seat
from annotation.exports.queries.items import item_rows
from annotation.models import Round
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document
from taxonomy.schema import dump


def items(seat: Seat, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every item of the study: screening, sample, rounds, facts of its issue, what was imported with it."""
    return item_rows(seat)


def taxonomies(seat: Seat, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The published versions of the taxonomy of the study, and of the one that its screening rounds ask."""
    study = seat.study
    asked = [study.taxonomy_id, *([study.screening_taxonomy_id] if study.screening_taxonomy_id else [])]
    versions = TaxonomyVersion.objects.filter(taxonomy__in=asked).exclude(state=TaxonomyVersion.State.DRAFT)
    if options.get("version") is not None:
        versions = versions.filter(number=options["version"])
    for version in versions.select_related("taxonomy", "parent").order_by("taxonomy__slug", "number"):
        yield {
            "taxonomy": version.taxonomy.slug,
            "version": version.number,
            "title": version.title,
            "state": version.state,
            "note": version.note,
            "parent": version.parent.number if version.parent else None,
            "published_at": version.published_at,
            "document": dump(document(version)),
        }


def agreement_rounds(seat: Seat, options: Mapping[str, Any]) -> list[Round]:
    """The rounds whose agreement a file tells: as the page of agreement, or the one that is asked for."""
    return visible_rounds(seat, options.get("round"))


def coefficients(seat: Seat, options: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every coefficient of every dimension: of all rounds together, of each, and of the headline, before and after."""
    rounds, headline = agreement_rounds(seat, options), headline_set(seat)
    if not rounds:
        return
    together: list[tuple[int | None, list[Round]]] = [(None, rounds)] if len(rounds) > 1 else []
    every = [*together, *((each.number, [each]) for each in rounds)]
    is_missing = headline.rounds and not any(headline.is_of(chosen) for _, chosen in every)
    if is_missing and options.get("round") is None:
        every.append((None, list(headline.rounds)))
    for number, chosen in every:
        is_headline = headline.is_of(chosen)
        for when in ("before", "after"):
            asked = ask(seat, {"when": when})
            for entry in agreement(seat, chosen, asked, round_number=number, is_headline=is_headline):
                if options.get("dimension") in (None, entry["dimension"]):
                    yield from _flat(entry, number, when)


def _flat(entry: Mapping[str, Any], number: int | None, when: str) -> Iterator[dict[str, Any]]:
    for each in entry["coefficients"]:
        yield {
            "dimension": entry["dimension"],
            "round": number,
            "headline": entry["headline"],
            "when": when,
            "coefficient": each["name"],
            **{
                name: each.get(name)
                for name in ("value", "se", "ci_low", "ci_high", "ci_method", "ci_undefined", "undefined")
            },
            **{name: entry.get(name) for name in ("metric", "units", "raters", "ratings", "left_out", "categories")},
        }
