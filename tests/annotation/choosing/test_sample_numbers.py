"""Samples are numbered within their study, on pages, over REST and in messages."""

import pytest
from django.db import connection
from django.test import Client

from annotation.choosing.actions.samples import draw_sample
from annotation.members.actions.members import add_member
from annotation.models import Sample
from annotation.rounds.actions.rounds import NewRound, create_round
from annotation.studies.actions.studies import create_study
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def test_samples_are_numbered_within_their_study(client: Client) -> None:
    make.issues(20)
    elsewhere = make.study("other")
    taxonomy = elsewhere.taxonomy.slug
    study = create_study(user=make.user("olga"), slug="study", title="Study", taxonomy=taxonomy)
    wish = {"seed": 1, "filter": {"repository": "acme/rocket"}}
    first = draw_sample(seat=make.owner_seat(elsewhere), size=2, **wish)
    made = [draw_sample(seat=make.owner_seat(study), size=size, **wish) for size in (3, 4)]
    assert (first.number, [each.number for each in made]) == (1, [1, 2])
    olga = Script("olga")
    told = olga.send("GET", "studies/study/samples/").json()["results"]
    assert {each["id"]: each["number"] for each in told} == {str(each.pk): each.number for each in made}
    third = draw_sample(
        seat=make.owner_seat(study), size=1, seed=1, filter={**wish["filter"], "exclude_sample": made[1].pk}
    )
    assert third.counts[-1]["step"] == "not in sample 2"
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    create_round(
        seat=make.owner_seat(study), asked=NewRound(raters=["olga"], raters_per_item=1, sample=made[1].pk, n_items=1)
    )
    client.force_login(make.user("olga"))
    for path in ("rounds/1/", "sample/", "rounds/", "rounds/new/"):
        page = client.get(f"/studies/study/{path}").content.decode()
        assert "ample 2" in page and not any(f"ample {each.pk}<" in page for each in made if each.pk > 3), path
    answer = olga.send("GET", f"studies/study/samples/{first.pk}/")
    told = f"has no sample with the ID {first.pk}."
    assert answer.status_code == 404 and answer.json()["message"].endswith(
        told + (f" Sample number 1 has the ID {made[0].pk}." if first.pk == 1 else "")
    )
    answer = olga.send("DELETE", f"studies/study/samples/{made[1].pk}/")
    assert (answer.status_code, answer.json()["message"]) == (
        409,
        "Round 1 uses sample 2, so it can't be discarded.",
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO annotation_sample (study_id, filter, counts, frame, size, seed, stratify_by, allocation,"
            " at_least_one, strata, created_by_id, created_at) SELECT study_id, filter, counts, frame, size, seed,"
            " stratify_by, allocation, at_least_one, strata, created_by_id, now() FROM annotation_sample WHERE id = %s",
            [made[0].pk],
        )
    assert Sample.objects.filter(study=study).latest("pk").number == 4  # a row of the version before
