"""What was guessed of a sheet is shown; what may be wrong is a question to be answered before anything is stored."""

import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from annotation.core.errors import Invalid
from annotation.imports.actions.ratings import import_ratings
from annotation.imports.actions.workbooks import import_workbook
from annotation.models import Membership, Rating, Resolution, Round, Study, Workbook
from tests import builders as make
from tests.annotation.exports.test_cells import FIX
from tests.annotation.imports.test_workbooks import fields, upload, visitor
from tests.annotation.stored_rows import verdicts
from tests.scripts import Script

pytestmark = pytest.mark.django_db

SUFFIXES = "item,task_type_A,task_type_B,task_type_selected\n" + "".join(
    f"acme/rocket#{n},{'bug' if n % 2 else 'docs'},{'bug' if n % 3 else 'docs'},bug\n" for n in range(1, 9)
)
PAIRS = "item,evaluator1,tag1,evaluator2,tag2\n" + "".join(
    f"acme/rocket#{n},ann,{'bug' if n % 2 else 'docs'},{'ben' if n % 2 else 'cleo'},{'bug' if n % 3 else 'docs'}\n"
    for n in range(1, 9)
)


class Shell:
    """`import_ratings` on a file of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make.user("olga")

    def run(
        self, text: str, *options: str, study: str = "study", create: bool = True, name: str = "sheet.csv"
    ) -> list[str]:
        path = self.folder / name
        path.write_text(text)
        out = io.StringIO()
        more = ["--create", "--owner", "olga"] if create else []
        self.out = out
        call_command("import_ratings", str(path), "--study", study, *more, *options, stdout=out)
        return out.getvalue().splitlines()

    def asked(self, text: str, *options: str, **more: Any) -> str:
        """The message of an import that is not done, of which nothing is stored."""
        before = Rating.objects.count()
        with pytest.raises(CommandError) as refused:
            self.run(text, *options, **more)
        assert Rating.objects.count() == before and Study.objects.count() == (more.get("create") is False)
        return str(refused.value)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


# Columns


def test_suffixes_of_columns_are_a_question(shell: Shell) -> None:
    asked = shell.asked(SUFFIXES, "--guess")
    assert "“task_type_A”, “task_type_B”, “task_type_selected”" in asked and "--map" in asked
    found = "'task type@A=task_type_A' 'task type@B=task_type_B' 'task type@final=task_type_selected'"
    assert found in asked
    assert found in shell.asked(SUFFIXES)  # without --guess, too: no column holds the rater
    shell.run(SUFFIXES, "--map", *shlex.split(found))
    assert (Rating.objects.count(), Resolution.objects.count()) == (16, 8)
    assert set(Membership.objects.exclude(code=None).values_list("name", flat=True)) == {"A", "B"}


def test_a_column_that_is_mapped_is_not_questioned(shell: Shell) -> None:
    pairs = [f"{head}={head}" for head in ("task_type_A", "task_type_B", "task_type_selected")]
    assert "one rater" in shell.asked(SUFFIXES, "--guess", "--map", *pairs)
    text = SUFFIXES.replace("\n", ",ann\n").replace(",ann", ",coder", 1)
    shell.run(text, "--guess", "--map", "rater=coder", *pairs)
    assert len({key[2] for key in verdicts()}) == 3


def test_columns_that_name_the_rater_of_others_are_a_question(shell: Shell) -> None:
    asked = shell.asked(PAIRS, "--guess")
    assert "tag@evaluator1=tag1 tag@evaluator2=tag2" in asked and "--map" in asked
    shell.run(PAIRS, "--map", "tag@evaluator1=tag1", "tag@evaluator2=tag2")
    assert set(Membership.objects.exclude(code=None).values_list("name", flat=True)) == {"ann", "ben", "cleo"}
    assert Rating.objects.count() == 16


DOUBLED = "item,R1,R1,R2\n" + "".join(
    f"acme/rocket#{n},crash,{'crash' if n % 4 else 'hang'},{'crash' if n % 2 else 'hang'}\n" for n in range(1, 9)
)


def test_doubled_columns_of_one_rater_are_a_question(shell: Shell) -> None:
    asked = shell.asked(DOUBLED, "--guess")
    assert "2 columns hold “label” by r1: “R1” (#2), “R1” (#3)" in asked and "--duplicates reject|first|last" in asked
    shell.run(DOUBLED, "--guess", "--duplicates", "last")
    assert Rating.objects.filter(category__key="hang").count() == 2 + 4
    assert set(verdicts()) == {(f"#{n}", 1, "label") for n in range(1, 9)}


def test_a_doubled_column_is_named_by_its_place(shell: Shell) -> None:
    shell.run(DOUBLED, "--map", "label@R1=#2", "label@R2=R2")
    assert Rating.objects.filter(category__key="hang").count() == 4
    shell.run(
        "item,rater,symptom,symptom\na,bob,Crash,Hang\n", "--map", "symptom=#4", "--dimensions", "symptom", study="b"
    )
    assert Rating.objects.filter(category__key="hang").count() == 5


# Rows


def test_one_rater_alone_is_a_question(shell: Shell) -> None:
    text = "item,worker,kind\n" + "".join(f"acme/rocket#{n},w{n % 3},bug\nacme/rocket#{n},v,docs\n" for n in range(5))
    asked = shell.asked(text, "--guess", "--dimensions", "kind")
    assert "one rater, “sheet”" in asked and "--map" in asked
    shell.run(text, "--guess", "--dimensions", "kind", "--map", "rater=worker")
    assert Rating.objects.count() == 10


def test_final_labels_alone_are_a_question(shell: Shell) -> None:
    text = "link,fix pattern\n" + "".join(f"acme/rocket#{n},{'bug' if n % 2 else 'docs'}\n" for n in range(8))
    asked = shell.asked(text, "--guess", name="final_faults.csv")
    assert "has no labels of raters" in asked and "'fix pattern@final=fix pattern'" in asked
    shell.run(text, "--guess", "--map", "fix pattern@final=fix pattern", name="final_faults.csv")
    assert (Rating.objects.count(), Resolution.objects.count()) == (0, 8)
    shell.run(text, "--guess", "--map", "fix pattern@ann=fix pattern", name="final_faults.csv", study="by-ann")
    assert (Rating.objects.count(), Resolution.objects.count()) == (8, 8)


def test_far_fewer_items_than_rows_are_a_question(shell: Shell) -> None:
    text = "item,rater,link,kind\n" + "".join(f"a{n // 8},bob,b{n},{'bug' if n % 2 else 'docs'}\n" for n in range(48))
    asked = shell.asked(text, "--guess", "--dimensions", "kind")
    assert "48 rows are about 6 items" in asked and "item=COLUMN" in asked
    shell.run(text, "--guess", "--dimensions", "kind", "--map", "item=link")
    assert len(verdicts()) == 48


TWICE = "item,rater,dimension,value\na,bob,symptom,Crash\na,carol,symptom,Hang\na,bob,symptom,Hang\n"


@pytest.mark.parametrize(("how", "values"), [("first", ("crash",)), ("last", ("hang",)), ("reject", None)])
def test_a_label_that_was_given_twice_is_a_conflict_to_be_answered(shell: Shell, how: str, values: Any) -> None:
    asked = shell.asked(TWICE)
    assert "bob labeled “symptom” of a twice: “Crash” (line 2) and “Hang” (line 4)." in asked
    assert "--duplicates reject|first|last" in asked
    lines = shell.run(TWICE, "--duplicates", how)
    taken = {
        "first": "The one in line 2 was imported.",
        "last": "The one in line 4 was imported.",
        "reject": "Neither was",
    }
    refused = [line for line in lines if "twice" in line]
    assert len(refused) == (2 if how == "reject" else 1) and all(taken[how] in line for line in refused)
    bob = Rating.objects.filter(rater__code="R1").values_list("category__key", flat=True)
    assert tuple(bob) == (values or ())


def test_the_same_label_twice_and_several_values_are_no_duplicates(shell: Shell) -> None:
    make.study(text=FIX)
    lines = [
        "a,bob,fix,Code",
        "a,bob,fix,Config",
        "a,bob,symptom,Crash",
        "a,bob,symptom, crash ",
        "b,bob,symptom,Crash",
    ]
    shell.run("\n".join(["item,rater,dimension,value", *lines]), create=False)
    assert Rating.objects.count() == 4
    shell.run("\n".join(["item,rater,dimension,value", *lines]), "--several", "fix", study="other")
    assert Rating.objects.count() == 8


BLANKS = "item,rater,symptom,fix\na,bob,Crash,\na,carol,Crash,Code\nb,bob,,\nb,carol,Crash,Config\n"


@pytest.mark.parametrize(("blank", "values"), [("none", None), ("empty", ())])
def test_blanks_in_a_row_with_other_labels_are_a_question(shell: Shell, blank: str, values: Any) -> None:
    make.study(text=FIX)
    asked = shell.asked(BLANKS, "--dimensions", "symptom,fix", create=False)
    assert "“fix” (1), first in line 2" in asked and "--blank none|empty" in asked
    shell.run(BLANKS, "--dimensions", "symptom,fix", "--blank", blank, create=False)
    found = Rating.objects.filter(rater__code="R1", dimension__key="fix", item__identifier="a")
    assert found.count() == (values is not None)
    assert not Rating.objects.filter(rater__code="R1", item__identifier="b").exists()


def test_a_blank_where_the_dimension_does_not_apply_is_no_question(shell: Shell) -> None:
    text = FIX.replace("    key: fix\n", "").replace(
        "  - key: fix", "  - key: fix\n    applies_when: {dimension: symptom, is: [crash]}"
    )
    first, second = text.partition("dimensions:\n")[2].split("  - key: symptom")
    make.study(text=f"slug: fixes\ntitle: Fixes\ndimensions:\n  - key: symptom{second}\n{first}")
    shell.run(
        "item,rater,symptom,fix\na,bob,Input / Output,\nb,bob,Crash,Code\n", "--dimensions", "symptom,fix", create=False
    )
    shell.run(
        "item,rater,round,symptom,fix\na,bob,7,Crash,\nb,bob,7,Input / Output,\n",
        "--dimensions",
        "symptom,fix",
        "--blank",
        "empty",
        create=False,
    )
    assert list(Rating.objects.filter(dimension__key="fix", round__number=7).values_list("item__identifier")) == [
        ("a",)
    ]


def test_clean_long_files_are_not_questioned(shell: Shell) -> None:
    lines = [f"acme/rocket#{n},bob,symptom,Crash\nacme/rocket#{n},bob,cause,Load" for n in range(30)]
    shell.run("item,rater,dimension,value\n" + "\n".join(lines))
    assert Rating.objects.count() == 60


# Missing values

USUAL = ["nan", "N/A", "n/a", "null", "NULL", "None", "-", "?", "#N/A", "<NA>", ".", "—"]


def test_a_usual_way_to_write_a_missing_value_is_a_question(shell: Shell) -> None:
    rows = [f"a{n},ann,Crash\na{n},bob,{text}" for n, text in enumerate(USUAL)]
    text = "item,rater,symptom\n" + "\n".join(rows)
    asked = shell.asked(text, "--dimensions", "symptom")
    assert "“nan” often stands for a missing value. It is in “symptom” (1), first in line 3." in asked
    assert asked.count("often stands for") == len({each.casefold() for each in USUAL})
    assert "--missing=A,B,… (values that mean no rating) or --not-missing=A,B,…" in asked
    left = ",".join(USUAL[2:])
    assert "“nan” often" in shell.asked(text, "--dimensions", "symptom", f"--missing={left}")
    assert "can't be both" in shell.asked(text, "--dimensions", "symptom", "--missing=nan", "--not-missing=NaN")
    more = shell.run(text, "--dimensions", "symptom", f"--missing={left}", "--not-missing=nan", "--json")
    report = json.loads(more[0])
    assert (report["n_ratings"], report["n_refused"]) == (len(USUAL) + 1, 0)
    assert set(Rating.objects.values_list("category__name", flat=True)) == {"Crash", "nan"}


MEASURED = """
slug: measured
title: Measured
dimensions:
  - {key: symptom, title: Symptom, kind: single, categories: [{key: crash, name: Crash}, {key: na, name: N/A}]}
  - {key: effort, title: Effort, kind: number}
  - {key: why, title: Why, kind: text, required: false}
