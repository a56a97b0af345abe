"""Questions to agreed labels over REST: who may ask, what can't be asked, what comes where there is nothing."""

from typing import Any

import pytest
from django.test import Client

from annotation.imports.actions.ratings import import_ratings
from annotation.members.actions.members import add_member
from annotation.models import Assignment, Item
from tests import builders as make
from tests.asserts import assert_queries
from tests.scripts import BASE, Script

pytestmark = pytest.mark.django_db

QUESTIONS = {
    "counts": "dimension=symptom&by=kind",
    "shares": "mark=distributed&dimension=symptom",
    "crosstab": "rows=symptom&columns=distributed",
    "flow": "dimensions=kind,symptom,fixes&within=distributed",
    "numbers": "measure=comments&by=symptom",
    "profiles": "dimension=symptom&by=kind",
    "saturation": "dimension=symptom",
    "combinations": "dimensions=symptom,fixes",
}


def path(kind: str, query: str = "", study: str = "study") -> str:
    return f"studies/{study}/analysis/{kind}/?{query or QUESTIONS[kind]}"


def faults(n: int = 3, slug: str = "study") -> Any:
    """A study with a round in which bob and carol say the same of n items: crash, hang, hang …"""
    study = make.study(slug, text=make.FAULTS.replace("slug: faults", f"slug: faults-of-{slug}"))
    round_ = make.open_round(study, n)
    for number in range(1, n + 1):
        said = {"kind": ["fault"], "symptom": ["crash" if number == 1 else "hang"], "fixes": ["code", "config"]}
        for name in ("bob", "carol"):
            make.submit(round_, name, number, said | {"distributed": number == 1})
    return study


@pytest.mark.slow
def test_each_role_asks_what_it_may() -> None:
    study = faults(2)
    make.open_round(study, 1, first=9)
    make.user("mallory")
    make.study("other", text=make.SYMPTOMS, raters=("mallory",))
    callers = {name: Script(name, scope="read") for name in ("olga", "ada", "rea", "bob", "mallory")}
    for kind in QUESTIONS:
        found = {name: caller.send("GET", path(kind)).status_code for name, caller in callers.items()}
        assert found == {"olga": 200, "ada": 200, "rea": 200, "bob": 200, "mallory": 404}, kind
        hidden = {name: caller.send("GET", path(kind) + "&round=2").status_code for name, caller in callers.items()}
        assert hidden == {"olga": 200, "ada": 200, "rea": 403, "bob": 403, "mallory": 404}, kind
        assert callers["olga"].send("GET", path(kind, study="nonsense")).status_code == 404
        assert callers["olga"].send("GET", path(kind) + "&round=7").status_code == 404
        assert Client().get(BASE + path(kind)).status_code == 401
        first, second = (callers["olga"].send("GET", path(kind)).json() for _ in range(2))
        assert first == second


def test_a_rater_who_is_blind_in_every_round_counts_nothing_and_is_told_so() -> None:
    study = make.study(text=make.FAULTS, resolve_when="item")
    round_ = make.open_round(study, 2)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"kind": ["fault"], "symptom": ["crash"], "distributed": True})
    assert Script("olga").send("GET", path("counts")).json()["n"] == 1
    bob = Script("bob")
    for kind in QUESTIONS:
        found = bob.send("GET", path(kind)).json()
        assert (found["labels"]["n_parts"], found["labels"]["hidden_rounds"]) == (0, [1]), kind
    found = bob.send("GET", path("counts")).json()
    assert [each["n"] for each in found["categories"]] == [0, 0, 0, 0]
    assert {each["share"] for each in found["categories"]} == {None}
    assert bob.send("GET", path("crosstab")).json()["undefined"] == "No part has a value of both."
    assert bob.send("GET", path("numbers")).json()["total"]["undefined"] == "There are no numbers."
    assert bob.send("GET", path("saturation")).json()["chance_new"] is None


def test_an_owner_who_rates_is_blind_too() -> None:
    study = make.study(text=make.FAULTS, resolve_when="item")
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    round_ = make.open_round(study, 2, raters=("olga", "bob"))
    for name in ("olga", "bob"):
        make.submit(round_, name, 1, {"kind": ["fault"], "symptom": ["crash"], "distributed": True})
    assert Script("olga").send("GET", path("counts")).json()["n"] == 0
    assert Script("ada").send("GET", path("counts")).json()["n"] == 1


def test_who_is_yet_to_answer_as_a_third_rater_does_not_count_that_item() -> None:
    study = make.study(text=make.SYMPTOMS)
    round_ = make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 hang hang")
    item = Item.objects.get(identifier="acme/rocket#2")
    add_member(seat=make.owner_seat(study), username=make.user("dave").username, roles=["rater"])
    Assignment.objects.create(round=round_, item=item, rater=make.member(study, "dave"), slot=None, position=1)
    found = Script("dave").send("GET", path("counts", "dimension=symptom")).json()
    assert (found["n"], found["labels"]["items_hidden"]) == (1, 1)
    assert Script("olga").send("GET", path("counts", "dimension=symptom")).json()["n"] == 2


