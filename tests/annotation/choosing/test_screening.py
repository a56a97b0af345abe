"""Screening rounds: several raters say in or out, and why; the round's end screens the items."""

import pytest
from django.test import Client
from django.utils import timezone

from annotation.choosing.actions import samples as sample_actions
from annotation.choosing.queries.samples import flow, sample_lines, unused_issues
from annotation.core.access import hides_version
from annotation.core.errors import Conflict, Invalid
from annotation.labels.consensus import Verdict
from annotation.labels.screening import (
    NO_REASON,
    REASON_OPEN,
    USUAL,
    Outcome,
    first_document,
    fits,
    next_document,
    outcome,
    read_reasons,
    reasons_of,
    slug_of,
)
from annotation.members.actions import members
from annotation.models import AuditEvent, Item, Round, Study
from annotation.plans import actions as plan_actions
from annotation.plans import jobs as plan_jobs
from annotation.plans.queries.listing import why_not_run
from annotation.plans.queries.scope import scope_of
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import change_study
from annotation.studies.queries.usage import seats_under, usage
from taxonomy.checking import load
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import document, newest_published
from taxonomy.schema import dump
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db

NAMES = {"not-a-bug": "Not a bug", "duplicate": "Duplicate"}
REASONS = ["Not a bug", "Duplicate", "Spam"]


def verdict(dimension: str, *values: str, part: int = 1, state: str = "agreed") -> Verdict:
    return Verdict(part, dimension, state, None, values or None, "unanimous")


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], None),
        ([verdict("screening", "in")], Outcome("in")),
        (
            [verdict("screening", "out"), verdict("screening-reason", "not-a-bug")],
            Outcome("out", "Not a bug"),
        ),
        ([verdict("screening", state="open")], None),
        ([verdict("screening", "out"), verdict("screening-reason", state="open")], Outcome("out", REASON_OPEN)),
        ([verdict("screening", "out"), verdict("screening", "out", part=2, state="open")], None),
        ([verdict("screening", "out"), verdict("screening-reason", state="resolved")], Outcome("out", NO_REASON)),
        ([verdict("screening", state="resolved")], None),
        (
            [
                verdict("screening", "out"),
                verdict("screening-reason", "duplicate"),
                verdict("screening", "in", part=2),
            ],
            Outcome("in"),
        ),
    ],
)
def test_what_agreed_answers_make_of_an_item(verdicts, expected):
    assert outcome(verdicts, NAMES) == expected


@pytest.mark.parametrize("given", ["Spam", [1], [], ["  "], ["x" * 201], [f"Reason {n}" for n in range(41)], {}])
def test_reasons_that_cannot_be_are_refused_by_name(given):
    fields: dict[str, list[str]] = {}
    assert read_reasons(given, fields) == ()
    assert list(fields) == ["reasons"]


def test_reasons_are_trimmed_and_stand_once():
    fields: dict[str, list[str]] = {}
    assert read_reasons([" Not  a bug", "", "Spam\x00", "not a BUG"], fields) == ("Not a bug", "Spam")
    assert not fields


def test_the_document_of_a_screening_is_a_taxonomy_like_any_other():
    made = first_document("s-screening", "Study", tuple(USUAL))
    assert load(dump(made)) == made and fits(made)
    assert reasons_of(made) == tuple(USUAL)


def test_reasons_without_latin_letters_or_with_the_same_key_get_keys_of_their_own():
    made = first_document("s-screening", "Study", ("Spam!", "Spam?", "垃圾"))
    assert [spec.key for spec in made.dimensions[1].categories] == ["spam", "spam-2", "reason-3"]
    assert load(dump(made)) == made


def test_other_reasons_keep_what_was_written_of_those_that_stay():
    before = first_document("s-screening", "Study", tuple(USUAL))
    after = next_document(before, ("Duplicate of another issue", "Spam"))
    assert after is not None and load(dump(after), before=before) == after
    assert [spec.name for spec in after.dimensions[1].categories] == ["Duplicate of another issue", "Spam"]
    assert after.dimensions[1].categories[0].definition == USUAL["Duplicate of another issue"]
    assert next_document(before, tuple(USUAL)) is None