"""


def measured(shell: Shell, cells: str, *options: str) -> dict[str, Any]:
    text = f"item;rater;symptom;effort;why\na;ann;{cells}\n"
    found = shell.run(text, "--dimensions", "symptom,effort,why", *options, "--json", create=False)
    return dict(json.loads(found[0]))


def test_a_category_of_that_name_is_no_missing_value(shell: Shell) -> None:
    make.study(text=MEASURED)
    report = measured(shell, "n/a;1000;because")
    assert (report["n_ratings"], report["n_refused"]) == (3, 0)
    assert Rating.objects.filter(category__key="na").count() == 1


@pytest.mark.parametrize("cells", ["-;2;why", "Crash;NaN;why", "Crash;2;n/a"])
def test_a_missing_value_of_any_kind_is_a_question(shell: Shell, cells: str) -> None:
    make.study(text=MEASURED)
    with pytest.raises(CommandError, match="often stands for a missing value"):
        measured(shell, cells)
    report = measured(shell, cells, "--missing=-,nan,n/a")
    assert (report["n_ratings"], report["n_refused"]) == (2, 0)


@pytest.mark.parametrize("text", ["50 %", "1 000", "1_000", "1'000", "infinity", "two"])
def test_a_number_that_can_be_read_differently_is_rejected(shell: Shell, text: str) -> None:
    make.study(text=MEASURED)
    report = measured(shell, f"Crash;{text};why")
    assert report["n_ratings"] == 2
    (refused,) = report["refusals"]
    assert refused["line"] == 2
    assert refused["reason"] == f"“{text}” is not a number. Use digits and a decimal point, such as 1.5 or 1000."


def test_a_number_with_a_comma_is_a_question(shell: Shell) -> None:
    make.study(text=MEASURED)
    with pytest.raises(CommandError) as asked:
        measured(shell, "Crash;1,5;why")
    assert "Numbers are written with a comma: “effort” (“1,5”, line 2)." in str(asked.value)
    assert "--decimal point|comma" in str(asked.value)
    assert measured(shell, "Crash;1,5;why", "--decimal", "point")["n_refused"] == 1
    measured(shell, "Crash;1.234,5;why\nb;ann;Crash;1.000;why\nc;ann;Crash;2,5;x", "--decimal", "comma")
    numbers = Rating.objects.filter(dimension__key="effort").order_by("pk").values_list("number", flat=True)
    assert sorted(numbers) == [2.5, 1000, 1234.5]


def test_the_page_and_rest_ask_about_missing_values(shell: Shell) -> None:
    make.study(text=MEASURED)
    text = "item,rater,symptom,effort\na,ann,-,1\na,bob,Crash,2\n"
    script = Script("olga")

    def send(options: str) -> Any:
        address = f"/api/v1/studies/study/ratings/?dimensions=symptom,effort{options}"
        return script.client.post(address, text, content_type="text/csv", headers=script.headers)

    assert list(send("").json()["fields"]) == ["missing"] and not Rating.objects.exists()
    assert send("&decimal=dot").status_code == 422
    client = visitor()
    file = SimpleUploadedFile("labels.csv", text.encode())
    address = upload(client, [file], "/studies/study/import/")
    page = client.get(address).content.decode()
    assert "“-” often stands for a missing value" in page and "Missing: no rating" in page
    form = {name: value for name, value in fields(client, address).items() if not name.startswith("answer-")}
    form["import"] = "1"
    assert client.post(address, form).status_code == 422 and not Rating.objects.exists()
    (name,) = [name for name, value in form.items() if value == "missing:-"]
    assert client.post(address, form | {name.replace("question", "answer"): "none"}).status_code == 302
    assert send("&missing=-").json()["n_ratings"] == 3


# Dry run


def test_a_dry_run_shows_the_mapping_and_the_first_rows_and_stores_nothing(shell: Shell) -> None:
    text = "item,rater,round,symptom,note\na,bob,pilot,Crash,why\na,bob,1,Hang,\n"
    lines = shell.run(text, "--dimensions", "symptom", "--map", "memo=note", "--dry-run")
    assert lines[:9] == [
        "The sheet: one column per dimension",
        "  item: the item",
        "  rater: the rater",
        "  round: the round",
        "  symptom: labels for “symptom”",
        "  note: memo",
        "The first rows:",
        "  line 2: a, rater bob, round pilot: symptom: Crash",
        "  line 3: a, rater bob, round 1: symptom: Hang",
    ]
    assert [line.strip() for line in lines[-3:]] == [
        "round 1 (pilot): 1 item, closed",
        "round 2 (1): 1 item, closed; the newest round",
        "Nothing was saved.",
    ]
    assert not Study.objects.exists() and not Round.objects.exists()


@pytest.mark.slow
def test_a_row_without_a_label_is_counted_apart_and_brings_no_item_and_no_rater(shell: Shell) -> None:
    """By page, shell, and REST alike; “1 item, 1 without a label” would say that the one item has none."""
    text = "item,rater,symptom\na,bob,Crash\na,carol,\nb,dora,\n,,\n"
    lines = shell.run(text, "--dimensions", "symptom", "--dry-run")
    assert lines[5:7] == ["  line 2: a, rater bob: symptom: Crash", "  line 3: a, rater carol: no label"]
    assert lines[8].startswith("study: 1 row of 1 item and 1 rater, 1 new rating, 0 already stored, 0 resolutions")
    assert lines[9] == "  2 more rows without a label"
    report = json.loads(shell.run(text, "--dimensions", "symptom", "--json")[0])
    client = visitor()
    address = upload(client, [SimpleUploadedFile("labels.csv", text.encode())])
    page = " ".join(re.sub(r"<[^>]+>", " ", client.get(address).content.decode()).split())
    assert "1 row 1 item; 2 more rows without a label" in page
    assert "1 item, 1 rating by 1 rater" in page
    # A rater alone has to be confirmed where the column of the rater was guessed from another name only.
    assert client.post(address, fields(client, address) | {"slug": "other", "import": "1"}).status_code == 302
    import_workbook(Workbook.objects.get().pk)
    of_page = Workbook.objects.get().report
    counts = ("n_rows", "n_rows_without_label", "n_ratings", "n_items", "n_raters", "n_refused")
    assert of_page and [of_page[name] for name in counts] == [report[name] for name in counts] == [1, 2, 1, 1, 1, 0]
    assert set(Membership.objects.exclude(code=None).values_list("name", flat=True)) == {"bob"}
    done = " ".join(re.sub(r"<[^>]+>", " ", client.get(address).content.decode()).split())
    assert "2 more rows without a label were skipped." in done


def test_a_dry_run_shows_what_was_guessed_and_what_is_open(shell: Shell) -> None:
    message = shell.asked(SUFFIXES, "--dry-run")
    assert "Column “rater” not found" in message and "task type@A=task_type_A" in message
    lines = shell.out.getvalue().splitlines()
    assert "  task_type_B: labels for “task type”, by B" in lines
    with pytest.raises(SystemExit) as ended:
        shell.run(SUFFIXES, "--dry-run", "--json")
    found = json.loads(shell.out.getvalue())
    assert ended.value.code == 1 and found["dry_run"] is True
    assert {each["option"] for each in found["questions"]} == {"map"}
    assert found["sheets"][0]["columns"][1] == {
        "column": "task_type_A",
        "role": "answer",
        "dimension": "task type",
        "rater": "A",
    }


def test_rest_asks_the_same(shell: Shell) -> None:
    make.study(text=FIX)
    script = Script("olga")

    def send(address: str) -> Any:
        return script.client.post(
            f"/api/v1/studies/study/ratings/{address}", TWICE, content_type="text/csv", headers=script.headers
        )

    answer = send("")
    assert (answer.status_code, answer.json()["code"]) == (422, "questions")
    assert list(answer.json()["fields"]) == ["duplicates"]
    assert send("?duplicates=best").status_code == 422
    assert send("?duplicates=last").json()["n_refused"] == 3
    with pytest.raises(Invalid):
        import_ratings(user=make.user("olga"), study="study", file=BLANKS.encode(), dimensions=["symptom", "fix"])


# Scales

SCALE = "item,rater,severity\n" + "".join(
    f"acme/rocket#{n},{rater},{(n + place) % 4 * 5}\n"
    for n in range(1, 9)
    for place, rater in enumerate(("ann", "ben"))
)


@pytest.mark.parametrize(
    ("chosen", "kind", "names"),
    [
        ([], "single", {"0", "5", "10", "15"}),
        (["--ordinal"], "ordinal", ["0", "5", "10", "15"]),
        (["--number"], "number", []),
    ],
)
def test_whole_numbers_are_offered_as_a_scale(shell: Shell, chosen: list[str], kind: str, names: Any) -> None:
    more = [*chosen, "severity"] if chosen else []
    shown = "\n".join(shell.run(SCALE, "--dimensions", "severity", "--dry-run", *more))
    assert "The values of “severity” are whole numbers from 0 to 15. Is it a scale?" in shown
    assert f"read as: {kind}." in shown
    shell.run(SCALE, "--dimensions", "severity", *more)
    (dimension,) = Study.objects.get().taxonomy.versions.get().dimensions.all()
    found = [each.name for each in dimension.categories.order_by("position")]
    assert (dimension.kind, set(found) if isinstance(names, set) else found) == (kind, names)
    assert Rating.objects.count() == 16


def test_what_is_no_scale_is_rejected_as_one(shell: Shell) -> None:
    text = SCALE.replace(",15\n", ",high\n")
    assert "Is it a scale?" not in "\n".join(shell.run(text, "--dimensions", "severity", "--dry-run"))
    assert "are not all whole numbers" in shell.asked(text, "--dimensions", "severity", "--ordinal", "severity")


def test_one_long_text_does_not_lose_the_labels_of_a_rater(shell: Shell) -> None:
    lines = [f"acme/rocket#{n},bug,bug,bug" for n in range(1, 9)] + [f"acme/rocket#9,{'bug ' * 40},bug,bug"]
    text = "\n".join(["item,kind_r1,kind_r2,kind_final", *lines]) + "\n"
    shown = [line.strip() for line in shell.run(text, "--guess", "--dry-run")]
    assert "kind_r1: labels for “kind”, by r1" in shown and "kind_final: labels for “kind”, by final" in shown
