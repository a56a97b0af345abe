"""The headline: one number of all finished main rounds of the newest version, the same on every page and file."""

import io
import json
import re
from html import unescape
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from agreement import CLUSTERED, Clusters, Patterns, krippendorff_alpha, one_coefficient, share_reaching
from agreement import clusters as clusters_module
from annotation.agreement_report.actions import fix_headline
from annotation.agreement_report.queries.coefficients import of_rounds
from annotation.agreement_report.queries.headline import headline_set
from annotation.core.access import get_whole_study
from annotation.core.errors import Conflict, Invalid
from annotation.methods import as_text, checklist_as_markdown, rows
from annotation.methods.outline import paragraph
from annotation.methods.queries.methods import methods
from annotation.models import AuditEvent, Round, Study
from annotation.package.queries.results import agreement_document
from annotation.rounds.actions import rounds
from annotation.rounds.actions.drafts import remove_draft
from tests import builders as make
from tests.annotation.core.test_api import Caller

pytestmark = pytest.mark.django_db

PILOT = "item bob carol\n1 crash hang\n2 hang crash\n3 slow slow"
FIRST = "item bob carol\n4 crash crash\n5 hang hang\n6 slow slow\n7 crash hang\n8 slow slow"
SECOND = "item bob carol\n4 crash crash\n5 hang slow\n6 slow slow\n9 crash crash\n10 hang hang"


def three_rounds() -> Study:
    """A pilot and two main rounds, which share three items; all of them finished."""
    study = make.study()
    make.rate(make.open_round(study, 3, kind="pilot"), PILOT)
    make.rate(make.open_round(study, 5, first=4), FIRST)
    again = make.open_round(study, 3, first=4)
    make.rate(again, "\n".join(SECOND.splitlines()[:4]))
    make.rate(make.open_round(study, 2, first=9), "\n".join([SECOND.splitlines()[0], *SECOND.splitlines()[4:]]))
    return study


def drafts(study: Study, *firsts: int, **more: Any) -> list[int]:
    """Draft rounds of two issues each, by number."""
    seat = make.owner_seat(study)
    for first in firsts:
        make.issues(2, first=first)
    made = [
        rounds.create_round(
            seat=seat,
            asked=rounds.NewRound(
                raters=["bob", "carol"],
                raters_per_item=2,
                issues=[f"acme/rocket#{first}", f"acme/rocket#{first + 1}"],
                **more,
            ),
        )
        for first in firsts
    ]
    return [each.number for each in made]


def text_of(name: str, path: str) -> str:
    client = Client()
    client.force_login(make.user(name))
    body = client.get(path).content.decode()
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", body.partition("<main")[2])))


def pooled() -> Patterns:
    lines = [line.split()[1:] for line in (FIRST + SECOND.partition("carol")[2]).splitlines()[1:] if line.strip()]
    return Patterns.from_table(lines, categories=["crash", "hang", "slow"])


def test_the_headline_is_all_finished_main_rounds_of_the_newest_version() -> None:
    study = three_rounds()
    seat = make.owner_seat(study)
    assert headline_set(seat).numbers == [2, 3, 4]
    (line,) = of_rounds(seat, headline_set(seat).rounds, is_headline=True)
    assert line.value == pytest.approx(krippendorff_alpha(pooled(), intervals=False).value)
    assert line.units == 10
    Round.objects.filter(number=4).update(state=Round.State.OPEN)
    assert headline_set(make.owner_seat(study)).numbers == [2, 3]


@pytest.mark.slow
def test_overview_agreement_page_paragraph_checklist_package_and_rest_give_the_same_number() -> None:
    study = three_rounds()
    seat = make.owner_seat(study)
    (line,) = of_rounds(seat, headline_set(seat).rounds, is_headline=True)
    assert line.value is not None and line.ci_low is not None
    value = f"{line.value:.2f}"
    (whole,) = of_rounds(seat, list(study.rounds.select_related("taxonomy_version")))
    assert f"{whole.value:.2f}" != value
    overview, page = text_of("olga", "/studies/study/"), text_of("olga", "/studies/study/agreement/")
    interval = f"[{line.ci_low:.2f}, {line.ci_high:.2f}]"
    for text in (overview, page):
        assert value in text and interval in text, text
        assert "in rounds 2 to 4 (version 1): all finished main rounds of the newest version that has one" in text
    assert re.search(r"Round 1 version 1, pilot .* Round 2 version 1 .* Round 4 version 1", page)
    facts = methods(get_whole_study("study"))
    said = as_text(paragraph(facts))
    assert "Agreement is reported for rounds 2 to 4, all finished main rounds under version 1 of the taxonomy." in said
    assert f"Krippendorff’s α = {value}, 95% CI {interval}, n = 10 units, 2 raters." in said
    assert "with all parts of an item, in all rounds, as one cluster" in said
    assert f"{line.value:.3f}" in checklist_as_markdown(facts)
    assert [row.cells[2] for row in rows(facts)] == ["1", "2", "3", "4", "headline"]
    answer = Caller("olga").get("studies/study/agreement/?round=headline").json()
    assert [(each["headline"], each["rounds"], each["round"]) for each in answer] == [(True, [2, 3, 4], None)]
    alpha = next(each for each in answer[0]["coefficients"] if each["name"] == "krippendorff_alpha")
    assert (alpha["value"], alpha["ci_low"], alpha["ci_method"]) == (line.value, line.ci_low, CLUSTERED)
    document = agreement_document(seat, lambda step: None)
    of_package = [each for each in document["entries"] if each["headline"]]
    assert len(of_package) == 1
    stored = next(each for each in of_package[0]["coefficients"] if each["name"] == "krippendorff_alpha")
    assert stored["value"] == line.value and stored["ci_low"] == line.ci_low
    out = io.StringIO()
    call_command("agreement", "study", "--round", "headline", "--json", stdout=out)
    (entry,) = json.loads(out.getvalue())
    assert entry["headline"] is True and entry["rounds"] == [2, 3, 4]


