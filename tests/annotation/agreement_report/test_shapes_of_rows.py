"""Labels as a wide table, items, agreement and versions of the taxonomy as files; narrowed down as one asks for."""

import csv
import io
import json
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.files.base import ContentFile
from django.core.management import call_command
from django.test import Client

from annotation.agreement_report.queries.across_rounds import AgreementQuery, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement
from annotation.core.access import Seat
from annotation.exports.queries.kinds import read_export_request, write_file
from annotation.models import Item, Study
from taxonomy.actions import load_document
from taxonomy.queries import document, newest_published
from taxonomy.schema import dump
from tests import builders as make
from tests.annotation.packages import unwatched

pytestmark = pytest.mark.django_db


def written(seat: Seat, what: str, format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    write_file(read_export_request(seat, what, format, options), seat, file, unwatched)
    return file.getvalue()


def lines(seat: Seat, what: str, **options: Any) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(seat, what, "csv", **options).decode(), newline="")))


def build_study() -> Study:
    """Three issues under every kind of dimension; the third one's kind is open."""
    made = make.study(text=make.FAULTS)
    round_ = make.open_round(made, 3)
    fault = {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config", "code"], "distributed": True}
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, fault)
        make.submit(round_, name, 2, parts=[{"labels": {"kind": ["how-to"]}}, {"labels": fault}])
    make.submit(round_, "bob", 3, {"kind": ["how-to"]})
    make.submit(round_, "carol", 3, fault)
    return made


def test_a_wide_table_has_one_row_for_each_part_and_one_column_for_each_dimension(study: Study) -> None:
    seat = make.owner_seat(study)
    found = lines(seat, "labels", shape="wide")
    named = ("item", "part", "kind", "symptom", "fixes", "distributed", "kind.method", "symptom.method")
    assert [tuple(row[name] for name in named) for row in found] == [
        ("acme/rocket#1", "1", "fault", "crash", "code;config", "true", "unanimous", "unanimous"),
        ("acme/rocket#2", "1", "how-to", "", "", "", "unanimous", ""),
        ("acme/rocket#2", "2", "fault", "crash", "code;config", "true", "unanimous", "unanimous"),
    ]
    assert {(row["repository"], row["round"], row["taxonomy_version"]) for row in found} == {("acme/rocket", "1", "1")}
    spoken = [json.loads(line) for line in written(seat, "labels", "jsonl", shape="wide").splitlines()]
    packed = pq.read_table(io.BytesIO(written(seat, "labels", "parquet", shape="wide"))).to_pylist()
    assert spoken == packed
    assert (spoken[0]["fixes"], spoken[0]["distributed"], spoken[1]["fixes"]) == (["code", "config"], True, None)


def test_a_wide_table_says_of_each_label_what_the_long_one_says(study: Study) -> None:
    seat = make.owner_seat(study)
    wide = {(row["item"], row["part"]): row for row in lines(seat, "labels", shape="wide")}
    told = lines(seat, "labels")
    for row in told:
        assert wide[row["item"], row["part"]][row["dimension"]] == row["values"]
    names = ("kind", "symptom", "fixes", "distributed")
    assert len(told) == sum(bool(row[f"{name}.method"]) for row in wide.values() for name in names)


def test_the_page_and_the_command_give_the_wide_table_too(study: Study, tmp_path: Any) -> None:
    client = Client()
    client.force_login(study.created_by)
    answer = client.get("/studies/study/exports/labels.csv?shape=wide")
    sent = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    said = io.StringIO()
    call_command("export", "study", "--shape", "wide", "--out", str(tmp_path / "wide.csv"), stdout=said)
    assert ": 3 rows, SHA-256" in said.getvalue()
    assert (
        sent == (tmp_path / "wide.csv").read_bytes() == written(make.owner_seat(study), "labels", "csv", shape="wide")
    )
    rest = client.get("/api/v1/studies/study/labels/?format=csv&shape=wide")
    assert sent == b"".join(rest.streaming_content)  # type: ignore[attr-defined]


def test_ratings_can_be_of_chosen_raters_and_one_revision(study: Study) -> None:
    seat = make.owner_seat(study)
    every = lines(seat, "ratings")
    assert lines(seat, "ratings", raters=["r2"]) == [row for row in every if row["rater"] == "R2"] != []
    assert lines(seat, "ratings", raters="R1,R2") == every
    assert lines(seat, "ratings", raters="R9") == []
    assert {row["revision"] for row in lines(seat, "ratings", revision="current")} == {"current"}


def test_items_are_told_with_screening_rounds_facts_and_what_was_imported(study: Study) -> None:
    Item.objects.filter(identifier="acme/rocket#2").update(
        attributes={"stage": "training", "a": 1}, screening="out", screening_reason="=spam"
    )
    Item.objects.create(study=study, identifier="paper-7")
    found = lines(make.owner_seat(study), "items")
    assert [row["item"] for row in found] == [f"acme/rocket#{n}" for n in (1, 2, 3)] + ["paper-7"]
    assert (found[1]["attributes"], found[1]["screening"]) == ('{"a": 1, "stage": "training"}', "out")
    assert (found[1]["screening_reason"], found[0]["rounds"], found[0]["state"]) == ("'=spam", "1", "open")
    assert (found[3]["repository"], found[3]["state"], found[3]["rounds"]) == ("", "", "")
    assert "Training" not in written(make.owner_seat(study), "items", "jsonl").decode()


def test_a_version_of_the_taxonomy_comes_back_as_the_document_it_was(study: Study) -> None:
    told = [json.loads(line) for line in written(make.owner_seat(study), "taxonomies", "jsonl").splitlines()]
    newest = newest_published(study.taxonomy)
    assert newest is not None
    assert [(row["taxonomy"], row["version"], row["state"]) for row in told] == [("faults", 1, "published")]
    assert told[0]["document"] == dump(document(newest))
    again = load_document(user=study.created_by, text=told[0]["document"].replace("slug: faults", "slug: again"))
    assert document(again).dimensions == document(newest).dimensions


def test_agreement_is_told_flat_and_as_rest_tells_it(study: Study) -> None:
    seat = make.owner_seat(study)
    found = lines(seat, "agreement")
    entries = agreement(seat, visible_rounds(seat), AgreementQuery(fixed=study.primary), round_number=1)
    expected = {
        (entry["dimension"], each["name"]): each["value"] for entry in entries for each in entry["coefficients"]
    }
    before = [row for row in found if row["when"] == "before"]
    told = {(row["dimension"], row["coefficient"]): float(row["value"]) if row["value"] else None for row in before}
    assert told == expected and len(found) == 2 * len(expected)
    assert all(row["undefined"] for row in found if not row["value"])


def test_nothing_of_an_empty_study_is_a_file_with_its_head() -> None:
    seat = make.owner_seat(make.study(text=make.FAULTS))
    assert written(seat, "labels", "csv", shape="wide").decode().startswith("item,repository,number,part,round")
    assert written(seat, "agreement", "csv").count(b"\n") == 1
    assert pq.read_table(ContentFile(written(seat, "labels", "parquet", shape="wide"))).num_rows == 0
