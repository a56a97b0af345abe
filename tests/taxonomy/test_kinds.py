"""Kinds of questions: each declares what it is, and a new one needs nothing but its class."""

import json

import pytest
from django.db import IntegrityError, transaction
from django.test import Client

from accounts.models import User
from taxonomy import schema
from taxonomy.actions import load_document
from taxonomy.checking import load
from taxonomy.errors import InvalidDocument
from taxonomy.kinds import KINDS, Kind, register
from taxonomy.models import Dimension
from tests import builders as make
from tests.made_up_kinds import SLIDER, slider_registered

DOCUMENT = """
slug: sure
title: Sure
dimensions:
  - {key: share, title: Share, kind: slider}
"""


@pytest.mark.parametrize(
    ("name", "column", "is_set"),
    [
        ("single", "category", False),
        ("multi", "category", True),
        ("ordinal", "category", False),
        ("boolean", "boolean", False),
        ("number", "number", False),
        ("text", "text", False),
    ],
)
@pytest.mark.django_db
def test_a_dimension_written_by_the_version_before_has_the_column_of_its_kind(
    name: str, column: str, is_set: bool
) -> None:
    draft = load_document(user=make.user("maria"), text=DOCUMENT.replace("slider", "boolean"))
    row = Dimension.objects.create(version=draft, key="old", title="Old", kind=name, position=9)
    row.refresh_from_db()
    assert (row.value_column, row.is_set) == (column, is_set) == (KINDS[name].column, KINDS[name].is_set)


@pytest.mark.django_db
def test_a_kind_that_no_version_knows_has_to_declare_a_column() -> None:
    draft = load_document(user=make.user("maria"), text=DOCUMENT.replace("slider", "boolean"))
    with pytest.raises(IntegrityError, match="values_have_a_column"), transaction.atomic():
        Dimension.objects.create(version=draft, key="new", title="New", kind="date", position=9)
    Dimension.objects.create(version=draft, key="new", title="New", kind="date", value_column="number", position=9)


@pytest.mark.django_db
def test_a_kind_registered_anywhere_is_in_documents_the_schema_and_the_editor(client: Client) -> None:
    with pytest.raises(InvalidDocument, match="is not a kind of dimension"):
        load(DOCUMENT)
    with slider_registered():
        assert schema.dump(load(DOCUMENT)).endswith("kind: slider\n")
        with pytest.raises(InvalidDocument, match="Did you mean “slider”"):
            load(DOCUMENT.replace("slider", "percentage"))
        shown = json.loads(client.get("/api/v1/taxonomies/schema.json").content)["$defs"]["dimension"]
        assert shown["properties"]["kind"]["enum"] == [*KINDS] and "slider" in KINDS
        assert shown["allOf"][1]["if"]["properties"]["kind"]["enum"] == ["boolean", "number", "text", "slider"]
        draft = load_document(user=make.user("maria"), text=DOCUMENT)
        assert list(draft.dimensions.values_list("value_column", "is_set")) == [("number", False)]
        client.force_login(User.objects.get(username="maria"))
        page = client.get(f"/taxonomies/sure/versions/{draft.number}/edit/").content.decode()
        assert '<option value="slider">0 to 100</option>' in page
    assert "slider" not in schema.document_schema()["$defs"]["dimension"]["properties"]["kind"]["enum"]


def test_a_kind_is_registered_once_and_with_a_column_that_there_is() -> None:
    class Dated(Kind):
        name, column = "dated", "date"

    with pytest.raises(ValueError, match="'date' is no column of values"):
        register(Dated())
    with slider_registered(), pytest.raises(ValueError, match="a kind 'slider' already"):
        register(SLIDER)
