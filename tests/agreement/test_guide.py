"""docs/agreement.md and agreement/README.md: their code runs, and they leave no coefficient out; nor do tables."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from agreement import COEFFICIENTS, krippendorff_alpha

ROOT = Path(__file__).parents[2]
GUIDE, README = ((ROOT / page).read_text() for page in ("docs/agreement.md", "agreement/README.md"))


def block(language: str, page: str = GUIDE) -> str:
    return re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)[1]


def test_the_notebook_of_the_guide_runs_on_its_csv(tmp_path, monkeypatch, capsys):
    (tmp_path / "ratings.csv").write_text(block("csv"))
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    exec(block("python"), names)
    assert names["alpha"] == krippendorff_alpha(names["patterns"])
    assert names["entry"]["units"] == 6
    assert names["entry"]["raters"] == 3
    out = capsys.readouterr().out
    assert out.startswith(f"alpha = {names['alpha'].value:.3f}")
    assert "['ana', 'ben'] 5" in out
    assert "hang and slow 2 " in out
    assert "ana 4 1.0" in out


def test_the_example_of_the_readme_runs_without_django():
    code = f"{block('python', README)}\nimport sys; assert 'django' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("alpha = 0.84, 95% CI [0.55, 0.97], 29 units\nkappa = 0.84\ncrash hang 3\n")


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_the_readme_names_every_coefficient_and_the_source_of_its_entry(name: str):
    (row,) = [line for line in README.splitlines() if f"`{name}`" in line]
    assert COEFFICIENTS[name].source in row


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_the_guide_explains_every_coefficient_and_gives_the_source_of_its_entry(name: str):
    (row,) = [line for line in GUIDE.splitlines() if line.startswith(f"| `{name}` |")]
    who, _, where = COEFFICIENTS[name].source.partition(", ")
    assert who in row and where.removeprefix("doi:") in row.replace("*", "")


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_a_coefficient_is_tested_by_the_published_tables_that_its_entry_names(name: str):
    assert COEFFICIENTS[name].tests
    for table in COEFFICIENTS[name].tests:
        assert (Path(__file__).parent / "cases" / f"{table}.json").exists()
