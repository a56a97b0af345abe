"""A version that was retired: rounds that run go on, no other begins."""

import pytest

from annotation.core.errors import Invalid, WrongState
from annotation.models import Round
from annotation.rounds.actions import rounds
from taxonomy.actions import retire_version
from tests import builders as make

pytestmark = pytest.mark.django_db


def test_under_a_retired_version_no_round_is_made_or_opened_and_those_that_run_go_on() -> None:
    study = make.study()
    running = make.open_round(study, 1)
    draft = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#1"], taxonomy_version=1),
    )
    retire_version(user=study.created_by, version=study.taxonomy.versions.get())
    with pytest.raises(WrongState, match="Version 1 of .* was retired") as caught:
        rounds.open_round(seat=make.owner_seat(study), number=draft.number, unregistered=True)
    assert (caught.value.status, caught.value.code) == (409, "version_retired")
    assert Round.objects.get(pk=draft.pk).state == "draft"
    with pytest.raises(Invalid) as refused:
        rounds.create_round(
            seat=make.owner_seat(study),
            asked=rounds.NewRound(raters=["bob"], raters_per_item=1, issues=["acme/rocket#1"], taxonomy_version=1),
        )
    assert list(refused.value.fields) == ["taxonomy_version"]
    make.rate(running, "item bob carol\n1 crash hang")
    assert Round.objects.get(pk=running.pk).state == "resolving"
