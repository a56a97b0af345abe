"""What a study fixes beforehand: coefficient, threshold, distance, weights, reason, and how conditions count."""

import re
from typing import Any

import pytest
from django.test import Client

from agreement import Patterns, gwet_ac2, krippendorff_alpha, weighted_kappa
from annotation.agreement_report.queries.across_rounds import visible_rounds
from annotation.agreement_report.queries.coefficients import agreement, of_rounds
from annotation.agreement_report.queries.options import ask
from annotation.calibration.queries.gate import gate
from annotation.core.access import get_whole_study
from annotation.core.errors import Conflict, Invalid
from annotation.models import AuditEvent, Round, Study
from annotation.studies.actions.studies import change_study
from tests import builders as make

pytestmark = pytest.mark.django_db

SEVERITY = """
slug: severity
title: Severity
dimensions:
  - key: severity
    title: Severity
    kind: ordinal
    categories: [{key: low, name: Low}, {key: middle, name: Middle}, {key: high, name: High}]
"""
LEFT = ["low", "low", "middle", "high", "high", "middle", "low", "high"]
RIGHT = ["low", "middle", "middle", "low", "high", "high", "low", "high"]
MATRIX = [[1, 0.9, 0], [0.9, 1, 0.5], [0, 0.5, 1]]
PATTERNS = Patterns.from_table(zip(LEFT, RIGHT, strict=True), categories=["low", "middle", "high"])


def severity(entry: dict[str, Any], **more: Any) -> Study:
    study = make.study(text=SEVERITY, primary={"severity": entry}, **more)
    table = "\n".join(f"{number} {a} {b}" for number, (a, b) in enumerate(zip(LEFT, RIGHT, strict=True), start=1))
    make.rate(make.open_round(study, 8, kind="pilot"), "item bob carol\n" + table, "severity")
    return study


def entry_of(study: Study, **words: str) -> dict[str, Any]:
    seat = get_whole_study(study.slug)
    return agreement(seat, visible_rounds(seat), ask(seat, words), round_number=None)[0]


def value(entry: dict[str, Any], name: str) -> Any:
    return next(each["value"] for each in entry["coefficients"] if each["name"] == name)


def test_fixed_weights_and_metric_hold_in_entry_headline_and_gate_unless_others_are_asked_for() -> None:
    fixed = {"coefficient": "weighted_kappa", "threshold": 0.5, "weights": "linear", "metric": "interval"}
    study = severity({**fixed, "reason": "Neighbouring  severities are near misses."})
    linear = weighted_kappa(PATTERNS, "linear", intervals=False).value
    quadratic = weighted_kappa(PATTERNS, "quadratic", intervals=False).value
    assert linear != quadratic
    entry = entry_of(study)
    assert value(entry, "weighted_kappa") == pytest.approx(linear)
    assert value(entry, "krippendorff_alpha") == pytest.approx(
        krippendorff_alpha(PATTERNS, "interval", intervals=False).value
    )
    assert (entry["weights"], entry["metric"]) == ("linear", "interval")
    other = entry_of(study, weights="quadratic", metric="nominal")
    assert value(other, "weighted_kappa") == pytest.approx(quadratic) and other["metric"] == "nominal"
    (line,) = of_rounds(make.owner_seat(study), [Round.objects.get()])
    assert line.value == pytest.approx(linear) and line.reason == "Neighbouring severities are near misses."
    Round.objects.update(state=Round.State.RESOLVING)
    judged = gate(make.owner_seat(study))
    assert judged and judged.lines[0][0].value == pytest.approx(linear)


def test_a_matrix_of_weights_counts_in_the_order_of_its_scale() -> None:
    study = severity({"coefficient": "gwet_ac2", "weights": MATRIX})
    entry = entry_of(study)
    assert entry["weights"] == "custom"
    assert value(entry, "weighted_kappa") == pytest.approx(weighted_kappa(PATTERNS, MATRIX, intervals=False).value)
    assert value(entry, "gwet_ac2") == pytest.approx(gwet_ac2(PATTERNS, MATRIX, intervals=False).value)
    assert Study.objects.get().primary["severity"]["scale"] == ["low", "middle", "high"]


