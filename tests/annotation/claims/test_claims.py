"""Every sentence of the texts for papers is borne out by exported rows, and sixty lies are each caught."""

import pytest

from annotation.methods import Facts, as_text, checklist_as_document, latex, paragraph
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.rows import Exported
from tests.annotation.claims.studies import exported, random_study

pytestmark = pytest.mark.django_db

SEEDS = [pytest.param(seed, marks=() if seed < 2 else pytest.mark.soak) for seed in range(20)]


def complaints(rows: Exported, facts: Facts) -> list[str]:
    """What the checker can't trace in the paragraph, the checklist and the table of these facts."""
    found = [f"paragraph: {each}" for each in Checker(rows).paragraph(as_text(paragraph(facts)))]
    found += [f"checklist: {each}" for each in Checker(rows).checklist(checklist_as_document(facts))]
    return found + [f"table: {each}" for each in Checker(rows).latex(latex(facts))]


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_every_claim_about_a_random_study_is_borne_out(seed: int) -> None:
    made = exported(random_study(seed))
    assert complaints(made.rows, made.facts) == []