def test_before_the_first_round_a_question_is_answered_with_nothing() -> None:
    make.study(text=make.FAULTS)
    for kind in QUESTIONS:
        answer = Script("olga").send("GET", path(kind))
        assert answer.status_code == 200, (kind, answer.content)
        assert answer.json()["labels"]["n_parts"] == 0


def test_the_number_of_queries_does_not_depend_on_the_number_of_items() -> None:
    for n, slug in ((2, "small"), (12, "large")):
        faults(n, slug)
        olga = Script("olga")
        for kind in QUESTIONS:
            olga.send("GET", path(kind, study=slug))
            with assert_queries(11 if kind == "numbers" else 10):
                assert olga.send("GET", path(kind, study=slug)).status_code == 200


# What can't be asked


REFUSED = [
    ("counts", "", "dimension", "This field is required."),
    ("counts", "dimension=nothing", "dimension", "Unknown dimension or attribute “nothing”. Use one of kind"),
    ("counts", "dimension=symptom&by=nothing", "by", "Unknown dimension or attribute “nothing”"),
    ("counts", "dimension=symptom&by=symptom", "by", "Name another one than the dimension itself."),
    ("counts", "dimension=symptom&of=stage", "of", "Use one of all, group, category."),
    ("counts", "dimension=symptom&level=twig", "level", "Use one of leaf, parent, root."),
    ("counts", "dimension=symptom&level=kind:root", "level", "“kind” is not part of this analysis."),
    ("counts", "dimension=symptom&fold=few", "fold", "Enter a number."),
    ("counts", "dimension=symptom&fold=-1", "fold", "Enter a number: from 1"),
    ("counts", "dimension=symptom&fold=nan", "fold", "Enter a number."),
    ("counts", "dimension=symptom&parts=both", "parts", "Use one of all, single."),
    ("counts", "dimension=symptom&round=x", "round", "Enter a whole number."),
    ("counts", "dimension=symptom&version=9", "version", ""),
    ("counts", "dimension=symptom&left_out=nothing", "left_out", "Category “nothing” not found in symptom"),
    ("counts", "dimension=symptom&left_out=kind:fault", "left_out", "“kind” is not part of this analysis"),
    ("counts", "dimension=symptom&where=crash", "where", "Enter dimension:category"),
    ("counts", "dimension=symptom&where=kind:odd", "where", "Kind of issue has no category “odd”. Known: fault"),
    ("counts", "dimension=symptom&where=odd:fault", "where", "Unknown dimension or attribute “odd”"),
    ("counts", "dimension=sym%00ptom", "dimension", "This contains a character that can't be read."),
    ("shares", "", "mark", "This field is required."),
    ("shares", "mark=nothing", "mark", "Unknown mark “nothing”. Use one of distributed."),
    ("shares", "mark=fixes", "mark", "Unknown mark “fixes”"),
    ("shares", "mark=kind", "value", "Name the category of kind of issue that is the mark."),
    ("shares", "mark=symptom&value=crash&fold=symptom:2", "value", "“crash” is folded into other categories."),
    ("shares", "mark=kind&value=odd", "value", "Kind of issue has no category “odd”"),
    ("crosstab", "rows=symptom", "columns", "This field is required."),
    ("crosstab", "rows=symptom&columns=symptom", "columns", "Name another dimension than in rows."),
    ("crosstab", "rows=symptom&columns=nothing", "columns", "Unknown dimension or attribute “nothing”"),
    ("flow", "dimensions=symptom", "dimensions", "Name 2 to 4 different dimensions"),
    ("flow", "dimensions=symptom,symptom", "dimensions", "Name 2 to 4 different dimensions"),
    ("flow", "dimensions=symptom,fixes&within=nothing", "within", "Unknown dimension or attribute “nothing”"),
    ("numbers", "", "measure", "Missing parameter: name a measure."),
    ("numbers", "measure=age", "measure", "Unknown measure “age”. Use one of days_open, comments"),
    ("numbers", "measure=lines&cut=ten", "cut", "Enter a number."),
    ("combinations", "dimensions=symptom", "dimensions", "Name two dimensions"),
    ("combinations", "dimensions=symptom,fixes&least=0", "least", "Enter a number above 0"),
    ("combinations", "dimensions=symptom,fixes&largest=9", "largest", "Use one of 2, 3, 4."),
]
"""Kind, words, the word that is named, and how the sentence begins."""


def test_what_cannot_be_asked_is_422_and_names_the_word() -> None:
    faults(1)
    olga = Script("olga")
    for kind, query, word, sentence in REFUSED:
        fields = olga.refused("GET", path(kind, query or "round="), None)
        assert set(fields) == {word}, (kind, query, fields)
        assert fields[word][0].startswith(sentence), (kind, query, fields)


