"""The pages of analysis: who may see them, that each number leads to its items, what is kept, and the files."""

import csv
import io
import re
from html import unescape
from typing import Any

import numpy as np
import pytest

from annotation.analysis.association import strength
from annotation.analysis.queries.presentation.cross_tables import strength_said
from annotation.analysis.queries.presentation.kinds import KINDS
from annotation.imports.actions.ratings import import_ratings
from annotation.models import Analysis, AuditEvent, Study
from tests import builders as make
from tests.annotation.agreement_report.test_result_pages import get, visitor, words_of

pytestmark = pytest.mark.django_db

ANALYSIS, ITEMS = "/studies/study/analysis/", "/studies/study/items/"
LABELS = {
    1: {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config"], "distributed": True},
    2: {"kind": ["fault"], "symptom": ["crash"], "fixes": ["config", "code"], "distributed": False},
    3: {"kind": ["fault"], "symptom": ["hang"], "fixes": [], "distributed": True},
    4: {"kind": ["fault"], "symptom": ["slow"], "fixes": ["code"], "distributed": True},
    5: {"kind": ["how-to"]},
    6: {"kind": ["how-to"]},
}


def labeled(study: Study, labels: dict[int, dict[str, Any]], *, first: int = 1) -> None:
    round_ = make.open_round(study, len(labels), first=first)
    for number, said in labels.items():
        for name in ("bob", "carol"):
            make.submit(round_, name, number, said)


def build_study() -> Study:
    """Round 1 is being resolved and agreed on; round 2 is open, bob and carol rate in it."""
    made = make.study(text=make.FAULTS)
    labeled(made, LABELS)
    make.submit(make.open_round(made, 2, first=7), "bob", 7, {"kind": ["how-to"]})
    return made


def numbers_of(response: Any) -> list[tuple[int, str]]:
    """(number, address) of each number in the tables that leads to items."""
    found = re.findall(r'<a href="(/studies/study/items/[^"]*)">([\d,]+)[^<]*</a>', response.content.decode())
    return [(int(number.replace(",", "")), unescape(url)) for url, number in found]


# Who


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 200), ("ada", 200), ("rea", 200), ("bob", 200), ("mallory", 404)]
)
def test_members_see_analyses_and_others_find_nothing(study: Study, name: str, status: int) -> None:
    make.study("other", raters=("mallory",))
    for kind in KINDS:
        get(name, f"{ANALYSIS}{kind}/", status)
    for address in ("", "counts/table/counts.csv", "counts/table/counts.tex"):
        get(name, ANALYSIS + address, status)
    assert visitor("stanley", staff=True).get(ANALYSIS).status_code == 200


def test_who_is_not_signed_in_is_sent_to_sign_in(study: Study) -> None:
    from django.test import Client

    for address in ("", "counts/", "counts/table/counts.csv", "counts/figure/counts.svg", "1/"):
        response = Client().get(ANALYSIS + address)
        assert (response.status_code, response["Location"].partition("?")[0]) == (302, "/sign-in/")


def test_blind_rounds_are_left_out_and_said_so_and_refused_when_asked_for(study: Study) -> None:
    shown = words_of(get("bob", f"{ANALYSIS}counts/"))
    assert (
        "The labels of round 2 are hidden from you until it closes: you are a rater in it." in shown
        and "rounds 1 and 2" not in shown
    )
    for address in (f"{ANALYSIS}counts/?round=2", f"{ITEMS}?label=kind:fault&round=2"):
        assert "are hidden until the round closes" in words_of(get("bob", address, 403))
    assert "rounds 1 and 2" in words_of(get("ada", f"{ANALYSIS}counts/"))
    shown = words_of(get("rea", f"{ANALYSIS}counts/"))
    assert "only owners and adjudicators see results of an open round" in shown and "rounds 1 and 2" not in shown


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("nonsense/", 404),
        ("counts/?dimension=colour", 422),
        ("counts/?by=kind", 422),
        ("counts/?of=none", 422),
        ("crosstab/?rows=kind&columns=kind", 422),
        ("flow/?dimensions=kind", 422),
        ("numbers/?measure=weight", 422),
        ("numbers/?cut=many", 422),
        ("counts/?fold=-1", 422),
        ("counts/?level=twig", 422),
        ("counts/?round=9", 404),
        ("counts/?round=x", 422),
        ("counts/?version=77", 422),
        ("counts/?left_out=symptom:none", 422),
        ("counts/?unknown=1&dimension=", 200),
        ("counts/figure/else.svg", 404),
        ("counts/figure/counts.gif", 404),
        ("counts/figure/counts.svg?width=wall", 422),
        ("counts/table/else.csv", 404),
        ("counts/table/counts.xlsx", 404),
        ("99/", 404),
    ],
)
def test_nonsense_in_the_address_gets_its_status(study: Study, address: str, status: int) -> None:
    get("olga", ANALYSIS + address, status)