def test_which_question_was_asked_first_does_not_tell_which_one_is_the_headline() -> None:
    three_rounds()
    olga = Caller("olga")
    for _ in range(2):
        for words, is_headline in (("&metric=jaccard", False), ("", True)):
            found = olga.get(f"studies/study/agreement/?round=headline{words}").json()
            assert [each["headline"] for each in found] == [is_headline], words


def test_without_a_round_everything_is_pooled_as_before_and_is_no_headline() -> None:
    three_rounds()
    olga = Caller("olga")
    for words in ("", "?round=1", "?round=2", "?round=headline&when=after", "?round=headline&parts=single"):
        assert [each["headline"] for each in olga.get(f"studies/study/agreement/{words}").json()] == [False], words
    assert olga.get("studies/study/agreement/").json()[0]["rounds"] == [1, 2, 3, 4]


def test_an_item_that_recurs_is_one_cluster_of_the_interval() -> None:
    study = three_rounds()
    seat = make.owner_seat(study)
    (line,) = of_rounds(seat, headline_set(seat).rounds, is_headline=True)
    a, b, c = ("crash", "crash"), ("hang", "hang"), ("slow", "slow")
    clusters = Clusters.of(pooled(), [[a, a], [b, ("hang", "slow")], [c, c]])
    assert clusters.counts.sum() == 7 and (clusters.counts @ clusters.members).sum() == 10
    found = one_coefficient(pooled(), "krippendorff_alpha", kind="single", clusters=clusters)
    assert (line.ci_low, line.ci_high, line.se) == (found.ci_low, found.ci_high, found.se)
    by_unit = one_coefficient(pooled(), "krippendorff_alpha", kind="single")
    assert by_unit.value == found.value and by_unit.ci_low != found.ci_low
    assert line.reached_share == share_reaching(pooled(), "krippendorff_alpha", 0.8, kind="single", clusters=clusters)
    drawn = [krippendorff_alpha(each, intervals=False).value for each in resampled(clusters)]
    share = share_reaching(pooled(), "krippendorff_alpha", 0.8, kind="single", clusters=clusters, resamples=20)
    assert share == pytest.approx(sum(value >= 0.8 for value in drawn) / 20) and 0 < share < 1


def test_the_parts_of_an_item_are_one_cluster_in_a_round_and_in_rounds_together() -> None:
    study = make.study()
    round_ = make.open_round(study, 6)
    alike, apart = ("crash", "crash"), ("hang", "slow")
    items = [[apart, apart, apart], [alike, alike], [("slow", "slow")], [alike], [("hang", "hang")], [("hang", "hang")]]
    for number, units in enumerate(items, start=1):
        for place, name in enumerate(("bob", "carol")):
            parts = [{"labels": {"symptom": [unit[place]]}} for unit in units]
            make.submit(round_, name, number, parts=parts)
    patterns = Patterns.from_table([unit for own in items for unit in own], categories=["crash", "hang", "slow"])
    expected = one_coefficient(patterns, "krippendorff_alpha", kind="single", clusters=Clusters.of(patterns, items))
    assert expected.se and expected.se > 1.3 * (one_coefficient(patterns, "krippendorff_alpha", kind="single").se or 0)
    for words in ("?round=1", ""):
        (entry,) = Caller("olga").get(f"studies/study/agreement/{words}").json()
        alpha = next(each for each in entry["coefficients"] if each["name"] == "krippendorff_alpha")
        found = (alpha["value"], alpha["se"], alpha["ci_low"], alpha["ci_high"], alpha["ci_method"])
        assert found == (expected.value, expected.se, expected.ci_low, expected.ci_high, CLUSTERED), words
        assert entry["units"] == 9
    (line,) = of_rounds(make.owner_seat(study), [round_])
    assert (line.se, line.ci_low, line.ci_method) == (expected.se, expected.ci_low, CLUSTERED)
    assert line.reached_share == share_reaching(
        patterns, "krippendorff_alpha", 0.8, kind="single", clusters=Clusters.of(patterns, items)
    )