def test_weights_for_a_scale_that_the_round_has_not_are_left_out_with_a_warning() -> None:
    study = severity({"coefficient": "gwet_ac2", "weights": MATRIX})
    study.primary["severity"]["scale"] = ["low", "middle", "worst"]
    study.save()
    entry = entry_of(study)
    assert entry["weights"] == "quadratic"
    assert any("The weights say nothing about high" in each for each in entry["warnings"])


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ({"coefficient": "kappa"}, "Choose one of percent_agreement"),
        ({"coefficient": "gwet_ac2", "metric": "masi"}, "The metric of this dimension (ordinal) is one of ordinal"),
        ({"coefficient": "gwet_ac2", "weights": "cubic"}, "The weights are quadratic or linear, or a matrix."),
        ({"coefficient": "gwet_ac2", "weights": [[1, 0], [0, 1]]}, "3 rows of 3 numbers, in the order of the"),
        ({"coefficient": "gwet_ac2", "weights": [[1, 0, 0], [0, 1, 0], [0, 0, 0.5]]}, "Weights go from 0"),
        ({"coefficient": "gwet_ac2", "weights": [[1, 0, "x"], [0, 1, 0], [0, 0, 1]]}, "3 rows of 3 numbers"),
        ({"coefficient": "gwet_ac2", "weights": 3}, "3 rows of 3 numbers"),
        ({"coefficient": "gwet_ac2", "reason": 3}, "Give a reason of at most 2000 characters."),
        ({"coefficient": "gwet_ac2", "reason": "x" * 2001}, "Give a reason of at most 2000 characters."),
    ],
)
def test_what_cannot_be_fixed_is_refused_at_its_dimension(entry: dict[str, Any], sentence: str) -> None:
    study = make.study(text=SEVERITY)
    with pytest.raises(Invalid) as refused:
        change_study(seat=make.owner_seat(study), changes={"primary": {"severity": entry}})
    assert sentence in refused.value.fields["primary.severity"][0]


def test_names_of_weights_need_an_order() -> None:
    study = make.study()
    fixed = {"symptom": {"coefficient": "cohen_kappa", "weights": "linear"}}
    with pytest.raises(Invalid) as refused:
        change_study(seat=make.owner_seat(study), changes={"primary": fixed})
    assert "has no order for linear weights" in refused.value.fields["primary.symptom"][0]
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    assert entry_of(study, weights="linear")["weights"] is None
    with pytest.raises(Invalid) as asked:
        entry_of(study, weights="linear", dimension="symptom")
    assert list(asked.value.fields) == ["weights"]


def test_the_settings_fix_distance_weights_and_reason_and_keep_a_matrix_that_a_script_sent() -> None:
    study = make.study(text=SEVERITY)
    client = signed_in("olga")
    path = "/studies/study/settings/"
    sent = {"title": "Study", "resolve_when": "round", "primary-severity.coefficient": "gwet_ac2"}
    more = {"metric": "interval", "weights": "linear", "reason": "An order."}
    sent |= {f"primary-severity.{name}": each for name, each in more.items()}
    assert client.post(path, sent).status_code == 302
    study.refresh_from_db()
    assert {name: study.primary["severity"][name] for name in more} == more
    change_study(
        seat=make.owner_seat(study),
        changes={"primary": {"severity": {"coefficient": "gwet_ac2", "weights": MATRIX}}},
    )
    page = client.get(path).content.decode()
    assert re.search(r'<option value="matrix" selected>', page)
    kept = sent | {"primary-severity.weights": "matrix", "primary-severity.metric": "nominal"}
    assert client.post(path, kept).status_code == 302
    study.refresh_from_db()
    assert study.primary["severity"]["weights"] == MATRIX and study.primary["severity"]["metric"] == "nominal"
    refused = client.post(path, sent | {"primary-severity.coefficient": ""})
    assert refused.status_code == 422 and "Choose a coefficient first." in refused.content.decode()
    make.open_round(study)
    fixed = client.get(path).content.decode()
    assert "weights by a matrix" in fixed and "An order." in fixed
    with pytest.raises(Conflict):
        change_study(seat=make.owner_seat(study), changes={"primary": {}})


