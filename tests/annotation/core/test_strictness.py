"""Requests with a parameter or field that nothing describes are 422 with the nearest name; nothing is done."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver

from annotation.choosing.actions import samples as sample_actions
from annotation.models import AuditEvent, Rating, Sample, SampleIssue, Study
from annotation.models.public import Public
from ingest.models import FetchRun
from shared.request_checks import operation_of
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    made = make.study()
    make.rate(make.open_round(made, 3), "item bob carol\n1 crash hang\n2 crash hang\n3 crash hang")
    return made


def views(patterns: Any = None) -> Iterator[tuple[str, Any]]:
    """(name, class) of every view of the API that a token opens."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(each, URLResolver):
            yield from views(each.url_patterns)
        elif isinstance(each, URLPattern):
            view = getattr(each.callback, "cls", None)
            if any(one.__name__.startswith("Needs") for one in getattr(view, "permission_classes", [])):
                yield str(each.name), view


@pytest.mark.parametrize(
    ("path", "field", "nearest"),
    [
        ("studies/study/labels/?dimenson=symptom", "dimenson", "dimension"),
        ("studies/study/ratings/?raund=1", "raund", "round"),
        ("studies/study/agreement/?stat=1", "stat", ""),
        ("studies/study/agreement/?dimensions=symptom", "dimensions", "dimension"),
        ("studies/study/analysis/counts/?dimension=symptom&foldd=2", "foldd", "fold"),
        ("studies/study/rounds/?pagesize=3", "pagesize", "page_size"),
        ("issues/?q=hangs", "q", ""),
        ("issues/?lable=bug", "lable", "label"),
        ("studies/?archive=true", "archive", "archived"),
        ("studies/study/?round=1", "round", ""),
    ],
)
def test_an_unknown_parameter_is_named_with_the_nearest(study: Study, path: str, field: str, nearest: str) -> None:
    fields = Script("olga").refused("GET", path, None)
    assert list(fields) == [field]
    assert (f"Did you mean “{nearest}”?" in fields[field][0]) == bool(nearest), fields


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dimension=nope", "dimension"),
        ("round=99", "round"),
        ("round=abc", "round"),
        ("page_size=abc", "page_size"),
        ("page_size=0", "page_size"),
    ],
)
@pytest.mark.parametrize("what", ["labels", "ratings", "disagreements", "evidence"])
def test_a_value_that_is_not_there_is_invalid_on_every_list(study: Study, what: str, query: str, field: str) -> None:
    assert list(Script("olga").refused("GET", f"studies/study/{what}/?{query}", None)) == [field]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("studies/study/agreement/?dimension=nope", "dimension"),
        ("studies/study/agreement/?round=99", "round"),
        ("studies/study/agreement/?when=late", "when"),
        ("studies/study/labels/?version=99", "version"),
        ("studies/study/labels/?format=xml", "format"),
        ("studies/study/evidence/?rater=R9", "rater"),
        ("studies/study/proposals/?round=99", "round"),
        ("studies/study/proposals/?dimension=nope", "dimension"),
        ("studies/study/remarks/?round=99", "round"),
        ("studies/study/analysis/counts/?dimension=nope", "dimension"),
        ("studies/?archived=perhaps", "archived"),
    ],
)
def test_other_values_that_are_not_there_are_invalid_too(study: Study, path: str, field: str) -> None:
    assert list(Script("olga").refused("GET", path, None)) == [field]


def test_a_screening_dimension_can_be_asked_for(study: Study) -> None:
    assert Script("olga").send("GET", "studies/study/labels/?dimension=symptom").status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "field", "nearest"),
    [
        ("studies/study/samples/", {"size": 1, "sead": 7}, "sead", "seed"),
        ("studies/study/rounds/", {"issues": ["acme/rocket#1"], "raters": ["bob"], "n_itms": 2}, "n_itms", "n_items"),
        ("studies/", {"slug": "x", "title": "X", "taxonomy": "symptoms", "primry": {}}, "primry", "primary"),
        (
            "studies/",
            {"slug": "x", "title": "X", "taxonomy": "symptoms", "primary": {"symptom": {"coeficient": "gwet_ac1"}}},
            "primary.symptom.coeficient",
            "coefficient",
        ),
        ("studies/study/annotations/", {"assignment": "x", "labels": {}, "memmo": "why"}, "memmo", "memo"),
        ("studies/study/rounds/1/resolve/", {"withdrawn": True}, "withdrawn", "withdraw"),
    ],
)
def test_an_unknown_field_is_named_with_the_nearest(
    study: Study, path: str, body: dict[str, Any], field: str, nearest: str
) -> None:
    fields = Script("olga").refused("POST", path, body)
    assert list(fields) == [field] and f"Did you mean “{nearest}”?" in fields[field][0], fields
    assert not Sample.objects.exists() and Study.objects.count() == 1