def test_one_dimension_with_sets_has_combinations_of_its_own() -> None:
    faults(3)
    found = Script("olga").send("GET", path("combinations", "dimensions=fixes")).json()
    (one,) = found["combinations"]
    assert [each["category"] for each in one["values"]] == ["config", "code"]
    assert (one["n"], one["of"], one["lift"]) == (3, 3, 1)


def test_one_answer_with_many_values_is_refused_before_all_its_combinations_are_counted() -> None:
    keys = [f"c{number}" for number in range(60)]
    categories = "".join(f"      - {{key: {key}, name: {key}}}\n" for key in keys)
    text = "slug: wide\ntitle: Wide\ndimensions:\n" + "".join(
        f"  - key: {key}\n    title: {key}\n    kind: multi\n    categories:\n{categories}" for key in "abcd"
    )
    round_ = make.open_round(make.study(text=text), 1, raters=("bob",))
    make.submit(round_, "bob", 1, dict.fromkeys("abcd", keys))
    olga = Script("olga")
    refused = olga.refused("GET", path("combinations", "dimensions=a&least=1"), None)
    assert "Enter a larger number of parts" in refused["least"][0]
    assert "too many paths" in olga.refused("GET", path("flow", "dimensions=a,b,c,d"), None)["dimensions"][0]
    assert olga.send("GET", path("combinations", "dimensions=a&least=1&largest=2")).json()["n_found"] == 1_770


def test_a_value_with_a_comma_can_be_asked_for() -> None:
    faults(3)
    Item.objects.filter(identifier="acme/rocket#2").update(attributes={"kernel": "5.4, patched"})
    Item.objects.filter(identifier="acme/rocket#3").update(attributes={"kernel": "6.0"})
    olga = Script("olga")
    for query in ("where=kernel:5.4, patched", "where=kernel:5.4, patched&where=kernel:6.0&where=kind:fault"):
        found = olga.send("GET", path("counts", f"dimension=symptom&{query.replace(' ', '%20')}")).json()
        assert found["n"] == (1 if query.count("where") == 1 else 2)


def test_an_answer_says_which_labels_it_rests_on() -> None:
    study = faults(3)
    make.open_round(study, 1, first=9)
    make.issues(1, first=10)
    known = {"acme/rocket#10": {"labels": {"kind": ["how-to"]}}}
    asked = {"kind": "pilot", "raters": ["bob"], "raters_per_item": 1, "issues": [], "known": known}
    olga = Script("olga")
    assert olga.send("POST", "studies/study/rounds/", asked).status_code == 201
    assert olga.send("POST", "studies/study/rounds/3/open/", {}).status_code == 200  # to train alone: none of these
    found = olga.send("GET", path("counts", "dimension=symptom&by=round&where=symptom:failure")).json()
    assert found["labels"] == {
        "rounds": [1, 2], "versions": {"1": 1, "2": 1}, "version": None, "hidden_rounds": [], "items_waiting": 1,
        "items_hidden": 0, "items_screened_out": 0, "parts": "all", "where": ["symptom:failure"], "n_parts": 3,
        "n_items": 3, "left_out": [], "levels": {"symptom": "leaf"}, "folded": {},
    }  # fmt: skip
    assert [(group["value"], group["n"]) for group in found["groups"]] == [("1", 3)]


def test_rounds_that_a_sheet_numbers_by_days_are_told_apart() -> None:
    study = make.study()
    sheet = "item,rater,round,dimension,value\n" + "".join(
        f"acme/rocket#{n},{rater},{day},symptom,crash\n"
        for n, day in ((1, 20260114), (2, 20260114), (3, 20260115))
        for rater in ("bob", "carol")
    )
    make.issues(3)
    import_ratings(user=make.user("olga"), study=study.slug, file=sheet.encode(), name="labels.csv")
    found = Script("olga").send("GET", path("counts", "dimension=symptom&by=round")).json()
    assert [(group["value"], group["n"]) for group in found["groups"]] == [("20260114", 2), ("20260115", 1)]


def test_too_large_a_table_is_refused_with_the_way_out() -> None:
    many = "".join(f"      - {{key: c{n}, name: C{n}}}\n" for n in range(210))
    text = "slug: wide\ntitle: Wide\ndimensions:\n"
    for key in ("a", "b"):
        text += f"  - key: {key}\n    title: {key.upper()}\n    kind: single\n    categories:\n{many}"
    make.study(text=text)
    fields = Script("olga").refused("GET", path("crosstab", "rows=a&columns=b"), None)
    assert fields == {
        "fold": ["The table would have more than 40000 cells. Fold rare categories, or choose a higher level."]
    }
    assert Script("olga").send("GET", path("counts", "dimension=a")).status_code == 200


def test_a_cross_table_without_a_column_is_a_page_without_a_figure() -> None:
    study = make.study(text=make.FAULTS)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"kind": ["fault"], "symptom": ["crash"], "fixes": [], "distributed": True})
    client = Client()
    client.force_login(make.user("olga"))
    answer = client.get("/studies/study/analysis/crosstab/?rows=symptom&columns=fixes")
    assert answer.status_code == 200, answer.content[:300]