def test_a_long_slug_still_gives_a_slug():
    assert slug_of("study") == "study-screening"
    assert len(slug_of("s" * 100)) <= 100


def screening(study: Study, n_items: int = 3, **more) -> Round:
    return make.open_round(study, n_items, kind="screening", **more)


def answer(round_: Round, table: str) -> Round:
    """A head line `item bob carol`, then a line per issue: `in`, or the key of the reason why it is out."""
    lines = [line.split() for line in table.strip().splitlines()]
    for number, *values in lines[1:]:
        for name, value in zip(lines[0][1:], values, strict=True):
            labels = {"screening": "in"} if value == "in" else {"screening": "out", "screening-reason": value}
            make.submit(round_, name, int(number), {key: [each] for key, each in labels.items()})
    round_.refresh_from_db()
    return round_


def state(study: Study, number: int) -> tuple[str, str]:
    item = Item.objects.get(study=study, identifier=f"acme/rocket#{number}")
    return item.screening, item.screening_reason


def close(study: Study, number: int = 1, **more) -> Round:
    return rounds.close_round(seat=make.owner_seat(study), number=number, **more)


def decide(study: Study, round_: Round, number: int, dimension: str, value: str, name: str = "ada", **more) -> None:
    resolution_actions.resolve(
        seat=make.seat(study, name),
        round_=round_,
        item=Item.objects.get(study=study, identifier=f"acme/rocket#{number}"),
        part=1,
        dimension=dimension,
        values=[value],
        **more,
    )


def test_the_first_screening_round_makes_the_studys_screening_taxonomy():
    study = make.study()
    made = screening(study)
    study.refresh_from_db()
    version = made.taxonomy_version
    assert version.taxonomy == study.screening_taxonomy
    assert (version.taxonomy.slug, version.number, version.state) == ("study-screening", 1, "published")
    assert list(version.taxonomy.maintainers.values_list("username", flat=True)) == ["olga"]
    assert reasons_of(document(version)) == tuple(USUAL)


def test_a_later_round_asks_the_same_unless_other_reasons_are_given():
    study = make.study()
    first = screening(study, 1, reasons=REASONS)
    again = screening(study, 1, first=2)
    same = screening(study, 1, first=3, reasons=REASONS)
    other = screening(study, 1, first=4, reasons=["Not a bug", "Too old"])
    assert again.taxonomy_version == same.taxonomy_version == first.taxonomy_version
    assert other.taxonomy_version.number == 2
    kinds = {change.kind for change in other.taxonomy_version.changes.all()}
    assert {"kept", "added", "retired"} <= kinds
    assert reasons_of(document(other.taxonomy_version)) == ("Not a bug", "Too old")


def test_a_slug_that_is_taken_is_no_obstacle():
    make.version(make.SYMPTOMS.replace("slug: symptoms", "slug: study-screening"))
    assert screening(make.study()).taxonomy_version.taxonomy.slug == "study-screening-2"


def test_a_refused_round_leaves_no_taxonomy_behind():
    study = make.study()
    with pytest.raises(Invalid):
        rounds.create_round(
            seat=make.owner_seat(study),
            asked=rounds.NewRound(kind="screening", raters=["nobody"], issues=["acme/rocket#1"]),
        )
    study.refresh_from_db()
    assert study.screening_taxonomy is None
    assert not TaxonomyVersion.objects.filter(taxonomy__slug="study-screening").exists()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": "screening", "taxonomy_version": 1}, "taxonomy_version"),
        ({"kind": "screening", "reasons": "Spam"}, "reasons"),
        ({"kind": "main", "reasons": ["Spam"]}, "reasons"),
        ({"kind": "relabel"}, "kind"),
    ],
)
def test_what_does_not_fit_a_kind_of_round_is_refused_by_name(given, field):
    study = make.study()
    make.issues(1)
    with pytest.raises(Invalid) as refused:
        rounds.create_round(
            seat=make.owner_seat(study),
            asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"], **given),
        )
    assert list(refused.value.fields) == [field]


