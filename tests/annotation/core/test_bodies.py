"""What a request sends in another type than its documentation says is refused with the field, whatever the view."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from rest_framework import serializers

from annotation.core import api_bodies
from annotation.core.api_bodies import Body, CheckedListField, StringField
from annotation.exports.queries.kinds import KINDS
from annotation.models import Study
from ingest.api.fetches import FetchRequest
from shared.entries_field import EntriesField
from tests import builders as make
from tests.scripts import Script

pytestmark = pytest.mark.django_db
PLACE = {"item": "acme/rocket#2", "dimension": "symptom"}
ROUND = {"raters": ["bob", "carol"], "issues": ["acme/rocket#1"]}
PROPOSAL = "proposals/00000000-0000-0000-0000-000000000000/"
REFUSED = (
    ("ada", "resolutions/", PLACE | {"values": ["crash"], "part": "1"}, "part", "Enter a whole number."),
    ("ada", "resolutions/", PLACE | {"values": ["crash"], "round": True}, "round", "Enter a whole number."),
    ("ada", "resolutions/", PLACE | {"reopen": "true"}, "reopen", "Use true or false."),
    ("ada", "resolutions/", PLACE | {"values": ["crash"], "rationale": 7}, "rationale", "Enter text."),
    ("ada", "matches/", {"item": 2, "rater": "R1", "parts": [1]}, "item", "Enter text."),
    ("ada", "third-raters/", {"item": "acme/rocket#2", "unblinded": "yes"}, "unblinded", "Use true or false."),
    ("ada", "remarks/", PLACE | {"round": "1", "text": "Look."}, "round", "Enter the number of a round."),
    ("ada", "remarks/", PLACE | {"round": 0, "text": "Look."}, "round", "Enter the number of a round."),
    ("ada", "remarks/", PLACE | {"text": "Look."}, "round", "Enter the number of a round."),
    ("ada", "remarks/", PLACE | {"round": 1, "text": ["Look."]}, "text", "Write a comment."),
    ("ada", "proposals/", PLACE | {"name": None, "memo": 7}, "memo", "Enter at most 20000 characters."),
    ("ada", "resolutions/", PLACE | {"values": ["crash"], "part": True}, "part", "Enter a whole number."),
    ("olga", PROPOSAL, {"decline": 7}, "decline", "Give a reason of at most 2000 characters. The rater reads it."),
    ("olga", PROPOSAL, {"map_to": ["hang"]}, "map_to", "Name a category by its key."),
    ("olga", PROPOSAL, {"decline": "No.", "also": [True]}, "also", "Send a list of IDs."),
    ("olga", "", {"headline": "all"}, "headline", "Send a list of round numbers."),
    ("olga", "", {"headline": ["1"]}, "headline", "Send a list of round numbers."),
    ("olga", "", {"archived": "true"}, "archived", "Use true or false."),
    ("olga", "rounds/1/close/", {"leave_open": "yes"}, "leave_open", "Use true or false."),
    ("olga", "rounds/1/raters/R1/", {"quota": "5"}, "quota", "Enter a whole number from 0, or null for no limit."),
    ("olga", "changes/repin/", {"items": [1]}, "items", "Send a list of items as owner/name#number."),
    ("olga", "members/", {"user": 7, "roles": ["rater"]}, "user", "Enter text."),
    ("olga", "plans/", {"to": "2"}, "to", "Enter the number of a version."),
    ("olga", "invitations/", {"roles": ["rater"], "days": 0}, "days", "Enter a whole number from 1 to 90."),
    ("olga", "samples/", {"selection": ["a"]}, "selection", "Enter text."),
    ("olga", "rounds/", ROUND | {"kind": "relabel"}, "kind", "Use screening, pilot or main."),
    ("olga", "rounds/", ROUND | {"mode": ["pool"]}, "mode", "Use planned or pool."),
    ("olga", "rounds/", ROUND | {"taxonomy_version": "1"}, "taxonomy_version", "Enter a whole number."),
    ("olga", "rounds/", ROUND | {"raters": "bob"}, "raters", "Name at least one rater."),
    ("olga", "rounds/", ROUND | {"raters_per_item": "2"}, "raters_per_item", "Enter a whole number from 1 to 100."),
    ("olga", "rounds/", ROUND | {"double_share": "0.5"}, "double_share", "Enter a share from 0 to 1."),
    ("olga", "rounds/", ROUND | {"double_share": 1.5}, "double_share", "Enter a share from 0 to 1."),
    ("olga", "rounds/", ROUND | {"issues": 1}, "issues", "Name at least one issue, as owner/name#number."),
    ("olga", "rounds/", ROUND | {"seed": True}, "seed", "Enter a whole number."),
    ("olga", "rounds/", ROUND | {"reasons": [1]}, "reasons", "Send a list of texts, one reason each."),
    ("olga", "rounds/", ROUND | {"training_round": "1"}, "training_round", "Name a closed round of this study."),
    ("olga", "exports/", {"what": ["labels"]}, "what", f"Use one of {', '.join(KINDS)}."),
)


def build_study() -> Study:
    return make.study()


@pytest.mark.parametrize(("name", "path", "body", "field", "sentence"), REFUSED)
def test_what_is_of_another_type_is_named(
    study: Study, name: str, path: str, body: dict[str, Any], field: str, sentence: str
) -> None:
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash hang")
    method = "PATCH" if path in ("", "rounds/1/raters/R1/") else "POST"
    assert Script(name).refused(method, f"studies/{study.slug}/{path}", body)[field] == [sentence]


def test_null_counts_as_not_sent_where_it_means_nothing(study: Study) -> None:
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    body = {"item": "acme/rocket#1", "dimension": "symptom", "values": ["crash"], "part": None, "round": None}
    sent = Script("ada").send("POST", f"studies/{study.slug}/resolutions/", body)
    assert (sent.status_code, sent.json()["part"]) == (201, 1)


def test_every_body_has_the_fields_that_it_passes_on() -> None:
    shapes = api_bodies.Body.__subclasses__()
    shapes += [each for shape in shapes for each in shape.__subclasses__()]
    assert len(shapes) > 20
    for shape in shapes:
        assert {*shape.documents} <= {*shape().fields}, shape


def test_of_a_million_wrong_entries_the_first_are_reported(study: Study) -> None:
    """A message for each would take a thousand bytes: ten of them are made, whatever follows."""
    wrong = [1] * 990_000
    for field in (
        EntriesField(child=serializers.CharField(max_length=0)),
        CheckedListField("No.", child=StringField()),
    ):
        tracemalloc.start()
        with pytest.raises(serializers.ValidationError):
            field.run_validation(wrong)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert most < 1_000_000, most
    answer = Script("olga").send("POST", "inbox/read/", {"ids": ["x"] * 100})
    assert (answer.status_code, answer.json()["fields"]) == (422, {"ids": ["Send a list of IDs."]})


def test_no_list_of_a_body_makes_a_message_for_each_entry() -> None:
    waiting: list[Any] = [FetchRequest(), *(each() for each in subclasses(Body))]
    plain, n_lists = [], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, serializers.ListField):
            n_lists += 1
            plain += [] if isinstance(one, EntriesField) else [one.field_name or repr(one)]
            waiting += [] if isinstance(one.child, serializers.ListField) else [one.child]
        elif isinstance(one, serializers.BaseSerializer):
            waiting += [one.child] if isinstance(one, serializers.ListSerializer) else list(one.fields.values())
    assert not plain and n_lists > 15


def subclasses(base: type[Any]) -> Iterator[type[Any]]:
    for each in base.__subclasses__():
        yield each
        yield from subclasses(each)
