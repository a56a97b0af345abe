"""The replication package: what is in it, equal bytes, nobody named, nothing blind, all recomputed from its tables."""

import csv
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from django.conf import settings
from django.db import transaction
from django.db.models import F
from ruamel.yaml import YAML
from scipy.stats import spearmanr

from accounts.models import User
from annotation.analysis.actions import save_analysis
from annotation.analysis.association import independence
from annotation.assignments.jobs import rule_round
from annotation.charts.drawing import draw
from annotation.charts.specifications import SCHEMA
from annotation.choosing.actions.samples import draw_sample
from annotation.core.access import get_item, get_seat
from annotation.core.archive import ZipArchive
from annotation.core.errors import Conflict, Invalid
from annotation.exports.queries.kinds import read_export_request
from annotation.members.actions.members import add_member
from annotation.models import BulkJob, Evidence, Rating, Study
from annotation.package.pdf import NotSimple, in_order
from annotation.package.queries import package as study_package
from annotation.package.queries.people import PackagePeople
from annotation.package.queries.results import analyses
from annotation.package.tables import PackageColumn, PackageTable, TableWriter
from annotation.resolving.actions.part_matches import match_parts
from annotation.resolving.actions.resolutions import resolve
from annotation.rounds.actions import rounds
from annotation.studies.actions.studies import change_study
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.annotation.imports.test_imports_liu import import_liu
from tests.annotation.packages import EVERYTHING, labeled, package, quickly, recompute, unpacked
from tests.annotation.script import recompute as script
from tests.citations import wrong_in_citation

# The database for all: a run of a few would have none to make packages in.
pytestmark = [pytest.mark.django_db, pytest.mark.process]

PRIMARY = {"symptom": {"coefficient": "cohen_kappa", "threshold": 0.7}}
PEOPLE = ("olga", "bob", "carol", "dave", "erin", "ada", "rea", "octocat", "hubot")


@pytest.fixture(autouse=True, scope="module")
def _quickly() -> Iterator[None]:
    with quickly():
        yield


def made_up() -> Study:
    """Two rounds under a taxonomy of every kind of dimension: two raters, then three of four; the first one closed."""
    study = make.study(text=EVERYTHING, raters=("bob", "carol", "dave", "erin"), primary=PRIMARY)
    labeled(study, 10, ("bob", "carol"), first=1, seed=1, per_item=2)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    labeled(study, 8, ("bob", "carol", "dave", "erin"), first=8, seed=2, per_item=3)
    rating = Rating.objects.filter(category__key="hang", annotation=F("annotation__assignment__current")).first()
    Evidence.objects.create(rating=rating, where="body", start=3, end=8, quote="=so says @octocat")
    thread = [
        (1, "octocat", "@olga see mail@example.org\nSigned-off-by: Hu Bot <hubot@example.org>"),
        (2, "hubot", "=1"),
    ]
    snapshot = make.new_state(1, thread, author_login="octocat", title="=Hangs, says @hubot")
    study.items.filter(identifier="acme/rocket#1").update(
        snapshot=snapshot, attributes={"author": "octocat", "said": "@octocat: no", "stage": "begin"}
    )
    seat = make.owner_seat(study)
    save_analysis(seat=seat, title="Counts of symptoms", kind="counts", question={"dimension": ["symptom"]})
    for kind, asked in (
        ("profiles", {"dimension": ["symptom"], "by": ["distributed"]}),
        ("saturation", {"dimension": ["fixes"]}),
        ("combinations", {"dimensions": ["kind,symptom,fixes,distributed"]}),
    ):
        save_analysis(seat=seat, title=f"A {kind}", kind=kind, question=asked)
    words = {"dimension": ["symptom"], "by": ["author"]}
    save_analysis(seat=seat, title="Counts of whose symptoms", kind="counts", question=words)
    return study


@pytest.fixture(scope="module")
def made(django_db_setup: None, django_db_blocker: Any) -> dict[str, bytes]:
    """Packages of one study, whose rows are gone again: as they come, twice, and with other options."""
    with django_db_blocker.unblock(), transaction.atomic():
        study = made_up()
        seat = make.owner_seat(study)
        found = {name: package(seat) for name in ("first", "second")}
        found["texts"] = package(seat, texts="included", authors="Doe, Jo\n  The others ", licence="CC0-1.0")
        found["names"] = package(seat, texts="included", pseudonymise=False)
        found["bare"] = package(seat, texts="left_out", licence="none")
        change_study(seat=seat, changes={"applies": "either"})
        found["either"] = package(seat)
        transaction.set_rollback(True)
    forget_trees()
    return found


