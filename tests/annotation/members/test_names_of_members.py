"""Names of members: a user name means its account, a rater code its rater, and a full name decides nothing."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.actions import add_user, rename_user
from accounts.confirmation import Confirmation
from accounts.models import User
from annotation.core.access import get_round_rater
from annotation.core.errors import Conflict, Invalid, NotFound
from annotation.discussion.mentions import mentioned_members
from annotation.discussion.queries import MemberNames
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions import members, name_only_members
from annotation.members.actions.leaving import decline, leave_study, remove_member
from annotation.models import Assignment, AuditEvent, Membership, RoundRater, Study
from annotation.resolving.actions.meetings import read_meeting
from annotation.rounds.actions import raters as rater_actions
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SHEET = b"item,rater,dimension,value\nacme/rocket#1,R1,symptom,crash\nacme/rocket#1,R2,symptom,hang\n"


def test_a_full_name_does_not_pass_for_someone_else_where_it_says_who_did_something() -> None:
    ida, xen = make.user("ida"), make.user("xen")
    User.objects.filter(pk=xen.pk).update(first_name="ida")
    xen.refresh_from_db()
    assert (ida.signed_name, xen.signed_name, xen.display_name) == ("ida", "ida (xen)", "ida")
    for name in ("R2", "server"):
        user = User(username=name, elsewhere="")
        assert user.signed_name == f"{name} (user name)"
    there = User(username="-7", elsewhere="xen", first_name="ida")
    assert (there.signed_name, there.told_name) == ("ida (xen, imported)", "xen (imported)")
    there.first_name = "i" * 149
    assert there.kept_name == f"{'i' * 143}… (xen)" and len(there.kept_name) == 150
    study = make.study(raters=("bob",))
    members.add_member(seat=make.owner_seat(study), username="xen", roles=["owner"])
    study_of_xen = make.seat(study, "xen")
    members.set_member(seat=study_of_xen, username=make.user("vic").username, roles=["rater"])
    vic = Client()
    vic.force_login(make.user("vic"))
    page = vic.get("/").content.decode()
    assert "ida (xen) invited you" in page
    (row,) = vic.get("/api/v1/me/invitations/").json()["results"]
    assert row["invited_by"] == "ida (xen)"
    left = leave_study(seat=study_of_xen).member
    assert (left.name, left.signed_name) == ("ida (xen)", "ida (xen)")


def test_pages_tell_apart_a_rater_and_who_took_their_name() -> None:
    """Carol's full name is bob: who has items left, who gave which answer, and whom to choose."""
    study = make.study(raters=("bob", "carol"))
    Study.objects.filter(pk=study.pk).update(names_shown=True)
    User.objects.filter(username="carol").update(first_name="bob")
    round_ = make.rate(make.open_round(study, 2), "item bob\n1 hang\n2 hang")
    olga = Client()
    olga.force_login(make.user("olga"))
    shown = {path: olga.get(f"/studies/study/{path}").content.decode() for path in ("", "rounds/1/", "rounds/new/")}
    make.rate(round_, "item carol\n1 crash\n2 hang")
    item = make.assignment(round_, "bob", 1).item_id
    shown["resolve"] = olga.get(f"/studies/study/rounds/1/resolve/{item}/").content.decode()
    assert [path for path, page in shown.items() if "bob (carol)" not in page] == []


def test_an_invitation_link_creates_no_user_name_that_reads_as_a_code() -> None:
    with pytest.raises(Invalid, match="Person not added") as refused:
        add_user(username="r2", password="a long password", by_invitation=True)
    assert "looks like the code of a rater" in refused.value.fields["username"][0]
    assert add_user(username="R2")[0].username == "R2"


def build_study() -> Study:
    """bob is R1, carol R2, and mole R3."""
    made = make.study()
    members.add_member(seat=make.owner_seat(made), username=make.user("mole").username, roles=["rater"])
    return made


def call_oneself(name: str, full_name: str) -> None:
    User.objects.filter(username=name).update(first_name=full_name)


def invite(study: Study, name: str, *roles: str) -> Membership:
    placed = members.set_member(seat=make.owner_seat(study), username=name, roles=roles or ["reader"])
    return placed.membership


