"""Agreement of fifty raters with gaps, 25 to an item, in categories and sets (MASI): point values, and resampled."""

import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
from django.core.cache import cache

from annotation.agreement_report.queries.across_rounds import AgreementQuery
from annotation.agreement_report.queries.coefficients import agreement
from annotation.core.access import get_seat
from annotation.models import Rating, Round, Study
from bench.bulk import bring_in, many_raters
from bench.ground import N_CATEGORIES, new_study, row, timed, user

MOST = 12_000
N_SETS = 500


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    size = min(size, MOST)
    rng = random.Random(1)
    keys = [f"c{n}" for n in range(N_CATEGORIES)]
    sets: set[tuple[str, ...]] = set()
    while len(sets) < N_SETS:
        sets.add(tuple(sorted(rng.sample(keys, rng.randint(1, 4)))))
    found = []
    reference, said = 0.0, ""
    for kind, values in (("single", [(key,) for key in keys]), ("multi", sorted(sets))):
        slug = f"many-{kind}-{size}"
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            study = new_study(slug, kind)
            bring_in(study, "symptom", many_raters(size, values))
        seat, rounds = get_seat(user("owner"), slug), list(Round.objects.filter(study=study))
        asked = AgreementQuery(dimension="symptom", resamples=0)
        cache.clear()
        with timed() as taken:
            (entry,) = agreement(seat, rounds, asked, round_number=None)
        assert (entry["units"], entry["raters"]) == (size, 50)
        with timed() as resampled:
            agreement(seat, rounds, replace(asked, resamples=1000), round_number=None)
        if kind == "single":
            reference = one_value(study, size, entry)
            said = f"{reference:.2f} s krippendorff: one value, nominal, from arrays"
        what = f"agreement of fifty raters, {entry['ratings']:,} ratings, " + (
            "34 categories" if kind == "single" else f"MASI over {entry['categories']} sets"
        )
        found.append(row(f"{what}: point values", size, f"{taken():.2f} s", said, taken() / reference))
        found.append(row(f"{what}: 1,000 resamples", size, f"{resampled():.2f} s", said, resampled() / reference))
    return found


def one_value(study: Study, size: int, entry: dict[str, Any]) -> float:
    """The seconds that krippendorff takes for alpha alone."""
    rows = Rating.objects.filter(round__study=study).values_list("rater", "item", "category")
    raters, items, categories = (np.unique(each, return_inverse=True)[1] for each in zip(*rows, strict=True))
    values = np.full((50, size), np.nan)
    values[raters, items] = categories
    started = time.perf_counter()
    alpha = krippendorff.alpha(values, level_of_measurement="nominal")
    taken = time.perf_counter() - started
    by_name = {each["name"]: each["value"] for each in entry["coefficients"]}
    assert abs(by_name["krippendorff_alpha"] - alpha) < 1e-9
    return taken