def files_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def table(files: dict[str, bytes], name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(files[f"{name}.csv"].decode(), newline="")))


def test_a_package_answers_nothing_that_someone_saved_who_is_blind() -> None:
    """How long an answer takes follows from labels: they would learn which ones by asking about one of them."""
    study = make.study(raters=("bob", "carol"))
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 hang hang")
    rounds.close_round(seat=make.owner_seat(study), number=1)
    add_member(seat=make.owner_seat(study), username=make.user("rea").username, roles=["owner", "rater"])
    for name in ("rea", "olga"):
        asked = {"dimension": ["symptom"], "where": ["symptom:hang"]}
        save_analysis(seat=make.seat(study, name), title=f"By {name}", kind="counts", question=asked)
    make.open_round(study, 1, raters=("rea", "bob"), first=3)

    def answered() -> list[bool]:
        found = analyses(make.owner_seat(study), lambda words: None)
        told = [each for each in found.document["analyses"] if each["number"] is not None]
        drawn = [any(name.startswith(f"analysis-{number}-") for name in found.figures) for number in (1, 2)]
        assert drawn == [each["answer"] is not None for each in told]
        return drawn

    assert answered() == [False, True]
    rounds.resolve_round(seat=make.owner_seat(study), number=2, withdraw=True)
    assert answered() == [True, True]


@pytest.mark.parametrize("which", ["first", "either"])
def test_all_numbers_are_recomputed_from_the_tables_alone(made: dict[str, bytes], tmp_path: Path, which: str) -> None:
    status, said = recompute(unpacked(made[which], tmp_path))
    assert status == 0, said
    *_, last = said.splitlines()
    n, _, of, *words = last.split()
    assert n == of and int(n) > 3000 and words == ["values", "agree"]


def replaced(path: Path, old: str, new: str, *, nth: int = 0) -> None:
    text = path.read_text(encoding="utf-8")
    found = [each.start() for each in re.finditer(re.escape(old), text)]
    at = found[nth]
    path.write_text(text[:at] + new + text[at + len(old) :], encoding="utf-8")


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("data/ratings.csv", ",kind,fault,", ",kind,how-to,", "results/agreement.json: kind, "),
        ("data/labels.csv", ",unanimous,", ",discussion,", "data/labels.csv: acme/rocket#"),
        ("data/labels_wide.csv", ",fault,", ",how-to,", "data/labels_wide.csv: acme/rocket#"),
        ("results/analyses.json", '"share": 0.', '"share": 0.9', "results/analyses.json: Counts of "),
        ("data/resolutions.csv", ",adjudicator,", ",owner,", "data/labels.csv: acme/rocket#"),
    ],
)
def test_a_planted_error_is_found_and_named(
    made: dict[str, bytes], tmp_path: Path, file: str, old: str, new: str, told: str
) -> None:
    folder = unpacked(made["first"], tmp_path)
    replaced(folder / file, old, new)
    status, said = recompute(folder)
    assert status == 1 and f"DIFFERS  {told}" in said, said


def test_an_error_in_each_kind_of_analysis_is_found(made: dict[str, bytes], tmp_path: Path) -> None:
    folder = unpacked(made["first"], tmp_path)
    path = folder / "results" / "analyses.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    of = {each["kind"]: each["answer"] for each in document["analyses"]}
    of["profiles"]["correlations"][0]["n_categories"] += 1
    of["saturation"]["curve"][1]["mean"] += 1e-6
    of["saturation"]["first_seen"][0]["n_items"] += 1
    of["combinations"]["combinations"][0]["lift"] += 1e-6
    path.write_text(json.dumps(document), encoding="utf-8")
    status, said = recompute(folder)
    found = [line.partition("reported")[0] for line in said.splitlines() if line.startswith("DIFFERS")]
    assert status == 1 and len(found) == 4, said
    for words in ("and true, categories", "after 2 items, over", "A saturation: first", ", lift"):
        assert any(words in line for line in found), (words, found)
    assert "Not recomputed: the analysis" not in said


