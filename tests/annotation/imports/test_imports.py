"""A spreadsheet becomes a study: answers, resolutions, rounds and a queue of disagreements; nothing twice."""

import json
import threading
from typing import Any

import pytest
from django.db import connection, transaction

from annotation.core.access import get_round
from annotation.core.errors import Conflict, Forbidden, Invalid, NotFound
from annotation.imports.actions.ratings import ImportReport, import_ratings, import_sheet, plan_import
from annotation.imports.actions.vocabulary import keep_spellings
from annotation.imports.queries.ratings import decided_spellings
from annotation.imports.sheets import ValueReader
from annotation.imports.sheets.plans import SheetOptions
from annotation.labeling.actions.answers import submit_annotation
from annotation.labels.queries.verdicts import read_values
from annotation.members.actions import members
from annotation.methods.queries.methods import methods
from annotation.models import (
    Annotation,
    Assignment,
    AuditEvent,
    Item,
    Membership,
    Proposal,
    Rating,
    Resolution,
    Round,
    RoundItem,
    RoundRater,
    Study,
)
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from taxonomy.queries import published_version
from tests import builders as make
from tests.annotation.stored_rows import everything, verdicts
from tests.asserts import wait_until_someone_waits_for_a_lock
from tests.scripts import Script

pytestmark = pytest.mark.django_db


def take(text: str, *, study: str = "study", owner: str = "olga", **more: Any) -> ImportReport:
    return import_ratings(user=make.user(owner), study=study, file=text.encode(), name="sheet.csv", **more)


def long(table: str, dimension: str = "symptom") -> str:
    """A sheet in the long form from a table: a head line `item bob carol`, one line per item; `-` is no row."""
    lines = [line.split() for line in table.strip().splitlines()]
    rows = ["item,rater,dimension,value"]
    for item, *values in lines[1:]:
        for name, value in zip(lines[0][1:], values, strict=True):
            if value != "-":
                rows.append(f"acme/rocket#{item},{name},{dimension},{value}")
    return "\n".join(rows) + "\n"


# A new study


def test_a_sheet_in_the_long_form_becomes_a_study_with_its_disagreements() -> None:
    make.user("carol")
    report = take(
        long("""
            item bob   carol final
            1    crash Crash -
            2    crash hang  -
            3    crash hang  slow
            4    hang  -     -
            5    hang  -     crash
        """),
        create=True,
        adds_accounts=True,
    )
    assert (report.n_rows, report.n_ratings, report.n_resolutions, report.n_items, report.n_raters) == (10, 8, 2, 5, 2)
    assert report.refusals == []
    assert verdicts() == {
        ("#1", 1, "symptom"): ("agreed", None, ("crash",)),
        ("#2", 1, "symptom"): ("open", "differ", None),
        ("#3", 1, "symptom"): ("resolved", "differ", ("slow",)),
        ("#4", 1, "symptom"): ("agreed", None, ("hang",)),
        ("#5", 1, "symptom"): ("resolved", None, ("crash",)),
    }
    bob, carol = Membership.objects.filter(roles=["rater"]).order_by("code")
    assert (bob.code, bob.name, bob.user) == ("R1", "bob", None)
    assert (carol.code, carol.name, carol.user) == ("R2", "", make.user("carol"))
    round_ = Round.objects.get()
    assert (round_.number, round_.state, round_.kind, round_.mode) == (1, "resolving", "main", "planned")
    assert (round_.raters_per_item, round_.double_share) == (2, 0.6)
    assert list(RoundItem.objects.values_list("n_raters", flat=True)) == [2, 2, 2, 1, 1]
    assert list(RoundRater.objects.values_list("n_assigned", "n_finished")) == [(5, 5), (3, 3)]
    for place in Assignment.objects.select_related("blind"):
        assert place.state == "submitted" and place.blind_id == place.current_id and place.blind.revision == 1
    assert set(Resolution.objects.values_list("method", flat=True)) == {"imported"}


def test_a_round_in_which_nothing_is_open_is_closed_at_once() -> None:
    report = take(long("item bob carol final\n1 crash crash -\n2 crash hang hang"), create=True)
    (round_,) = report.rounds
    assert round_.state == "closed" and Round.objects.get().closed_at is not None


def test_a_sheet_with_a_column_per_dimension_and_parts() -> None:
    report = take(
        "item_url;unit;rater;kind;fix;note;seconds\n"
        "https://github.com/acme/rocket/issues/1;1;bob;fault;PENDING: new path;why;30\n"
        "https://github.com/acme/rocket/issues/1;2;bob;fault;;;30\n"
        "acme/rocket#1;1;carol;fault;version;;\n",
        create=True,
        mapping={"item": "item_url", "memo": "note"},
        dimensions=["kind", "fix"],
    )
    assert not report.refusals
    bobs = Annotation.objects.get(rater__code="R1")
    assert (bobs.n_parts, bobs.part_memos, bobs.seconds, bobs.n_proposals) == (2, ["why", ""], 30, 1)
    assert verdicts() == {
        ("#1", 1, "kind"): ("agreed", None, ("fault",)),
        ("#1", 1, "fix"): ("open", "pending", None),
        ("#1", 2, "kind"): ("open", "parts", None),
    }
    proposal = Proposal.objects.get()
    assert (proposal.name, proposal.memo) == ("new path", "why")
    assert Rating.objects.get(proposal=proposal).category is None