def resampled(clusters: Clusters) -> list[Patterns]:
    """The first few resamples of clusters, written out."""
    counts, whole = next(clusters.resampled(20, 0)).astype(int), pooled()
    return [Patterns(whole.values, each, whole.categories, whole.raters) for each in counts]


def test_only_the_share_of_resamples_at_the_threshold_draws_any(monkeypatch: pytest.MonkeyPatch) -> None:
    study, n_drawn, drawing = three_rounds(), [], clusters_module.resampled_counts
    monkeypatch.setattr(clusters_module, "resampled_counts", lambda *given: n_drawn.append(1) or drawing(*given))
    (line,) = of_rounds(make.owner_seat(study), headline_set(make.owner_seat(study)).rounds[:1])
    assert line.reached_share is not None and len(n_drawn) == 1


def test_a_study_without_a_finished_main_round_has_no_headline_and_no_other_number_in_its_place() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3, kind="pilot"), PILOT)
    make.open_round(study, 2, first=4)
    overview = text_of("olga", "/studies/study/")
    assert "The headline appears when labeling in a main round is finished." in overview
    assert "Krippendorff" not in overview
    assert Caller("olga").get("studies/study/agreement/?round=headline").json() == []
    said = as_text(paragraph(methods(get_whole_study("study"))))
    assert "[missing: the agreement of the study; no main round is finished]" in said
    assert "α =" not in said and "was 0" not in said


def test_a_newer_version_takes_the_headline_once_one_of_its_main_rounds_is_finished() -> None:
    study = three_rounds()
    draft = make.taxonomy_actions.new_draft(user=study.created_by, taxonomy=study.taxonomy, text=make.SYMPTOMS)
    make.taxonomy_actions.publish_version(user=study.created_by, version=draft)
    newer = make.open_round(study, 2, first=20, taxonomy_version=2)
    assert headline_set(make.owner_seat(study)).numbers == [2, 3, 4]
    make.rate(newer, "item bob carol\n20 crash crash\n21 hang hang")
    assert headline_set(make.owner_seat(study)).numbers == [5]


def test_the_owner_fixes_another_set_before_its_rounds_open_and_pages_show_who_and_when() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3, kind="pilot"), PILOT)
    first, second, third = drafts(study, 4, 6, 8)
    olga = Caller("olga")
    answer = olga.patch("studies/study/", {"headline": [second, third]})
    assert answer.status_code == 200
    assert answer.json()["headline"] == {
        "rounds": [],
        "waiting": [second, third],
        "fixed": [second, third],
        "fixed_by": make.user("olga").display_name,
        "fixed_at": answer.json()["headline"]["fixed_at"],
    }
    for number, start in ((first, 4), (second, 6)):
        opened = rounds.open_round(seat=make.owner_seat(study), number=number, unregistered=True)
        make.rate(opened, f"item bob carol\n{start} crash crash\n{start + 1} hang hang")
    found = headline_set(make.owner_seat(study))
    assert (found.numbers, [each.number for each in found.waiting]) == ([second], [third])
    for path in ("", "agreement/"):
        text = text_of("olga", f"/studies/study/{path}")
        assert "the set that olga fixed on" in text and f"Round {third} belongs to it and is not finished." in text
    assert AuditEvent.objects.get(verb="headline fixed").detail == {"rounds": [second, third]}
    said = as_text(paragraph(methods(get_whole_study("study"))))
    assert f"Agreement is reported for round {second}, chosen by an owner of the study on" in said
    with pytest.raises(Conflict) as late:
        fix_headline(seat=make.owner_seat(study), rounds=[third])
    assert late.value.code == "headline_fixed"
    with pytest.raises(Conflict):
        remove_draft(seat=make.owner_seat(study), number=third)


def test_settings_fix_the_headline_and_refuse_what_is_no_main_round() -> None:
    study = make.study()
    _, second = drafts(study, 4, 6)
    (pilot,) = drafts(study, 8, kind="pilot")
    client = Client()
    client.force_login(make.user("olga"))
    page = client.get("/studies/study/settings/").content.decode()
    assert 'name="headline"' in page
    sent = {"title": "Study", "resolve_when": "round", "headline": [str(second)]}
    assert client.post("/studies/study/settings/", sent).status_code == 302
    assert headline_set(make.owner_seat(study)).fixed == [second]
    for wrong in ([pilot], [99], ["2"], [True]):
        with pytest.raises(Invalid):
            fix_headline(seat=make.owner_seat(study), rounds=wrong)
    fix_headline(seat=make.owner_seat(study), rounds=[])
    assert headline_set(make.owner_seat(study)).fixed == ()
    assert AuditEvent.objects.filter(verb="headline fixed").count() == 2
