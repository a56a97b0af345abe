"""Screening taxonomies and owners: who owns the study maintains what it screens by, and no one else does."""

from collections.abc import Callable
from importlib import import_module

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.confirmation import Confirmation
from annotation.core.access import get_seat
from annotation.invitations.actions.invitations import accept_invitation, invite
from annotation.members.actions import leaving, members
from annotation.members.actions.name_only_members import join_member
from annotation.models import AuditEvent, Membership, Proposal, Round, RoundRater, Study
from annotation.proposals.actions import settle_proposals
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import create_study
from annotation.transfer.actions.life import duplicate_study
from shared.errors import Forbidden
from taxonomy import actions as taxonomy_actions
from taxonomy.access import get_maintained_taxonomy, get_maintained_version
from taxonomy.models import Taxonomy
from taxonomy.queries import document
from taxonomy.schema import dump
from tests import builders as make
from tests.annotation.choosing.test_screening import REASONS
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SLUG = "study-screening"
PASSWORD = "a long enough one"


def screen(name: str, *, reasons: list[str] | None = REASONS, first: int = 1) -> Round:
    return rounds.create_round(
        seat=get_seat(make.user(name), "study"),
        asked=rounds.NewRound(
            kind="screening", raters=["bob"], raters_per_item=1, issues=[f"acme/rocket#{first}"], reasons=reasons
        ),
    )


def screened_by_carl() -> Study:
    """A study of olga and carl, who opened its first screening round."""
    study = make.study()
    make.issues(5)
    make.user("carl", password=PASSWORD)
    members.add_member(seat=make.owner_seat(study), username="carl", roles=["owner"])
    screen("carl")
    return study


def maintainers(slug: str = SLUG) -> list[str]:
    return sorted(Taxonomy.objects.get(slug=slug).maintainers.values_list("username", flat=True))


def removed(study: Study) -> None:
    leaving.remove_member(seat=make.owner_seat(study), member=make.member(study, "carl"))


def leaves(study: Study) -> None:
    leaving.leave_study(seat=make.seat(study, "carl"))


def demoted(study: Study) -> None:
    members.set_member(seat=make.owner_seat(study), username="carl", roles=["reader"])


def closes_the_account(study: Study) -> None:
    leaving.close_account(user=make.user("carl"), typed="carl", confirmation=Confirmation(PASSWORD))


ENDS: list[Callable[[Study], None]] = [removed, leaves, demoted, closes_the_account]


def test_all_owners_of_a_study_maintain_what_it_screens_by() -> None:
    study = screened_by_carl()
    assert maintainers() == ["carl", "olga"]
    members.set_member(seat=make.owner_seat(study), username="bob", roles=["owner", "rater"])
    assert maintainers() == ["bob", "carl", "olga"]


@pytest.mark.parametrize("end", ENDS)
def test_who_owns_a_study_no_more_maintains_what_it_screens_by_no_more(end: Callable[[Study], None]) -> None:
    study = screened_by_carl()
    end(study)
    assert maintainers() == ["olga"]
    screen("olga", reasons=["Reason after carl", "Spam"], first=2)
    assert Script("olga").send("POST", f"taxonomies/{SLUG}/drafts/", {}).status_code == 201