def test_a_final_cell_left_blank_sides_with_the_rater_who_left_it_blank() -> None:
    head = "item,rater,kind,stage\n"
    report = take(
        head
        + "acme/rocket#1,bob,fault,setup\nacme/rocket#1,carol,question,\nacme/rocket#1,final,question,\n"
        + "acme/rocket#2,bob,fault,setup\nacme/rocket#2,carol,fault,training\nacme/rocket#2,final,fault,\n"
        + "acme/rocket#3,bob,fault,setup\nacme/rocket#3,carol,fault,setup\nacme/rocket#3,final,fault,\n",
        create=True,
        dimensions=["kind", "stage"],
    )
    assert (report.n_resolutions, report.n_left_blank) == (3, 1)
    stages = {item: verdict for (item, _, key), verdict in verdicts().items() if key == "stage"}
    assert stages == {
        "#1": ("resolved", "one_sided", None),
        "#2": ("open", "differ", None),
        "#3": ("agreed", None, ("setup",)),
    }


def test_a_final_part_that_no_rater_gave_is_a_resolution() -> None:
    take(
        "item,rater,part,dimension,value\na,bob,1,s,x\na,carol,1,s,x\na,final,1,s,x\na,final,2,s,y\nb,final,1,s,x\n",
        create=True,
    )
    assert verdicts() == {
        ("a", 1, "s"): ("resolved", None, ("x",)),
        ("a", 2, "s"): ("resolved", None, ("y",)),
        ("b", 1, "s"): ("resolved", None, ("x",)),
    }


def test_another_name_for_the_final_rater_and_none() -> None:
    take(long("item bob Agreed\n1 crash hang"), create=True, final="agreed")
    assert (Membership.objects.filter(roles=["rater"]).count(), Resolution.objects.count()) == (1, 1)
    take(long("item bob final\n1 crash hang"), study="other", create=True, final="")
    assert Membership.objects.filter(study__slug="other", roles=["rater"]).count() == 2


def test_a_pending_final_value_is_refused_with_its_line() -> None:
    report = take(long("item bob final\n1 crash pending\n2 crash crash"), create=True)
    assert [refusal.line for refusal in report.refusals] == [3]
    assert report.n_resolutions == 1


def test_rounds_by_number_and_by_label_in_order() -> None:
    rows = "item,rater,round,dimension,value\n"
    report = take(rows + "a,bob,3,s,x\na,bob,pilot,s,x\na,bob,1.0,s,x\na,bob,late,s,x\n", create=True)
    assert [(each.number, each.label) for each in report.rounds] == [(1, "pilot"), (2, "1"), (3, "3"), (4, "late")]
    again = take(rows + "a,carol,pilot,s,x\n")
    assert [each.number for each in again.rounds] == [1]


def test_raters_called_by_code_keep_their_code() -> None:
    take(long("item R2 eve R1\n1 crash crash crash"), create=True)
    codes = Membership.objects.exclude(code=None).order_by("code").values_list("code", "name")
    assert list(codes) == [("R1", "R1"), ("R2", "R2"), ("R3", "eve")]


def test_items_are_linked_to_stored_issues_that_the_owner_may_see_and_others_keep_their_identifier() -> None:
    make.issues(1, "Acme/Rocket")
    make.issues(1, "acme/secret", private=True)
    make.user("dan")
    take(
        "item,rater,dimension,value\n"
        "https://github.com/acme/rocket/issues/1,bob,s,x\nacme/secret#1,bob,s,x\nacme/rocket#2,bob,s,x\n"
        "https://stackoverflow.com/questions/9,bob,s,x\n",
        create=True,
        owner="dan",
    )
    items = Item.objects.order_by("id").values_list("identifier", "issue__repository__name")
    assert list(items) == [
        ("Acme/Rocket#1", "Rocket"),
        ("acme/secret#1", None),
        ("acme/rocket#2", None),
        ("https://stackoverflow.com/questions/9", None),
    ]
    annotations = Annotation.objects.filter(snapshot__isnull=False)
    assert [each.assignment.item.identifier for each in annotations] == ["Acme/Rocket#1"]


def test_an_item_is_linked_once_its_issue_is_stored() -> None:
    take(long("item bob\n1 crash"), create=True)
    make.issues(1)
    take(long("item bob\n1 crash"))
    assert Item.objects.get().issue is not None


def test_create_on_a_slug_that_is_taken_is_a_conflict_and_nothing_is_stored() -> None:
    take(long("item bob\n1 crash"), create=True)
    before = everything()
    with pytest.raises(Conflict, match="not available"):
        take(long("item bob\n2 crash"), create=True)
    assert everything() == before


