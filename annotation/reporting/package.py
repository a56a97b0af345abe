"""The results of a study as the documents of a package: agreement as JSON and as a flat table."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from annotation.access import Seat
from annotation.models import Round
from annotation.reporting.across import across, rater_codes, visible_rounds
from annotation.reporting.numbers import entry
from annotation.reporting.slices import ask

SEED, RESAMPLES = 0, 1000
WHENS = ("before", "after")
FIXED = ("coefficient", "threshold", "metric", "weights", "scale", "fixed_at")
LEFT = ("words", "left_out_because", "unmapped")
"""What the pages say besides: words for values, and why units are missing."""
COEFFICIENT = ("value", "se", "ci_low", "ci_high", "p_threshold", "undefined")


def agreement_document(seat: Seat, step: Callable[[str], None]) -> dict[str, Any]:
    """results/agreement.json: each dimension over all pilot and main rounds, and in each round, before and after.

    Screening rounds stand there one by one. `generator` are draws of the random numbers that the intervals rest on, by
    which a script tells whether its own generator draws alike.
    """
    together = visible_rounds(seat)
    found: list[tuple[int | None, list[Round]]] = [(None, together)] if together else []
    found += [
        (each.number, [each]) for each in sorted([*together, *screening_rounds(seat)], key=lambda each: each.number)
    ]
    entries: list[dict[str, Any]] = []
    for number, rounds in found:
        step(f"agreement of {'all rounds' if number is None else f'round {number}'}")
        for when in WHENS:
            entries += _entries(seat, rounds, when, number)
    rng = np.random.default_rng(SEED)
    fixed = {
        key: {name: each[name] for name in FIXED if each.get(name) is not None}
        for key, each in seat.study.primary.items()
    }
    return {
        "seed": SEED,
        "resamples": RESAMPLES,
        "generator": [*rng.integers(0, 10**9, 3).tolist(), *rng.multinomial(1000, [0.2, 0.3, 0.5]).tolist()],
        "fixed": fixed,
        "entries": entries,
    }


def screening_rounds(seat: Seat) -> list[Round]:
    """The screening rounds that count and that this person may see."""
    rounds = Round.objects.filter(study=seat.study, kind=Round.Kind.SCREENING).select_related("taxonomy_version")
    shown = rounds.exclude(state__in=[Round.State.DRAFT, Round.State.UNDONE])
    return [each for each in shown if each.pk not in seat.blind_round_ids]


def _entries(seat: Seat, rounds: Sequence[Round], when: str, number: int | None) -> Iterator[dict[str, Any]]:
    codes, asked = rater_codes(seat), ask(seat, {"when": when})
    asked = replace(asked, resamples=RESAMPLES)
    for each in across(rounds, asked):
        found = entry(each, codes, asked, round_number=number)
        yield {
            "dimension": each.dimension.key,
            "kind": each.dimension.kind,
            "round": number,
            "rounds": sorted(one.round.number for one in each.counted),
            **{name: value for name, value in found.items() if name not in (*LEFT, "dimension", "round")},
            "coefficients": [
                {name: value for name, value in one.items() if name not in LEFT} for one in found["coefficients"]
            ],
        }


def agreement_rows(entries: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The coefficients alone, a row for each."""
    for each in entries:
        for one in each["coefficients"]:
            yield {
                **{name: each[name] for name in ("dimension", "round", "when", "metric", "weights")},
                "units": each["units"],
                "n_raters": each["raters"],
                "coefficient": one["name"],
                **{name: one[name] for name in COEFFICIENT},
            }