def test_closing_screens_items_in_and_out_with_the_reason_and_who_closed():
    study = make.study()
    made = answer(
        screening(study, 3, reasons=REASONS),
        """
        item bob       carol
        1    in        in
        2    spam      spam
        3    in        not-a-bug
        """,
    )
    assert state(study, 1) == ("unscreened", "")
    decide(study, made, 3, "screening", "out")
    decide(study, made, 3, "screening-reason", "not-a-bug")
    close(study)
    assert [state(study, n) for n in (1, 2, 3)] == [("in", ""), ("out", "Spam"), ("out", "Not a bug")]
    item = Item.objects.get(study=study, identifier="acme/rocket#2")
    assert item.screened_by == study.created_by and item.screened_at is not None
    event = AuditEvent.objects.get(study=study, verb="items screened by a round")
    assert event.detail == {
        "round": 1,
        "in": 1,
        "out": 2,
        "left_open": 0,
        "reasons": {"Spam": 1, "Not a bug": 1},
    }


def test_what_is_left_open_stays_unscreened_until_it_is_decided():
    study = make.study()
    made = answer(screening(study, 2, reasons=REASONS), "item bob carol\n1 in spam\n2 in in")
    with pytest.raises(Conflict):
        close(study)
    close(study, leave_open=True)
    assert [state(study, n) for n in (1, 2)] == [("unscreened", ""), ("in", "")]
    decide(study, made, 1, "screening", "out")
    assert state(study, 1) == ("out", REASON_OPEN)
    decide(study, made, 1, "screening-reason", "spam")
    assert state(study, 1) == ("out", "Spam")
    assert state(study, 2) == ("in", "")


def test_the_newest_act_counts_the_owners_or_the_rounds():
    study = make.study()
    made = answer(screening(study, 2, reasons=REASONS), "item bob carol\n1 spam spam\n2 spam spam")
    seat = make.owner_seat(study)
    sample_actions.screen_items(seat=seat, screening="in", items=["acme/rocket#1"])
    close(study)
    assert state(study, 1) == ("out", "Spam"), "the round was closed later"
    sample_actions.screen_items(seat=seat, screening="in", items=["acme/rocket#1", "acme/rocket#2"])
    assert state(study, 1) == ("in", ""), "the owner spoke later"
    decide(study, made, 2, "screening-reason", "duplicate")
    assert (state(study, 1), state(study, 2)) == (("in", ""), ("out", "Duplicate"))


def test_other_rounds_screen_nothing():
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    close(study)
    assert state(study, 1) == ("unscreened", "")


def drawn(study: Study, n: int = 4) -> int:
    make.issues(n)
    return sample_actions.draw_sample(
        seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=n, seed=1
    ).pk


def test_a_main_round_takes_what_was_screened_in_and_passes_over_what_is_out():
    study = make.study()
    sample = drawn(study)
    owner = make.owner_seat(study)
    made = rounds.create_round(
        seat=owner,
        asked=rounds.NewRound(kind="screening", raters=["bob", "carol"], sample=sample, n_items=3, reasons=REASONS),
    )
    assert unused_issues(sample).count() == 4, "a draft holds nothing up"
    rounds.open_round(seat=owner, number=1, unregistered=True)
    assert unused_issues(sample, ["unscreened"]).count() == 1, "three are being screened"
    names = [place.item.identifier for place in made.round_items.select_related("item").order_by("position")]
    first, second, third = (int(name.rpartition("#")[2]) for name in names)
    answer(made, f"item bob carol\n{first} in in\n{second} spam spam\n{third} in in")
    close(study)
    (line,) = sample_lines(study)
    assert (line.n_unused, line.n_out, line.n_uncoded) == (3, 1, 4)
    client = Client()
    client.force_login(study.created_by)
    assert "4 of 4 in no coding round yet · 1 screened out" in client.get("/studies/study/sample/").content.decode()
    assert ", 4 in no coding round yet, seed" in client.get("/studies/study/rounds/").content.decode()
    main = rounds.create_round(seat=owner, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample))
    assert set(main.round_items.values_list("item__identifier", flat=True)) == {names[0], names[2]}
    lines = {each.step: each.n for each in flow(main.sample)}
    assert lines["drawn"] == 4 and lines["screened out: Spam"] == 1 and lines["kept"] == 2


