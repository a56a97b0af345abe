"""The words for a paper, of studies in which an earlier version of them was false."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from django.core.management import call_command

from annotation.agreement_report.actions import fix_headline
from annotation.assignments.jobs import rule_round
from annotation.choosing.actions.samples import draw_sample, screen_items
from annotation.core.access import get_item, get_round, get_whole_study
from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions.leaving import remove_member
from annotation.members.actions.members import add_member, set_member
from annotation.methods import ChecklistItem, Facts, RoundFacts, SampleFacts, as_text, checklist, latex
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import Resolution, RoundItem, Study
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions import resolutions as resolution_actions
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.rounds.actions.drafts import return_to_draft
from annotation.rounds.actions.raters import add_rater, withdraw_rater
from annotation.studies.actions.studies import change_study, register_primary
from annotation.transfer.actions.life import duplicate_study
from tests import builders as make
from tests.annotation.claims.checker import Checker
from tests.annotation.claims.studies import SPLIT, exported
from tests.annotation.claims.test_claims import complaints

pytestmark = pytest.mark.django_db


LABELED = RoundFacts(1, "main", 1, False, False, 60, ("R1", "R2"), n_answers=120)
NOTHING = Facts(study="Faults", taxonomy="Symptoms", software="Concord 0.1.0")


def of_sheet(*lines: str, dimensions: str = "symptom", slug: str = "sheet", **more: Any) -> Study:
    """A study of a long sheet, whose lines after item and rater are values by dimension."""
    import_ratings(
        user=make.user("olga"),
        study=slug,
        file="\n".join([f"item,rater,{dimensions}", *lines]).encode(),
        name="sheet.csv",
        dimensions=dimensions.split(","),
        **({"create": True} | more),
    )
    return Study.objects.get(slug=slug)


def told(study: Study) -> Facts:
    return methods(get_whole_study(study.slug), resamples=0)


def said(facts: Facts) -> str:
    return as_text(paragraph(facts))


def checks(facts: Facts) -> dict[str, ChecklistItem]:
    return {each.key: each for each in checklist(facts)}


ALIKE = [f"i{number},{rater},{'crash' if number % 2 else 'hang'}" for number in range(4) for rater in ("bob", "carol")]


def test_a_registration_is_before_the_import_and_nobody_knows_when_a_sheet_was_labeled() -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.667}})
    of_sheet(*ALIKE, slug=study.slug, create=False)
    facts = told(study)
    assert "before labels were imported from sheets. [missing: whether Symptom had been labeled in" in said(facts)
    assert "before labeling began" not in said(facts)
    check = checks(facts)["fixed"]
    assert check.answer == "partly" and "before labels were imported from sheets: Symptom on" in check.evidence
    made = exported(study)
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, waves=[replace(each, n_from_sheets=0) for each in facts.waves]))
    moved = replace(facts, waves=[replace(each, n_from_sheets=0, is_imported=True) for each in facts.waves])
    assert ", before labeling began, as the file of the imported study states." in said(moved)
    assert checks(moved)["fixed"].answer == "partly"
    chosen = replace(moved, headline_fixed_on=date(2020, 1, 1))
    assert "on 1 January 2020, before it was opened, as the file of the imported study states." in said(chosen)


def test_different_proposals_are_one_category_and_the_words_say_so(client: Any) -> None:
    given = ["a,x,x", "b,y,y", "c,PENDING: Build,PENDING: Performance", "d,PENDING: Build,PENDING: Licence"]
    lines = [f"{item},{rater},{value}" for item, *both in (line.split(",") for line in given)
             for rater, value in zip(("ann", "bo"), both, strict=True)]  # fmt: skip
    study = of_sheet(*lines)
    facts = told(study)
    assert facts.dimensions[0].before.value == 1.0
    assert (
        "Raters made 4 proposals for new categories. In agreement, all proposals on a dimension are one category: two "
        "different proposals for a unit agree." in said(facts)
    )
    client.force_login(study.created_by)
    page = client.get(f"/studies/{study.slug}/agreement/").content.decode()
    assert "No disagreements." not in page and "All proposals count as one category" in page
    made = exported(study)
    assert complaints(made.rows, made.facts) == []


SEVERITY = """\
title: Severity
slug: severity
dimensions:
  - key: severity
    title: Severity
    kind: ordinal
    categories: [{key: low, name: Low}, {key: middle, name: Middle}, {key: high, name: High}]
