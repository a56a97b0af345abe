"""The bound of perfect agreement counts items: the parts of one item are not independent."""

import csv
import io
from pathlib import Path

import pytest

from annotation.imports.actions.ratings import import_ratings
from annotation.models import Study
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.annotation.packages import package, quickly, recompute, unpacked

pytestmark = pytest.mark.django_db


def sheet(n_items: int, n_parts: int) -> Study:
    """Items that both raters divide into parts and label alike, one of two categories by turns."""
    lines = io.StringIO()
    out = csv.writer(lines)
    out.writerow(["item", "part", "rater", "kind"])
    for item in range(n_items):
        for part in range(1, n_parts + 1):
            for rater in ("ann", "bo"):
                out.writerow([f"i{item}", part, rater, "xy"[part % 2]])
    import_ratings(
        user=make.user("olga"),
        study="sheet",
        file=lines.getvalue().encode(),
        name="s.csv",
        dimensions=["kind"],
        create=True,
    )
    return Study.objects.get(slug="sheet")


def test_parts_of_one_item_are_no_independent_units_of_the_bound(tmp_path: Path) -> None:
    study = sheet(6, 5)
    (entry,) = Caller("olga").get(f"studies/{study.slug}/agreement/?round=1").json()
    found = {each["name"]: each for each in entry["coefficients"]}
    assert entry["units"] == 30
    assert found["percent_agreement"]["ci_low"] == pytest.approx(0.05 ** (1 / 6))
    assert found["percent_agreement"]["ci_method"] == "exact_one_sided"
    chance = 2 * 0.6 * 0.4
    assert found["fleiss_kappa"]["ci_low"] == pytest.approx(1 - (1 - 0.05 ** (1 / 6)) / chance)
    with quickly():
        status, said = recompute(unpacked(package(make.owner_seat(study)), tmp_path))
    assert status == 0, said
