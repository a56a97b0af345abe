"""Digits that are none, and signs that the database can't store, are rejected by every door and break none."""

import json
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.imports.views import _is_fate
from ingest.errors import RowError
from ingest.github.rest_objects import parse_issue
from ingest.tables.columns import guess
from tests import builders as make
from tests.scripts import Script

APPS = ("accounts", "agreement", "annotation", "config", "ingest", "shared", "taxonomy")


def test_no_text_is_read_as_a_number_because_of_signs_like_a_small_two() -> None:
    root = Path(__file__).parents[3]
    files = [path for app in APPS for path in (root / app).rglob("*.py")]
    assert [str(path) for path in files if ".isdigit()" in path.read_text(encoding="utf-8")] == []


def test_signs_like_a_small_two_are_no_digits_of_a_column_or_a_place() -> None:
    assert guess(["id", "title"], [["²", "It hangs"], ["3", "It stops"]])
    assert not _is_fate("insert:²") and _is_fate("insert:2")


def test_a_row_of_a_file_with_a_nul_is_rejected_in_words_that_can_be_stored() -> None:
    with pytest.raises(RowError) as caught:
        parse_issue({"number": 1, "title": "t", "repository": "mal/fz\x00"})
    assert "\x00" not in str(caught.value) and "is not a repository" in str(caught.value)


@pytest.mark.django_db
def test_a_person_of_label_studio_with_a_nul_is_stored_without_it() -> None:
    make.study(raters=("bob",))
    result = {"from_name": "symptom", "to_name": "text", "type": "choices", "value": {"choices": ["crash"]}}
    task = {"id": 1, "data": {"item": "acme/r#1", "text": "x"}}
    task |= {"annotations": [{"id": 2, "completed_by": "a\x00b", "result": [result]}]}
    file = SimpleUploadedFile("project.json", json.dumps([task]).encode())
    answer = Script("olga").send_form("studies/study/ratings/", {"file": file, "guess": "true"})
    assert answer.status_code < 500, answer.content
    assert "\\u0000" not in json.dumps(answer.json())