def test_a_taxonomy_of_the_same_slug_does_not_stand_in_the_way() -> None:
    make.version()
    take(long("item bob\n1 crash"), study="symptoms", create=True)
    assert Study.objects.get().taxonomy.slug == "symptoms-2"


def test_an_import_that_fails_half_way_leaves_nothing_and_can_be_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything()
    with monkeypatch.context() as patch:
        patch.setattr("annotation.imports.actions.ratings.has_open_disagreements", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            take(long("item bob carol\n1 crash hang"), create=True)
    assert everything() == before
    assert take(long("item bob carol\n1 crash hang"), create=True).n_ratings == 2


# An existing study


def test_values_are_read_against_the_newest_published_version_and_the_others_arrive() -> None:
    make.study(text=make.FAULTS)
    report = take(
        "item,rater,kind,symptom,fixes,distributed\n"
        "acme/rocket#1,bob,fault,Failure / Hang,code,yes\n"
        "acme/rocket#1,bob,,,version,\n"
        "acme/rocket#2,bob,falt,slow,,2\n"
        "acme/rocket#3,bob,how-to,crash,,\n"
        "acme/rocket#4,bob,fault,Failure,,\n",
        dimensions=["kind", "symptom", "fixes", "distributed"],
        blank="none",
    )
    assert [(refusal.line, refusal.reason) for refusal in report.refusals] == [
        (4, "“falt” is not a category of “Kind of issue”. The nearest is “Fault”."),
        (4, "“2” is neither true nor false."),
        (5, "“Symptom” does not apply where “Kind of issue” is how-to."),
        (6, "“Failure” only groups others. Use one of its subcategories."),
    ]
    tree = published_version(Round.objects.get().taxonomy_version_id)
    values = read_values(tree, list(Annotation.objects.values_list("pk", flat=True)))
    assert [given for _, given in sorted(values.items())] == [
        {"kind": ("fault",), "symptom": ("hang",), "fixes": ("code", "version"), "distributed": (True,)},
        {"symptom": ("slow",)},
        {"kind": ("how-to",)},
        {"kind": ("fault",)},
    ]


def test_raters_are_the_studys_members_by_name_or_code() -> None:
    study = make.study(raters=("bob", "carol"))
    take(long("item BOB r2 dan\n1 crash crash crash"))
    raters = Membership.objects.filter(study=study, code__isnull=False).order_by("code")
    assert [member.display_name for member in raters] == ["bob", "carol", "dan"]
    assert Rating.objects.filter(rater__user__username="carol").count() == 1


def test_one_rater_under_two_names_is_refused_the_second_time() -> None:
    make.study(raters=("bob",))
    report = take(long("item bob R1\n1 crash hang"))
    assert [refusal.line for refusal in report.refusals] == [3] and Rating.objects.count() == 1


@pytest.mark.parametrize("rounds", ["", ",round"], ids=["without rounds", "with rounds"])
def test_the_same_file_twice_changes_nothing(rounds: str) -> None:
    label = ",1" if rounds else ""
    text = f"item,rater,dimension,value{rounds}\n" + "".join(
        f"{item},{rater},s,{value}{label}\n"
        for item, rater, value in [("a", "bob", "x"), ("a", "eve", "PENDING"), ("a", "final", "y"), ("b", "bob", "x")]
    )
    take(text, create=True)
    before = everything()
    report = take(text)
    assert everything() == before
    assert (report.n_unchanged, report.n_ratings, report.n_resolutions, report.refusals) == (4, 0, 0, [])


def test_rejected_cells_are_no_submissions_and_bring_no_item_and_no_rater_into_the_round() -> None:
    make.study()
    report = take("item,rater,round,symptom\na,bob,1,crash\na,carol,1,crahs\nb,bob,1,slwo\n", dimensions=["symptom"])
    assert (report.n_ratings, report.n_items, report.n_raters, report.n_refused) == (1, 1, 1, 2)
    assert Assignment.objects.count() == 1 and RoundItem.objects.get().n_raters == 1
    (row,) = RoundRater.objects.select_related("rater")
    assert (row.rater.name or row.rater.user_name, row.n_assigned, row.n_finished) == ("bob", 1, 1)
    report = take("item,rater,round,symptom\na,carol,1,crash\nb,bob,1,hang\n", dimensions=["symptom"])
    assert (report.n_ratings, report.n_items, report.n_raters, report.refusals) == (2, 2, 2, [])
    assert [each.n_raters for each in RoundItem.objects.order_by("position")] == [2, 1]


def test_a_corrected_spelling_completes_the_answer_by_a_revision() -> None:
    make.study(text=make.FAULTS)
    head = "item,rater,round,kind,symptom\n"
    assert len(take(head + "a,bob,1,fault,crahs\n", dimensions=["kind", "symptom"]).refusals) == 1
    report = take(head + "a,bob,1,fault,crash\n", dimensions=["kind", "symptom"])
    assert report.refusals == []
    place = Assignment.objects.get()
    assert (place.current.revision, place.blind_id) == (2, place.current_id)
    assert RoundItem.objects.get().n_raters == 1 and RoundRater.objects.get().n_finished == 1
    assert take(head + "a,bob,1,fault,crash\n", dimensions=["kind", "symptom"]).n_unchanged == 1


def test_some_of_the_rows_again_change_nothing_and_the_report_counts_new_ratings_apart() -> None:
    make.study(text=make.FAULTS)
    head, asked = "item,rater,round,kind,symptom\n", {"dimensions": ["kind", "symptom"]}
    first = take(head + "a,bob,1,fault,crash\nb,bob,1,fault,\n", **asked)
    assert (first.n_ratings, first.n_ratings_unchanged) == (3, 0)
    before = everything()
    some = take(head + "a,bob,1,fault,\n", **asked)
    assert everything() == before and some.refusals == []
    assert (some.n_unchanged, some.n_ratings, some.n_ratings_unchanged) == (1, 0, 1)
    more = take(head + "a,bob,1,fault,crash\nb,bob,1,fault,hang\n", **asked)
    assert (more.refusals, more.n_ratings, more.n_ratings_unchanged) == ([], 1, 3)
    assert len(take(head + "a,bob,1,fault,hang\n", **asked).refusals) == 1


def test_rows_that_contradict_what_a_rater_said_are_refused() -> None:
    head = "item,rater,round,dimension,value\n"
    take(head + "a,bob,1,s,x\nb,bob,1,s,y\n", create=True)
    before = everything()
    report = take(head + "a,bob,1,s,y\n")
    assert [refusal.line for refusal in report.refusals] == [2] and "not replaced" in report.refusals[0].reason
    assert everything() == before


def test_what_a_rater_submitted_here_is_not_completed_by_a_sheet() -> None:
    note = "  - {key: note, title: Note, kind: text, required: false}\n"
    round_ = make.open_round(make.study(text=make.SYMPTOMS + note), 1)
    make.rate(round_, "item bob carol\n1 slow slow")
    report = take("item,rater,round,symptom,note\nacme/rocket#1,bob,1,slow,hm\n", dimensions=["symptom", "note"])
    assert len(report.refusals) == 1 and Annotation.objects.count() == 2


def test_a_later_final_value_is_a_further_revision_but_never_over_a_decision_made_here() -> None:
    study = make.study()
    head = "item,rater,round,dimension,value\n"
    take(head + "a,bob,1,symptom,crash\na,carol,1,symptom,hang\na,final,1,symptom,hang\nb,bob,1,symptom,hang\n")
    take(head + "a,final,1,symptom,slow\n")
    assert verdicts()["a", 1, "symptom"] == ("resolved", "differ", ("slow",))
    seat = make.owner_seat(study)
    expected = Resolution.objects.get(revision=2).public_id
    item = Item.objects.get(identifier="a")
    Round.objects.update(state="resolving")
    resolve(
        seat=seat,
        round_=get_round(seat, 1),
        item=item,
        part=1,
        dimension="symptom",
        values=["crash"],
        expected=expected,
    )
    report = take(head + "a,final,1,symptom,hang\n")
    assert [refusal.line for refusal in report.refusals] == [2]
    assert verdicts()["a", 1, "symptom"] == ("resolved", "differ", ("crash",))


def test_one_more_rater_joins_a_round_that_is_over() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 hang hang")
    take("item,rater,round,dimension,value\nacme/rocket#1,model,1,symptom,crash\nacme/rocket#2,model,1,symptom,slow\n")
    assert verdicts() == {
        ("#1", 1, "symptom"): ("agreed", None, ("crash",)),
        ("#2", 1, "symptom"): ("open", "differ", None),
    }
    assert list(RoundItem.objects.values_list("n_raters", flat=True)) == [3, 3]
    assert set(Assignment.objects.filter(rater__name="model").values_list("slot", flat=True)) == {3}


def test_rows_for_an_open_round_fill_what_waits_and_say_nothing_of_what_is_there() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    make.submit(round_, "carol", 2, {"symptom": ["hang"]})
    head = "item,rater,round,dimension,value\n"
    same, other = (
        take(head + f"acme/rocket#1,carol,1,symptom,{value}\n").refusals[0].reason for value in ("hang", "slow")
    )
    assert same == other and Annotation.objects.count() == 2
    report = take(head + "acme/rocket#1,bob,1,symptom,hang\nacme/rocket#1,final,1,symptom,hang\n")
    assert [refusal.line for refusal in report.refusals] == [3] and report.rounds[0].state == "open"
    assert Assignment.objects.get(rater__user__username="bob", item__identifier="acme/rocket#1").slot in {1, 2}
    assert take(head + "acme/rocket#2,bob,1,symptom,slow\n").rounds[0].state == "resolving"
    assert set(RoundItem.objects.values_list("n_raters", flat=True)) == {2}


@pytest.mark.django_db(transaction=True)
def test_a_submit_in_the_round_that_rows_come_in_for_is_counted_too() -> None:
    study = make.study()
    round_ = make.open_round(study, 2)
    bob, place = make.seat(study, "bob"), make.assignment(round_, "bob", 2).public_id

    def bring_in() -> None:
        try:
            take("item,rater,round,dimension,value\nacme/rocket#1,bob,1,symptom,crash\n")
        finally:
            connection.close()

    coming = threading.Thread(target=bring_in)
    with transaction.atomic():
        submit_annotation(seat=bob, assignment=place, body={"labels": {"symptom": ["hang"]}})
        coming.start()
        wait_until_someone_waits_for_a_lock()
    coming.join()
    assert RoundRater.objects.get(rater=make.member(study, "bob")).n_finished == 2


def test_rows_for_a_draft_round_are_refused() -> None:
    study = make.study()
    make.issues(1)
    rounds.create_round(
        seat=make.owner_seat(study), asked=rounds.NewRound(raters=["bob", "carol"], issues=["acme/rocket#1"])
    )
    report = take("item,rater,round,dimension,value\nacme/rocket#1,bob,1,symptom,crash\n")
    assert "draft" in report.refusals[0].reason and not Annotation.objects.exists()


def test_only_the_owner_imports_into_a_study() -> None:
    make.study()
    with pytest.raises(Forbidden):
        take(long("item bob\n1 crash"), owner="ada")
    make.user("mallory")
    with pytest.raises(NotFound):
        take(long("item bob\n1 crash"), owner="mallory")


def test_a_sheet_of_another_study_is_refused_as_a_whole() -> None:
    make.study()
    with pytest.raises(Invalid, match=r"colour.*symptom"):
        take(long("item bob\n1 red", dimension="colour"))
    assert not Round.objects.exists()


def test_an_import_is_noted_in_the_audit_without_any_value() -> None:
    take(long("item bob\n1 crash"), create=True)
    detail = AuditEvent.objects.get(verb="ratings imported").detail
    assert detail["file"] == "sheet.csv" and detail["ratings"] == 1 and "crash" not in json.dumps(detail)


# Kinds of files, and the command


def test_a_part_sent_alone_later_is_that_part_and_not_the_first() -> None:
    study = make.study()
    head = "item,rater,round,part,dimension,value\n"
    take(
        head + "a,bob,1,1,symptom,crash\na,bob,1,2,symptom,hang\na,carol,1,1,symptom,crash\na,carol,1,2,symptom,slow\n"
    )
    take(head + "a,model,1,2,symptom,hang\na,final,1,2,symptom,slow\n")
    assert list(Rating.objects.filter(round__study=study, rater__name="model").values_list("part", flat=True)) == [2]
    assert list(Resolution.objects.filter(round__study=study).values_list("part", flat=True)) == [2]


def test_a_sheet_of_which_everything_is_refused_leaves_the_study_as_it_was() -> None:
    study = make.study()
    before = (study.rounds.count(), study.items.count(), study.memberships.count(), study.audit_events.count())
    report = import_ratings(
        user=make.user("olga"), study="study", file=b"item,rater,dimension,value\na#1,eve,symptom,krash\n"
    )
    assert (report.n_ratings, len(report.refusals), report.rounds) == (0, 1, [])
    assert before == (
        study.rounds.count(),
        study.items.count(),
        study.memberships.count(),
        study.audit_events.count(),
    )


def test_a_round_of_which_everything_is_refused_is_not_made_and_the_others_arrive() -> None:
    study = make.study()
    sheet = b"round,item,rater,dimension,value\n1,a#1,eve,symptom,crash\n2,a#1,eve,symptom,krash\n"
    report = import_ratings(user=make.user("olga"), study="study", file=sheet)
    assert [each.number for each in report.rounds] == [1]
    assert list(study.rounds.values_list("number", flat=True)) == [1]


# Blindness


def reports(*rows: str) -> list[dict[str, Any]]:
    """What an owner is told of each row in a sheet of its own, over REST, taken back afterwards."""
    found = []
    for row in rows:
        with transaction.atomic():
            olga = Script("olga")
            sheet = f"item,rater,round,symptom\n{row}\n"
            path = "/api/v1/studies/study/ratings/?dimensions=symptom"
            answer = olga.client.post(path, sheet, content_type="text/csv", headers=olga.headers)
            found.append(answer.json())
            transaction.set_rollback(True)
    return found


def owner_who_rates() -> Study:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    return study


ROWS = ("1,bob,1,crash", "1,bob,1,hang", "1,bob,1,nonsense", "1,carol,1,crash", "1,final,1,crash", "2,bob,1,crash")


def test_an_import_tells_an_owner_who_rates_nothing_of_what_others_said() -> None:
    study = owner_who_rates()
    round_ = make.open_round(study, 2, raters=("olga", "bob", "carol"), raters_per_item=3)
    rows = [f"acme/rocket#{row}" for row in ROWS]
    before = reports(*rows)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "carol", 1, {"symptom": ["hang"]})
    assert reports(*rows) == before
    assert {each["n_ratings"] + each["n_unchanged"] + each["n_resolutions"] for each in before} == {0}
    assert all("are hidden from you for now" in each["refusals"][0]["reason"] for each in before)