"""


def test_an_alpha_of_an_order_names_the_units_that_it_rests_on() -> None:
    study = make.study(text=SEVERITY)
    table = "item bob carol\n1 low low\n2 middle middle\n3 high high\n4 low middle\n5 low PENDING\n6 PENDING PENDING"
    make.rate(make.open_round(study, 6), table, "severity")
    made = exported(study)
    words = "Krippendorff’s α on Severity rests on 4 of these 6 units, because a proposal is no level of its scale."
    assert words in said(made.facts)
    checker = Checker(made.rows)
    checker.sentences(words)
    assert checker.complaints == []
    checker.sentences(words.replace("4", "5"))
    assert checker.complaints


def test_a_blank_answer_is_told_as_a_label_that_does_not_count() -> None:
    study = of_sheet(*[f"i{n},{rater},x,{'' if rater == 'bo' else 'low'}" for n in range(3) for rater in ("ann", "bo")],
                     dimensions="symptom,severity")  # fmt: skip
    made = exported(study)
    severity = made.facts.dimensions[1]
    assert (severity.before.units, severity.left_out) == (0, [("one_sided", 3)])
    words = said(made.facts)
    assert "[missing: agreement on Severity; no unit has two labels that count]" in words
    assert "3 units were excluded because only one label on the dimension counts." in words
    assert complaints(made.rows, made.facts) == []


def test_without_a_headline_the_checklist_still_has_what_was_labeled() -> None:
    study = make.study(primary={"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}})
    make.rate(make.open_round(study, 3, kind="pilot"), "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    facts = told(study)
    found = {key: check.evidence for key, check in checks(facts).items()}
    assert (
        found["raters"] == "No main round is finished. Within a round, two or more raters labeled 3 of 3 items (100%)."
    )
    assert found["anomalies"] == found["below"] == "No main round is finished."
    assert found["more_raters"].startswith("Labels of at most 2 raters were compared")
    assert found["thresholds"] == "Symptom: threshold 0.80, and no main round is finished."
    made = exported(study)
    assert complaints(made.rows, made.facts) == []


def test_a_headline_that_is_fixed_to_a_later_round_is_named_where_another_is_finished() -> None:
    study = make.study(slug="study")
    make.issues(4)
    first, second = (
        rounds.create_round(
            seat=make.owner_seat(study),
            asked=rounds.NewRound(raters=["bob", "carol"], raters_per_item=2, issues=[f"acme/rocket#{number}"]),
        )
        for number in (1, 2)
    )
    fix_headline(seat=make.owner_seat(study), rounds=[second.number])
    make.rate(
        rounds.open_round(seat=make.owner_seat(study), number=first.number, unregistered=True),
        "item bob carol\n1 crash crash",
    )
    made = exported(study)
    assert "[missing: the agreement of the study; round 2, fixed as the headline, is not finished]" in said(made.facts)
    assert checks(made.facts)["statistic"].mend == "Finish round 2."
    assert complaints(made.rows, made.facts) == []


def test_training_items_count_once_and_only_where_they_were_labeled() -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    make.issues(9)
    for first, (one, other) in ((1, ("bob", "carol")), (2, ("dave", "erin"))):
        known = {"acme/rocket#9": {"labels": {"symptom": ["crash"]}, "why": ""}}
        round_ = make.open_round(study, 1, first=first, known=known, raters=(one, other))
        assert told(study).n_training == first - 1
        make.submit(round_, other, 9, skip="not in English")
        assert told(study).n_training == first - 1
        make.submit(round_, one, 9, {"symptom": ["crash"]})
        make.rate(round_, f"item {one} {other}\n{first} crash crash")
        assert told(study).n_training == 1
    made = exported(study)
    assert "One item with known labels was labeled for training." in said(made.facts)
    assert complaints(made.rows, made.facts) == []


def test_items_that_one_of_two_raters_had_labeled_are_not_claimed_for_both() -> None:
    study = make.study(raters=("bob", "carol", "dave"))
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    make.rate(make.open_round(study, 2, raters=("carol", "dave")), "item carol dave\n1 crash crash\n2 crash hang")
    facts = told(study)
    assert "Two items had been labeled in an earlier round by at least one of the same raters." in said(facts)


def test_items_of_a_sample_that_are_named_again_were_drawn() -> None:
    study = make.study()
    make.issues(5)
    sample = draw_sample(seat=make.owner_seat(study), size=3, seed=1, filter={"repository": "acme/rocket"})
    first = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=["bob", "carol"], raters_per_item=2, sample=sample.pk, n_items=2),
    )
    round_ = rounds.open_round(seat=make.owner_seat(study), number=first.number, unregistered=True)
    names = RoundItem.objects.filter(round=round_).values_list("item__identifier", flat=True)
    numbers = sorted(int(each.rpartition("#")[2]) for each in names)
    make.rate(round_, "item bob carol\n" + "\n".join(f"{number} crash crash" for number in numbers))
    last = int(sample.drawn.order_by("-position")[0].issue.identifier.rpartition("#")[2])
    for again in (numbers[0], last):
        make.rate(make.open_round(study, 1, first=again), f"item bob carol\n{again} crash hang")
    assert told(study).n_by_hand == 0
    make.rate(make.open_round(study, 1, first=9), "item bob carol\n9 crash crash")
    made = exported(study)
    assert made.facts.n_by_hand == 1
    assert complaints(made.rows, made.facts) == []


def test_issues_of_several_samples_and_places_that_nobody_took_are_told(client: Any) -> None:
    study = make.study()
    make.issues(9)
    seat = make.owner_seat(study)
    for size in (3, 6):
        sample = draw_sample(seat=seat, size=size, seed=1, filter={"repository": "acme/rocket"})
        asked = rounds.NewRound(
            raters=["bob", "carol"], raters_per_item=2, sample=sample.pk, n_items=3, double_share=0.5
        )
        number = rounds.create_round(seat=seat, asked=asked).number
        rounds.open_round(seat=make.owner_seat(study), number=number, unregistered=True)
    for each in get_round(seat, 2).assignments.select_related("rater__user", "item"):
        number = int(each.item.identifier.rpartition("#")[2])
        make.submit(get_round(seat, 2), each.rater.user.username, number, {"symptom": ["crash"]})
    n_left = get_round(seat, 1).assignments.count()
    withdraw_rater(seat=seat, number=1, rater="R2")
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    client.force_login(study.created_by)
    assert "2 for 2 items, 1 for 1 item<" in client.get(f"/studies/{study.slug}/rounds/1/").content.decode()
    made = exported(study, resamples=10)
    both = [set(sample.drawn.values_list("issue", flat=True)) for sample in study.samples.all()]
    assert made.facts.n_in_several_samples == len(both[0] & both[1]) > 1
    assert " issues are in more than one of these samples and count in each." in said(made.facts)
    were = "was" if n_left == 1 else "were"
    assert f"In round 1, {n_left} unfinished assignment{'s' * (n_left > 1)} {were} withdrawn." in said(made.facts)
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, n_in_several_samples=1))
    assert complaints(made.rows, replace(made.facts, n_in_several_samples=0))


def test_a_census_is_called_so_and_uneven_strata_are_told() -> None:
    census = SampleFacts(None, 60, 60, 7, "state", "equal", per_stratum=(7, 13))
    assert said(replace(NOTHING, waves=[LABELED], drawn=[census])).startswith(
        "Sixty issues were selected, which is the whole frame, in random order (seed 7). The draw was stratified by "
        "state with equal allocation, as far as the strata allowed (7 to 13 issues from each)."
    )
    by_fix = replace(census, stratify_by="fix_lines", allocation="proportional")
    assert "stratified by the lines that fixes changed with" in said(
        replace(NOTHING, waves=[LABELED], drawn=[by_fix])
    ).replace("\n", " ")
    of_each = said(replace(NOTHING, waves=[LABELED], drawn=[replace(by_fix, is_of_each=True)])).replace("\n", " ")
    assert "changed with proportional allocation, and at least one issue of each stratum." in of_each
    even = replace(census, size=20, per_stratum=(6, 7))
    assert "by state with equal allocation. " in said(replace(NOTHING, waves=[LABELED], drawn=[even])).replace(
        "\n", " "
    )


def test_a_disagreement_that_a_closed_round_left_open_is_told() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 crash hang\n3 slow hang")
    item = get_item(make.seat(study, "ada"), "acme/rocket#2")
    place: dict[str, Any] = {"round_": round_, "item": item, "part": 1, "dimension": "symptom", "expected": None}
    resolution_actions.resolve(seat=make.seat(study, "ada"), values=["crash"], rationale="as the log says", **place)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    made = exported(study)
    assert "One disagreement was resolved: 1 by adjudication." in said(made.facts)
    assert "One disagreement was left unresolved." in said(made.facts)
    assert checks(made.facts)["resolved"].answer == "partly"
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, n_unresolved=0, n_disputed=0, decided=()))


def test_where_nobody_disagreed_nothing_is_missing() -> None:
    made = exported(of_sheet(*ALIKE))
    assert "There was no disagreement to resolve." in said(made.facts)
    assert [checks(made.facts)[key].answer for key in ("resolved", "discussed")] == ["not needed"] * 2
    assert complaints(made.rows, made.facts) == []


def test_of_labels_from_a_sheet_nobody_knows_what_was_asked_and_discussed_before(client: Any, capsys: Any) -> None:
    study = make.study(text=ONCE)
    lines = [f"i{n},{rater},fault,{'build' if (n, rater) == (0, 'bob') else 'code'}" for n in range(3)
             for rater in ("bob", "carol")]  # fmt: skip
    of_sheet(
        *lines,
        "i3,bob,other,",
        "i3,carol,other,",
        "i4,bob,other,",
        dimensions="kind,cause",
        slug=study.slug,
        create=False,
    )
    made = exported(study, resamples=10)
    text = said(made.facts)
    for words in (
        "By the taxonomy, Cause applies only where an earlier label calls for it; it was compared where both raters",
        "Agreement on Cause was Krippendorff’s α = ",
        "[missing: whether raters worked independently in round 1, imported from sheets, and labeled before any",
        "For Kind, 1 unit was excluded because only one label on the dimension counts.",
    ):
        assert words in text, text
    assert "before discussion" not in text + latex(made.facts)
    client.force_login(study.created_by)
    for page in ("", "agreement/"):
        assert "before discussion" not in client.get(f"/studies/{study.slug}/{page}").content.decode(), page
    call_command("agreement", study.slug)
    assert "cause: round 1 (the headline), 3 units by 2 raters" in (shell := capsys.readouterr().out), shell
    assert complaints(made.rows, made.facts) == []
    blind = [replace(each, n_from_sheets=0) for each in made.facts.waves]
    assert complaints(made.rows, replace(made.facts, waves=blind))


def test_an_item_with_two_raters_in_two_rounds_had_one_in_each() -> None:
    study = make.study()
    for name in ("bob", "carol"):
        make.rate(make.open_round(study, 2, raters=(name,)), f"item {name}\n1 crash\n2 hang")
    made = exported(study)
    assert "Within a round, two or more raters labeled 0 of 2 items (0%)." in said(made.facts)
    assert checks(made.facts)["single_rater"].evidence == "2 items had a single rater in every round."
    assert checks(made.facts)["cycles"].evidence == "2 rounds under version 1."
    assert "No labels of different raters were compared." in checks(made.facts)["more_raters"].evidence
    assert "no disagreement to resolve" not in said(made.facts)
    assert complaints(made.rows, made.facts) == []


def test_a_blank_row_makes_nobody_a_rater_and_no_item_labeled() -> None:
    made = exported(of_sheet(*ALIKE, "i9,zoe,"))
    assert (made.facts.n_items, len(made.facts.raters), made.facts.waves[0].n_items) == (4, 2, 4)
    assert "4 items labeled by 2 raters" in made.readme
    assert complaints(made.rows, made.facts) == [] == Checker(made.rows).readme(made.readme)


def test_a_dimension_without_a_label_is_not_named_as_labeled() -> None:
    study = make.study(text=make.FAULTS)
    make.rate(make.open_round(study, 2), "item bob carol\n1 how-to how-to\n2 how-to how-to", "kind")
    made = exported(study, resamples=10)
    none = "No label was given on Symptom, Fix patterns and Only distributed."
    assert f"on 1 dimension (Kind of issue, one of 2 categories). {none}" in said(made.facts)
    assert checks(made.facts)["properties"].evidence == (f"1 dimension: Kind of issue (one of 2 categories). {none}")
    assert complaints(made.rows, made.facts) == []


def test_the_labels_of_third_raters_are_told_apart() -> None:
    study = make.study(raters=("bob", "carol", "dave"))
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    item = get_item(make.seat(study, "ada"), "acme/rocket#2")
    ask_third_rater(seat=make.seat(study, "ada"), rater="R3", round_=round_, item=item)
    make.submit(round_, "dave", 2, {"symptom": ["crash"]})
    made = exported(study)
    assert "As a third rater, R3 labeled 1 item; agreement excludes these labels." in said(made.facts)
    assert "2 items labeled by 3 raters" in made.readme
    assert complaints(made.rows, made.facts) == [] == Checker(made.rows).readme(made.readme)


def test_a_relabeling_round_and_the_version_of_dimensions_are_named() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.next_version(study, make.SYMPTOMS)
    made = make.worklist(study, 2, "item asked raters\n1 symptom bob,carol")
    make.rate(made, "item bob carol\n1 crash hang")
    facts = told(study)
    words = "One item was relabeled in round 2 under version 2 of the taxonomy; agreement excludes these labels."
    assert words in said(facts)
    assert checks(facts)["cycles"].evidence == f"There is one pilot or main round with labels. {words}"


def test_relabeling_and_screening_are_told_apart_from_what_pilot_and_main_rounds_did() -> None:
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    seat = make.owner_seat(study)
    make.issues(1)
    sample = draw_sample(seat=seat, size=1, filter={"repository": "acme/rocket"})
    asked: dict[str, Any] = {"kind": "screening", "reasons": ["Spam"], "raters": ["bob", "carol"]}
    rounds.create_round(seat=seat, asked=rounds.NewRound(**asked, sample=sample.pk, n_items=1))
    screening = rounds.open_round(seat=seat, number=1)
    make.submit(screening, "bob", 1, {"screening": ["in"]})
    make.submit(screening, "carol", 1, {"screening": ["out"], "screening-reason": ["spam"]})
    resolve(study, 1, "screening", ["in"])
    rounds.close_round(seat=seat, number=1)
    change_study(seat=seat, changes={"third_rater": True})
    chosen = ["in", "unscreened"]
    labeled = make.open_round(study, 3, raters=("dave", "erin"), screening=chosen)
    make.rate(labeled, "item dave erin\n1 hang hang\n2 crash crash\n3 slow hang")
    rule_round(labeled.pk)
    resolve(study, 2, "symptom", ["crash"], item=3)
    rounds.close_round(seat=seat, number=2)
    make.next_version(study, SPLIT)
    plan_jobs.work(run_plan(seat=seat, plan=preview_plan(seat=seat, to=2)).pk)
    assert "The 3 agreed labels were migrated to version 2 of the taxonomy; 1 of them has no" in said(told(study))
    relabeling = get_round(make.owner_seat(study), 3)
    for who, number, value in (("dave", 1, "early"), ("erin", 1, "late"), ("erin", 3, "early")):
        make.submit(relabeling, who, number, {"symptom": [value]})
    resolve(study, 3, "symptom", ["late"])
    rounds.close_round(seat=make.owner_seat(study), number=3)
    later = make.open_round(study, 2, first=30, raters=("bob", "carol"), screening=chosen)
    make.rate(later, "item bob carol\n30 early early\n31 late late")
    made = exported(study)
    for words in (
        "Third raters received 1 request to label an item, by the study’s rule for items on which raters disagree; "
        "1 was withdrawn unanswered.",
        "One disagreement in pilot and main rounds was resolved: 1 by adjudication.",
        "In screening round 1, 1 disagreement was resolved: 1 by adjudication. "
        "In relabeling round 3, 1 disagreement was resolved: 1 by adjudication.",
        "The 2 agreed labels that were not given in relabeling were migrated to version 2 of the taxonomy; none of "
        "them lacks a value in that version; relabeling gave 1 other agreed label.",
    ):
        assert words in said(made.facts), said(made.facts)
    found = checks(made.facts)
    assert found["raters"].evidence.startswith(
        "Symptom: 4 raters (R1, R2, R3 and R4), of whom 2 (R1 and R2) were compared in round 4. "
    )
    assert found["more_raters"].answer == "yes" and found["more_raters"].evidence == (
        "At most 4 raters labeled a dimension. Labels of at most 2 raters were compared on a dimension in round 4."
    )
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, resolved_elsewhere=()))
    assert complaints(made.rows, replace(made.facts, n_third_withdrawn=0))
    assert made.facts.migrated is not None
    assert complaints(made.rows, replace(made.facts, migrated=replace(made.facts.migrated, n_relabeled=0)))
    only = [replace(each, raters=each.before.raters) for each in made.facts.dimensions]
    assert complaints(made.rows, replace(made.facts, dimensions=only))


def resolve(study: Study, number: int, dimension: str, values: list[str], *, item: int = 1) -> None:
    seat = make.seat(study, "ada")
    resolution_actions.resolve(
        seat=seat,
        round_=get_round(seat, number),
        item=get_item(seat, f"acme/rocket#{item}"),
        part=1,
        dimension=dimension,
        values=values,
        rationale="as the log says",
        expected=None,
    )


ONCE = """
slug: causes
title: Causes
dimensions:
  - key: kind
    title: Kind
    kind: single
    categories: [{key: fault, name: Fault}, {key: other, name: Other}]
  - key: cause
    title: Cause
    kind: single
    applies_when: {dimension: kind, is: [fault]}
    categories: [{key: code, name: Code}, {key: build, name: Build}]