@pytest.mark.parametrize(
    "word", ["label=symptom", "label=colour:red", "label=kind:none", "label=:", "label=kind:fault&level=x:y"]
)
def test_nonsense_about_labels_of_items_is_invalid(study: Study, word: str) -> None:
    get("olga", f"{ITEMS}?{word}", 422)


def test_items_with_a_label_have_pages() -> None:
    make.study()
    sheet = "item,rater,dimension,value\n" + "".join(f"acme/rocket#{n},bob,symptom,crash\n" for n in range(1, 121))
    import_ratings(user=make.user("olga"), study="study", file=sheet.encode())
    address, seen = f"{ITEMS}?label=symptom:crash", []
    for _ in range(3):
        page = get("olga", address).content.decode()
        seen.append(list(dict.fromkeys(int(n) for n in re.findall(r"acme/rocket#(\d+)", page))))
        address = unescape(next(iter(re.findall(r'href="([^"]*[?&;]after=[^"]*)"', page)), address))
    assert seen == [[*range(1, 51)], [*range(51, 101)], [*range(101, 121)]]


def test_a_study_without_labels_says_what_comes() -> None:
    make.study()
    assert "No agreed labels yet" in words_of(get("olga", ANALYSIS))
    for kind in KINDS:
        get("olga", f"{ANALYSIS}{kind}/")


# What they show


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "counts/?dimension=symptom",
        "counts/?dimension=fixes&by=kind",
        "counts/?dimension=symptom&by=distributed&fold=2",
        "counts/?dimension=symptom&level=root",
        "crosstab/?rows=symptom&columns=distributed",
        "crosstab/?rows=symptom&columns=fixes&left_out=symptom:slow",
        "flow/?dimensions=kind,symptom,fixes&within=distributed",
        "shares/?mark=distributed&dimension=symptom",
        "combinations/?dimensions=kind,symptom,distributed&least=1",
        "saturation/?dimension=symptom",
        "profiles/?dimension=symptom&by=distributed",
        "counts/?dimension=symptom&where=distributed:true",
        "numbers/?measure=comments&by=kind",
    ],
)
def test_each_number_leads_to_as_many_items(study: Study, question: str) -> None:
    listed = numbers_of(get("rea", ANALYSIS + question))
    assert listed
    for n, url in listed:
        shown = get("rea", url).content.decode().partition("<tbody>")[2]
        assert shown.count("<tr id=") == n, (n, url)


def test_a_place_of_a_curve_leads_to_the_items_up_to_there(study: Study) -> None:
    shown = unescape(get("rea", f"{ANALYSIS}numbers/?measure=comments&by=kind").content.decode())
    assert "label=comments%3A%3C%3D0.0" in shown
    items = get("rea", f"{ITEMS}?label=kind:fault&label=comments:%3C%3D0.0")
    assert "Comments: at or below 0.0" in words_of(items)
    assert items.content.decode().partition("<tbody>")[2].count("<tr id=") == 4
    assert "<tr id=" not in get("rea", f"{ITEMS}?label=comments:%3C%3D-1").content.decode()
    get("rea", f"{ITEMS}?label=comments:%3C%3Dmany", 422)


def test_counts_name_their_denominator_and_what_is_left_out(study: Study) -> None:
    said = words_of(get("ada", f"{ANALYSIS}counts/?dimension=symptom"))
    assert "4 parts of 6 have an agreed value of symptom." in said
    assert "Shares are of the 4 parts with a value of symptom." in said
    assert "2 : Symptom: not applicable, or not labeled." in said
    assert "Items still being labeled." in said
    assert "mapped to version 1 of the taxonomy: 6 parts of 6 items" in said


def test_a_cross_table_says_why_it_is_not_tested(study: Study) -> None:
    said = words_of(get("rea", f"{ANALYSIS}crosstab/?rows=symptom&columns=fixes"))
    assert "Not tested: a part can have several values of fix patterns" in said
    tested = words_of(get("rea", f"{ANALYSIS}crosstab/?rows=symptom&columns=distributed"))
    assert "Not tested" not in tested and "Cramér’s V" in tested