def test_a_second_screening_round_goes_on_where_the_first_one_stopped():
    study = make.study()
    sample = drawn(study)
    first, second = (
        rounds.create_round(
            seat=make.owner_seat(study),
            asked=rounds.NewRound(kind="screening", raters=["bob", "carol"], sample=sample, n_items=2),
        )
        for _ in range(2)
    )
    taken = [set(each.round_items.values_list("item", flat=True)) for each in (first, second)]
    assert not taken[0] & taken[1]
    with pytest.raises(Invalid) as refused:
        rounds.create_round(
            seat=make.owner_seat(study), asked=rounds.NewRound(kind="screening", raters=["bob", "carol"], sample=sample)
        )
    assert list(refused.value.fields) == ["sample"]


def test_what_is_screened_out_leaves_draft_rounds():
    study = make.study()
    made = screening(study, 2, reasons=REASONS)
    draft = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1", "acme/rocket#2"], screening=["open"]),
    )
    answer(made, "item bob carol\n1 in in\n2 spam spam")
    close(study)
    assert list(draft.round_items.values_list("item__identifier", flat=True)) == ["acme/rocket#1"]


def test_an_item_that_is_out_can_be_screened_again_by_name():
    study = make.study()
    answer(screening(study, 1, reasons=REASONS), "item bob carol\n1 spam spam")
    close(study)
    with pytest.raises(Invalid):
        make.open_round(study, 1)
    answer(screening(study, 1), "item bob carol\n1 in in")
    close(study, 2)
    assert state(study, 1) == ("in", "")


def report(study: Study, name: str = "olga", path: str = "agreement/", **asked) -> list[dict]:
    words = "&".join(f"{key}={value}" for key, value in asked.items())
    answer = Script(name).send("GET", f"studies/{study.slug}/{path}?{words}")
    assert answer.status_code == 200, answer.content
    return answer.json()


def rows(study: Study, path: str, **asked) -> list[dict]:
    return report(study, path=path, **asked)["results"]


def mixed() -> Study:
    """A closed screening round of three issues, and a closed main round of the two that are in."""
    study = make.study()
    answer(screening(study, 3, reasons=REASONS), "item bob carol\n1 in in\n2 in in\n3 spam spam")
    close(study)
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 hang hang")
    close(study, 2)
    return study


def test_a_screening_round_has_an_agreement_of_its_own():
    study = mixed()
    assert {each["dimension"] for each in report(study)} == {"symptom"}
    found = {each["dimension"]: each for each in report(study, round=1)}
    assert set(found) == {"screening", "screening-reason"}
    assert found["screening"]["units"] == 3 and found["screening-reason"]["units"] == 1
    values = {each["name"]: each["value"] for each in found["screening"]["coefficients"]}
    assert values["cohen_kappa"] == 1 and len(values) == 10
    assert {each["dimension"] for each in report(study, round=1, version=1)} == set(found)


def test_versions_of_a_screening_round_are_those_of_its_taxonomy():
    study = mixed()
    make.next_version(study, make.SYMPTOMS.replace("name: Slow", "name: Slowness"))
    script = Script("olga")
    for path in ("agreement", "labels", "ratings"):
        assert script.refused("GET", f"studies/study/{path}/?round=1&version=2", None) == {
            "version": ["The screening taxonomy of this study has no version 2."]
        }
    assert {row["taxonomy_version"] for row in rows(study, "labels/", version=2)} == {2}