@pytest.mark.parametrize(("end", "status"), [(removed, 404), (leaves, 404), (demoted, 403)])
def test_a_former_owner_neither_reads_later_drafts_nor_writes_a_version(
    end: Callable[[Study], None], status: int
) -> None:
    study = screened_by_carl()
    carl, text = Script("carl"), dump(document(Taxonomy.objects.get(slug=SLUG).versions.get()))
    end(study)
    screen("olga", reasons=["Reason after carl", "Spam"], first=2)
    answer = carl.send("POST", f"taxonomies/{SLUG}/versions/", text=text)
    assert answer.status_code == status
    assert carl.send("POST", f"taxonomies/{SLUG}/drafts/", {}).status_code == status
    assert carl.send("POST", f"taxonomies/{SLUG}/versions/2/retire/", {}).status_code == status
    may_read = 200 if status == 403 else 404  # readers of the study read what is published
    browser = Client()
    browser.force_login(make.user("carl"))
    assert carl.send("GET", f"taxonomies/{SLUG}/versions/2/").status_code == may_read
    assert browser.get(f"/taxonomies/{SLUG}/versions/2/document.yaml").status_code == may_read
    assert (SLUG in carl.send("GET", "taxonomies/").content.decode()) == (may_read == 200)
    Script("olga").send("POST", f"taxonomies/{SLUG}/drafts/", {})
    assert carl.send("GET", f"taxonomies/{SLUG}/versions/3/").status_code == 404


def test_what_a_former_owner_wrote_while_the_role_ended_is_not_stored() -> None:
    study = screened_by_carl()
    carl = make.user("carl")
    taxonomy = get_maintained_taxonomy(carl, SLUG)
    draft = taxonomy_actions.start_draft(user=carl, taxonomy=taxonomy)
    draft = get_maintained_version(carl, SLUG, draft.number)
    text = dump(document(draft))
    removed(study)
    for write in (
        lambda: taxonomy_actions.new_draft(user=carl, taxonomy=taxonomy, text=text),
        lambda: taxonomy_actions.start_draft(user=carl, taxonomy=taxonomy),
        lambda: taxonomy_actions.replace_draft(user=carl, version=draft, text=text),
        lambda: taxonomy_actions.keep_unfinished(user=carl, version=draft, document={}, expected=1),
        lambda: taxonomy_actions.publish_version(user=carl, version=draft),
        lambda: taxonomy_actions.discard_draft(user=carl, version=draft),
        lambda: taxonomy_actions.retire_version(user=carl, version=taxonomy.versions.get(number=1)),
    ):
        with pytest.raises(Forbidden, match="maintainers"):
            write()
    assert [each.state for each in taxonomy.versions.order_by("number")] == ["published", "draft"]


def by_invitation(study: Study) -> None:
    members.set_member(seat=make.owner_seat(study), username=make.user("nora").username, roles=["owner"])
    assert maintainers() == ["carl", "olga"]
    make.accept("nora")


def by_a_link(study: Study) -> None:
    _, plaintext = invite(seat=make.owner_seat(study), roles=["owner"])
    accept_invitation(user=make.user("nora"), plaintext=plaintext)


def by_a_name(study: Study) -> None:
    name = Membership.objects.create(study=study, name="Nora", roles=["owner"])
    join_member(seat=get_seat(make.user("olga"), "study"), member=name, username=make.user("nora").username)
    make.accept("nora")


@pytest.mark.parametrize("begin", [by_invitation, by_a_link, by_a_name])
def test_who_becomes_an_owner_maintains_what_the_study_screens_by(begin: Callable[[Study], None]) -> None:
    begin(screened_by_carl())
    assert maintainers() == ["carl", "nora", "olga"]


def test_the_audit_of_the_study_names_who_published_or_retired_what_it_screens_by() -> None:
    study = screened_by_carl()
    olga = Script("olga")
    olga.send("POST", f"taxonomies/{SLUG}/drafts/", {})
    olga.send("POST", f"taxonomies/{SLUG}/versions/2/publish/", {})
    olga.send("POST", f"taxonomies/{SLUG}/versions/1/retire/", {})
    olga.send("POST", "taxonomies/symptoms/drafts/", {})
    olga.send("POST", "taxonomies/symptoms/versions/2/publish/", {})
    rows = AuditEvent.objects.filter(study=study, verb__startswith="taxonomy").order_by("pk").select_related("user")
    assert [(each.user and each.user.username, each.verb, each.detail) for each in rows] == [
        ("olga", "taxonomy published", {"taxonomy": SLUG, "version": 2}),
        ("olga", "taxonomy retired", {"taxonomy": SLUG, "version": 1}),
    ]


