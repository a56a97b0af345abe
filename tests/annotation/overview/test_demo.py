"""The demo study: comes in by the actions of users, and stands as its sign-ins say."""

import pytest
from django.core.management import call_command

from annotation.agreement_report.queries.coefficients import of_rounds
from annotation.core.access import get_round, get_seat
from annotation.labels.queries.verdicts import has_open_disagreements
from annotation.models import Annotation, Assignment, Round, RoundRater
from annotation.overview.actions.demo import load_demo
from ingest.models import Issue
from taxonomy.models import TaxonomyVersion
from tests import builders as make

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_demo_has_one_round_closed_one_in_the_middle_and_one_for_the_newcomer() -> None:
    sign_ins = load_demo()
    assert all(name.startswith("demo-") for name, _, _ in sign_ins)
    assert Issue.objects.count() == 60
    assert list(Round.objects.order_by("number").values_list("state", flat=True)) == ["closed", "open", "open"]
    done = {
        (each.round.number, each.rater.user.username): (each.n_finished, each.n_assigned)
        for each in RoundRater.objects.select_related("round", "rater__user")
    }
    assert done == {
        (1, "demo-alice"): (20, 20),
        (1, "demo-bob"): (20, 20),
        (2, "demo-alice"): (18, 24),
        (2, "demo-bob"): (18, 24),
        (3, "demo-bob"): (0, 16),
        (3, "demo-carol"): (0, 16),
    }
    from accounts.models import User

    seat = get_seat(User.objects.get(username="demo-olga"), "demo")
    assert not has_open_disagreements(get_round(seat, 1))
    values = {each.dimension: each.value for each in of_rounds(seat, [get_round(seat, 1)])}
    assert 0.85 < values["issue-type"] < 0.92 and 0.7 < values["symptom"] < 0.85


@pytest.mark.slow
def test_loading_the_demo_twice_changes_nothing() -> None:
    assert load_demo() == load_demo()
    assert (Annotation.objects.count(), Assignment.objects.count()) == (76, 120)


def test_nobody_of_the_demo_maintains_what_an_operator_loads() -> None:
    """Not even where nobody else has an account yet, or where their accounts are older."""
    make.user("demo-olga")
    call_command("load_taxonomy", "liu-2023", verbosity=0)
    version = TaxonomyVersion.objects.get()
    assert version.created_by is None and not version.taxonomy.maintainers.exists()
    make.user("nina")
    call_command("load_taxonomy", "ma-2025", verbosity=0)
    assert TaxonomyVersion.objects.latest("pk").created_by == make.user("nina")