def test_an_import_tells_a_third_rater_nothing_of_the_item_that_they_owe() -> None:
    """Olga is asked about item 1 and not about item 2."""
    worlds = []
    for first, second in (("crash", "hang"), ("hang", "slow")):
        with transaction.atomic():
            study = owner_who_rates()
            round_ = make.open_round(study, 2, raters=("bob", "carol"))
            make.rate(round_, f"item bob carol\n1 {first} {second}\n2 crash hang")
            Assignment.objects.create(
                round=round_, item=make.assignment(round_, "bob", 1).item, rater=make.member(study, "olga"), position=1
            )
            worlds.append(reports(*(f"acme/rocket#{row}" for row in ROWS[:5])))
            assert reports("acme/rocket#2,bob,1,crash")[0]["n_unchanged"] == 1
            transaction.set_rollback(True)
    assert worlds[0] == worlds[1]
    assert all("are hidden from you for now" in each["refusals"][0]["reason"] for each in worlds[0])


def test_an_import_marks_who_could_read_answers_that_were_given_here() -> None:
    study = make.study()
    members.add_member(seat=make.owner_seat(study), username=make.user("ada").username, roles=["adjudicator"])
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["hang"]})
    head = "item,rater,round,dimension,value\n"
    report = take(head + "acme/rocket#1,olga,1,symptom,hang\nacme/rocket#1,carol,1,symptom,hang\n")
    joined = RoundRater.objects.get(round=round_, rater__user__username="olga")
    assert (joined.unblinded, report.unblinded) == (True, [joined.rater.code])
    assert Assignment.objects.get(rater=joined.rater).blind is None
    assert Assignment.objects.get(rater__user__username="carol", item__identifier="acme/rocket#1").blind is not None
    facts = methods(make.seat(study, "ada"), resamples=0)
    assert (facts.waves[0].unblinded, facts.waves[0].n_from_sheets) == ([joined.rater.code], 1)