def test_the_script_correlates_ranks_as_scipy_does_and_draws_p_values_within_its_error() -> None:
    x, y = np.array([5.0, 1, 3, 3, 0, 8, 2, 7, 6, 4]), np.array([4.0, 0, 3, 1, 1, 9, 9, 5, 2, 6])
    wanted = spearmanr(x, y)
    assert script.spearman(x, y)[:2] == pytest.approx((wanted.statistic, wanted.pvalue), abs=1e-9)
    for table in ([[3, 1, 0], [1, 2, 4], [0, 1, 5]], [[2, 1, 0], [1, 0, 2], [0, 2, 2]]):
        test = independence(np.array(table))
        assert test.method == "monte_carlo"
        p, error = script.drawn_p(np.array(table), test.statistic, vars(test))
        assert abs(p - test.p_value) <= error < 0.05


def test_a_changed_coefficient_is_named_with_both_values(made: dict[str, bytes], tmp_path: Path) -> None:
    folder = unpacked(made["first"], tmp_path)
    path = folder / "results" / "agreement.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    entry = next(each for each in document["entries"] if each["dimension"] == "symptom" and each["round"] == 1)
    kappa = next(each for each in entry["coefficients"] if each["name"] == "cohen_kappa")
    right, kappa["value"] = kappa["value"], kappa["value"] + 1e-8
    path.write_text(json.dumps(document), encoding="utf-8")
    status, said = recompute(folder)
    (line,) = [each for each in said.splitlines() if each.startswith("DIFFERS")]
    wanted = f"results/agreement.json: symptom, round 1, before: cohen_kappa: reported {kappa['value']!r}, recomputed "
    assert status == 1 and line.startswith(f"DIFFERS  {wanted}{str(right)[:12]}")


def test_two_packages_of_the_same_state_are_equal_to_the_byte(made: dict[str, bytes]) -> None:
    assert made["first"] == made["second"]
    days = {each.date_time for each in zipfile.ZipFile(io.BytesIO(made["first"])).infolist()}
    (day,) = days
    assert (
        day[3:] == (0, 0, 0)
        and f"State of {date(*day[:3]).isoformat()}" in files_of(made["first"])["README.md"].decode()
    )


def test_the_checksums_are_those_of_all_files(made: dict[str, bytes]) -> None:
    files = files_of(made["first"])
    listed = dict(reversed(line.split("  ")) for line in files.pop("CHECKSUMS.txt").decode().splitlines())
    assert listed == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


@pytest.mark.parametrize("which", ["first", "texts", "bare"])
def test_frictionless_finds_nothing_wrong(made: dict[str, bytes], tmp_path: Path, which: str) -> None:
    from frictionless import validate

    report = validate(str(unpacked(made[which], tmp_path) / "datapackage.json"))
    assert report.valid, report.flatten(["name", "rowNumber", "fieldName", "message"])[:5]
    assert {task.name for task in report.tasks} >= {"ratings", "labels", "labels-wide", "items", "agreement"}


@pytest.mark.slow
def test_the_dictionary_names_the_categories_of_what_is_one_of_some(made: dict[str, bytes]) -> None:
    document = json.loads(files_of(made["first"])["datapackage.json"])
    fields = {
        each["name"]: {field["name"]: field for field in each["schema"]["fields"]} for each in document["resources"]
    }
    severity = fields["labels-wide"]["severity"]
    assert [each["value"] for each in severity["categories"]] == ["low", "some", "high", "worst"]
    assert severity["categoriesOrdered"] and not fields["labels-wide"]["symptom"]["categoriesOrdered"]
    assert [each["value"] for each in fields["ratings"]["rater"]["categories"]] == ["R1", "R2", "R3", "R4"]
    assert fields["items"]["attributes"]["description"].endswith(": author, said, stage.")
    assert fields["items"]["screening"]["constraints"]["required"]
    assert all(field["description"] for each in fields.values() for field in each.values())


