"""Private issues that someone reads only because a study pins them go into no other study of theirs."""

from typing import Any

import pytest
from django.test import Client

from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions import members
from annotation.models import Item, SampleIssue, Study
from ingest.models import Repository
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PINNED = {"filter": {"repository": ["acme/rocket"]}, "size": 2, "seed": 1}


def build_study() -> Study:
    """Olga's, who may read the private repository; oscar owns the study, too, and may not."""
    study = make.study()
    make.issues(3, private=True)
    Repository.objects.get().readers.add(make.user("olga"))
    members.add_member(seat=make.owner_seat(study), username=make.user("oscar").username, roles=["owner"])
    answer = Script("olga").send(
        "POST", "studies/study/rounds/", {"raters": ["bob"], "raters_per_item": 1, "issues": ["acme/rocket#1"]}
    )
    assert answer.status_code == 201
    return study


def browser(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def duplicate(name: str, slug: str, **more: Any) -> Any:
    return browser(name).post("/studies/study/duplicate/", {"slug": slug, "title": "Copy"} | more)


def own_study(name: str) -> None:
    make.version(make.SYMPTOMS.replace("slug: symptoms", f"slug: of-{name}"), owner=name)
    asked = {"slug": f"of-{name}", "title": "Own", "taxonomy": f"of-{name}"}
    assert Script(name).send("POST", "studies/", asked).status_code == 201


def test_a_co_owner_duplicates_no_items_that_they_read_only_through_the_study(study: Study) -> None:
    refused = duplicate("oscar", "dupl", with_items="on")
    assert refused.status_code == 403
    assert (
        "1 of its issues is in a private repository that you can read only through this study"
        in refused.content.decode()
    )
    assert not Study.objects.filter(slug="dupl").exists()
    assert duplicate("oscar", "dupl").status_code == 302 and not Item.objects.filter(study__slug="dupl").exists()


def test_a_co_owner_duplicates_no_frame_that_they_read_only_through_the_study(study: Study) -> None:
    Item.objects.filter(study=study).update(snapshot=None, issue=None)
    assert Script("olga").send("POST", "studies/study/samples/", PINNED).status_code == 201
    assert duplicate("oscar", "dupl", with_items="on").status_code == 403


def test_who_may_read_the_repository_duplicates_all(study: Study) -> None:
    assert Script("olga").send("POST", "studies/study/samples/", PINNED).status_code == 201
    assert duplicate("olga", "dupl", with_items="on").status_code == 302
    assert Item.objects.get(study__slug="dupl").snapshot == Item.objects.get(study=study).snapshot
    assert SampleIssue.objects.filter(sample__study__slug="dupl").count() == 2


@pytest.mark.parametrize("name", ["oscar", "bob"])
def test_a_member_takes_no_such_issue_into_a_round_of_their_own_study(study: Study, name: str) -> None:
    assert Script(name).send("GET", "issues/acme/rocket/1/").status_code == 200, "the study shows it"
    own_study(name)
    asked = {"raters": [name], "raters_per_item": 1, "issues": ["acme/rocket#1"]}
    refused = Script(name).send("POST", f"studies/of-{name}/rounds/", asked)
    assert refused.status_code == 422 and "not stored" in str(refused.json()["fields"])


def test_a_member_draws_no_such_issue_into_their_own_study(study: Study) -> None:
    own_study("oscar")
    asked = {"filter": {}, "size": 1, "seed": 1}
    assert Script("oscar").send("POST", "studies/of-oscar/samples/", asked).status_code == 422


def test_a_sheet_pins_no_such_issue_in_their_own_study(study: Study) -> None:
    own_study("oscar")
    sheet = b"item,rater,symptom\nacme/rocket#1,oscar,crash\n"
    import_ratings(user=make.user("oscar"), study="of-oscar", file=sheet, name="labels.csv", guess=True)
    assert Item.objects.get(study__slug="of-oscar").issue is None
