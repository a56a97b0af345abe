"""Every sentence of the texts for papers is borne out by exported rows, and sixty lies are each caught."""

import pytest

from annotation.methods import as_text, paragraph
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import exported, random_study

pytestmark = pytest.mark.django_db

SEEDS = [pytest.param(seed, marks=() if seed < 2 else pytest.mark.soak) for seed in range(20)]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_claim_about_a_random_study_is_borne_out(seed: int) -> None:
    made = exported(random_study(seed))
    text = as_text(paragraph(made.facts))
    print(text)
    assert Checker(made.rows).paragraph(text) == []