def test_what_a_sheet_adds_of_a_rater_who_read_the_others_is_not_blind() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 hang crash\n2 crash crash")
    Item.objects.create(study=study, identifier="acme/rocket#9")
    for path in ("labels", "ratings"):
        assert Script("bob").send("GET", f"studies/study/{path}/?round=1").status_code == 200
    head = "item,rater,round,dimension,value\n"
    sheet = head + "".join(f"acme/rocket#9,{rater},1,symptom,hang\n" for rater in ("bob", "carol"))
    report = take(sheet + "acme/rocket#2,bob,1,symptom,crash\n")
    bob = make.member(study, "bob")
    assert (report.unblinded, report.n_unchanged) == ([bob.code], 1)
    given = Assignment.objects.filter(round=round_, item__identifier="acme/rocket#9")
    assert {each.rater.code: (each.blind is not None, each.unblinded) for each in given} == {
        bob.code: (False, True),
        make.member(study, "carol").code: (True, False),
    }
    assert not RoundRater.objects.filter(unblinded=True).exists()
    assert Assignment.objects.get(rater=bob, item__identifier="acme/rocket#2").blind is not None
    assert take(sheet).unblinded == []


@pytest.mark.parametrize("is_open", [False, True])
def test_who_read_labels_of_an_item_elsewhere_is_not_blind_in_what_a_sheet_adds_while_a_round_is_resolved(
    is_open: bool,
) -> None:
    study = make.study(raters=("bob", "carol", "dan", "eve", "finn"))
    make.rate(make.open_round(study, 2, raters=("bob", "carol")), "item bob carol\n1 hang crash\n2 crash crash")
    dan = make.member(study, "dan")
    assert Script("dan").send("GET", "studies/study/labels/?round=1").status_code == 200
    second = make.open_round(study, 3, raters=("eve", "finn"))
    make.rate(second, "item eve finn\n1 hang crash\n2 crash crash")
    if not is_open:
        make.rate(second, "item eve finn\n3 hang hang")
    head = "item,rater,round,dimension,value\n"
    report = take(head + "".join(f"acme/rocket#{n},dan,2,symptom,hang\n" for n in (1, 3)))
    given = {each.item.identifier[-1]: each for each in Assignment.objects.filter(round=second, rater=dan)}
    assert {n: (each.blind is not None, each.unblinded) for n, each in given.items()} == {
        "1": (is_open, not is_open),
        "3": (True, False),
    }
    assert report.unblinded == ([] if is_open else [dan.code])
    assert not RoundRater.objects.filter(unblinded=True).exists()


