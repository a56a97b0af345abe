"""Plain values of an answer, as REST, files, and packages give it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from annotation.analysis.association import Association
from annotation.analysis.combinations import Combinations
from annotation.analysis.comparison import GroupComparison
from annotation.analysis.counts import CategoryShare, CountGroup, Counts
from annotation.analysis.crosstab import Crosstab
from annotation.analysis.flow import Flow
from annotation.analysis.marks import MarkedGroup, MarkShares
from annotation.analysis.numbers import Distribution, Numbers
from annotation.analysis.profiles import Profiles
from annotation.analysis.queries.answers import AnalysisResult
from annotation.analysis.saturation import Saturation
from annotation.analysis.shares import Denominator, ExcludedParts, Share
from annotation.labels.columns import Categories

Plain = dict[str, Any]


def labels_of(answer: AnalysisResult) -> Plain:
    """Which labels an answer rests on, and what of them was looked at."""
    labels, selection, question = answer.labels, answer.selection, answer.question
    return {
        "rounds": [each.number for each in labels.rounds],
        "versions": {str(number): version for number, version in sorted(labels.versions.items())},
        "version": labels.told_in.number if labels.told_in else None,
        "hidden_rounds": [each.number for each in labels.hidden],
        "items_waiting": labels.n_waiting,
        "items_hidden": labels.n_hidden,
        "items_screened_out": labels.n_screened_out,
        "parts": question.parts,
        "where": list(question.where),
        "n_parts": selection.n_parts,
        "n_items": selection.n_items,
        "left_out": _reasons(selection.left_out),
        "levels": {key: question.levels.get(key, question.levels.get("", "leaf")) for key in question.dimensions},
        "folded": {
            key: {"categories": list(each.categories), "n": each.n}
            for key, each in answer.folded.items()
            if each.categories
        },
    }


def _share(found: Share) -> Plain:
    return asdict(found)


def _reasons(left_out: Sequence[ExcludedParts]) -> list[Plain]:
    return [asdict(each) for each in left_out]


def _denominator(found: Denominator) -> Plain:
    return asdict(found)


def _category(found: CategoryShare) -> Plain:
    return {"category": found.category, "name": found.name, **_share(found.share)}


def _group(found: CountGroup) -> Plain:
    return {
        "value": found.value,
        "name": found.name,
        "n": found.n,
        "denominator": _denominator(found.denominator),
        "categories": [_category(each) for each in found.categories],
    }


def _counts_of(found: Counts) -> Plain:
    return {
        "n": found.n,
        "denominator": _denominator(found.total.denominator),
        "categories": [_category(each) for each in found.total.categories],
        "groups": [_group(each) for each in found.groups],
        "left_out": _reasons(found.left_out),
        "notes": list(found.notes),
    }


def counts(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Counts)
    return {
        "dimension": question.dimensions[0],
        "by": question.by or None,
        "of": question.of if question.by else "all",
        **_counts_of(found),
    }


def profiles(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Profiles)
    return {
        "dimension": question.dimensions[0],
        "by": question.by,
        "correlations": [asdict(each) for each in found.correlations],
        **_counts_of(found.counts),
    }


def _marked(found: MarkedGroup) -> Plain:
    return {
        "value": found.value,
        "name": found.name,
        **_share(found.share),
        "unknown": found.unknown,
        "categories": [
            {"category": each.category, "name": each.name, **_share(each.share), "unknown": each.unknown}
            for each in found.categories
        ],
    }


def shares(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, MarkShares)
    return {
        "mark": question.mark,
        "marked": question.value or "true",
        "dimension": question.dimensions[0] if question.dimensions else None,
        "by": question.by or None,
        "denominator": {"of": "known", "words": found.denominator, "n": None},
        "total": _marked(found.total),
        "groups": [_marked(each) for each in found.groups],
        "left_out": _reasons(found.left_out),
    }


def crosstab(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Crosstab)
    shares, denominator = found.shares(question.of)
    rows, columns = question.dimensions
    return {
        "rows": rows,
        "columns": columns,
        "of": question.of,
        "n": found.n,
        "n_items": found.n_items,
        "row_categories": _margin(found.rows, found.row_totals),
        "column_categories": _margin(found.columns, found.column_totals),
        "counts": found.counts.tolist(),
        "denominator": _denominator(denominator),
        "shares": shares.tolist(),
        **_association(found.association, found.untested),
        "left_out": _reasons(found.left_out),
        "notes": list(found.notes),
    }


def _margin(categories: Categories, totals: np.ndarray) -> list[Plain]:
    listed = zip(categories.keys, categories.names, totals.tolist(), strict=True)
    return [{"category": key, "name": name, "n": n} for key, name, n in listed]


def _association(found: Association | None, untested: str | None) -> Plain:
    """Test and strength with the reason where there are none; residuals in the shape of the counts."""
    if found is None or found.test is None or found.strength is None:
        undefined = untested or (found.undefined if found else None)
        nothing = dict.fromkeys(("test", "cramers_v", "expected", "residuals", "p_residuals", "residuals_method"))
        return {**nothing, "undefined": undefined}
    strength = found.strength
    return {
        "test": asdict(found.test),
        "cramers_v": {
            "value": strength.cramers_v,
            "ci_low": strength.ci_low,
            "ci_high": strength.ci_high,
            "ci_method": strength.ci_method,
            "corrected": strength.cramers_v_corrected,
        },
        "expected": _table(found.expected),
        "residuals": _table(found.residuals),
        "p_residuals": _table(found.p_residuals),
        "residuals_method": found.residuals_method,
        "undefined": None,
    }


def _table(values: np.ndarray | None) -> list[list[float]] | None:
    return None if values is None else values.tolist()


def flow(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Flow)
    groups = [
        {
            "value": group.value,
            "name": group.name,
            "denominator": _denominator(group.denominator),
            "nodes": [
                {"dimension": question.dimensions[node.step], "category": node.category, "name": node.name}
                | _share(node.share)
                for node in group.nodes
            ],
            "bands": [
                {
                    "from_dimension": question.dimensions[band.step],
                    "from": band.start,
                    "to_dimension": question.dimensions[band.step + 1],
                    "to": band.end,
                    **_share(band.share),
                    "share_of_from": band.of_start.share,
                }
                for band in group.bands
            ],
            "paths": [{"categories": list(path.categories), **_share(path.share)} for path in group.paths],
        }
        for group in found.groups
    ]
    return {
        "dimensions": list(question.dimensions),
        "within": question.by or None,
        "n": found.n,
        "groups": groups,
        "left_out": _reasons(found.left_out),
        "notes": list(found.notes),
    }


def _distribution(found: Distribution) -> Plain:
    return {
        "n": found.n,
        "n_missing": found.n_missing,
        "minimum": found.minimum,
        "maximum": found.maximum,
        "mean": found.mean,
        "sd": found.sd,
        "quantiles": [{"share": share, "value": value} for share, value in found.quantiles],
        "at_or_under": None if found.at_or_under is None else _share(found.at_or_under),
        "curve": [asdict(point) for point in found.curve],
        "undefined": found.undefined,
    }


def _comparison(found: GroupComparison | None) -> Plain | None:
    if found is None:
        return None
    return {
        "groups": list(found.groups),
        "without_numbers": list(found.without_numbers),
        "n": found.n,
        "kruskal_wallis": {
            "h": found.h,
            "df": found.df,
            "p_value": found.p_value,
            "method": found.method,
            "epsilon_squared": found.epsilon_squared,
            "undefined": found.undefined,
        },
        "pairs": [asdict(pair) for pair in found.pairs],
    }


def numbers(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Numbers)
    assert answer.number is not None
    return {
        "measure": question.measure,
        "title": answer.number.title,
        "unit": answer.number.unit,
        "by": question.by or None,
        "counted": found.counted,
        "cut": found.cut,
        "total": _distribution(found.total),
        "groups": [
            {"value": each.value, "name": each.name, **_distribution(each.distribution)} for each in found.groups
        ],
        "comparison": _comparison(found.comparison),
        "uncompared": found.uncompared,
        "left_out": _reasons(found.left_out),
    }


def saturation(answer: AnalysisResult) -> Plain:
    found = answer.found
    assert isinstance(found, Saturation)
    return {
        "dimension": answer.question.dimensions[0],
        "n_items": found.n_items,
        "n_categories": found.n_categories,
        "n_unseen": found.n_unseen,
        "n_once": found.n_once,
        "chance_new": found.chance_new,
        "undefined": found.undefined,
        "first_seen": [
            {"category": each.category, "name": each.name, "place": each.place, "n_items": each.n_items}
            for each in found.first_seen
        ],
        "curve": [asdict(point) for point in found.curve],
        "left_out": _reasons(found.left_out),
    }


def combinations(answer: AnalysisResult) -> Plain:
    question, found = answer.question, answer.found
    assert isinstance(found, Combinations)
    return {
        "dimensions": list(question.dimensions),
        "n": found.n,
        "least": found.least,
        "denominator": _denominator(found.denominator),
        "n_found": found.n_found,
        "combinations": [
            {
                "values": [{"dimension": dimension, "category": category} for dimension, category in each.values],
                **_share(each.share),
                "lift": each.lift,
            }
            for each in found.combinations
        ],
        "left_out": _reasons(found.left_out),
    }