@pytest.mark.slow
def test_a_hub_of_data_sets_loads_the_folder(made: dict[str, bytes], tmp_path: Path, monkeypatch: Any) -> None:
    from datasets import load_dataset

    folder = unpacked(made["texts"], tmp_path / "package")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cache = str(tmp_path / "cache")
    labels = load_dataset(str(folder), cache_dir=cache)["train"]
    assert len(labels) == len(table(files_of(made["texts"]), "data/labels"))
    wide = load_dataset(str(folder), "labels_wide", cache_dir=cache)["train"]
    assert {"item", "part", "kind", "fixes", "severity"} <= set(wide.column_names)


def test_nobody_is_named_unless_the_owner_wants_it(made: dict[str, bytes]) -> None:
    for which in ("first", "texts"):
        for name, content in files_of(made[which]).items():
            told = content.decode(errors="replace")
            assert "@example.org" not in told, name
            for person in PEOPLE:
                assert not re.search(rf"(?<![\w-]){person}(?![\w-])", told), (which, name, person)
    texts = files_of(made["names"])["data/issues.csv"].decode()
    assert "octocat" in texts and "hubot@example.org" in texts
    raters = {each["rater"] for each in table(files_of(made["names"]), "data/ratings")}
    assert raters == {"R1", "R2", "R3", "R4"}


def test_evidence_says_where_the_words_stand_and_quotes_them_where_texts_are_included(made: dict[str, bytes]) -> None:
    (told,) = table(files_of(made["texts"]), "data/evidence")
    assert (told["dimension"], told["category"], told["where"]) == ("symptom", "hang", "body")
    assert (told["start"], told["end"]) == ("3", "8") and told["quote"].startswith("'=so says @person-")
    (placed,) = table(files_of(made["first"]), "data/evidence")
    assert placed == {name: value for name, value in told.items() if name != "quote"}
    assert not any("evidence" in name for name in files_of(made["bare"]))
    (named,) = table(files_of(made["names"]), "data/evidence")
    assert named["quote"] == "'=so says @octocat"


def test_one_person_has_one_pseudonym_in_all_of_the_package(made: dict[str, bytes]) -> None:
    files = files_of(made["texts"])
    issue = table(files, "data/issues")[0]
    item = json.loads(table(files, "data/items")[0]["attributes"])
    assert issue["author"].startswith("person-") and item["author"] == issue["author"]
    assert item["said"] == f"@{issue['author']}: no" and item["stage"] == "begin"
    assert f"as R1 and @{issue['author']} said" in {each["rationale"] for each in table(files, "data/resolutions")}


@pytest.mark.django_db
def test_a_full_name_rewrites_nothing_that_others_wrote() -> None:
    """Full names are free: a word, a user name, or what someone else is called."""
    study = make.study(raters=("bob", "carol"))
    for name, first, last in (("ada", "", ""), ("bob", "ada", ""), ("carol", "Cara", "Lee"), ("olga", "Cara", "Lee")):
        User.objects.filter(username=make.user(name).username).update(first_name=first, last_name=last)
    people = PackagePeople(study, is_on=True)
    said = "As ada said to bob, Cara Lee is sure."
    ada, cara = (people.member(name) for name in ("ada", "Cara Lee"))
    assert people.text(said) == f"As {ada} said to R1, {cara} is sure." and ada.startswith("person-")
    assert cara not in (people.member("olga"), "R2")
    others = (("As Cara Lee", people.member("As Cara Lee")), ("Cara Lee", cara))
    for full, told in (("hang", "hang"), ("the hang", "the hang"), ("The Hang", "R1"), *others):
        User.objects.filter(username="bob").update(first_name=full, last_name="")
        assert PackagePeople(study, is_on=True).text(f"I think {full} is clear.") == f"I think {told} is clear."


def test_texts_are_in_or_named_or_left_out(made: dict[str, bytes]) -> None:
    included, referenced, bare = (files_of(made[which]) for which in ("texts", "first", "bare"))
    assert "Training **hangs** after step 2." in included["data/issues.csv"].decode()
    assert table(included, "data/issues")[0]["title"].startswith("'=Hangs")
    assert not any(b"Training **hangs**" in content for content in referenced.values())
    first = table(referenced, "data/issues")[0]
    assert first["url"] == "https://github.com/acme/rocket/issues/1" and len(first["snapshot"]) == 64
    assert "data/issues.csv" not in bare and "data/issues.parquet" not in bare
    assert "belong to the people who wrote them" in bare["LICENSE.md"].decode()