def other_that_labels_by_it(study: Study, *raters: str) -> Study:
    """A study of olga's that labels by what the study screens by, as releases before 0.2.0 made them."""
    other = create_study(user=make.user("olga"), slug="other", title="Other", taxonomy="symptoms")
    study.refresh_from_db()
    Study.objects.filter(pk=other.pk).update(taxonomy=study.screening_taxonomy)
    other.refresh_from_db()
    for name in raters:
        members.add_member(seat=make.owner_seat(other), username=make.user(name).username, roles=["rater"])
    return other


def accepts_what_ed_proposes(other: Study, *raters: str) -> Round:
    round_ = make.open_round(other, 1, raters=raters)
    make.submit(round_, "ed", 1, {"screening": ["out"]}, proposals={"screening-reason": {"name": "New"}})
    proposal = Proposal.objects.get().public_id
    settle_proposals(seat=make.owner_seat(other), proposals=[proposal], accept={"name": "New"})
    return round_


def test_an_owner_who_labels_by_it_elsewhere_is_not_blind_to_proposals_that_its_draft_shows() -> None:
    study = screened_by_carl()
    for name in ("dora", "ed"):
        members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=["reader"])
    round_ = accepts_what_ed_proposes(other_that_labels_by_it(study, "dora", "ed"), "dora", "ed")
    members.set_member(seat=make.owner_seat(study), username="dora", roles=["owner"])
    assert "dora" in maintainers()
    marked = RoundRater.objects.filter(round=round_).values_list("rater__user__username", "unblinded")
    assert dict(marked) == {"dora": True, "ed": False}


@pytest.mark.parametrize("end", [removed, leaves, demoted])
def test_a_former_owner_is_not_blind_to_proposals_that_its_draft_showed(end: Callable[[Study], None]) -> None:
    study = screened_by_carl()
    accepts_what_ed_proposes(other_that_labels_by_it(study, "carl", "dora", "ed"), "dora", "ed")
    end(study)
    assert maintainers() == ["olga"]
    answer = Script("olga").send("POST", "studies/other/rounds/1/raters/", {"user": "carl"})
    assert (answer.status_code, answer.json()["code"]) == (409, "not_blind_any_more")


def test_a_copy_of_a_study_screens_by_what_its_own_owners_maintain() -> None:
    study = screened_by_carl()
    copy = duplicate_study(seat=make.seat(study, "carl"), slug="copy", with_items=True)
    seat = make.seat(copy, "carl")
    members.set_member(seat=seat, username="carl", roles=["owner", "rater"])
    asked = rounds.NewRound(kind="screening", raters=["carl"], issues=["acme/rocket#1"], raters_per_item=1)
    rounds.create_round(seat=make.seat(copy, "carl"), asked=asked)
    removed(study)
    assert (maintainers(), maintainers("copy-screening")) == (["olga"], ["carl"])


def test_an_upgrade_gives_what_a_study_screens_by_to_its_present_owners_alone() -> None:
    study = screened_by_carl()
    Taxonomy.objects.get(slug="symptoms").maintainers.set([make.user("carl")])
    removed(study)
    taxonomy = Taxonomy.objects.get(slug=SLUG)
    taxonomy.maintainers.set([make.user("carl"), make.user("eve")])
    migration = import_module("annotation.migrations.0059_owners_maintain_screening")
    with connection.cursor() as cursor:
        cursor.execute(migration.FORMER_OWNERS_GO)
        cursor.execute(migration.OWNERS_COME)
    assert (maintainers(), maintainers("symptoms")) == (["olga"], ["carl"])
    Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
    Membership.objects.filter(study=study).update(user=None, name="Left")
    with connection.cursor() as cursor:
        cursor.execute(migration.FORMER_OWNERS_GO)
        cursor.execute(migration.OWNERS_COME)
    assert maintainers() == ["olga"]
