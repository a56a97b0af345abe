"""An owner's link for a password is used while its person gets into another study."""

import threading

import pytest
from django.core.cache import cache
from django.db import connections, transaction

from accounts.access import get_password_link
from accounts.actions import use_password_link
from accounts.models import User
from annotation.invitations.actions import invitations
from annotation.models import Membership
from annotation.studies.actions.studies import create_study
from shared.errors import NotFound
from taxonomy.actions.drafts import load_document
from tests import builders as make
from tests.annotation.members.test_password_links import NEW, link_for, newcomer, other_study
from tests.asserts import wait_until_someone_waits_for_a_lock


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("way", ["by a link", "by an own study", "by a taxonomy"])
def test_a_link_is_over_when_its_person_owns_or_joins_something_else_at_that_moment(way: str) -> None:
    cache.clear()
    study = make.study()
    nora = newcomer(study).user
    assert nora is not None
    link = get_password_link(link_for(Membership.objects.get(user=nora)).strip("/").rpartition("/")[2])
    invitation = invitations.invite(seat=make.seat(other_study(), "mallory"), roles=["owner"])[1]
    text = make.SYMPTOMS.replace("slug: symptoms", "slug: own")
    if way == "by an own study":
        make.version(text, "nora")
    outcomes: list[BaseException] = []

    def use() -> None:
        try:
            use_password_link(link=link, new=NEW)
        except BaseException as error:
            outcomes.append(error)
        finally:
            connections.close_all()

    using = threading.Thread(target=use)
    with transaction.atomic():
        if way == "by a link":
            invitations.accept_invitation(user=User.objects.get(pk=nora.pk), plaintext=invitation)
        elif way == "by a taxonomy":
            load_document(user=User.objects.get(pk=nora.pk), text=text)
        else:
            create_study(user=User.objects.get(pk=nora.pk), slug="own", title="Own", taxonomy="own")
        using.start()
        wait_until_someone_waits_for_a_lock()
    using.join(60)
    assert [type(each) for each in outcomes] == [NotFound]
