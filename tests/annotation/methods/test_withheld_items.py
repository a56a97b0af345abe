"""What is said to raters of an open round whose items are left out of the numbers of earlier rounds."""

from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from annotation.methods import as_text, sentences
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import Study
from annotation.rounds.actions import rounds
from tests import builders as make
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import exported
from tests.scripts import Script

pytestmark = pytest.mark.django_db

WITHOUT = "[missing: {n} items that you label again in an open round; this text excludes them until that round is over"
SHOWN = (
    "{n} items that you label again in another round are not included. They count here once that round closes. Until "
    "then, members who don’t label them there see other numbers."
)


def labeled_again(n: int) -> Study:
    """Bob and carol labeled four items, and dave and erin label the first of them again."""
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    make.rate(
        make.open_round(study, 4, kind="main"),
        "item bob carol\n1 crash crash\n2 crash crash\n3 hang hang\n4 crash hang",
    )
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    names = [f"acme/rocket#{number}" for number in range(1, n + 1)]
    asked = rounds.NewRound(raters=["dave", "erin"], issues=names, raters_per_item=2, kind="main")
    made = rounds.create_round(seat=make.owner_seat(study), asked=asked)
    rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True, reason="Go on.")
    return study


def read(name: str) -> Any:
    return Script(name).send("GET", "studies/study/agreement/methods/").json()


def page(name: str, path: str) -> str:
    client = Client()
    client.force_login(make.user(name))
    return client.get(f"/studies/study/{path}").content.decode().replace("&#x27;", "'")


PAGES = (
    "",
    "agreement/",
    "agreement/?round=1",
    "agreement/methods/",
    "analysis/",
    "analysis/counts/?dimension=symptom",
)


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 4])
def test_each_page_and_text_says_how_many_items_are_left_out_for_the_rater_and_nothing_of_it_to_the_owner(
    n: int,
) -> None:
    labeled_again(n)
    told = read("erin")
    assert WITHOUT.format(n=n) in told["paragraph"] and "there are no labels yet" not in told["paragraph"]
    assert all(f"This excludes {n} items that you label again" in each["evidence"] for each in told["checklist"])
    assert not any("labeled yet" in each["evidence"] for each in told["checklist"])
    assert f"This excludes {n} items" in told["latex"]
    assert "label again" not in str(read("olga"))
    for path in PAGES:
        shown = page("erin", path)
        assert SHOWN.format(n=n) in shown, path
        for words in ("has no labels yet", "No agreed labels yet", "hang did not occur", "No unit was rated by two"):
            assert words not in shown, path
        assert "label again" not in page("olga", path), path
    if n == 4:
        assert "Without these items, round 1 has nothing to compare." in page("erin", "agreement/?round=1")
        assert "Without these items, no unit was rated by two raters." in page("erin", "")
        assert "this text includes no labels of other items]" in told["paragraph"]


@pytest.mark.slow
def test_how_many_items_a_text_leaves_out_is_borne_out_and_a_lie_about_it_is_caught() -> None:
    study = labeled_again(2)
    rows = replace(exported(study, resamples=10).rows, reader="R4")
    facts = methods(make.seat(study, "erin"), resamples=10)
    said = as_text(paragraph(facts))
    for words in (sentences.withheld(2).marked, sentences.without(2)):
        assert words in said or words in str(read("erin")["checklist"])
        for text, n_wrong in ((words, 0), (words.replace("2", "3"), 1)):
            checker = Checker(rows)
            checker.sentences(text)
            assert len(checker.complaints) == n_wrong