def test_what_raters_gave_is_there_blind_and_current(made: dict[str, bytes]) -> None:
    ratings = table(files_of(made["first"]), "data/ratings")
    kinds = {(each["blind"], each["current"]) for each in ratings}
    assert kinds == {("true", "true"), ("true", "false"), ("false", "true")}
    assert {each["proposal_memo"] for each in ratings} == {"", "none fits"}
    states = {each["state"] for each in table(files_of(made["first"]), "data/answers")}
    assert states == {"submitted", "skipped"}


def test_what_the_readme_reads_as_before_discussion_gives_the_reported_agreement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make.study(raters=("bob", "carol", "dave"), resolve_when="item")
    change_study(seat=make.owner_seat(study), changes={"third_rater": True})
    make.issues(9)
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=["bob", "carol", "dave"],
            raters_per_item=2,
            kind="pilot",
            issues=[f"acme/rocket#{number}" for number in range(1, 8)],
            known={"acme/rocket#9": {"labels": {"symptom": ["crash"]}, "why": ""}},
        ),
    )
    round_ = rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)
    answers = {1: "crash crash", 2: "hang crash", 3: "hang hang", 4: "slow hang", 5: "slow slow", 7: "hang hang"}
    for each in round_.assignments.select_related("item", "rater__user").order_by("item", "slot"):
        name, number = each.rater.user.username, int(each.item.identifier.rpartition("#")[2])
        order = ("crash", "hang") if each.slot == 1 else ("hang", "crash")
        if number == 6:
            make.submit(round_, name, 6, parts=[{"labels": {"symptom": [label]}} for label in order])
        else:
            make.submit(round_, name, number, {"symptom": [answers.get(number, "crash crash").split()[each.slot > 1]]})
    rule_round(round_.pk)
    for each in round_.assignments.filter(slot=None).select_related("item", "rater__user"):
        make.submit(round_, each.rater.user.username, int(each.item.identifier[-1]), {"symptom": ["slow"]})
    second = round_.assignments.get(item__identifier="acme/rocket#6", slot=2)
    match_parts(seat=make.seat(study, "ada"), round_=round_, item=second.item, rater=second.rater.code, parts=[2, 1])
    files = files_of(package(make.owner_seat(study)))
    monkeypatch.chdir(unpacked(package(make.owner_seat(study)), tmp_path))
    (recipe,) = re.findall(r"```python\n(.*?)```", files["README.md"].decode(), re.DOTALL)
    found: dict[str, Any] = {}
    exec(recipe, found)
    rows: pd.DataFrame = found["before_discussion"]
    values = rows.assign(value=rows["values"].map(lambda given: given[0])).pivot(
        index=["round", "item", "unit"], columns="rater", values="value"
    )
    alpha = krippendorff.alpha(values.to_numpy().T.astype(str), level_of_measurement="nominal")
    entries = json.loads(files["results/agreement.json"])["entries"]
    (entry,) = [each for each in entries if each["round"] is None and each["when"] == "before"]
    reported = {each["name"]: each["value"] for each in entry["coefficients"]}
    n_values = int(values.notna().sum().sum())
    assert len(values) == entry["units"] == 8 and n_values == entry["ratings"] == 16
    assert alpha == pytest.approx(reported["krippendorff_alpha"])
    thirds = {(each["item"], each["rater"]) for each in table(files, "data/answers") if each["role"] == "third_rater"}
    blind = {(each["item"], each["rater"]) for each in table(files, "data/ratings") if each["blind"] == "true"}
    assert thirds and thirds <= blind
    n_of_training = sum(each["item"] == "acme/rocket#9" for each in table(files, "data/ratings"))
    n = len(table(files, "data/ratings")) - n_of_training
    assert (
        n_of_training
        and f"7 items labeled by 3 raters against the taxonomy “{study.taxonomy.title}”: {n} ratings"
        in (files["README.md"].decode())
    )