@pytest.mark.slow
def test_labels_ratings_and_decisions_of_screening_are_there_only_by_the_rounds_number():
    study = mixed()
    for path in ("labels/", "ratings/"):
        assert {row["dimension"] for row in rows(study, path)} == {"symptom"}
        assert {row["round"] for row in rows(study, path)} == {2}
    labels = rows(study, "labels/", round=1)
    assert [(row["item"][-1], row["dimension"], row["values"]) for row in labels] == [
        ("1", "screening", ["in"]),
        ("2", "screening", ["in"]),
        ("3", "screening", ["out"]),
        ("3", "screening-reason", ["spam"]),
    ]
    assert len(rows(study, "ratings/", round=1)) == 8


def test_a_plan_takes_the_labels_along_and_leaves_the_screening_alone():
    study = mixed()
    make.next_version(
        study, make.SYMPTOMS.replace("- {key: hang, name: Hang}", "- {key: stuck, name: Stuck, was: [hang]}")
    )
    screening(study, 1, first=9)
    owner = make.owner_seat(study)
    plan = plan_actions.preview_plan(seat=owner, to=2)
    assert [each.number for each in scope_of(plan).rounds] == [2]
    assert why_not_run(plan) == "", "an open screening round does not stand in its way"
    plan_actions.run_plan(seat=owner, plan=plan)
    plan_jobs.work(plan.pk)
    assert {tuple(row["values"]) for row in rows(study, "labels/")} == {("crash",), ("stuck",)}
    assert {row["taxonomy_version"] for row in rows(study, "labels/", round=1)} == {1}


def test_the_editor_counts_screening_for_the_screening_taxonomy_alone():
    study = mixed()
    version = newest_published(study.taxonomy)
    assert version is not None
    own = usage(seats_under(study.created_by, study.taxonomy), study.taxonomy, version)
    assert (own.n_ratings, own.n_lost) == (4, 0)
    first = Round.objects.get(study=study, number=1).taxonomy_version
    assert usage(seats_under(study.created_by, first.taxonomy), first.taxonomy, first).counts == {
        "screening": {"in": 4, "out": 2},
        "screening-reason": {"spam": 2},
    }


def test_screening_begins_before_the_coefficients_are_fixed():
    study = make.study()
    screening(study, 1)
    primary = {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}}
    assert (
        change_study(seat=make.owner_seat(study), changes={"primary": primary}).primary["symptom"]["threshold"] == 0.7
    )


def test_no_category_is_proposed_while_screening():
    study = make.study()
    made = screening(study, 1)
    body = {
        "assignment": make.assignment(made, "bob", 1).public_id,
        "labels": {"screening": ["out"]},
        "proposals": {"screening-reason": {"name": "Too old", "memo": "2017"}},
    }
    assert list(Script("bob").refused("POST", "studies/study/annotations/", body)) == ["screening-reason"]
    parts = {**body, "parts": [{"labels": body.pop("labels"), "proposals": body["proposals"]}]}
    del parts["labels"], parts["proposals"]
    assert list(Script("bob").refused("POST", "studies/study/annotations/", parts)) == ["parts[1].screening-reason"]
    assert not make.assignment(made, "bob", 1).current_id


def test_a_screening_round_is_made_over_rest():
    study = make.study()
    make.issues(2)
    body = {"kind": "screening", "reasons": REASONS, "raters": ["bob", "carol"], "issues": ["acme/rocket#1"]}
    answer_ = Script("olga").send("POST", "studies/study/rounds/", body)
    assert answer_.status_code == 201, answer_.content
    assert answer_.json()["kind"] == "screening"
    assert answer_.json()["taxonomy"] == {"slug": "study-screening", "version": 1}
    wrong = {**body, "issues": ["acme/rocket#2"], "taxonomy_version": 1}
    assert Script("olga").refused("POST", "studies/study/rounds/", wrong) == {
        "taxonomy_version": ["A screening round uses its own taxonomy. Omit this field."]
    }
    Script("bob").refused("POST", "studies/study/rounds/", body, 403)
    make.user("eve")
    Script("eve").refused("POST", "studies/study/rounds/", body, 404)
    assert study.rounds.count() == 1


