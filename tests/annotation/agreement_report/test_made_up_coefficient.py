"""A coefficient is one estimator and one entry: a made-up one stands wherever coefficients stand."""

import json
import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from agreement import COEFFICIENTS, registry
from annotation.models import Study
from annotation.package.queries import package as study_package
from annotation.rounds.actions.rounds import close_round
from tests import builders as make
from tests.annotation.agreement_report.test_result_pages import AGREEMENT, get, visitor, words_of
from tests.annotation.packages import package, quickly, recompute, unpacked

pytestmark = pytest.mark.django_db

MADE_UP = '''
class MadeUp(BrennanPrediger):
    """Chance: one pair in ten is equal."""

    def expected(self, counts):
        return np.full(len(counts), 0.9)


COEFFICIENTS["made_up"] = CoefficientSpec(
    "made_up",
    "Nobody's omega",
    "Nobody’s ω",
    "chance is one pair in ten",
    lambda of: MadeUp(of.used),
    "Nobody 2026",
    ("fleiss",),
)
'''
"""What an engineer would write, at the end of one module."""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The coefficient, in the process and in the folder that packages ship."""
    folder = tmp_path / "agreement"
    shutil.copytree(study_package.FORMULAS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with (folder / "registry.py").open("a", encoding="utf-8") as file:
        file.write(MADE_UP)
    monkeypatch.setattr(study_package, "FORMULAS", folder)
    exec(MADE_UP, vars(registry))
    yield "made_up"
    del COEFFICIENTS["made_up"]


@pytest.fixture
def study(made_up: str) -> Study:
    made = make.study(primary={"symptom": {"coefficient": made_up, "threshold": 0.5}})
    make.rate(
        make.open_round(made, 5), "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang\n4 slow slow\n5 hang hang"
    )
    close_round(seat=make.owner_seat(made), number=1, leave_open=True)
    return made


VALUE = 1 - 0.2 / 0.9


def of_made_up(entry: Any) -> Any:
    (found,) = [each for each in entry["coefficients"] if each["name"] == "made_up"]
    return found


def test_it_is_on_the_page_in_rest_and_in_the_settings(study: Study) -> None:
    shown = words_of(get("olga", AGREEMENT))
    assert "Nobody's omega" in shown and "chance is one pair in ten" in shown
    answer = get("olga", "/api/v1/studies/study/agreement/").json()
    found = of_made_up(answer[0])
    assert found["value"] == pytest.approx(VALUE) and found["ci_low"] < VALUE < found["ci_high"]
    olga: Client = visitor("olga")
    assert b"Nobody&#x27;s omega" in olga.get("/studies/study/settings/").content
    fixed = olga.get("/api/v1/studies/study/").json()["primary"]["symptom"]
    assert (fixed["coefficient"], fixed["threshold"]) == ("made_up", 0.5)


def test_the_command_and_the_paragraph_report_it(study: Study) -> None:
    printed, paragraph = StringIO(), StringIO()
    call_command("agreement", "study", stdout=printed)
    assert f"  * Nobody's omega{' ' * 20}" in printed.getvalue()
    call_command("agreement", "study", "--methods", stdout=paragraph)
    assert f"Nobody’s ω = {VALUE:.2f}" in paragraph.getvalue()


def test_the_package_holds_it_and_its_script_recomputes_it(study: Study, tmp_path: Path) -> None:
    with quickly():
        folder = unpacked(package(make.owner_seat(study)), tmp_path / "package")
    path = folder / "results" / "agreement.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    found = of_made_up(document["entries"][0])
    assert found["value"] == pytest.approx(VALUE)
    status, said = recompute(folder)
    assert status == 0, said
    found["value"] += 1e-8
    path.write_text(json.dumps(document), encoding="utf-8")
    status, said = recompute(folder)
    assert status == 1 and ": made_up: reported" in said