def test_the_abstract_of_one_rater_has_no_agreement_and_no_label_without_a_value() -> None:
    study = make.study(raters=("bob",))
    round_ = make.open_round(study, 2, raters=("bob",))
    make.rate(round_, "item bob\n1 crash\n2 hang")
    seat = make.seat(study, "ada")
    where = {"round_": round_, "item": get_item(seat, "acme/rocket#2"), "part": 1, "dimension": "symptom"}
    resolve(seat=seat, values=[], rationale="It has none.", **where)
    readme = files_of(package(make.owner_seat(study)))["README.md"].decode()
    assert "2 ratings and 1 resolution, later revisions included, and 1 agreed label.\n" in readme
    assert "inter-rater agreement" not in readme.partition("\n---\n")[0], "there is none"


def test_the_citation_keeps_the_rules_of_its_format(made: dict[str, bytes]) -> None:
    for which, authors, licence in (
        ("first", [{"name": "The authors of Study"}], "CC-BY-4.0"),
        ("texts", [{"family-names": "Doe", "given-names": "Jo"}, {"name": "The others"}], "CC0-1.0"),
        ("bare", [{"name": "The authors of Study"}], None),
    ):
        text = files_of(made[which])["CITATION.cff"].decode()
        assert wrong_in_citation(text) == []
        found = YAML(typ="safe").load(text)
        assert found["type"] == "dataset" and found["title"].startswith("Study")
        assert found["authors"] == authors and found.get("license") == licence
        assert date.fromisoformat(found["version"]) and "date-released" not in found  # nobody has released it yet


def test_the_papers_hold_methods_checklist_and_documents(made: dict[str, bytes]) -> None:
    files = files_of(made["first"])
    readme = files["README.md"].decode()
    assert readme.startswith("---\n") and "- [" in readme and "recompute.py" in readme
    card = YAML(typ="safe").load(readme.split("---\n")[1])
    assert not {"language", "annotations_creators"} & set(card), "what nobody told Concord"
    assert "inter-rater agreement" in card["tags"]
    assert YAML(typ="safe").load(files["taxonomy/everything-v1.yaml"].decode())["slug"] == "everything"
    assert files["recompute.py"] == study_package.RECOMPUTE.read_bytes()
    assert "figures/trend.svg" in files and "figures/confusion-symptom.pdf" in files


def test_saved_analyses_leave_as_figures_and_tables_unless_they_name_people(made: dict[str, bytes]) -> None:
    files, named = files_of(made["first"]), files_of(made["names"])
    assert "figures/analysis-1-counts.svg" in files and "\\toprule" in files["tables/analysis-1-counts.tex"].decode()
    assert "Counts of symptoms" in files["tables/analysis-1-counts.tex"].decode()
    assert not [name for name in files if "analysis-5" in name]
    assert "tables/analysis-5-counts.tex" in named


@pytest.mark.slow
def test_a_round_that_its_owner_is_blind_in_is_not_in_the_package(tmp_path: Path) -> None:
    study = make.study()
    add_member(seat=make.owner_seat(study), username="olga", roles=["owner", "rater"])
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 crash crash")
    round_ = make.open_round(study, 2, raters=("olga", "bob"), first=3)
    make.submit(round_, "bob", 3, {"symptom": ["slow"]}, memo="secret")
    content = package(make.owner_seat(study))
    files = files_of(content)
    assert {each["round"] for each in table(files, "data/ratings")} == {"1"}
    assert {each["round"] for each in table(files, "data/rounds")} == {"1"}
    for name, told in files.items():
        assert b"secret" not in told, name
    assert "Round 2 is not closed for the person who created" in files["README.md"].decode()
    assert recompute(unpacked(content, tmp_path))[0] == 0


def test_where_nothing_is_answered_a_package_is_refused() -> None:
    study = make.study()
    for _ in range(2):
        with pytest.raises(Conflict, match="Nothing to package yet"):
            read_export_request(make.owner_seat(study), "package", "zip", {})
        make.open_round(study, 1)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"texts": "all"}, "texts"),
        ({"pseudonymise": "no"}, "pseudonymise"),
        ({"licence": "WTFPL"}, "licence"),
        ({"licence": ["MIT"]}, "licence"),
        ({"texts": {"a": "included"}}, "texts"),
        ({"authors": [1]}, "authors"),
        ({"authors": "x" * 201}, "authors"),
        ({"round": 1}, "round"),
    ],
)
def test_nonsense_is_refused_by_field(options: dict[str, Any], field: str) -> None:
    study = make.study()
    with pytest.raises(Invalid) as refused:
        read_export_request(make.owner_seat(study), "package", "zip", options)
    assert list(refused.value.fields) == [field]