def test_who_rates_in_an_open_screening_round_sees_nothing_of_the_others_there():
    study = make.study()
    made = screening(study, 2, reasons=REASONS)
    make.submit(made, "carol", 1, {"screening": ["out"], "screening-reason": ["spam"]})
    for path in ("agreement", "labels"):
        Script("bob").refused("GET", f"studies/study/{path}/?round=1", None, 403)
    page = client("bob").get("/studies/study/rounds/1/").content.decode()
    assert "Spam" not in page and 'id="kept"' not in page
    assert state(study, 1) == ("unscreened", "")


def client(name: str) -> Client:
    found = Client()
    found.force_login(make.user(name))
    return found


def test_the_page_of_a_round_says_what_was_kept_and_why_not():
    study = make.study()
    made = answer(screening(study, 4, reasons=REASONS), "item bob carol\n1 in in\n2 spam spam\n3 spam spam\n4 in spam")
    assert 'id="kept"' not in client("olga").get("/studies/study/rounds/1/").content.decode()
    close(study, made.number, leave_open=True)
    page = " ".join(client("rea").get("/studies/study/rounds/1/").content.decode().split())
    assert "1 of 4; 1 not screened" in page and "out</a>: Spam" in page


@pytest.mark.slow
@pytest.mark.parametrize("path", ["", "rounds/", "rounds/1/", "agreement/", "agreement/?round=1", "items/", "exports/"])
def test_every_page_of_a_study_stands_with_a_screening_round(path):
    study = mixed()
    assert client("olga").get(f"/studies/{study.slug}/{path}").status_code == 200


def test_the_agreement_page_gives_a_screening_round_by_itself():
    mixed()
    page = client("olga").get("/studies/study/agreement/?round=1").content.decode()
    assert 'id="screening"' in page and 'id="screening-reason"' in page and 'id="symptom"' not in page
    page = client("olga").get("/studies/study/agreement/").content.decode()
    assert 'id="screening"' not in page and 'id="symptom"' in page


def test_the_form_makes_a_screening_round_with_the_reasons_of_its_lines():
    study = make.study()
    make.issues(2)
    page = client("olga").get("/studies/study/rounds/new/").content.decode()
    assert "Not a bug\nNot what this study asks about" in page
    sent = {
        "kind": "screening", "reasons": "Not a bug\r\n\r\nSpam\r\n", "raters": ["R1", "R2"], "raters_per_item": "2",
        "double_percent": "100", "mode": "planned", "source": "issues", "issues": "acme/rocket#1", "seed": "1",
    }  # fmt: skip
    answer_ = client("olga").post("/studies/study/rounds/new/", sent)
    assert answer_.status_code == 302, answer_.content.decode()
    assert reasons_of(document(study.rounds.get().taxonomy_version)) == ("Not a bug", "Spam")
    refused = client("olga").post("/studies/study/rounds/new/", {**sent, "reasons": " "})
    assert refused.status_code == 422 and "Send at least one reason" in refused.content.decode()


def test_a_file_of_a_screening_round_asks_the_screening_taxonomy_whether_its_version_was_a_draft() -> None:
    """The file of another round, or of all, asks the study's taxonomy; both have versions of the same numbers."""
    study = make.study()
    number = screening(study).number
    members.add_member(seat=make.owner_seat(study), username=make.user("ron").username, roles=["reader"])
    made_at = TaxonomyVersion.objects.get(taxonomy=study.taxonomy, number=1).published_at
    assert made_at is not None
    seat = make.seat(study, "ron")
    assert not hides_version(seat, 1, made_at)
    assert hides_version(seat, 1, made_at, number)
    assert not hides_version(seat, 1, timezone.now(), number)