"""
LEVEL = """\
  - key: level
    title: Level
    kind: ordinal
    required: false
    categories: [{key: low, name: Low}, {key: high, name: High}]
"""


def test_what_was_registered_is_told_though_the_dimension_changed_and_a_late_rule_is_dated() -> None:
    own = {"coefficient": "krippendorff_alpha", "threshold": 0.6}
    kappa = {"coefficient": "cohen_kappa", "threshold": 0.6}
    weighted = {"coefficient": "weighted_kappa", "threshold": 0.6, "weights": "linear", "reason": "ordered levels"}
    text = ONCE + LEVEL + LEVEL.replace("level", "first").replace("Level", "First")
    study = make.study(text=text, primary={"kind": kappa, "cause": own, "level": weighted, "first": kappa})
    seat = make.owner_seat(study)
    change_study(seat=seat, changes={"applies": "both"})  # as it was
    round_ = make.open_round(study, 3, kind="pilot")
    for number, values in ((1, ("code", "code")), (2, ("build", "code")), (3, ("build", "build"))):
        for who, value in zip(("bob", "carol"), values, strict=True):
            make.submit(round_, who, number, {"kind": ["fault"], "cause": [value]})
    rounds.close_round(seat=seat, number=1, leave_open=True)
    text = text.replace("title: Cause\n    kind: single", "title: Cause\n    kind: multi")
    make.next_version(study, text.replace("title: Level\n    kind: ordinal", "title: Level\n    kind: single"))
    later = make.open_round(study, 2, first=20)
    for number, values in ((20, ("code", "build")), (21, ("code", "code"))):
        for who, value in zip(("bob", "carol"), values, strict=True):
            make.submit(later, who, number, {"kind": ["fault"], "cause": [value]})
    assert "this rule was chosen on" not in said(told(study))
    change_study(seat=make.owner_seat(study), changes={"applies": "either"})
    made = exported(study)
    today = f"{made.facts.dimensions[0].fixed_on:%-d %B %Y}"
    for words in (
        f"For Cause, Krippendorff’s α (nominal metric) with a threshold of 0.60 was registered on {today}, before "
        "labeling began. After that, version 2 of the taxonomy changed the answers to Cause from one of the categories "
        "to any of the categories. From version 2 on, agreement is not computed as registered, but as Krippendorff’s α "
        "(MASI distance) of the new answers.",
        f"For Level, weighted κ (linear weights) with a threshold of 0.60 was registered on {today}, before labeling "
        "began. After that, version 2 of the taxonomy changed the answers to Level from one of the levels in an order "
        "to one of the categories. From version 2 on, weighted κ as registered is not computed, because the answers "
        "have no order.",
        f"For Kind and First, Cohen’s κ with a threshold of 0.60 was registered on {today}, before labeling began. ",
        f"“does not apply” being the other rater’s label; this rule was chosen on {today}, after labeling had begun.",
    ):
        assert words in said(made.facts), said(made.facts)
    assert checks(made.facts)["fixed"].answer == "partly" and "was not registered" not in said(made.facts)
    assert "For Level, weighted κ (linear weights) was registered. After that," in checks(made.facts)["fixed"].evidence
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, applies_chosen_on=None))
    for lie in ({"registered": ""}, {"kind_changes": [(3, "single", "multi")]}, {"registered": "weighted κ"}):
        as_now = [replace(each, **(lie if each.registered else {})) for each in made.facts.dimensions]
        assert complaints(made.rows, replace(made.facts, dimensions=as_now)), lie


def test_resolved_disagreements_are_those_that_stand_and_reopened_ones_are_told(client: Any) -> None:
    study = make.study(text=ONCE)
    seat = make.seat(study, "ada")
    round_ = make.open_round(study, 6)
    given = {1: ("fault other", "code"), 2: ("fault fault", "code build"), 3: ("fault fault", "code code"),
             4: ("fault other", "code"), 5: ("other other", ""), 6: ("other other", "")}  # fmt: skip
    for number, (kinds, causes) in given.items():
        for who, kind, cause in zip(("bob", "carol"), kinds.split(), [*causes.split(), "", ""], strict=False):
            make.submit(round_, who, number, {"kind": [kind]} | ({"cause": [cause]} if cause else {}))
    for number in (1, 4, 5, 6):
        resolve(study, 1, "kind", ["fault"], item=number)
    for number in (1, 2, 4, 5):
        resolve(study, 1, "cause", ["build"], item=number)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    alone = make.rate(
        make.open_round(study, 1, first=20, raters=("bob",), raters_per_item=1), "item bob\n20 other", "kind"
    )
    resolve(study, 2, "kind", ["fault"], item=20)
    assert alone.number == 2
    facts = told(study)
    assert (facts.n_reopened, facts.n_moot) == (0, 0)
    for words in (
        "Five disagreements were resolved: 5 by adjudication. Two labels on which raters agreed were replaced by "
        "resolution. Two other labels were given by resolution where fewer than two raters had given one.",
        "One question that no rater had answered was left open.",
    ):
        assert words in said(facts), said(facts)
    assert "left unresolved" not in said(facts) and facts.n_disputed == 5
    for number, key in ((1, "kind"), (2, "cause")):
        place: dict[str, Any] = {"round_": get_round(seat, 1), "item": get_item(seat, f"acme/rocket#{number}")}
        was = Resolution.objects.get(round__number=1, item=place["item"], dimension__key=key)
        resolution_actions.reopen(seat=seat, part=1, dimension=key, expected=was.public_id, **place)
    made = exported(study, resamples=10)
    text = said(made.facts)
    for words in (
        "Two disagreements were resolved: 2 by adjudication.",
        "Two resolutions were reopened and not replaced. One other resolution does not count now: its question does "
        "not apply, or waits for answers or other resolutions.",
        "Two disagreements were left unresolved.",
    ):
        assert words in text, text
    assert "Two resolutions were reopened" in checks(made.facts)["resolved"].evidence
    methods_of = [row["method"] for row in made.rows.tables["labels"] if row["round"] == "1"]
    assert methods_of.count("adjudicator") == 5
    client.force_login(study.created_by)
    assert "2 disagreements resolved so far" in client.get(f"/studies/{study.slug}/rounds/1/resolve/").content.decode()
    assert complaints(made.rows, made.facts) == []
    for lie in (
        {"n_unanswered": 0},
        {"n_unanswered": 2},
        {"n_reopened": 0},
        {"n_moot": 2},
        {"n_reopened": 1, "n_moot": 1},
    ):
        assert complaints(made.rows, replace(made.facts, **lie)), lie


def test_a_proposal_counts_once_and_none_of_a_model() -> None:
    study = make.study()
    make.user("model")
    add_member(seat=make.owner_seat(study), username="model", roles=["rater"], kind="machine", machine={"name": "M"})
    round_ = make.open_round(study, 1, raters=("bob", "carol", "model"), raters_per_item=2)
    asked = {"symptom": {"name": "Leak", "memo": "none fits"}}
    for who, answer in (("model", {}), ("bob", {}), ("carol", {"symptom": ["crash"]}), ("bob", {})):
        make.submit(round_, who, 1, answer, **({} if answer else {"proposals": asked}), memo="")
    made = exported(study, resamples=10)
    assert "Raters made 1 proposal for a new category." in said(made.facts)
    assert complaints(made.rows, made.facts) == []


def test_labeling_began_in_a_round_that_is_hidden_from_the_reader() -> None:
    study = make.study(raters=("bob", "carol", "dave"), text=ONCE)
    make.open_round(study, 1, raters=("carol", "dave"))
    change_study(seat=make.owner_seat(study), changes={"applies": "either"})
    later = make.open_round(study, 1, first=5, raters=("bob", "carol"))
    for who, cause in (("bob", "code"), ("carol", "build")):
        make.submit(later, who, 5, {"kind": ["fault"], "cause": [cause]})
    for name in ("olga", "dave"):
        text = said(methods(make.seat(study, name), resamples=0))
        assert "; this rule was chosen on" in text and "after labeling had begun." in text, (name, text)


def test_a_duplicated_study_does_not_claim_what_is_true_of_its_source() -> None:
    source = make.study()
    make.issues(6)
    seat = make.owner_seat(source)
    sample = draw_sample(seat=seat, size=6, filter={"repository": "acme/rocket"})
    screen_items(seat=seat, screening="out", reason="Spam", sample=sample)
    draw_sample(seat=seat, size=2, filter={"repository": "acme/rocket", "screened_out_of": sample.pk})
    study = duplicate_study(seat=seat, slug="twin", with_items=True)
    seat = make.owner_seat(study)
    for name in ("bob", "carol"):
        add_member(seat=seat, username=name, roles=["rater"])
    register_primary(seat=seat)
    screen_items(seat=seat, screening="in", items=[f"acme/rocket#{number}" for number in range(1, 7)])
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    made = exported(study)
    text = said(made.facts)
    assert made.facts.controls == [] and "before labeling began in this study." in text
    assert "duplicated from another one with 6 items]" in text and checks(made.facts)["independent"].answer == "partly"
    assert "Six items were screened by hand, outside of screening rounds: 6 by 1 person without a rater’s code." in text
    assert complaints(made.rows, made.facts) == []
    assert complaints(made.rows, replace(made.facts, copied_items=0))
    assert complaints(made.rows, replace(made.facts, is_copied=False))
    assert complaints(made.rows, replace(made.facts, by_hand=None))


TEXTS = """
slug: notes
title: Notes
dimensions: [{key: why, title: Why, kind: text}, {key: note, title: Note, kind: text, required: false}]
"""


def test_of_one_rater_nothing_is_said_of_blindness_agreement_or_disagreements() -> None:
    study = make.study(raters=("bob",))
    make.rate(make.open_round(study, 3, raters=("bob",)), "item bob\n1 crash\n2 hang\n3 -")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    facts = told(study)
    assert "could not see" not in said(facts) and "is reported" not in said(facts)
    assert "[missing: the agreement of the study; no unit has two labels that count before discussion]" in said(facts)
    found = checks(facts)
    assert (found["independent"].answer, found["independent"].evidence) == (
        "not needed", "Labels are of one rater alone.",
    )  # fmt: skip
    assert "Concord lists" not in found["materials"].evidence and "The table has" not in found["materials"].evidence


def test_of_free_text_alone_no_agreement_is_claimed_and_none_is_asked_for() -> None:
    study = make.study(text=TEXTS)
    round_ = make.open_round(study, 2)
    for number, other in ((1, "x"), (2, "y")):
        make.submit(round_, "bob", number, {"why": "x"})
        make.submit(round_, "carol", number, {"why": other})
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    made = exported(study)
    assert "the agreement of the raters" not in made.readme and "inter-rater agreement" not in made.readme
    found = checks(made.facts)
    assert (found["raters"].answer, found["raters"].evidence[:20]) == ("yes", "2 raters (R1 and R2)")
    for key in ("statistic", "justified", "thresholds", "anomalies", "fixed", "below"):
        assert (found[key].answer, found[key].evidence) == (
            "not needed", "All dimensions are free text, which has no coefficient.",
        ), key  # fmt: skip


def test_where_everything_was_skipped_no_version_of_the_scheme_is_named() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 - -\n2 - -")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    assert checks(told(study))["materials"].evidence == "Nothing has been labeled yet."


@pytest.mark.parametrize("is_invited_again", [False, True])
def test_labels_of_raters_who_left_the_study_came_from_no_sheet(is_invited_again: bool) -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 hang hang\n3 slow crash")
    rounds.close_round(seat=make.owner_seat(study), number=round_.number, leave_open=True)
    for name in ("bob", "carol"):
        remove_member(seat=make.owner_seat(study), member=make.member(study, name))
        if is_invited_again:
            set_member(seat=make.owner_seat(study), username=name, roles=["rater"])
    made = exported(study, resamples=10)
    (wave,) = made.facts.waves
    assert (wave.n_answers, wave.n_from_sheets) == (6, 0)
    assert "sheet" not in as_text(paragraph(made.facts))
    assert complaints(made.rows, made.facts) == []


def test_who_came_and_left_in_an_opening_that_was_taken_back_is_not_told() -> None:
    study = make.study(raters=("bob", "carol", "eve"))
    make.open_round(study, 4, raters=("bob", "carol"))
    seat = make.owner_seat(study)
    add_rater(seat=seat, number=1, user="eve")
    withdraw_rater(seat=seat, number=1, rater="R2")
    return_to_draft(seat=seat, number=1)
    rounds.open_round(seat=seat, number=1, unregistered=True)
    table = "item bob eve\n1 crash crash\n2 hang hang\n3 hang hang\n4 crash crash"
    make.rate(study.rounds.get(), table)
    found = methods(get_whole_study("study"))
    assert found.turnover == [] and "joined round 1" not in as_text(paragraph(found))
