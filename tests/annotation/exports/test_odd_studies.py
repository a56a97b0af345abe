"""Small and odd studies: no page, file, answer or command says more than the data, or says it in broken English."""

import html
import io
import re
import zipfile
from collections.abc import Callable, Iterator

import pytest
from django.core.management import call_command

from annotation.core.errors import ConcordError
from annotation.models import Study
from annotation.package.queries import package as study_package
from annotation.rounds.actions import rounds
from annotation.rounds.actions.raters import withdraw_rater
from tests import builders as make
from tests.annotation.core.test_api import Caller
from tests.annotation.imports.test_workbooks import visitor
from tests.annotation.packages import package

pytestmark = pytest.mark.django_db

TEXT_ONLY = "slug: words\ntitle: Words\ndimensions:\n  - {key: symptom, title: Words, kind: text}\n"
MARKED = """
slug: marked
title: "<b>Faults</b> & *more*"
dimensions:
  - key: symptom
    title: "<i>Symptom</i> _x_"
    kind: single
    categories: [{key: crash, name: "<b>Crash</b>."}, {key: hang, name: "Hang | `stop`"}]
"""
ONE = """
slug: one
title: One
dimensions:
  - {key: symptom, title: Symptom, kind: single, categories: [{key: crash, name: Crash}]}
"""
MANY = (
    "slug: many\ntitle: Many\ndimensions:\n  - {key: symptom, title: Symptom, kind: single, categories: ["
    + ",".join(f"{{key: c{n}, name: Category {n}}}" for n in range(1000))
    + "]}\n"
)


def closed(study: Study, number: int = 1) -> Study:
    rounds.close_round(seat=make.owner_seat(study), number=number, leave_open=True)
    return study


def no_items() -> Study:
    return make.study()


def one_rater() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 1, raters=["bob"]), "item bob\n1 crash")
    return closed(study)


def all_skipped() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 - -")
    return closed(study)


def one_skipped() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 - crash")
    return closed(study)


def text_only() -> Study:
    study = make.study(text=TEXT_ONLY)
    round_ = make.open_round(study, 1)
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"symptom": f"words of {name}"})
    return closed(study)


def one_item_in_two_rounds() -> Study:
    study = make.study()
    for number in (1, 2):
        make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
        closed(study, number)
    return study


def withdrawn() -> Study:
    study = make.study()
    round_ = make.open_round(study, 2)
    make.submit(round_, "bob", 1, {"symptom": ["crash"]})
    make.submit(round_, "carol", 1, {"symptom": ["crash"]})
    make.submit(round_, "carol", 2, {"symptom": ["crash"]})
    withdraw_rater(seat=make.owner_seat(study), number=1, rater="R1")
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    return closed(study)


def nothing_compared() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash -\n2 - crash")
    return closed(study)


def identical() -> Study:
    study = make.study(text=ONE)
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash crash\n2 crash crash")
    return closed(study)


def one_unit() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash hang")
    return closed(study)


def pending_only() -> Study:
    study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 PENDING PENDING")
    return closed(study)


def many_categories() -> Study:
    study = make.study(text=MANY)
    make.rate(make.open_round(study, 2), "item bob carol\n1 c1 c999\n2 c1 c1")
    return closed(study)


def marked() -> Study:
    study = make.study(text=MARKED)
    make.rate(make.open_round(study, 2), "item bob carol\n1 crash hang\n2 crash crash")
    return closed(study)


def open_and_empty() -> Study:
    study = make.study()
    make.open_round(study, 1)
    return study


STUDIES: list[Callable[[], Study]] = [
    no_items, one_rater, all_skipped, one_skipped, text_only, one_item_in_two_rounds, withdrawn, nothing_compared,
    identical, one_unit, pending_only, many_categories, marked, open_and_empty,
]  # fmt: skip
PAGES = ("", "agreement/", "agreement/?round=1", "items/", "rounds/1/", "analysis/counts/?dimension=symptom")
COUNTED = (
    "items|units|raters|ratings|rounds|labels|rows|issues|categories|dimensions|disagreements|resolutions|members|"
    "assignments|parts|answers|submissions|versions|samples|proposals|pairs"
)
ODD = re.compile(
    rf"(?<!and )\b1 (?:{COUNTED})\b|\b(?:1|One) (?:item|unit|rater|label|assignment) (?:were|are|have)\b"
    r"|\b0 of 0\b|\bNaN\b|\bnan\b|\bNone\b|\binf\b|-0\.0+\b|\b(?:rounds|versions) \d\b(?! (?:and|to)|,)"
    r"|with its whole interval"
)
"""What is said of one thing as of several, of nothing as a share, or of an interval that no five units can have."""
BROKEN = re.compile(r"(?<![./])\.\.(?![./])|\.”?\. |,\.| ,|: \.|“”")
"""Punctuation left over from what was empty, in texts without markup."""


def plain(text: str) -> str:
    text = re.sub(r"<(script|style|head|svg|select)\b.*?</\1>", " ", text, flags=re.DOTALL)
    text = re.sub(r"</(?:td|th|tr|li|dt|dd|p|h\d|a|button|label|summary|div)>", " ¦ ", text)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def texts(study: Study) -> Iterator[tuple[str, str]]:
    """What the commands print, and the texts of the package."""
    for options in ([], ["--methods"], ["--latex"], ["--round", "headline"]):
        out = io.StringIO()
        call_command("agreement", study.slug, *options, stdout=out)
        yield f"agreement {' '.join(options)}", out.getvalue()
    try:
        content = package(make.owner_seat(study))
    except ConcordError as error:
        yield "package", error.message
        return
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for name in file.namelist():
            if name.endswith((".md", ".tex")):
                yield name, file.read(name).decode()


def answers(study: Study) -> Iterator[tuple[str, str]]:
    """Pages and REST."""
    client, olga = visitor(), Caller("olga")
    for page in PAGES if study.rounds.exists() else ("", "agreement/", "items/"):
        response = client.get(f"/studies/{study.slug}/{page}")
        assert response.status_code == 200, page
        yield f"page {page}", plain(response.content.decode())
    for path in ("agreement/", "agreement/?round=headline", "labels/", "disagreements/?state=all"):
        yield f"REST {path}", olga.get(f"studies/{study.slug}/{path}").content.decode()


@pytest.fixture(autouse=True)
def quick_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_package, "draw_each", lambda wanted: [b"drawn"] * len(wanted))
    monkeypatch.setattr(study_package, "in_order", lambda pdf: pdf)


@pytest.mark.slow
@pytest.mark.parametrize("build", STUDIES, ids=lambda build: build.__name__)
def test_nothing_is_said_of_an_odd_study_that_is_not_so(build: Callable[[], Study]) -> None:
    study = build()
    every = [(where, text, [ODD]) for where, text in answers(study)]
    every += [(where, text, [ODD, BROKEN]) for where, text in texts(study)]
    found = [
        f"{where}: {text[max(0, each.start() - 60) : each.end() + 40]}"
        for where, text, patterns in every
        for pattern in patterns
        for each in pattern.finditer(text)
    ]
    assert found == []


def test_a_value_without_an_interval_is_not_said_to_lie_below_with_its_whole_interval() -> None:
    study = one_unit()
    page = plain(visitor().get(f"/studies/{study.slug}/agreement/").content.decode())
    assert (
        "below the threshold of 0.80. A confidence interval needs at least 5 units with two ratings. There is one."
        in (page.replace(" ¦", ""))
    )