def invited_again(study: Study, full_name: str, *, is_removed: bool = False) -> Membership:
    """The membership of mole, who has this full name, left or was removed, and was asked again."""
    call_oneself("mole", full_name)
    if is_removed:
        remove_member(seat=make.owner_seat(study), member=make.member(study, "mole"))
    else:
        leave_study(seat=make.seat(study, "mole"))
    return invite(study, "mole")


def account_r2(study: Study) -> Membership:
    """An account whose user name is the code of carol; R4 in the study."""
    return members.add_member(seat=make.owner_seat(study), username=make.user("R2").username, roles=["rater"])


# Whose roles an owner sets


@pytest.mark.parametrize("is_removed", [False, True])
def test_roles_for_a_user_name_never_go_to_who_has_it_as_a_full_name(study: Study, is_removed: bool) -> None:
    real = make.user("real")
    waiting = invited_again(study, "real", is_removed=is_removed)
    answer = Script("olga").send("POST", "studies/study/members/", {"user": "real", "roles": ["owner"]})
    assert (answer.status_code, answer.json()["user"], answer.json()["state"]) == (201, "real", "invited")
    assert Membership.objects.get(invited_user=real).roles == ["owner"]
    waiting.refresh_from_db()
    assert waiting.roles == ["reader"]


def test_a_member_gets_the_roles_that_are_set_under_their_user_name(study: Study) -> None:
    make.user("pal")
    members.add_member(seat=make.owner_seat(study), username="pal", roles=["owner"])
    waiting = invited_again(study, "pal")
    assert invite(study, "pal", "reader").user == User.objects.get(username="pal")
    assert make.member(study, "pal").roles == ["reader"]
    waiting.refresh_from_db()
    assert waiting.is_invited and waiting.roles == ["reader"]


def test_a_name_is_linked_to_the_account_of_that_user_name(study: Study) -> None:
    real = make.user("real")
    ann = Membership.objects.create(study=study, name="Ann", roles=["rater"], code="R9")
    invited_again(study, "real")
    linked = name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="real")
    assert linked.invited_user == real


def test_who_waits_is_called_by_the_user_name_also_where_the_row_has_another_name(study: Study) -> None:
    make.user("real")
    ann = Membership.objects.create(study=study, name="Ann", roles=["rater"], code="R9")
    name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="Real")
    waiting = invited_again(study, "Anyone")
    rows = Script("olga").send("GET", "studies/study/members/").json()["results"]
    assert {row["user"] for row in rows if row["state"] == "invited"} == {"mole", "real"}
    owner = Client()
    owner.force_login(make.user("olga"))
    page = owner.get("/studies/study/members/").content.decode()
    assert 'name="username" value="mole"' in page and '<span class="muted">mole</span>' in page
    assert 'name="username" value="real"' in page and 'value="Ann"' not in page
    owner.post("/studies/study/members/", {"username": "mole", "roles": ["adjudicator"], "kind": "person"})
    waiting.refresh_from_db()
    assert waiting.roles == ["adjudicator"] and waiting.is_invited
    with pytest.raises(Invalid):
        invite(study, "Ann")
    remove_member(seat=make.owner_seat(study), member=waiting)
    assert AuditEvent.objects.get(verb="member invitation withdrawn").detail["member"] == "mole"


def test_a_rater_of_a_round_who_waits_is_found_by_user_name_alone(study: Study) -> None:
    waiting = invited_again(study, "bob")
    invite(study, "mole", "rater")
    round_ = make.open_round(study, raters=["R1", "R3"])
    assert get_round_rater(round_, "bob").rater == make.member(study, "bob")
    assert get_round_rater(round_, "MOLE").rater == waiting
    call_oneself("mole", "")
    waiting.name = "zed"
    waiting.save()
    with pytest.raises(NotFound):
        get_round_rater(round_, "zed")


# Whom a rater code means


def test_a_rater_code_in_a_round_means_its_rater_whoever_is_called_so(study: Study) -> None:
    other = account_r2(study)
    make.issues(3)
    sent = {"issues": ["acme/rocket#1"], "raters": ["R1", "r2"], "raters_per_item": 2}
    quotas = {"quotas": {"R2": 1}}
    answer = Script("olga").send("POST", "studies/study/rounds/", sent | quotas)
    assert answer.status_code == 201
    rows = RoundRater.objects.filter(round__study=study)
    assert {row.rater.code: row.quota for row in rows.select_related("rater")} == {"R1": None, "R2": 1}
    refused = Script("olga").refused("POST", "studies/study/rounds/", sent | quotas | {"raters": ["R1", other.code]})
    assert "quotas" in refused  # R2 is not in this round, and the account R2 is R4