def test_who_read_labels_of_an_item_elsewhere_is_not_blind_in_a_round_that_came_with_a_sheet() -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    head = "item,rater,round,dimension,value\n"
    take(long("item bob carol\n1 hang crash\n2 hang crash"))
    dan = make.member(study, "dan")
    assert Script("dan").send("GET", "studies/study/labels/?round=1").status_code == 200
    assert take(head + "acme/rocket#1,dan,1,symptom,hang\n").unblinded == []  # those labels came with a sheet, too
    make.rate(make.open_round(study, 1, first=2), "item bob carol\n2 hang crash")
    assert Script("dan").send("GET", "studies/study/labels/?round=2").status_code == 200
    assert take(head + "acme/rocket#2,dan,1,symptom,hang\n").unblinded == [dan.code]
    given = Assignment.objects.filter(rater=dan, round__number=1).order_by("item__identifier")
    assert [(each.blind is not None, each.unblinded) for each in given] == [(True, False), (False, True)]


@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING])
@pytest.mark.parametrize("second", ["crash", "hang"])
def test_a_new_round_stays_open_to_decisions_while_an_item_of_it_is_in_a_round_under_way(
    second: str, state: str
) -> None:
    study = make.study(raters=("bob", "carol", "otto", "pia"))
    round_ = make.open_round(study, 1, first=9)
    if state == Round.State.RESOLVING:
        make.rate(round_, "item bob carol\n9 crash hang")
    take(long(f"item otto pia\n9 crash {second}\n11 slow slow"))
    for name in ("bob", "rea", "olga"):
        told = Script(name).send("GET", "studies/study/rounds/2/").json()
        assert (told["state"], told["closed_at"]) == ("resolving", None)
    take(
        long("item otto pia\n12 slow slow").replace("dimension,", "round,dimension,").replace(",symptom", ",3,symptom")
    )
    assert Script("bob").send("GET", "studies/study/rounds/3/").json()["state"] == "closed"