@pytest.mark.parametrize(
    ("path", "field", "nearest"),
    [
        ("studies/study/ratings/", "dimension", "dimensions"),
        ("fetches/", "repsitory", "repository"),
        ("taxonomies/", "text", ""),
    ],
)
def test_an_unknown_field_of_a_form_is_named_with_the_nearest(
    study: Study, path: str, field: str, nearest: str
) -> None:
    n_ratings = Rating.objects.count()
    file = SimpleUploadedFile("sheet.csv", b"item,rater,dimension,value\nacme/rocket#1,dora,symptom,crash\n")
    answer = Script("olga").send_form(path, {"file": file, field: "x"})
    assert answer.status_code == 422, answer.content
    fields = answer.json()["fields"]
    assert list(fields) == [field] and (f"Did you mean “{nearest}”?" in fields[field][0]) == bool(nearest), fields
    assert Rating.objects.count() == n_ratings and not FetchRun.objects.exists()


def test_of_very_many_wrong_names_ten_are_named_and_the_others_counted(study: Study) -> None:
    names = [f"acme/none#{number}" for number in range(1, 2_001)]
    body = {"raters": [f"none-{number}" for number in range(2_000)], "issues": names, "known": {}}
    body["gold_minimum"] = {"dimensions": {f"d{number}": 1 for number in range(2_000)}}
    fields = Script("olga").refused("POST", "studies/study/rounds/", body)
    assert len(fields["raters"]) == len(fields["issues"]) == 11
    assert fields["raters"][-1] == fields["issues"][-1] == "And 1,990 more."
    assert "“acme/none#10”" in fields["issues"][9]
    assert len(fields) <= 100
    fields = Script("olga").refused("POST", "studies/study/screening/", {"items": names[:30], "screening": "in"})
    assert fields["items"][10:] == ["And 20 more."]


@pytest.mark.parametrize("name", [[], {}, "x", 7])
def test_a_minimum_names_a_coefficient_that_there_is(study: Study, name: object) -> None:
    body = {"raters": ["bob"], "issues": ["acme/rocket#1"], "known": {}}
    body["gold_minimum"] = {"dimensions": {"symptom": {"coefficient": name, "minimum": 0.5}}}
    fields = Script("olga").refused("POST", "studies/study/rounds/", body)
    assert "There is no coefficient" in fields["gold_minimum.dimensions.symptom"][0]
    body = {"slug": "other", "title": "T", "taxonomy": "symptoms", "primary": {"symptom": {"coefficient": name}}}
    assert "Choose one of" in Script("olga").refused("POST", "studies/", body)["primary.symptom"][0]


@pytest.mark.slow
def test_names_and_keywords_by_the_ten_thousand_are_rejected(study: Study) -> None:
    olga = Script("olga")
    of_other_repositories = [f"owner-{number}/name#1" for number in range(20_000)]
    words = [f"word{number}" for number in range(30_000)]
    body = {"raters": ["bob"], "issues": of_other_repositories}
    fields = olga.refused("POST", "studies/study/rounds/", body)
    assert fields["issues"][-1] == "And 19,990 more."
    fields = olga.refused("POST", "studies/study/rounds/", {"raters": words, "issues": words * 4})
    assert "at most 10,000 raters" in fields["raters"][0] and "at most 100,000 issues" in fields["issues"][0]
    sample = {"size": 1, "filter": {"keywords": {"any": words}}}
    assert olga.refused("POST", "studies/study/samples/", sample) == {
        "filter.keywords": ["These are more than 200 keywords."]
    }
    assert (
        "at most 200" in olga.refused("PATCH", "studies/study/", {"screening_keywords": words})["screening_keywords"][0]
    )


