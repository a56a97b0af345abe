"""The words for a paper, of studies in which an earlier version of them was false."""

from dataclasses import replace
from typing import Any

import pytest

from annotation.access import get_whole_study
from annotation.actions.imports import import_ratings
from annotation.methods import Check, Facts, as_text, checklist, paragraph
from annotation.models import Study
from annotation.reporting.methods import methods
from tests import builders as make
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import exported
from tests.annotation.claims.test_claims import complaints

pytestmark = pytest.mark.django_db


def of_sheet(*lines: str, dimensions: str = "symptom", slug: str = "sheet", **more: Any) -> Study:
    """A study of a long sheet, whose lines after item and rater are values by dimension."""
    import_ratings(
        user=make.user("olga"),
        study=slug,
        file="\n".join([f"item,rater,{dimensions}", *lines]).encode(),
        name="sheet.csv",
        dimensions=dimensions.split(","),
        **({"create": True} | more),
    )
    return Study.objects.get(slug=slug)


def told(study: Study) -> Facts:
    return methods(get_whole_study(study.slug), resamples=0)


def said(facts: Facts) -> str:
    return as_text(paragraph(facts))


def checks(facts: Facts) -> dict[str, Check]:
    return {each.key: each for each in checklist(facts)}


ALIKE = [f"i{number},{rater},{'crash' if number % 2 else 'hang'}" for number in range(4) for rater in ("bob", "carol")]


def test_a_registration_is_before_the_import_and_nobody_knows_when_a_sheet_was_labeled() -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.667}})
    of_sheet(*ALIKE, slug=study.slug, create=False)
    facts = told(study)
    assert "before labels were imported from sheets. [missing: whether Symptom had been labeled in" in said(facts)
    assert "before labeling began" not in said(facts)
    check = checks(facts)["fixed"]
    assert check.answer == "partly" and "before labels were imported from sheets: Symptom on" in check.evidence
    made = exported(study)
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, waves=[replace(each, n_from_sheets=0) for each in facts.waves]))
    moved = replace(facts, waves=[replace(each, n_from_sheets=0, is_imported=True) for each in facts.waves])
    assert ", before labeling began, as the file of the imported study states." in said(moved)
    assert checks(moved)["fixed"].answer == "partly"


def test_different_proposals_are_one_category_and_the_words_say_so(client: Any) -> None:
    given = ["a,x,x", "b,y,y", "c,PENDING: Build,PENDING: Performance", "d,PENDING: Build,PENDING: Licence"]
    lines = [f"{item},{rater},{value}" for item, *both in (line.split(",") for line in given)
             for rater, value in zip(("ann", "bo"), both, strict=True)]  # fmt: skip
    study = of_sheet(*lines)
    facts = told(study)
    assert facts.dimensions[0].before.value == 1.0
    assert (
        "Raters made 4 proposals for new categories. In agreement, all proposals on a dimension are one category: two "
        "different proposals for a unit agree." in said(facts)
    )
    client.force_login(study.created_by)
    page = client.get(f"/studies/{study.slug}/agreement/").content.decode()
    assert "Raters never differ here" not in page and "All proposals count as one category" in page
    made = exported(study)
    assert complaints(made.rows, made.facts) == []


SEVERITY = """\
title: Severity
slug: severity
dimensions:
  - key: severity
    title: Severity
    kind: ordinal
    categories: [{key: low, name: Low}, {key: middle, name: Middle}, {key: high, name: High}]
"""


def test_an_alpha_of_an_order_names_the_units_that_it_rests_on() -> None:
    study = make.study(text=SEVERITY)
    table = "item bob carol\n1 low low\n2 middle middle\n3 high high\n4 low middle\n5 low PENDING\n6 PENDING PENDING"
    make.rate(make.open_round(study, 6), table, "severity")
    made = exported(study)
    words = "Krippendorff’s α on Severity rests on 4 of these 6 units, because a proposal is no level of its scale."
    assert words in said(made.facts)
    checker = Checker(made.rows)
    checker.sentences(words)
    assert checker.complaints == []
    checker.sentences(words.replace("4", "5"))
    assert checker.complaints