def test_a_cell_with_a_lone_carriage_return_stays_one_cell() -> None:
    files = {"csv": io.BytesIO()}
    writer = TableWriter(
        PackageTable("t", "T", "", [PackageColumn("a", "string", ""), PackageColumn("b", "list", "")], formats=["csv"]),
        files,
    )
    writer.write({"a": "one\rtwo", "b": ["=x", 2.5, True]})
    writer.close()
    assert list(csv.reader(io.StringIO(files["csv"].getvalue().decode(), newline=""))) == [
        ["a", "b"],
        ["one\rtwo", "'=x;2.5;true"],
    ]


def test_a_file_goes_into_an_archive_once() -> None:
    with ZipArchive(io.BytesIO(), date(1970, 1, 1)) as archive:
        archive.add("a", "x")
        with pytest.raises(ValueError, match="in the archive already"):
            archive.add_file("a", io.BytesIO())


@pytest.mark.slow
def test_a_figure_drawn_twice_as_pdf_is_the_same_to_the_byte() -> None:
    spec = {
        "$schema": SCHEMA,
        "title": "Bold",
        "data": {"values": [{"a": 1, "b": 2}]},
        "mark": "bar",
        "encoding": {"x": {"field": "a"}, "y": {"field": "b"}},
    }
    drawn = [in_order(draw(spec, "pdf")) for _ in range(3)]
    assert drawn[0] == drawn[1] == drawn[2] == in_order(drawn[0])
    with pytest.raises(NotSimple):
        in_order(b"%PDF-1.7 nothing else")


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_package_of_real_sheets_is_recomputed_whole(tmp_path: Path) -> None:
    """Liu et al., TOSEM 2023: five rounds of two raters, several bugs in an issue, proposals, final labels."""
    import_liu(create=True)
    status, said = recompute(unpacked(package(get_seat(make.user("olga"), "liu")), tmp_path))
    assert status == 0, said


STRATA = [
    {},
    {"stratify_by": "repository"},
    {"stratify_by": "repository", "at_least_one": True},
    {"stratify_by": "state", "allocation": "equal"},
    {"stratify_by": "year", "allocation": "equal", "at_least_one": True},
]


@pytest.mark.slow
def test_a_package_has_the_frame_of_each_sample_from_which_anyone_draws_it_again(tmp_path: Path) -> None:
    study = make.study()
    repositories = {"acme/rocket": 23, "acme/probe": 2, "acme/lander": 9}
    for name, n in repositories.items():
        make.issues(n, name)
    seat = make.owner_seat(study)
    samples = [
        draw_sample(seat=seat, filter={"repository": list(repositories)}, size=11, seed=seed, **each)
        for seed, each in enumerate(STRATA)
    ]
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 slow hang")
    rounds.close_round(seat=seat, number=1, leave_open=True)
    folder = unpacked(package(seat), tmp_path)
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for sample in samples:
        rows = list(csv.DictReader((folder / f"sample/sample-{sample.number}-frame.csv").open(encoding="utf-8")))
        assert len(rows) == sample.n_frame > sample.size
        places = [(row["repository"], int(row["number"])) for row in rows]
        assert places == sorted(places)
        means = (
            f"all issues that sample {sample.number} could have drawn, by repository and number, and the place of each"
        )
        assert f"| `sample/sample-{sample.number}-frame.csv` | {means} in the draw |" in readme
    assert '`rng = random.Random(f"sample {seed}")`' in readme
    assert f"made with Concord {settings.CONCORD_VERSION} ({settings.CONCORD_COMMIT})." in readme
    status, said = recompute(folder)
    assert status == 0 and f"sample/sample-{samples[0].number}-frame.csv: 2 of 2 values agree" in said, said
    path = folder / f"sample/sample-{samples[2].number}.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"seed": 2', '"seed": 3'), encoding="utf-8")
    status, said = recompute(folder)
    (line,) = [each for each in said.splitlines() if each.startswith("DIFFERS")]
    assert status == 1 and line.startswith(f"DIFFERS  sample/sample-{samples[2].number}-frame.csv: drawn: reported [")


