"""Ready-made taxonomies are known by their documents: what someone stored under their ID is not taken for one."""

from dataclasses import replace

import pytest
from django.test import Client

from annotation.models import Study
from annotation.overview.actions.demo import load_demo
from taxonomy import actions
from taxonomy.models import Taxonomy, TaxonomyVersion
from taxonomy.queries import document
from taxonomy.ready_made import preset
from tests import builders as make
from tests.annotation.imports.test_import_pages import fields, file, imported, upload, visitor
from tests.annotation.overview.test_first_study import signed_in, start

pytestmark = pytest.mark.django_db

NAME = "liu-2023"
EVIL = preset(NAME).text.replace("definition: ", "definition: EVIL ", 1)
SHEET = "item,rater,Issue type\ni1,bob,fault\n"


def stored(text: str, name: str = "eve") -> TaxonomyVersion:
    draft = actions.load_document(user=make.user(name), text=text)
    return actions.publish_version(user=make.user(name), version=draft)


def is_ready_made(study: Study) -> bool:
    found = document(study.taxonomy.versions.get(state="published"))
    return replace(found, slug=NAME) == preset(NAME).document


def guided(slug: str = "olga") -> Study:
    make.issues(1)
    return start(signed_in(slug), source="ready", preset=NAME)


def by_a_sheet() -> Study:
    client = visitor()
    found = imported(client, upload(client, [file(SHEET)]), taxonomy=f"ready-made:{NAME}", slug="made")
    assert found.state == "done", found.error
    return Study.objects.get(slug="made")


def demo() -> Study:
    load_demo()
    return Study.objects.get()


@pytest.mark.slow
@pytest.mark.parametrize("door", [guided, by_a_sheet, demo])
def test_what_someone_changed_under_the_id_of_a_ready_made_taxonomy_labels_no_study_that_asked_for_it(door) -> None:
    stored(EVIL)
    study = door()
    assert study.taxonomy.slug == f"{NAME}-2" and is_ready_made(study)
    assert not study.taxonomy.maintainers.filter(username="eve").exists()


@pytest.mark.slow
@pytest.mark.parametrize("door", [guided, by_a_sheet, demo])
def test_a_ready_made_taxonomy_that_someone_stored_as_it_is_serves_all(door) -> None:
    version = stored(preset(NAME).text)
    assert door().taxonomy == version.taxonomy and Taxonomy.objects.count() == 1


def test_a_ready_made_taxonomy_under_the_next_id_serves_later_studies_too() -> None:
    stored(EVIL)
    first = guided()
    assert start(signed_in("mo"), source="ready", preset=NAME).taxonomy == first.taxonomy
    draft = actions.new_draft(
        user=make.user("olga"), taxonomy=first.taxonomy, text=EVIL.replace(f"slug: {NAME}", f"slug: {NAME}-2")
    )
    actions.publish_version(user=make.user("olga"), version=draft)
    assert start(signed_in("mo"), source="ready", preset=NAME).taxonomy.slug == f"{NAME}-3"


def test_a_draft_that_someone_else_has_under_the_id_hinders_no_study() -> None:
    actions.load_document(user=make.user("eve"), text=preset(NAME).text)
    study = guided()
    assert study.taxonomy.slug == f"{NAME}-2" and is_ready_made(study)


def test_pages_offer_what_concord_has_whatever_someone_stored_under_its_id() -> None:
    stored(EVIL)
    client = Client()
    client.force_login(make.user("olga"))
    asked = upload(client, [file(SHEET)])
    assert f'value="ready-made:{NAME}"' in client.get(asked).content.decode()
    shown = client.get("/taxonomies/").content.decode()
    assert f'href="/taxonomies/{NAME}/" aria-label="Open' not in shown
    answer = client.post("/taxonomies/", {"preset": NAME})
    assert answer.url == f"/taxonomies/{NAME}-2/versions/1/"
    shown = client.get("/taxonomies/").content.decode()
    assert f'href="/taxonomies/{NAME}-2/" aria-label="Open' in shown
    assert client.post("/taxonomies/", {"preset": NAME}).status_code == 409
    assert "taxonomy" in fields(client, asked)
