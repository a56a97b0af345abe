"""Independence of raters: whoever could read the answers of an open round rates there only as somebody who could."""

from typing import Any

import pytest

from annotation.actions import giving, studies
from annotation.models import Study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

HANG = {"labels": {"symptom": ["hang"]}}


def study_with_arat(**more: Any) -> Study:
    """A study in which arat adjudicates and rates, in addition to olga, ada and the raters bob and carol."""
    study = make.study(**more)
    roles = ["adjudicator", "rater"]
    studies.add_member(seat=make.owner_seat(study), username=make.user("arat").username, roles=roles)
    return study


def read_by(name: str, path: str = "ratings/?round=1") -> Any:
    return Script(name).send("GET", f"studies/study/{path}")


def test_a_rater_without_an_item_is_blind_in_a_planned_round_and_stays_so_when_items_come() -> None:
    study = study_with_arat()
    round_ = make.open_round(study, 4, kind="main")
    assert giving.add_rater(seat=make.owner_seat(study), number=1, user="arat").n_given == 0
    make.rate(round_, "item bob\n1 hang\n2 hang")
    assert read_by("arat").json()["results"] == []
    assert make.seat(study, "arat").blind_round_ids == {round_.pk}
    assert read_by("arat", "agreement/?round=1").status_code == 403
    found = giving.withdraw_rater(seat=make.owner_seat(study), number=1, rater="carol")
    assert {to.code: n for to, n in found.given} == {"R3": 4}
    assert read_by("arat").json()["results"] == []
