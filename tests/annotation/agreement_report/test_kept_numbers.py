"""Numbers that are kept: the same as computed anew, changed at once with what they rest on, and never shown stale."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from annotation.agreement_report.queries import across_rounds
from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement, of_rounds, report
from annotation.core.access import get_round, get_whole_study
from annotation.imports.actions.ratings import import_ratings
from annotation.labels.answers import digest
from annotation.labels.queries.cached_statistics import COMPUTATION, cached, plain, standings
from annotation.models import Membership, Round, RoundItem, RoundRater, Study
from annotation.resolving.actions.part_matches import match_parts
from annotation.rounds.actions.raters import withdraw_rater
from tests import builders as make
from tests.annotation.agreement_report.test_result_pages import visitor
from tests.asserts import assert_queries
from tests.scripts import Script

ASKED = AgreementQuery(resamples=20)
TABLE = """
    item  bob    carol
    1     crash  crash
    2     crash  hang
    3     hang   hang
"""


@contextmanager
def watched() -> Iterator[Callable[[], int]]:
    """Tells how many queries of the block read patterns."""
    with CaptureQueriesContext(connection) as captured:
        yield lambda: sum("array_agg" in query["sql"] for query in captured)


def numbers(study: Study, **asked: Any) -> list[dict[str, Any]]:
    seat = get_whole_study(study.slug)
    return agreement(seat, visible_rounds(seat), replace(ASKED, **asked), round_number=None)


def changed_at_once(study: Study, change: Callable[[], object], **asked: Any) -> bool:
    """Whether the numbers are others right after a change; they are always those computed without a cache."""
    before = numbers(study, **asked)
    assert numbers(study, **asked) == before
    change()
    after = numbers(study, **asked)
    cache.clear()
    assert numbers(study, **asked) == after
    return before != after


@pytest.fixture
def rated(db: None) -> Round:
    study = make.study(raters=("bob", "carol", "dan"))
    return make.rate(make.open_round(study, 4), TABLE)


def test_what_was_computed_before_is_told_without_reading_patterns(rated: Round) -> None:
    first = numbers(rated.study)
    seat, rounds = get_whole_study(rated.study.slug), [rated]
    with assert_queries(2), watched() as n_read:  # the raters, what has come to count
        again = agreement(seat, rounds, ASKED, round_number=None)
    assert (again, n_read()) == (first, 0)


def test_page_rest_overview_and_trend_read_nothing_twice(rated: Round) -> None:
    client = visitor("olga")
    client.get("/studies/study/agreement/")
    seat = get_whole_study(rated.study.slug)
    with watched() as n_read:
        client.get("/studies/study/agreement/")
        of_rounds(seat, [rated])
        agreement(seat, [rated], AgreementQuery(dimension="symptom"), round_number=None)
    assert n_read() == 0


def test_each_question_has_numbers_of_its_own(rated: Round) -> None:
    make.submit(rated, "bob", 4, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    make.submit(rated, "carol", 4, {"symptom": ["slow"]})
    asked = [
        {},
        {"resamples": 0},
        {"slice": replace(ASKED.slice, pending="left_out")},
        {"slice": replace(ASKED.slice, when="after")},
        {"level": "root"},
    ]
    warm = [numbers(rated.study, **each) for each in asked]
    assert [numbers(rated.study, **each) for each in asked] == warm
    assert warm[0] != warm[1] and warm[0] != warm[2]
    for each, found in zip(asked, warm, strict=True):
        cache.clear()
        assert numbers(rated.study, **each) == found


def test_an_answer_changes_the_numbers_at_once(rated: Round) -> None:
    make.submit(rated, "bob", 4, {"symptom": ["slow"]})
    assert changed_at_once(rated.study, lambda: make.submit(rated, "carol", 4, {"symptom": ["hang"]}))


def test_a_changed_answer_changes_them_and_a_skip_takes_its_own_away(rated: Round) -> None:
    assert changed_at_once(rated.study, lambda: make.submit(rated, "bob", 1, {"symptom": ["slow"]}))
    assert changed_at_once(rated.study, lambda: make.submit(rated, "bob", 1, skip="not in English"))


def test_what_is_said_in_discussion_changes_what_stands_after_it_and_not_before(rated: Round) -> None:
    make.rate(rated, "item bob carol\n4 slow slow")
    after = {"slice": replace(ASKED.slice, when="after")}
    assert changed_at_once(rated.study, lambda: make.submit(rated, "bob", 2, {"symptom": ["hang"]}), **after)
    assert not changed_at_once(rated.study, lambda: make.submit(rated, "bob", 3, {"symptom": ["crash"]}))


def test_matched_bugs_change_them(rated: Round) -> None:
    labels = [{"labels": {"symptom": [key]}} for key in ("crash", "hang")]
    make.submit(rated, "bob", 4, parts=labels)
    make.submit(rated, "carol", 4, parts=labels[::-1])
    item = rated.study.items.get(identifier="acme/rocket#4")
    seat = make.seat(rated.study, "ada")
    assert changed_at_once(
        rated.study, lambda: match_parts(seat=seat, round_=rated, item=item, rater="R2", parts=[2, 1])
    )


def test_an_item_marked_as_training_leaves_them(rated: Round) -> None:
    place = RoundItem.objects.filter(round=rated, position=2)
    assert changed_at_once(rated.study, lambda: place.update(known={"parts": []}))


def test_an_import_into_the_round_changes_them(rated: Round) -> None:
    make.rate(rated, "item bob carol\n4 slow slow")
    sheet = b"item,rater,dimension,value,round\nacme/rocket#1,dan,symptom,hang,1"
    owner = rated.study.created_by
    assert changed_at_once(rated.study, lambda: import_ratings(user=owner, study=rated.study.slug, file=sheet))


def test_a_withdrawn_rater_leaves_numbers_as_they_are_without_a_cache(rated: Round) -> None:
    changed_at_once(rated.study, lambda: withdraw_rater(seat=make.owner_seat(rated.study), number=1, rater="R2"))


def test_another_primary_coefficient_and_another_code_change_them(rated: Round) -> None:
    seat = get_whole_study(rated.study.slug)
    (before,) = of_rounds(seat, [rated])
    seat.study.primary = {"symptom": {"coefficient": "percent_agreement", "threshold": 0.5}}
    (after,) = of_rounds(seat, [rated])
    assert (before.coefficient, after.coefficient, after.threshold) == ("krippendorff_alpha", "percent_agreement", 0.5)
    entry = numbers(rated.study)[0]
    Membership.objects.filter(study=rated.study, code="R2").update(code="R9")
    assert entry["by_pair"][0]["raters"] == ["R1", "R2"]
    assert numbers(rated.study)[0]["by_pair"][0]["raters"] == ["R1", "R9"]


def test_what_rests_on_more_than_answers_is_computed_anew_when_that_changes(rated: Round) -> None:
    given = iter(range(10))
    standing = standings([rated])

    def told(also: int) -> int:
        return cached("test", [rated], standing, {"a": 1}, lambda: next(given), also=also)

    assert [told(1), told(1), told(2), told(2), told(1)] == [0, 0, 1, 1, 2]


def test_a_question_that_is_no_plain_value_is_refused() -> None:
    assert plain({"b": (1, {"y", "x"})}) == [["b", [1, ["x", "y"]]]]
    with pytest.raises(TypeError):
        plain(object())


def test_without_a_cache_the_numbers_are_the_same(rated: Round, settings: Any) -> None:
    warm = numbers(rated.study)
    gone = {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/valkey.sock"}
    settings.CACHES = {"default": gone}
    assert numbers(rated.study) == warm


def test_revisions_are_never_used_twice(rated: Round) -> None:
    def revision() -> int:
        return RoundRater.objects.get(round=rated, rater__code="R1").revision

    seen = [revision()]
    with transaction.atomic():
        make.submit(rated, "bob", 1, {"symptom": ["slow"]})
        seen.append(revision())
        transaction.set_rollback(True)
    assert revision() == seen[0]
    make.submit(rated, "bob", 1, {"symptom": ["hang"]})
    assert seen[0] < seen[1] < revision()


@pytest.mark.django_db(transaction=True)
def test_what_commits_while_numbers_are_computed_is_shown_at_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    round_ = make.rate(make.open_round(make.study(), 4), TABLE)
    make.submit(round_, "bob", 4, {"symptom": ["slow"]})
    read = across_rounds.patterns

    def read_and_wait(*given: Any, **more: Any) -> Any:
        found = read(*given, **more)
        other = threading.Thread(target=submit)
        other.start()
        other.join()
        return found

    def submit() -> None:
        make.submit(round_, "carol", 4, {"symptom": ["hang"]})
        connection.close()

    monkeypatch.setattr(across_rounds, "patterns", read_and_wait)
    assert numbers(round_.study)[0]["units"] == 3
    monkeypatch.setattr(across_rounds, "patterns", read)
    assert numbers(round_.study)[0]["units"] == 4


@pytest.mark.django_db(transaction=True)
def test_what_is_not_committed_is_neither_shown_nor_kept() -> None:
    round_ = make.rate(make.open_round(make.study(), 4), TABLE)
    make.submit(round_, "bob", 4, {"symptom": ["slow"]})
    with transaction.atomic():
        make.submit(round_, "carol", 4, {"symptom": ["hang"]})
        assert numbers(round_.study)[0]["units"] == 4
        transaction.set_rollback(True)
    assert numbers(round_.study)[0]["units"] == 3
    make.submit(round_, "carol", 4, {"symptom": ["slow"]})
    assert numbers(round_.study)[0]["coefficients"][0]["value"] == 0.75


def test_the_report_of_a_page_is_the_same_from_the_cache(rated: Round) -> None:
    seat = get_whole_study(rated.study.slug)
    first, again = (report(seat, [rated], [rated], ASKED, round_number=None) for _ in range(2))
    assert [(each.headline, each.entry, each.trend) for each in first] == [
        (each.headline, each.entry, each.trend) for each in again
    ]


COMPUTED = {14: "a1174d2823b0b77b4e7413e68dc329c8f3f2e436ac2579cc8b139fa60bea27ef"}
"""By version of the computation, a digest of the numbers that it gives for the study below."""
QUESTIONS = (
    "agreement/?round=1",
    "agreement/?round=1&pending=left_out&parts=aligned",
    "agreement/?round=1&version=2",
    "analysis/counts/?dimension=symptom",
    "analysis/crosstab/?rows=kind&columns=symptom",
    "labels/?round=1",
)


def leaves(told: Any) -> Iterator[float | str]:
    """The numbers of answers, rounded so that every processor gives the same, and the values of labels."""
    if isinstance(told, dict):
        for name, each in told.items():
            if name not in ("words", "n_resamples"):
                yield from leaves(each) if name != "labels" else [str(each)]
    elif isinstance(told, list):
        for each in told:
            yield from leaves(each)
    elif isinstance(told, int | float) and not isinstance(told, bool):
        yield round(told, 6) + 0.0


@pytest.mark.slow
def test_numbers_are_those_of_the_version_of_the_computation(db: None) -> None:
    """What answers are read, matched and migrated by has a say: parts, conditions, sets, a proposal, a new version."""
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 6)
    answers: dict[tuple[str, int], Any] = {
        (name, number): {"kind": ["fault"], "symptom": [symptom], "fixes": fixes, "distributed": number % 2 == 0}
        for name, symptoms in (("bob", "crash hang slow crash"), ("carol", "crash slow slow hang"))
        for number, symptom in enumerate(symptoms.split(), start=1)
        for fixes in [["config", "code"][: 1 + number % 2]]
    }
    for (name, number), labels in answers.items():
        make.submit(round_, name, number, labels)
    parts = [{"labels": {**answers["bob", 1], "symptom": [symptom]}} for symptom in ("crash", "slow")]
    make.submit(round_, "bob", 5, parts=parts)
    make.submit(round_, "carol", 5, parts=parts[::-1])
    make.submit(round_, "bob", 6, {"kind": ["how-to"]})
    make.submit(round_, "carol", 6, {"kind": ["fault"], "symptom": ["hang"], "fixes": [], "distributed": False})
    match_parts(
        seat=make.owner_seat(study),
        round_=get_round(make.owner_seat(study), 1),
        item=RoundItem.objects.get(item__identifier="acme/rocket#5").item,
        rater="R2",
        parts=[2, 1],
    )
    make.next_version(study, make.FAULTS.replace("{key: hang, name: Hang}", "{key: stall, name: Stall, was: [hang]}"))
    script = Script("olga")
    told = [script.send("GET", f"studies/study/{each}").json() for each in QUESTIONS]
    assert not [each for each in told if "code" in each]
    assert digest(list(leaves(told))) == COMPUTED.get(COMPUTATION), (
        "The same answers give other numbers now: raise COMPUTATION in annotation/labels/queries/cached_statistics.py, "
        "so that kept numbers are computed again, and write its digest here."
    )


def test_another_version_of_the_computation_or_of_concord_computes_again(
    rated: Round, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    first = numbers(rated.study)
    for change in (
        lambda: monkeypatch.setattr("annotation.labels.queries.cached_statistics.COMPUTATION", 0),
        lambda: setattr(settings, "CONCORD_VERSION", "99"),
    ):
        change()
        with watched() as n_read:
            assert numbers(rated.study) == first
        assert n_read() > 0