@pytest.mark.slow
def test_a_sample_that_is_still_being_drawn_is_in_no_package() -> None:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 hang hang\n2 slow hang")
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    sample = draw_sample(seat=make.owner_seat(study), filter={"repository": "acme/rocket"}, size=1, seed=3)
    job = BulkJob.objects.create(study=study, sample=sample, kind="sample", created_by=study.created_by)
    with quickly():
        assert not any(name.startswith("sample/") for name in files_of(package(make.owner_seat(study))))
        BulkJob.objects.filter(pk=job.pk).update(state="done")
        assert f"sample/sample-{sample.number}-frame.csv" in files_of(package(make.owner_seat(study)))


@pytest.mark.slow
def test_known_labels_and_first_answers_are_packed_and_what_raters_reached_is_recomputed(tmp_path: Path) -> None:
    study = make.study(text=EVERYTHING, raters=["bob", "carol"])
    make.issues(8)
    fault = {"kind": ["fault"], "symptom": ["crash"], "stage": ["begin"], "fixes": ["config"], "distributed": True}
    fault["severity"] = ["some"]
    known: dict[str, Any] = {
        "acme/rocket#1": {"labels": {**fault, "lines": 3}, "why": "=The log says so."},
        "acme/rocket#2": {"labels": {"fixes": [], "severity": ["high"]}},
        "acme/rocket#3": {"parts": [{"labels": {"kind": ["fault"]}}, {"labels": {"kind": ["how-to"]}}]},
        "acme/rocket#4": {"labels": {"distributed": False, "symptom": ["slow"]}},
    }
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(
            raters=["bob", "carol"], kind="pilot", known=known, issues=[f"acme/rocket#{number}" for number in (5, 6)]
        ),
    )
    round_ = rounds.open_round(seat=make.owner_seat(study), number=made.number, unregistered=True)
    slow = {"kind": ["fault"], "symptom": ["slow"], "distributed": False}
    given = {
        "bob": ({**fault, "lines": 2}, {**fault, "fixes": []}, slow, {"kind": ["how-to"]}),
        "carol": (fault, {**fault, "severity": ["high"]}, {"kind": ["how-to"]}),
    }
    for who, answers in given.items():
        for number, labels in enumerate(answers, start=1):
            make.submit(round_, who, number, labels)
    make.submit(round_, "carol", 4, skip="unclear")
    make.submit(round_, "bob", 4, slow)
    make.submit(round_, "bob", 1, {**fault, "lines": 3})
    make.submit(round_, "bob", 5, fault)
    with quickly():
        folder = unpacked(package(make.owner_seat(study)), tmp_path)
    table = pd.read_csv(folder / "data" / "known_labels.csv", dtype=str, keep_default_na=False)
    assert set(zip(table["item"], table["part"], table["dimension"], table["values"], strict=True)) >= {
        ("acme/rocket#2", "1", "fixes", "[]"), ("acme/rocket#3", "2", "kind", "how-to"),
        ("acme/rocket#1", "1", "lines", "3"), ("acme/rocket#4", "1", "distributed", "false"),
    }  # fmt: skip
    assert set(table.loc[table["item"] == "acme/rocket#1", "why"]) == {"'=The log says so."}
    ratings = pd.read_csv(folder / "data" / "ratings.csv", dtype=str, keep_default_na=False)
    lines = ratings[
        (ratings["item"] == "acme/rocket#1") & (ratings["rater"] == "R1") & (ratings["dimension"] == "lines")
    ]
    assert list(zip(lines["first"], lines["current"], lines["values"], strict=True)) == [
        ("true", "false", "2"), ("false", "true", "3"),
    ]  # fmt: skip
    told = json.loads((folder / "results" / "training.json").read_text())["tries"]
    assert [(each["rater"], each["n_items"], each["n_revised"]) for each in told] == [("R1", 4, 2), ("R2", 4, 0)]
    assert (told[0]["first"]["n_right"], told[0]["after"]["n_right"], told[1]["first"]["n_right"]) == (0, 2, 0)
    status, words = recompute(folder)
    assert status == 0 and "results/training.json" in words, words
    told[0]["first"]["dimensions"][0]["n_right"] += 1
    (folder / "results" / "training.json").write_text(json.dumps({"tries": told}))
    status, words = recompute(folder)
    assert status == 1 and "round 1, R1, first: kind, right: reported 3, recomputed 2" in words, words