def signed_in(name: str) -> Client:
    client = Client()
    client.force_login(make.user(name))
    return client


FAULT = {"kind": ["fault"], "symptom": ["crash"], "fixes": [], "distributed": True}


def test_what_a_study_says_of_conditions_holds_everywhere_until_asked_otherwise() -> None:
    study = make.study(text=make.FAULTS, primary={"symptom": {"coefficient": "percent_agreement"}})
    round_ = make.open_round(study, 2)
    for number, other in ((1, FAULT), (2, {"kind": ["how-to"]})):
        make.submit(round_, "bob", number, FAULT)
        make.submit(round_, "carol", number, other)

    def symptom(**words: str) -> tuple[str, int]:
        found = entry_of(study, dimension="symptom", **words)
        return found["applies"], found["units"]

    assert symptom() == ("both", 1) and symptom(applies="either") == ("either", 2)
    client = signed_in("olga")
    answer = client.patch("/api/v1/studies/study/", {"applies": "either"}, content_type="application/json")
    assert answer.status_code == 200 and answer.json()["applies"] == "either"
    study.refresh_from_db()
    assert symptom() == ("either", 2) and symptom(applies="both") == ("both", 1)
    seat = make.owner_seat(study)
    assert {each.dimension: each.units for each in of_rounds(seat, [round_])}["symptom"] == 2
    page = client.get("/studies/study/agreement/").content.decode()
    assert re.search('<option value="" selected>applied for either</option><option value="both">', page)
    units = client.get("/studies/study/agreement/items/?dimension=symptom").content.decode()
    assert units.count("acme/rocket#") == 2
    assert AuditEvent.objects.filter(verb="study changed", detail__fields=["applies"]).exists()


def test_applies_is_set_on_the_settings_page_and_nonsense_is_refused() -> None:
    study = make.study()
    sent = {"title": "Study", "resolve_when": "round", "applies": "either"}
    assert signed_in("olga").post("/studies/study/settings/", sent).status_code == 302
    study.refresh_from_db()
    assert study.applies == "either"
    with pytest.raises(Invalid) as refused:
        change_study(seat=make.owner_seat(study), changes={"applies": "all"})
    assert refused.value.fields == {"applies": ["Use both or either."]}


def test_a_number_below_zero_leaves_the_ratio_metric_without_a_value_and_every_page_as_it_is() -> None:
    text = "slug: days\ntitle: Days\ndimensions:\n  - {key: days, title: Days, kind: number}\n"
    fixed = {"coefficient": "krippendorff_alpha", "metric": "ratio", "threshold": 0.8}
    study = make.study(text=text, primary={"days": fixed})
    round_ = make.open_round(study, 2)
    for name, days in (("bob", (-1, 2)), ("carol", (1.5, 2))):
        for number, given in enumerate(days, start=1):
            make.submit(round_, name, number, {"days": given})
    client = Client()
    client.force_login(make.user("olga"))
    for path in ("", "agreement/", "agreement/methods/"):
        assert client.get(f"/studies/study/{path}").status_code == 200, path
    found = client.get("/api/v1/studies/study/agreement/").json()[0]
    reason = next(each["undefined"] for each in found["coefficients"] if each["name"] == "krippendorff_alpha")
    assert "there are numbers below 0" in reason and value(found, "percent_agreement") == 0.5
    assert value(entry_of(study, metric="interval"), "krippendorff_alpha") is not None