@pytest.mark.parametrize("second", ["crash", "hang"])
@pytest.mark.parametrize("is_asked", [False, True])
def test_the_state_of_a_new_round_shows_nothing_of_items_in_a_resolving_round_of_another_sheet(
    is_asked: bool, second: str
) -> None:
    study = make.study(raters=("dan", "otto", "pia"))
    take(long("item otto pia\n1 crash hang\n2 hang crash\n3 slow slow"))
    if is_asked:
        asked = {"round": 1, "item": "acme/rocket#2", "rater": "dan"}
        assert Script("olga").send("POST", "studies/study/third-raters/", asked).status_code == 201
    for number in (1, 2, 9):
        rows = f"acme/rocket#{number},otto,more{number},symptom,crash\nacme/rocket#{number},pia,more{number},symptom,"
        value = "crash" if number == 9 else second
        (found,) = take(f"item,rater,round,dimension,value\n{rows}{value}\n").rounds
        assert found.state == ("closed" if number == 9 else "resolving")
        assert study.rounds.get(number=found.number).state == found.state


def test_rounds_of_one_sheet_do_not_keep_each_other_from_being_closed() -> None:
    make.study(raters=("otto", "pia"))
    rows = ["item,rater,round,dimension,value"]
    for number, label in ((1, 1), (1, 2), (2, 3)):
        for name in ("otto", "pia"):
            value = "hang" if (label, name) == (1, "otto") else "crash"
            rows.append(f"acme/rocket#{number},{name},{label},symptom,{value}")
    assert [each.state for each in take("\n".join(rows) + "\n").rounds] == ["resolving", "closed", "closed"]


def with_category(text: str, *, dry_run: bool = False) -> ImportReport:
    """As the page imports it where “segfault” is to become a category of the symptom."""
    olga = make.user("olga")
    plan = plan_import(user=olga, study="study", file=text.encode(), options=SheetOptions())
    added = [("symptom", "segfault")]
    return import_sheet(user=olga, study="study", sheet=plan.sheet, added=added, dry_run=dry_run)


def test_no_value_of_a_sheet_becomes_a_category_while_a_third_rater_is_to_answer_its_item() -> None:
    make.study(raters=("dan", "otto", "pia"))
    take(long("item otto pia\n1 crash hang\n2 hang crash"))
    asked = {"round": 1, "item": "acme/rocket#2", "rater": "dan"}
    assert Script("olga").send("POST", "studies/study/third-raters/", asked).status_code == 201
    head = "item,rater,round,dimension,value\n"
    assert with_category(f"{head}acme/rocket#1,otto,more,symptom,segfault\n", dry_run=True).n_ratings == 1
    with pytest.raises(Conflict, match="not closed"):
        with_category(f"{head}acme/rocket#2,otto,more,symptom,segfault\n")


def test_no_category_is_published_for_rows_of_rounds_that_exist() -> None:
    study = make.study(raters=("bob", "carol", "otto", "pia"))
    take("item,rater,round,dimension,value\nacme/rocket#9,otto,old,symptom,slow\nacme/rocket#9,pia,old,symptom,crash\n")
    make.open_round(study, 2, raters=("bob", "carol"), first=9)
    with pytest.raises(Conflict, match="keep their version"):
        with_category(
            "item,rater,round,dimension,value\nacme/rocket#9,pia,old,symptom,crash\nacme/rocket#9,otto,old,symptom,segfault\n"
        )
    with pytest.raises(Conflict, match="not closed"):
        with_category(
            "item,rater,round,dimension,value\nacme/rocket#9,otto,old,symptom,segfault\nacme/rocket#30,otto,more,symptom,hang\n"
        )
    assert (study.taxonomy.versions.count(), study.rounds.count()) == (1, 2)