def test_a_p_value_is_shown_with_the_test_that_it_is_from() -> None:
    by_mark = {True: ["crash", "hang", "hang", "slow", "slow", "slow"], False: ["hang", "slow", "slow"]}
    said = [(symptom, mark) for mark, symptoms in by_mark.items() for symptom in symptoms]
    answers = {
        number: {"kind": ["fault"], "symptom": [symptom], "fixes": [], "distributed": mark}
        for number, (symptom, mark) in enumerate(said, start=1)
    }
    labeled(make.study(text=make.FAULTS), answers)
    question = "profiles/?dimension=symptom&by=distributed"
    words = "rho = 1.00, p = 0.333 (exact permutation test)."
    assert words in words_of(get("olga", ANALYSIS + question))
    assert words in get("olga", ANALYSIS + question.replace("/", "/table/profiles.tex", 1)).content.decode()
    table = get("olga", ANALYSIS + question.replace("/", "/table/profiles.csv", 1)).content.decode()
    assert list(csv.reader(io.StringIO(table)))[1][-1] == "exact permutation test"
    crosstab = words_of(get("olga", f"{ANALYSIS}crosstab/?rows=symptom&columns=distributed"))
    assert re.search(r"p = 1.000; chi-square 0\.\d+, exact permutation test\)", crosstab), crosstab


def test_a_strength_above_its_own_interval_is_explained() -> None:
    sparse = np.random.default_rng(1).integers(0, 2, (10, 10))
    assert "V is above the interval" in strength_said(strength(sparse))[-1]
    assert len(strength_said(strength(np.array([[30, 2], [3, 40]])))) == 1


def test_no_word_for_the_size_of_an_association_goes_without_a_source() -> None:
    (said,) = strength_said(strength(np.array([[3, 1], [1, 3]])))
    assert re.fullmatch(r"Cramér’s V = 0\.50, 95% CI \[0\.00, \d\.\d\d\] \(0\.\d\d bias-corrected\)\.", said), said


def test_tables_leave_as_csv_and_latex_with_what_the_page_says(study: Study) -> None:
    rows = list(
        csv.reader(io.StringIO(get("rea", f"{ANALYSIS}counts/table/counts.csv?dimension=symptom").content.decode()))
    )
    assert rows[0] == ["Symptom", "n", "Share", "95% CI"]
    assert rows[1][:3] == ["Crash", "2", "0.5"] and rows[-1][:2] == ["All", "4"]
    latex = get("rea", f"{ANALYSIS}counts/table/counts.tex?dimension=symptom").content.decode()
    assert (
        r"\toprule" in latex and r"Crash & 2 & 50.0\% &" in latex and "of the 4 parts with a value of symptom" in latex
    )


@pytest.mark.parametrize(
    ("address", "least", "most"),
    [
        ("counts/figure/counts.svg?dimension=symptom&width=column", 200, 260),
        ("flow/figure/flow-1.svg?dimensions=kind,symptom,fixes", 430, 520),
    ],
)
def test_figures_leave_as_wide_as_a_column_or_a_page(study: Study, address: str, least: float, most: float) -> None:
    drawn = get("rea", ANALYSIS + address).content.decode()
    wide = re.search(r'width="([\d.]+)pt"', drawn)
    assert wide and least < float(wide[1]) < most
    assert "Crash" in drawn and "var(" not in drawn


def test_the_caption_of_each_table_of_a_flow_names_its_group(study: Study) -> None:
    question = "?dimensions=kind,symptom&within=distributed"
    captions = [get("olga", f"{ANALYSIS}flow/table/flow-{place}.tex{question}").content.decode() for place in (1, 2)]
    assert (
        "Shares are of the 1 part with only distributed ``no'' and a value of kind of issue and symptom." in captions[0]
    )
    assert "Shares are of the 3 parts with only distributed ``yes'' and" in captions[1]


def test_the_same_question_over_rest_is_named(study: Study) -> None:
    page = get("rea", f"{ANALYSIS}counts/").content.decode()
    (address,) = re.findall(r'<a href="([^"]+)">Download as JSON', page)
    assert unescape(address) == "/api/v1/studies/study/analysis/counts/?dimension=kind"


