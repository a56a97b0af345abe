"""Forms of studies: what is made of them, and what bad input gets."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.headline import headline_set
from annotation.choosing.actions import samples as sample_actions
from annotation.members.actions import leaving, members
from annotation.models import AuditEvent, Membership, Round, Sample, Study
from annotation.rounds.actions import rounds
from annotation.studies.actions import studies
from tests import builders as make
from tests import forms
from tests.interleaving import meeting

pytestmark = pytest.mark.django_db


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


def text_of(response: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", response.content.decode()))


def address(name: str, *args: object) -> str:
    return reverse(name, args=args)


def test_a_study_is_made_with_its_primary_coefficients_and_the_title_makes_the_address() -> None:
    make.version(make.FAULTS)
    client = signed_in("nina")
    sent = {
        "title": "Faults of Größe",
        "taxonomy": "faults",
        "resolve_when": "round",
        "primary-symptom.coefficient": "cohen_kappa",
        "primary-symptom.threshold": "0.8",
    }
    answer = client.post(reverse("new_study"), sent)
    assert answer.status_code == 302 and answer["Location"] == address("study", "faults-of-groe")
    study = Study.objects.get()
    assert study.primary["symptom"]["coefficient"] == "cohen_kappa" and study.primary["symptom"]["threshold"] == 0.8
    taken = client.post(reverse("new_study"), sent)
    assert taken.status_code == 409 and "his ID is not available" in text_of(taken)


@pytest.mark.parametrize(
    ("changed", "field", "sentence"),
    [
        ({"title": ""}, "id_title", "This field is required."),
        ({"slug": "Not a slug"}, "id_slug", "Use up to 80 lowercase letters"),
        ({"taxonomy": "nothing"}, "id_taxonomy", "Select a valid choice"),
        (
            {"primary-symptom.threshold": "0.8"},
            "id_primary-symptom.coefficient",
            "Choose a coefficient for the threshold.",
        ),
        (
            {"primary-symptom.threshold": "2", "primary-symptom.coefficient": "cohen_kappa"},
            "id_primary-symptom.threshold",
            "less than or equal to 1",
        ),
    ],
)
def test_a_study_that_is_not_valid_is_said_so_at_the_field(changed: dict[str, str], field: str, sentence: str) -> None:
    make.version(make.FAULTS)
    sent = {"title": "Faults", "taxonomy": "faults", "resolve_when": "round"} | changed
    answer = signed_in("nina").post(reverse("new_study"), sent)
    assert answer.status_code == 422 and sentence in text_of(answer)
    control = re.search(rf'<(?:input|select)[^>]*id="{re.escape(field)}"[^>]*>', answer.content.decode())
    assert control and 'aria-invalid="true"' in control[0]
    assert not Study.objects.exists()


def test_a_study_needs_a_taxonomy_and_says_where_to_get_one() -> None:
    answer = signed_in("nina").get(reverse("new_study"))
    assert answer.status_code == 200 and "Go to taxonomies" in text_of(answer)
    refused = signed_in("nina").post(reverse("new_study"), {"title": "Faults", "taxonomy": "faults"})
    assert refused.status_code == 422


def test_the_form_of_a_study_asks_about_the_dimensions_of_the_chosen_taxonomy() -> None:
    make.version(make.FAULTS)
    make.version(make.SYMPTOMS)
    client = signed_in("nina")
    assert "primary-fixes.coefficient" in client.get(reverse("new_study") + "?taxonomy=faults").content.decode()
    assert "primary-fixes.coefficient" not in client.get(reverse("new_study") + "?taxonomy=symptoms").content.decode()


def test_settings_change_what_was_changed_and_primary_only_before_labeling() -> None:
    study = make.study()
    client = signed_in("olga")
    path = address("study_settings", study.slug)
    sent = {"title": "New", "guidelines": "Read *all*.", "resolve_when": "item"}
    assert client.post(path, sent | {"primary-symptom.coefficient": "scott_pi"}).status_code == 302
    study.refresh_from_db()
    assert (study.title, study.resolve_when) == ("New", "item") and "symptom" in study.primary
    assert "<em>all</em>" in client.get(address("study", study.slug)).content.decode()
    assert client.post(path, sent | {"title": " "}).status_code == 422
    make.open_round(study)
    fixed = text_of(client.get(path))
    assert "these can’t be changed" in fixed and "Symptom" in fixed
    assert client.post(path, sent | {"primary-symptom.coefficient": ""}).status_code == 302
    study.refresh_from_db()
    assert "symptom" in study.primary


def sent_by(page: Any) -> dict[str, Any]:
    """What a browser sends of the settings page as it is shown."""
    return forms.sent_by(page.content.decode(), "Save settings")


def test_a_settings_page_that_was_open_changes_only_what_its_owner_changed() -> None:
    study = make.study(text=make.FAULTS)
    members.add_member(seat=make.owner_seat(study), username=make.user("frank").username, roles=["owner"])
    make.accept("frank")
    studies.change_study(seat=make.owner_seat(study), changes={"majority": True, "guidelines": "Old.\nRules."})
    olga, path = signed_in("olga"), address("study_settings", study.slug)
    sent = sent_by(olga.get(path))
    meanwhile = {"majority": False, "pseudonymise": True, "guidelines": "New rules.",
                 "primary": {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.9}}}  # fmt: skip
    studies.change_study(seat=make.seat(study, "frank"), changes=meanwhile)
    assert olga.post(path, sent | {"title": "Renamed", "primary-kind.threshold": "0.7"}).status_code == 302
    study.refresh_from_db()
    assert (study.title, study.majority, study.pseudonymise) == ("Renamed", False, True)
    assert study.guidelines == "New rules."
    assert (study.primary["symptom"]["threshold"], study.primary["kind"]["threshold"]) == (0.9, 0.7)
    (line,) = AuditEvent.objects.filter(study=study, user=make.user("olga"), verb="study changed").order_by("-pk")[:1]
    assert line.detail["fields"] == ["primary", "title"]


def test_a_settings_page_that_was_open_asks_before_it_replaces_what_another_owner_changed_there() -> None:
    study = make.study(text=make.FAULTS)
    asked = rounds.NewRound(raters=["bob", "carol"], issues=[f"acme/rocket#{each.number}" for each in make.issues(2)])
    numbers = [rounds.create_round(seat=make.owner_seat(study), asked=asked).number]
    studies.change_study(seat=make.owner_seat(study), changes={"guidelines": "Old.\nRules.", "majority": True})
    olga, path = signed_in("olga"), address("study_settings", study.slug)
    sent = sent_by(olga.get(path))
    newer = {"guidelines": "Newer\nrules.", "majority": False,
             "primary": {"symptom": {"coefficient": "krippendorff_alpha", "threshold": 0.9}}}  # fmt: skip
    studies.change_study(seat=make.owner_seat(study), changes=newer)
    fix_headline(seat=make.owner_seat(study), rounds=numbers)
    mine = {"guidelines": "My rules.", "primary-symptom.threshold": "0.7", "title": "Mine"}
    refused = olga.post(path, sent | mine)
    told = text_of(refused)
    assert refused.status_code == 422 and told.count("Someone else changed this after you opened the page") == 2
    assert "to “Newer rules.”" in told and "to “0.9”" in told
    study.refresh_from_db()
    assert (study.title, study.guidelines) == ("Study", "Newer\nrules.")
    again = sent_by(refused)
    assert again["guidelines"] == ["My rules."] and "majority" not in again and again["headline"] == [str(numbers[0])]
    assert olga.post(path, again).status_code == 302
    study.refresh_from_db()
    assert (study.title, study.guidelines, study.majority) == ("Mine", "My rules.", False)
    assert study.primary["symptom"]["threshold"] == 0.7
    assert headline_set(make.owner_seat(study)).fixed == numbers


def test_owners_who_save_coefficients_of_two_dimensions_at_once_undo_nothing() -> None:
    study = make.study(text=make.FAULTS)
    members.add_member(seat=make.owner_seat(study), username=make.user("frank").username, roles=["owner"])
    make.accept("frank")
    path = address("study_settings", study.slug)
    olga, frank = signed_in("olga"), signed_in("frank")
    sent, of_frank = sent_by(olga.get(path)), sent_by(frank.get(path)) | {"primary-symptom.threshold": "0.9"}
    with meeting(lambda: frank.post(path, of_frank)) as met:
        assert olga.post(path, sent | {"primary-kind.threshold": "0.7"}).status_code == 302
    assert met.answer.status_code == 302
    study.refresh_from_db()
    assert (study.primary["symptom"]["threshold"], study.primary["kind"]["threshold"]) == (0.9, 0.7)


def test_a_headline_that_is_chosen_beside_an_error_is_stored_when_the_error_is_mended() -> None:
    study = make.study()
    make.issues(2)
    asked = rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"])
    number = str(rounds.create_round(seat=make.owner_seat(study), asked=asked).number)
    olga, path = signed_in("olga"), address("study_settings", study.slug)
    sent = {
        "title": study.title,
        "resolve_when": "round",
        "initial-resolve_when": "round",
        "initial-title": study.title,
    }
    again = olga.post(path, sent | {"headline": [number], "title": ""})
    assert again.status_code == 422
    words = again.content.decode()
    assert (
        re.search(rf'name="headline" value="{number}"[^>]* checked', words) and 'name="initial-headline"' not in words
    )
    assert olga.post(path, sent | {"headline": [number]}).status_code == 302
    assert headline_set(make.owner_seat(study)).fixed == [int(number)]
    again = olga.post(path, sent | {"initial-headline": [number], "title": ""}).content.decode()
    assert (
        re.search(rf'name="initial-headline" value="{number}"', again) and "checked" not in again.split("Headline")[1]
    )
    assert olga.post(path, sent | {"initial-headline": [number]}).status_code == 302
    assert headline_set(make.owner_seat(study)).fixed == ()


@pytest.mark.parametrize(
    ("meanwhile", "told"),
    [
        ({"roles": ["reader"]}, "was changed after you opened the page, and is reader now. Nothing was changed."),
        ({"roles": ["owner", "reader"], "kind": "machine", "machine": {"name": "m", "version": "1", "prompt": "p"}},
         "was changed after you opened the page, and is owner and reader now. Nothing was changed."),
        (None, "was removed from this study after you opened the page. Nothing was changed."),
    ],
)  # fmt: skip
def test_an_open_members_page_undoes_nothing_that_another_owner_changed(meanwhile: dict | None, told: str) -> None:
    study = make.study()
    for name, roles in (("eve", ["owner", "reader"]), ("mia", ["owner"])):
        members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles)
        make.accept(name)
    olga, path = signed_in("olga"), address("members", study.slug)
    form = re.search(r'name="username" value="eve".*?</form>', olga.get(path).content.decode(), re.DOTALL)
    assert form is not None
    (shown,) = re.findall(r'name="shown" value="([^"]*)"', form[0])
    sent = {"username": "eve", "kind": "person", "shown": shown, "roles": ["owner", "reader", "rater"]}
    mia, eve = make.seat(study, "mia"), make.member(study, "eve")
    if meanwhile is None:
        leaving.remove_member(seat=mia, member=eve)
    else:
        members.set_member(seat=mia, username="eve", **meanwhile)
    before = Membership.objects.filter(pk=eve.pk).values().get()
    page = olga.post(path, sent, follow=True)
    assert f"“eve” {told}" in text_of(page)
    assert Membership.objects.filter(pk=eve.pk).values().get() == before


def test_nobody_is_added_who_is_a_member_already() -> None:
    study = make.study()
    olga, path = signed_in("olga"), address("members", study.slug)
    assert '<input type="hidden" name="shown" value="">' in olga.get(path).content.decode()
    sent = {"username": "bob", "kind": "person", "shown": "", "roles": ["reader"]}
    said = "“bob” is in this study already, as rater. Change the roles in the table. Nothing was changed."
    assert said in text_of(olga.post(path, sent, follow=True))
    assert make.member(study, "bob").roles == ["rater"]
    assert olga.post(path, sent | {"shown": "person,rater"}).status_code == 302
    assert make.member(study, "bob").roles == ["reader"]


def test_members_are_added_changed_and_the_last_owner_stays() -> None:
    study = make.study(raters=())
    client = signed_in("olga")
    path = address("members", study.slug)
    make.user("dan")
    for roles in (["rater"], ["rater", "reader"], ["rater", "reader"]):
        answer = client.post(path, {"username": "Dan", "roles": roles, "kind": "person"})
        assert answer.status_code == 302
    make.accept("dan")
    dan = Membership.objects.get(study=study, user__username="dan")
    assert dan.roles == ["rater", "reader"] and dan.code == "R1"
    alone = client.post(path, {"username": "olga", "roles": ["rater"], "kind": "person"})
    assert alone.status_code == 409 and "A study needs an owner" in text_of(alone)
    nobody = client.post(path, {"username": "nobody", "roles": ["rater"], "kind": "person"})
    assert nobody.status_code == 422 and "User “nobody” not found" in text_of(nobody)
    assert client.post(path, {"username": "dan", "kind": "person"}).status_code == 422


def test_a_sample_is_counted_drawn_and_shown_with_its_flow() -> None:
    study = make.study()
    make.issues(12)
    client = signed_in("olga")
    path = address("samples", study.slug)
    sent = {"repository": "acme/rocket", "state": "open", "labels": "bug, crash", "size": "3", "seed": "7"}
    counted = client.post(path, sent | {"count": "1", "size": ""})
    assert counted.status_code == 200 and not Sample.objects.exists()
    assert re.search(
        r"all issues 12 repository: acme/rocket 12 state: open 8 GitHub labels: bug, crash 4", text_of(counted)
    )
    drawn = client.post(path, sent)
    sample = Sample.objects.get()
    assert drawn["Location"] == f"{path}?sample={sample.pk}" and sample.filter["labels"] == ["bug", "crash"]
    shown = text_of(signed_in("rea").get(drawn["Location"]))
    assert "3 of 3 in no coding round yet" in shown and "drawn 3" in shown
    for changed, sentence in (
        ({"size": "40"}, "The filter matches 4 issues, fewer than 40."),
        ({"repository": "acme/rockets"}, "No stored issue matches the filter."),
        ({"size": ""}, "Enter how many issues to draw."),
        ({"size": "0"}, "greater than or equal to 1"),
        ({"seed": "x"}, "Enter a whole number"),
        ({"stratify_by": "colour"}, "Select a valid choice"),
    ):
        refused = client.post(path, sent | changed)
        assert refused.status_code == 422 and sentence in text_of(refused), changed


def round_form(**changed: object) -> dict[str, object]:
    return {
        "source": "issues",
        "issues": "acme/rocket#1\nhttps://github.com/acme/rocket/issues/2\nacme/rocket#1",
        "raters": ["R1", "R2"],
        "raters_per_item": "2",
        "double_percent": "100",
        "kind": "pilot",
        "mode": "planned",
        "taxonomy_version": "1",
        "seed": "1",
    } | changed


def test_a_round_is_previewed_then_made_of_named_issues_or_of_a_sample() -> None:
    study = make.study()
    make.issues(10)
    client = signed_in("olga")
    path = address("new_round", study.slug)
    preview = client.post(path, round_form(preview="1"))
    assert "2 items × 2 raters = 4 assignments among 2 raters" in text_of(preview) and not Round.objects.exists()
    assert client.post(path, round_form())["Location"] == address("round", study.slug, 1)
    sample = sample_actions.draw_sample(seat=make.owner_seat(study), size=10, filter={"repository": "acme/rocket"})
    half = round_form(source="sample", sample=sample.pk, share_percent="50", double_percent="40", issues="")
    assert "5 items × 2 raters for 2 of them = 7 assignments" in text_of(client.post(path, half | {"preview": "1"}))
    assert client.post(path, half).status_code == 302
    made = Round.objects.get(number=2)
    assert made.round_items.count() == 5 and made.double_share == 0.4 and made.sample == sample


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"raters": []}, "Choose at least one rater."),
        ({"raters": ["R9"]}, "Select a valid choice"),
        ({"raters_per_item": "3"}, "3 raters per item need at least as many raters. 2 named."),
        ({"double_percent": "140"}, "less than or equal to 100"),
        ({"issues": " "}, "Name at least one issue"),
        ({"issues": "acme/rocket#77"}, "“acme/rocket#77” is not stored"),
        ({"issues": "nonsense"}, "nonsense"),
        ({"source": "sample"}, "Choose a sample, or draw one first."),
        ({"taxonomy_version": "9"}, "Select a valid choice"),
        ({"kind": "relabel"}, "Select a valid choice"),
        ({"kind": "screening"}, "Send at least one reason"),
    ],
)
def test_a_round_that_is_not_valid_is_said_so(changed: dict[str, object], sentence: str) -> None:
    study = make.study()
    make.issues(2)
    answer = signed_in("olga").post(address("new_round", study.slug), round_form(**changed))
    assert answer.status_code == 422 and sentence in text_of(answer)
    assert not Round.objects.exists()