def test_ids_are_counted_before_they_are_read(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is deciphered: 250,000 of them took four seconds."""
    ids = ["00000000-0000-8000-8000-000000000000"] * 2_000
    olga = Script("olga")
    read: list[object] = []
    monkeypatch.setattr(Public, "number_of", classmethod(lambda cls, given: read.append(given)))
    assert "at most 1,000 lines" in olga.refused("POST", "inbox/read/", {"ids": ids})["ids"][0]
    path = f"studies/study/proposals/{ids[0]}/"
    assert "at most 1000 at once" in olga.refused("POST", path, {"also": ids, "decline": "No."})["also"][0]
    assert len(read) <= 1


def test_of_very_many_unknown_fields_a_hundred_are_named(study: Study) -> None:
    many = {f"name-{number}": 1 for number in range(300)}
    bob = Script("bob")
    round_ = make.open_round(study, 1, first=90)
    assert len(bob.refused("POST", "studies/study/remarks/", many)) == 100
    asked = {"assignment": str(make.assignment(round_, "bob", 90).public_id), "labels": many}
    assert len([name for name in bob.refused("POST", "studies/study/annotations/", asked) if "name-" in name]) == 100


def test_an_option_in_the_address_of_a_form_is_not_passed_over(study: Study) -> None:
    file = SimpleUploadedFile("sheet.csv", b"item,rater,dimension,value\nacme/rocket#1,dora,symptom,crash\n")
    answer = Script("olga").send_form("studies/study/ratings/?duplicates=last", {"file": file})
    assert answer.status_code == 422 and list(answer.json()["fields"]) == ["duplicates"], answer.content


def test_every_operation_says_what_it_takes() -> None:
    """Without a description an operation would take no parameter and any field."""
    methods = ("get", "post", "put", "patch", "delete")
    found = [(name, view, method) for name, view in views() for method in methods if hasattr(view, method)]
    assert len(found) > 100
    for name, view, method in found:
        handler = getattr(view, method)
        assert "schema" in getattr(handler, "kwargs", {}) or hasattr(view, "list"), (name, method)
        operation_of(view, method.upper())


def test_who_may_not_know_a_study_learns_nothing_by_unknown_names(study: Study) -> None:
    assert Script("mallory").send("GET", "studies/study/labels/?x=1").status_code == 422
    assert Script("mallory").send("GET", "studies/none/labels/?x=1").status_code == 422
    assert Script("mallory").send("GET", "studies/study/labels/").status_code == 404


# Studies, samples


def test_a_new_study_takes_what_can_be_changed_later(study: Study) -> None:
    wish = {"applies": "either", "third_rater": True, "majority": True, "pseudonymise": False, "names_shown": True}
    body = {"slug": "newer-one", "title": "New", "taxonomy": "symptoms"} | wish
    answer = Script("olga").send("POST", "studies/", body)
    assert answer.status_code == 201, answer.content
    assert {name: answer.json()[name] for name in wish} == wish
    wrong = Script("olga").refused("POST", "studies/", body | {"slug": "newest-one", "applies": "sometimes"})
    assert list(wrong) == ["applies"] and not Study.objects.filter(slug="newest-one").exists()


def test_a_sample_names_its_repositories_unless_the_study_uses_one(study: Study) -> None:
    make.issues(5, "acme/boat")
    olga = Script("olga")
    sample = olga.send("POST", "studies/study/samples/", {"size": 2}).json()
    assert sample["filter"] == {"repository": ["acme/rocket"]}
    assert {each.partition("#")[0] for each in sample["issues"]} == {"acme/rocket"}
    olga.send("POST", "studies/study/samples/", {"filter": {"repository": "acme/boat"}, "size": 2})
    fields = olga.refused("POST", "studies/study/samples/", {"size": 2})
    assert list(fields) == ["filter.repository"] and "acme/boat, acme/rocket" in fields["filter.repository"][0]
    olga.send("POST", "studies/", {"slug": "newer-one", "title": "New", "taxonomy": "symptoms"})
    assert list(olga.refused("POST", "studies/newer-one/samples/", {"size": 2})) == ["filter.repository"]
    assert list(olga.refused("POST", "studies/newer-one/samples/", {})) == ["size", "filter.repository"]


def test_a_sample_that_no_round_uses_is_discarded(study: Study) -> None:
    olga = Script("olga")
    sample = olga.send("POST", "studies/study/samples/", {"size": 2, "seed": 9}).json()["id"]
    for name, status in (("ada", 403), ("bob", 403), ("mallory", 404)):
        assert Script(name).send("DELETE", f"studies/study/samples/{sample}/").status_code == status
    assert olga.send("DELETE", f"studies/study/samples/{sample}/").status_code == 204
    assert not Sample.objects.exists() and not SampleIssue.objects.exists()
    assert olga.send("GET", f"studies/study/samples/{sample}/").status_code == 404
    event = AuditEvent.objects.get(study=study, verb="sample discarded")
    assert (event.detail["seed"], event.detail["size"]) == (9, 2)
    assert event.detail["filter"] == {"repository": ["acme/rocket"]}


def test_a_sample_in_use_stays(study: Study) -> None:
    olga, seat = Script("olga"), make.owner_seat(study)
    make.issues(10, first=10)
    first = sample_actions.draw_sample(seat=seat, size=2)
    later = sample_actions.draw_sample(
        seat=seat, size=2, filter={"repository": "acme/rocket", "exclude_sample": first.pk}
    )
    answer = olga.send("DELETE", f"studies/study/samples/{first.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (409, "sample_in_use")
    body = {"sample": str(later.pk), "raters": ["bob", "carol"], "n_items": 1}
    assert olga.send("POST", "studies/study/rounds/", body).status_code == 201
    answer = olga.send("DELETE", f"studies/study/samples/{later.pk}/")
    assert (answer.status_code, answer.json()["code"]) == (409, "sample_in_use")
    assert json.loads(answer.content)["message"].startswith("Round 2 uses sample")
    assert Sample.objects.count() == 2


def test_a_new_study_has_no_rounds_to_fix_as_its_headline(study: Study) -> None:
    body = {"slug": "with-headline", "title": "New", "taxonomy": "symptoms", "headline": [1]}
    assert list(Script("olga").refused("POST", "studies/", body)) == ["headline"]
    assert not Study.objects.filter(slug="with-headline").exists()
    assert Script("olga").send("POST", "studies/", body | {"headline": []}).status_code == 201


@pytest.mark.parametrize("what", ["labels", "ratings", "evidence", "issues"])
def test_json_is_a_format(study: Study, what: str) -> None:
    asked, plain = (Script("olga").send("GET", f"studies/study/{what}/{query}") for query in ("?format=json", ""))
    assert (asked.status_code, asked.json()) == (200, plain.json())