@pytest.mark.slow
def test_the_number_of_queries_is_fixed(study: Study) -> None:
    addresses = (
        "counts/?dimension=symptom&by=fixes", "crosstab/?rows=symptom&columns=distributed", "flow/", "saturation/",
    )  # fmt: skip
    addresses = (*(ANALYSIS + each for each in addresses), f"{ITEMS}?label=symptom:crash")

    def asked() -> dict[str, int]:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        found = {}
        client = visitor("rea")
        for address in addresses:
            client.get(address)
            with CaptureQueriesContext(connection) as captured:
                assert client.get(address).status_code == 200
            found[address] = len(captured)
        return found

    before = asked()
    labeled(study, {number + 10: said for number, said in LABELS.items()}, first=11)
    assert asked() == before
    assert max(before.values()) < 30


# What is kept


def test_an_analysis_is_saved_listed_read_and_removed(study: Study) -> None:
    olga = visitor("olga")
    answer = olga.post(f"{ANALYSIS}counts/save/?dimension=symptom&by=distributed", {"title": " Symptoms  by mark "})
    assert (answer.status_code, answer["Location"]) == (302, f"{ANALYSIS}1/")
    saved = Analysis.objects.get()
    assert (saved.title, saved.kind, saved.question) == (
        "Symptoms by mark", "counts", {"dimension": ["symptom"], "by": ["distributed"]},
    )  # fmt: skip
    assert "Symptoms by mark" in words_of(get("ada", ANALYSIS))
    shown = words_of(get("ada", f"{ANALYSIS}1/"))
    assert "Analysis 1, saved by olga" in shown and "4 parts of 6 have an agreed value of symptom" in shown
    assert visitor("ada").post(f"{ANALYSIS}1/remove/").status_code == 403
    assert olga.post(f"{ANALYSIS}1/remove/").status_code == 302
    assert not Analysis.objects.exists()
    lines = list(AuditEvent.objects.filter(verb__contains="analysis").values_list("verb", "detail"))
    assert [verb for verb, _ in lines] == ["removed an analysis", "saved an analysis"]
    assert all("Symptoms" not in str(detail) for _, detail in lines)


@pytest.mark.parametrize(("name", "status"), [("olga", 302), ("ada", 302), ("rea", 403), ("bob", 403), ("eve", 404)])
def test_owner_and_adjudicators_save(study: Study, name: str, status: int) -> None:
    assert visitor(name).post(f"{ANALYSIS}flow/save/", {"title": "Flow"}).status_code == status
    assert visitor("olga").get(f"{ANALYSIS}flow/save/").status_code == 405


def test_a_title_is_needed_and_the_page_says_so(study: Study) -> None:
    answer = visitor("olga").post(f"{ANALYSIS}counts/save/?dimension=symptom", {"title": " "})
    assert answer.status_code == 422 and "Enter a title of at most 200 characters." in words_of(answer)
    assert not Analysis.objects.exists()


def test_titles_of_others_are_hidden_from_whom_results_are_hidden(study: Study) -> None:
    visitor("olga").post(f"{ANALYSIS}counts/save/", {"title": "Most are faults"})
    for name in ("bob", "rea"):
        assert "Most are faults" not in words_of(get(name, ANALYSIS))
        assert "Most are faults" not in words_of(get(name, f"{ANALYSIS}1/", 403))
    assert "Most are faults" in words_of(get("ada", ANALYSIS))


def test_categories_that_are_equally_frequent_are_all_named() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 hang hang\n3 slow slow")
    page = "/studies/study/analysis/counts/?dimension=symptom"
    assert "The most frequent are “Crash”, “Hang” and “Slow”: 1 each, 33.3%" in words_of(get("olga", page))
    make.rate(make.open_round(study, 1, first=4), "item bob carol\n4 hang hang")
    assert "The most frequent is “Hang”: 2, 50.0%" in words_of(get("olga", page))


def test_a_part_on_which_raters_agree_on_nothing_has_no_agreed_label() -> None:
    study = make.study()
    make.rate(make.open_round(study, 3), "item bob carol\n1 crash crash\n2 crash hang\n3 hang hang")
    assert "2 parts of items have agreed labels." in get("olga", "/studies/study/analysis/").content.decode()
    page = get("olga", "/studies/study/analysis/counts/?dimension=symptom").content.decode()
    assert "2 parts of 2 items." in page and "1 further part has no agreed label" in page