def test_the_round_page_adds_the_rater_that_was_chosen(study: Study) -> None:
    account_r2(study)
    round_ = make.open_round(study, raters=["bob"])
    assert rater_actions.add_rater(seat=make.owner_seat(study), number=1, user="R2").round_rater.rater.code == "R2"
    rater_actions.add_rater(seat=make.owner_seat(study), number=1, user="R4")
    assert get_round_rater(round_, "R2").rater.code == "R2"


def test_an_absence_is_of_the_rater_whose_code_it_names(study: Study) -> None:
    account_r2(study)
    sent = {"user": "R2", "until": "2100-01-01"}
    assert Script("olga").send("POST", "studies/study/away/", sent).json()["code"] == "R2"
    assert Script("R2").send("POST", "studies/study/away/", sent).status_code == 403
    assert Script("R2").send("POST", "studies/study/away/", {**sent, "user": "r4"}).json()["code"] == "R4"


def test_a_third_rater_that_is_withdrawn_is_the_one_of_the_code(study: Study) -> None:
    members.add_member(seat=make.owner_seat(study), username=make.user("R5").username, roles=["rater"])  # R4
    members.add_member(seat=make.owner_seat(study), username=make.user("zed").username, roles=["rater"])  # R5
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    Script("olga").send("POST", "studies/study/rounds/1/resolve/", {})
    ask = {"round": 1, "item": "acme/rocket#1"}
    answer = Script("olga").send("POST", "studies/study/third-raters/", ask | {"rater": "R4"})
    assert answer.status_code == 201, answer.content
    asked = "studies/study/rounds/1/third-raters/"
    assert Script("olga").send("POST", f"{asked}R5/withdraw/", {}).status_code == 404  # the account R5 is R4
    assert Script("olga").send("POST", f"{asked}r4/withdraw/", {}).status_code == 200


def test_asking_a_third_rater_and_a_meeting_mean_the_raters_of_the_codes(study: Study) -> None:
    account_r5 = members.add_member(seat=make.owner_seat(study), username=make.user("R5").username, roles=["rater"])
    zed = members.add_member(seat=make.owner_seat(study), username=make.user("zed").username, roles=["rater"])
    assert (account_r5.code, zed.code) == ("R4", "R5")
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    Script("olga").send("POST", "studies/study/rounds/1/resolve/", {})
    ask = {"round": 1, "item": "acme/rocket#1", "rater": "R5"}
    assert Script("olga").send("POST", "studies/study/third-raters/", ask).status_code == 201
    assert Assignment.objects.get(round__study=study, slot=None).rater.code == "R5"
    held = {"held_on": str(timezone.now().date()), "participants": ["R5", "zed", "R1"]}
    meeting = read_meeting(make.owner_seat(study), study.rounds.get(), held, {})
    assert meeting is not None and meeting.participants == ["R5", "R1"]


@pytest.mark.parametrize("has_answers", [True, False])
@pytest.mark.parametrize("ends", ["withdrawn", "declined"])
def test_a_name_that_was_linked_by_mistake_is_that_name_again(study: Study, ends: str, has_answers: bool) -> None:
    if has_answers:
        imported(study, SHEET.replace(b"R2", b"Ann"))
    else:  # as a study's file brings who has nothing but a place in a round, or a draft
        Membership.objects.create(study=study, name="Ann", code="R9", roles=["rater"])
    ann = Membership.objects.get(study=study, name="Ann")
    make.user("real")
    name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="real")
    if ends == "withdrawn":
        remove_member(seat=make.owner_seat(study), member=Membership.objects.get(pk=ann.pk))
    else:
        decline(user=make.user("real"), key=Membership.objects.get(pk=ann.pk).invitation_key)
    ann.refresh_from_db()
    assert (ann.state, ann.name, ann.invited_user) == (Membership.State.NAME_ONLY, "Ann", None)
    assert invite(study, "real").pk != ann.pk
    own = make.user("ann")
    linked = name_only_members.join_member(seat=make.owner_seat(study), member=ann, username="ann")
    assert linked.invited_user == own


