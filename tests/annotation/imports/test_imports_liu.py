"""Real labels arrive whole: Liu et al., TOSEM 2023, doi 10.1145/3597204."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from agreement import Patterns, cohen_kappa
from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.core.access import get_seat
from annotation.imports.actions.ratings import ImportReport, import_ratings
from annotation.labels.queries.verdicts import read_values, round_verdicts
from annotation.models import Assignment, Membership, Resolution, Round, Study
from taxonomy.queries import published_version
from tests import builders as make
from tests.annotation.stored_rows import everything
from tests.published import LIU

pytestmark = pytest.mark.django_db

COLUMNS = "issue_type,howto_topic,howto_subtopic,distributed_specific,stage,type,leaf_category,fix_pattern"


@pytest.fixture(scope="module")
def liu(django_db_setup: None, django_db_blocker: Any) -> Iterator[ImportReport]:
    """Imported once; what a test does to it is taken back."""
    with django_db_blocker.unblock(), transaction.atomic():
        yield import_liu(create=True)
        transaction.set_rollback(True)


def import_liu(*, create: bool) -> ImportReport:
    with (LIU / "labels_long.csv").open("rb") as file:
        return import_ratings(
            user=make.user("olga"),
            study="liu",
            file=file,
            mapping={"item": "item_url", "part": "unit"},
            dimensions=COLUMNS.split(","),
            create=create,
        )


def parts_of(number: int) -> dict[tuple[int, int], dict[str, dict[str, Any]]]:
    """(item, part) → rater code → values by dimension, from the ratings of a round."""
    round_ = Round.objects.get(study__slug="liu", number=number)
    tree = published_version(round_.taxonomy_version_id)
    places = {
        each.current_id: (each.item_id, each.rater.code or "", each.current.n_parts)
        for each in Assignment.objects.filter(round=round_).select_related("rater", "current")
        if each.current
    }
    values = read_values(tree, [pk for pk in places if pk])
    found: dict[tuple[int, int], dict[str, dict[str, Any]]] = defaultdict(dict)
    for pk, (item, rater, n_parts) in places.items():
        for part in range(1, n_parts + 1):
            found[item, part][rater] = dict(values.get((pk or 0, part), {}))
    return found


def kappa(pairs: Sequence[tuple[Any, Any]]) -> tuple[int, float | None]:
    """n and Cohen's kappa over parts that both raters rated; a pending value is one category."""
    patterns = Patterns.from_table(pairs, raters=("R1", "R2"))
    value = cohen_kappa(patterns, intervals=False).value
    return patterns.n_units, None if value is None else round(value, 4)


def pairs_on(key: str, parts: Sequence[dict[str, dict[str, Any]]]) -> list[tuple[Any, Any]]:
    return [tuple((part.get(rater, {}).get(key) or (None,))[0] for rater in ("R1", "R2")) for part in parts]  # type: ignore[misc]


def test_the_labels_of_liu_et_al_arrive_whole_and_only_once(liu: ImportReport) -> None:
    assert (liu.n_rows, liu.n_items, liu.n_raters, liu.n_refused) == (1667, 529, 2, 0)
    keys = list(Study.objects.get().taxonomy.versions.get().dimensions.values_list("key", flat=True))
    assert keys == COLUMNS.split(",")
    assert set(Membership.objects.exclude(code=None).values_list("name", flat=True)) == {"rater1", "rater2"}
    assert liu.n_resolutions == Resolution.objects.filter(decided__isnull=False).count() == 2420
    assert [(each.number, each.state) for each in liu.rounds] == [
        (1, "resolving"),
        (2, "resolving"),
        (3, "closed"),
        (4, "closed"),
        (5, "closed"),
    ]
    before = everything()
    again = import_liu(create=False)
    assert everything() == before and again.refusals == []


def test_issue_type_of_liu_et_al_has_its_kappa_with_parts_aligned_by_number(liu: ImportReport) -> None:
    found = [kappa(pairs_on("issue_type", list(parts_of(number).values()))) for number in range(1, 6)]
    assert found == [(109, 0.8705), (110, 1), (116, 0.9472), (105, 0.9615), (105, 1)]


def test_single_part_items_of_liu_et_al_have_the_recomputed_kappas(liu: ImportReport) -> None:
    computed = json.loads((LIU / "computed.json").read_text())
    for number in range(1, 6):
        parts = parts_of(number)
        n_parts = Counter(item for item, _ in parts)
        single = [given for (item, _), given in parts.items() if n_parts[item] == 1]
        faults = [
            given
            for given in single
            if all(given.get(rater, {}).get("issue_type") == ("fault",) for rater in ("R1", "R2"))
        ]
        expected = computed[f"round_{number}"]
        for key, chosen, name in (("issue_type", single, "issue_type"), ("stage", faults, "fault.stage")):
            assert kappa(pairs_on(key, chosen)) == (expected[name]["n"], round(expected[name]["kappa"], 4)), (
                number,
                name,
            )


def test_the_differing_items_of_liu_et_al_stand_in_the_queue_resolved_where_final_says_so(liu: ImportReport) -> None:
    differing = resolved = 0
    for number in range(1, 6):
        round_ = Round.objects.get(study__slug="liu", number=number)
        stands = {
            (each.round_item.item_id, verdict.part): verdict
            for each in round_verdicts(round_)
            for verdict in each.verdicts
            if verdict.dimension == "issue_type"
        }
        for place, given in parts_of(number).items():
            types = [given.get(rater, {}).get("issue_type") for rater in ("R1", "R2")]
            if None not in types and types[0] != types[1]:
                differing += 1
                assert stands[place].reason == "differ"
                resolved += stands[place].state == "resolved"
    assert (differing, resolved) == (12, 12)


def test_agreement_on_liu_et_al_gives_the_kappas_of_the_sheets_in_every_round(liu: ImportReport) -> None:
    computed = json.loads((LIU / "computed.json").read_text())
    seat = get_seat(make.user("olga"), "liu")

    def found(number: int, **asked: str) -> tuple[int, float]:
        (entry,) = agreement(seat, visible_rounds(seat, number), AgreementQuery.read(asked), round_number=number)
        (value,) = [each["value"] for each in entry["coefficients"] if each["name"] == "cohen_kappa"]
        return entry["units"], pytest.approx(value)

    aligned = [found(number, dimension="issue_type") for number in range(1, 6)]
    assert [round(float(value.expected), 4) for _, value in aligned] == [0.8705, 1, 0.9472, 0.9615, 1]
    for number in range(1, 6):
        for key, name in (("issue_type", "issue_type"), ("stage", "fault.stage")):
            expected = computed[f"round_{number}"][name]
            assert found(number, dimension=key, parts="single") == (expected["n"], expected["kappa"]), (number, key)


@pytest.mark.slow
def test_what_agreement_on_liu_et_al_leaves_out_adds_up_with_pending_in_and_out(liu: ImportReport) -> None:
    seat = get_seat(make.user("olga"), "liu")

    def found(number: int, **asked: str) -> tuple[int, int]:
        words = {"parts": "single", **asked}
        asked_for = replace(AgreementQuery.read(words), resamples=0)
        (entry,) = agreement(seat, visible_rounds(seat, number), asked_for, round_number=number)
        assert sum(each["n"] for each in entry["left_out_because"]) == entry["left_out"]
        return entry["units"], entry["left_out"]

    for number in range(1, 6):
        for key in ("issue_type", "stage", "leaf_category", "howto_topic", "fix_pattern"):
            units, left_out = found(number, dimension=key)
            without = found(number, dimension=key, pending="left_out")
            assert units and without[0] <= units and sum(without) == units + left_out, (number, key)