@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED])
def test_the_state_of_a_new_round_does_not_show_whether_a_relabeling_queue_holds_its_item(state: str) -> None:
    study = make.study(raters=("bob", "carol", "otto"))
    make.rate(make.open_round(study, 3), "item bob carol\n1 hang hang\n2 slow slow\n3 slow slow")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    make.next_version(study, make.HANG_SPLIT)
    make.worklist(study, 2, "item asked raters\n1 symptom bob", state=state)
    states = []
    for number, name in ((1, "a"), (2, "b"), (9, "c")):
        text = f"item,rater,round,dimension,value\nacme/rocket#{number},otto,{name},symptom,slow\n"
        states += [each.state for each in take(text).rounds]
    is_over = state == Round.State.CLOSED
    assert states == ["closed" if is_over else "resolving", "closed" if is_over else "resolving", "closed"]


@pytest.mark.parametrize("state", [Round.State.OPEN, Round.State.RESOLVING, Round.State.CLOSED])
def test_no_value_of_a_sheet_becomes_a_category_while_an_item_of_it_is_in_a_round_under_way(state: str) -> None:
    study = make.study(raters=("bob", "carol", "otto"))
    round_ = make.open_round(study, 1, first=9)
    if state != Round.State.OPEN:
        make.rate(round_, "item bob carol\n9 crash crash")
    if state == Round.State.CLOSED:
        rounds.close_round(seat=make.owner_seat(study), number=1)
    text = "item,rater,round,dimension,value\nacme/rocket#9,otto,old,symptom,segfault\n"
    if state == Round.State.CLOSED:
        assert with_category(text).n_ratings == 1
    else:
        with pytest.raises(Conflict, match="not closed"):
            with_category(text)
    n_made = int(state == Round.State.CLOSED)
    assert (study.taxonomy.versions.count(), study.rounds.count()) == (1 + n_made, 1 + n_made)


def test_who_rates_blind_is_told_no_meaning_that_others_gave_to_values_of_their_sheets() -> None:
    study = make.study(raters=("bob", "carol"))
    for name in ("olga", "mia"):
        roles = ["owner", "rater"] if name == "olga" else ["owner"]
        members.add_member(seat=make.owner_seat(study), username=make.user(name).username, roles=roles)
    make.open_round(study, 2, raters=("bob", "olga"), first=9)
    reader = ValueReader(published_version(study.taxonomy.versions.get().pk))
    for name, spelling, meaning in (("mia", "2", "hang"), ("olga", "1", "crash")):
        keep_spellings(make.seat(study, name), reader, {("symptom", spelling): meaning})
    head = "item,rater,round,dimension,value\n"
    assert take(f"{head}acme/rocket#9,bob,1,symptom,2\n", owner="mia").n_ratings == 1
    seen = {name: set(decided_spellings(make.seat(study, name))) for name in ("mia", "olga")}
    assert seen == {"mia": {("symptom", "1"), ("symptom", "2")}, "olga": {("symptom", "1")}}
    report = take(f"{head}acme/rocket#30,carol,2,symptom,1\nacme/rocket#31,carol,2,symptom,2\n")
    assert (report.n_ratings, report.n_refused) == (1, 1)


@pytest.mark.parametrize("reads", [True, False])
def test_who_joins_by_a_sheet_after_they_could_read_other_sheets_is_not_blind_in_concord(reads: bool) -> None:
    study = make.study(raters=("bob", "carol", "dan"))
    owner = make.owner_seat(study)
    round_ = make.open_round(study, 3, raters=("bob", "carol"), raters_per_item=2, mode="pool")
    head = "item,rater,round,dimension,value\n"
    take(f"{head}acme/rocket#1,bob,1,symptom,crash\n")
    if reads:
        members.add_member(seat=owner, username="dan", roles=["adjudicator"])
        assert Script("dan").send("GET", "studies/study/ratings/?round=1").json()["results"]
        members.add_member(seat=owner, username="dan", roles=["rater"])
    assert take(f"{head}acme/rocket#2,dan,1,symptom,hang\n").unblinded == []
    dan = Script("dan")
    asked = dan.send("GET", "studies/study/rounds/1/next/").json()
    answer = {"assignment": asked["assignment"], "labels": {"symptom": ["crash"]}}
    assert dan.send("POST", "studies/study/annotations/", answer).status_code == 201
    given = Assignment.objects.filter(rater=make.member(study, "dan"))
    by_item = {each.item.identifier[-1]: each.blind is not None for each in given}
    assert by_item.pop("2") and list(by_item.values()) == [not reads]
    assert RoundRater.objects.get(round=round_, rater__user__username="dan").unblinded is reads


def test_an_owner_whose_answers_come_in_with_a_second_sheet_stays_as_blind_as_the_others() -> None:
    take(long("item bob\n1 hang\n2 hang"), create=True)
    report = take(
        long("item olga\n1 crash\n2 hang").replace("dimension,", "round,dimension,").replace(",symptom", ",1,symptom")
    )
    assert report.unblinded == [] and not RoundRater.objects.filter(unblinded=True).exists()