def test_mentions_mean_the_rater_of_a_code(study: Study) -> None:
    members.add_member(seat=make.owner_seat(study), username=make.user("r2").username, roles=["rater"])
    rows = list(study.memberships.select_related("user", "former_user", "formerly"))
    for each in (rows, rows[::-1]):
        found = mentioned_members("@R2 and @r2", MemberNames(each, names_shown=True).by_name)
        assert found == [make.member(study, "carol").pk]


# Whose answers a sheet has


def imported(study: Study, sheet: bytes = SHEET, by: str = "olga", **more: Any) -> set[str]:
    """Codes of the raters who have the answers of a sheet."""
    import_ratings(user=make.user(by), study="study", file=sheet, **more)
    found = RoundRater.objects.filter(round__study=study).values_list("rater__code", flat=True)
    return {code or "" for code in found}


def test_a_code_in_a_sheet_means_its_rater_whoever_has_that_user_name(study: Study) -> None:
    account_r2(study)
    assert imported(study) == {"R1", "R2"}


def test_a_code_in_a_sheet_means_its_rater_whoever_left_with_that_full_name(study: Study) -> None:
    call_oneself("mole", "R2")
    leave_study(seat=make.seat(study, "mole"))
    assert imported(study) == {"R1", "R2"}


def test_a_new_code_in_a_sheet_is_a_new_rater_whoever_has_that_user_name(study: Study) -> None:
    account_r2(study)
    make.user("R8")
    found = imported(study, SHEET.replace(b"R2", b"R8"), adds_accounts=True)
    assert found == {"R1", "R8"}
    assert Membership.objects.get(study=study, code="R8").user is None


def test_a_name_in_a_sheet_is_nobody_who_left_under_it_as_a_full_name(study: Study) -> None:
    call_oneself("mole", "Ann")
    leave_study(seat=make.seat(study, "mole"))
    assert imported(study, SHEET.replace(b"R2", b"Ann")) == {"R1", "R4"}
    invite(study, "mole")
    assert imported(study, SHEET.replace(b"R2", b"ANN").replace(b"#1", b"#2")) == {"R1", "R4"}


def test_a_user_name_in_a_sheet_is_its_member_also_one_who_left(study: Study) -> None:
    call_oneself("mole", "Ann")
    call_oneself("bob", "mole")
    leave_study(seat=make.seat(study, "bob"))
    leave_study(seat=make.seat(study, "mole"))
    assert imported(study, SHEET.replace(b"R1", b"Mole")) == {"R2", "R3"}


def test_a_sheet_gives_answers_to_the_account_that_it_names_and_no_similar_one(study: Study) -> None:
    make.user("strasse")
    make.user("\u0131van")
    sheet = SHEET.replace(b"R1", "stra\u00dfe".encode()).replace(b"R2", b"ivan")
    imported(study, sheet, adds_accounts=True)
    assert not study.memberships.filter(user__username__in=["strasse", "\u0131van"]).exists()


# What nobody new is called


@pytest.mark.parametrize("name", ["R2", "r17"])
def test_no_new_full_name_is_a_rater_code(name: str) -> None:
    with pytest.raises(Invalid) as refused:
        add_user(username="rosa", full_name=name)
    assert set(refused.value.fields) == {"full_name"}
    with pytest.raises(Invalid):
        rename_user(user=make.user("bob"), full_name=name, email="", confirmation=Confirmation())
    assert add_user(username=name)[0].pk


def test_a_name_that_was_invited_three_times_tells_of_no_account(study: Study) -> None:
    nina = Membership.objects.create(study=study, name="Nina", code="R9", roles=["rater"], n_invited=3)
    make.user("stranger")
    said = []
    for name in ("stranger", "nobody-at-all"):
        with pytest.raises(Conflict, match="Nina was invited 3 times") as refused:
            name_only_members.join_member(seat=make.owner_seat(study), member=nina, username=name)
        said.append(refused.value.message)
    assert len(set(said)) == 1
    joined = name_only_members.join_member(seat=make.owner_seat(study), member=nina, username="rea")
    assert joined.user == make.user("rea"), "who is in the study is no secret"
