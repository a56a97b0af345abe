"""What happens to taxonomies stands in the server's audit: who made, published, retired and discarded what."""

import pytest
from django.db import DatabaseError, transaction
from django.test import Client

from accounts.models import ServerEvent
from taxonomy.actions import discard_draft, load_document, publish_version, replace_draft, retire_version, start_draft
from taxonomy.errors import TaxonomyConflict
from tests import builders as make

pytestmark = pytest.mark.django_db


def lines() -> list[tuple[str, str, int]]:
    """Oldest first: verb, who and which version of the taxonomy `symptoms`."""
    found = ServerEvent.objects.filter(detail__contains={"taxonomy": "symptoms"}).order_by("pk").select_related("user")
    return [(each.verb, each.user.username if each.user else "", each.detail["version"]) for each in found]


def test_each_step_in_the_life_of_a_taxonomy_leaves_a_line_with_its_person() -> None:
    olga, ada = make.user("olga"), make.user("ada")
    first = publish_version(user=olga, version=load_document(user=olga, text=make.SYMPTOMS))
    first.taxonomy.maintainers.add(ada)
    second = start_draft(user=ada, taxonomy=first.taxonomy)
    replace_draft(user=ada, version=second, text=make.SYMPTOMS)
    discard_draft(user=ada, version=second)
    publish_version(user=ada, version=start_draft(user=None, taxonomy=first.taxonomy))
    retire_version(user=olga, version=first)
    assert lines() == [
        ("taxonomy made", "olga", 1),
        ("taxonomy published", "olga", 1),
        ("taxonomy draft made", "ada", 2),
        ("taxonomy draft discarded", "ada", 2),
        ("taxonomy draft made", "", 3),
        ("taxonomy published", "ada", 3),
        ("taxonomy retired", "olga", 1),
    ]


def test_what_was_refused_leaves_no_line() -> None:
    olga = make.user("olga")
    version = make.version()
    before = lines()
    for refused in (publish_version, discard_draft):
        with pytest.raises(TaxonomyConflict):
            refused(user=olga, version=version)
    retire_version(user=olga, version=version)
    with pytest.raises(TaxonomyConflict):
        retire_version(user=olga, version=version)
    assert lines() == [*before, ("taxonomy retired", "olga", 1)]


def test_staff_find_the_lines_of_one_taxonomy_and_nobody_can_change_them(client: Client) -> None:
    make.version()
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: causes"))
    client.force_login(make.user("stan", staff=True))
    told = b"".join(client.get("/operations/audit/audit.csv?of=taxonomy+causes")).decode()
    assert told.count("\r\n") == 3 and "symptoms" not in told
    assert "taxonomy published" in client.get("/operations/audit/?of=taxonomy+causes").content.decode()
    for change in (lambda: ServerEvent.objects.update(verb="nothing"), lambda: ServerEvent.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
