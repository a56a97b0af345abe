"""The tests on random tables again, over thousands of tables that are drawn anew each time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.soak
@pytest.mark.parametrize("name", ["test_against_libraries", "test_invariances"])
def test_thousands_of_random_tables_give_what_a_few_hundred_gave(name: str):
    path = Path(__file__).with_name(f"{name}.py")
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "3000", str(path)]
    own = {key: value for key, value in os.environ.items() if key not in ("DJANGO_SETTINGS_MODULE", "DATA_DIR")}
    ran = subprocess.run(words, cwd=ROOT, env={**own, "EXAMPLES": "3000"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-5000:]
