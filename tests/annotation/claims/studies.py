"""Studies made at random by seed, what is exported of them, and the facts that their texts are made from."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import combinations, permutations
from random import Random
from typing import Any

import pytest
from django.db.models import F
from django.test import Client

from annotation.agreement_report.actions import fix_headline
from annotation.analysis.actions import save_analysis
from annotation.assignments.jobs import rule_round
from annotation.calibration.actions import gold
from annotation.choosing.actions.pinning import repin_item
from annotation.choosing.actions.samples import draw_sample, screen_items
from annotation.core.access import Seat, get_item, get_round
from annotation.imports.actions.ratings import import_ratings
from annotation.labels.queries.verdicts import round_verdicts
from annotation.members.actions.members import add_member
from annotation.methods import Facts
from annotation.methods.queries.methods import methods
from annotation.models import Assignment, Round, Study
from annotation.package.queries import package as study_package
from annotation.package.queries import results
from annotation.plans import jobs as plan_jobs
from annotation.plans.actions import preview_plan, run_plan
from annotation.resolving.actions.resolutions import resolve
from annotation.resolving.actions.third_rater_requests import ask_third_rater
from annotation.rounds.actions import rounds
from annotation.rounds.actions.raters import add_rater, withdraw_rater
from annotation.studies.actions.studies import change_study, register_primary
from tests import builders as make
from tests.annotation.claims.rows import Exported
from tests.annotation.core.test_api import Caller
from tests.annotation.packages import EVERYTHING, labeled, package

RATERS = ("bob", "carol", "dave")
KEYS = ("kind", "symptom", "stage", "fixes", "distributed", "severity")
QUESTIONS: list[tuple[str, dict[str, list[str]]]] = [
    *(("crosstab", {"rows": [a], "columns": [b]}) for a, b in combinations(KEYS, 2)),
    *(("crosstab", {"rows": [a], "columns": [b], "parts": ["single"]}) for a, b in permutations(KEYS[1:], 2)),
    *(("flow", {"dimensions": [f"{a},{b}"]}) for a, b in permutations(KEYS, 2)),
    *(("flow", {"dimensions": ["kind,symptom,fixes"], "within": [by]}) for by in ("distributed", "severity")),
    ("flow", {"dimensions": ["symptom,stage,fixes"], "within": ["distributed"], "parts": ["single"]}),
    *(("saturation", {"dimension": [key]}) for key in KEYS),
    *(("saturation", {"dimension": [key], "parts": ["single"]}) for key in KEYS),
]
"""What a random study saves some of."""
COEFFICIENTS = ("cohen_kappa", "fleiss_kappa", "gwet_ac1", "percent_agreement", "krippendorff_alpha")


@dataclass(frozen=True)
class Made:
    """A study's facts, as the generator reads them, and its exported rows, as the checker does."""

    facts: Facts
    rows: Exported
    readme: str
    counts: Mapping[str, str]
    analyses: Sequence[tuple[str, Mapping[str, Any], str, str, str]] = ()
    """Of saved cross tables, flows and saturations: kind, question, title, and key and text of each table."""


def random_study(seed: int) -> Study:
    """A pilot or none, one to three main rounds that may share items, skips, parts, revisions, and resolutions."""
    draw = Random(seed)
    kinds = ["kind", "symptom", "stage", "fixes", "distributed"]
    primary = {
        key: {"coefficient": draw.choice(COEFFICIENTS if key != "fixes" else COEFFICIENTS[-1:])}
        | ({"threshold": draw.choice([0.4, 0.6, 0.7])} if draw.random() < 0.8 else {})
        | ({"reason": f"it suits {key}"} if draw.random() < 0.5 else {})
        for key in draw.sample(kinds, draw.randint(0, 4))
    }
    study = make.study(text=EVERYTHING, raters=RATERS)
    seat = make.owner_seat(study)
    if primary:
        change_study(seat=seat, changes={"primary": primary})
    if draw.random() < 0.3:
        register_primary(seat=make.owner_seat(study))
    first = 1
    if draw.random() < 0.6:
        labeled_round(study, draw, kind="pilot", n_items=6, first=first, seed=seed)
        first += 6
    n_main = draw.randint(1, 3)
    for turn in range(n_main):
        is_again = turn > 0 and draw.random() < 0.5
        labeled_round(study, draw, n_items=9, first=first - (4 if is_again else 0), seed=seed * 10 + turn)
        first += 9
    if draw.random() < 0.4:
        make.open_round(study, 3, first=first, raters=RATERS[:2])
    for number, (kind, question) in enumerate(draw.sample(QUESTIONS, 5), start=1):
        save_analysis(seat=make.owner_seat(study), title=f"Analysis {number}", kind=kind, question=question)
    return study


def labeled_round(study: Study, draw: Random, *, n_items: int, first: int, seed: int, kind: str = "main") -> None:
    """A round of random answers; `settle` of the builder resolves some of what raters disagree on."""
    raters = RATERS[: draw.choice([2, 3])]
    with of_kind(kind):
        made = labeled(study, n_items, raters, first=first, seed=seed, per_item=min(2, len(raters)))
    if draw.random() < 0.5:
        rounds.close_round(seat=make.owner_seat(study), number=made.number, leave_open=True)


@contextmanager
def of_kind(kind: str) -> Iterator[None]:
    """Rounds that the builder opens are of this kind."""
    opened = make.open_round
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            make,
            "open_round",
            lambda *given, **more: opened(*given, **{"kind": kind, **more}),
        )
        yield


def gold_study() -> Study:
    """A main round with a minimum on training items: reached at once, in a second try, and passed over for a reason."""
    study = make.study(raters=RATERS[:3])
    make.issues(9)
    owner = make.owner_seat(study)
    known = {f"acme/rocket#{n}": {"labels": {"symptom": ["crash"]}} for n in range(1, 6)}
    first, other = ({name: known[name] for name in list(known)[part]} for part in (slice(3), slice(3, 5)))
    main = rounds.create_round(
        seat=owner,
        asked=rounds.NewRound(
            raters=list(RATERS[:3]),
            raters_per_item=2,
            issues=["acme/rocket#8", "acme/rocket#9"],
            known=first,
            gold_minimum={"share": 0.6},
        ),
    )
    rounds.open_round(seat=make.owner_seat(study), number=main.number, unregistered=True)
    for who, right in zip(RATERS, (3, 1, 0), strict=False):
        for number in (1, 2, 3):
            if (who, number) == (RATERS[2], 3):
                make.submit(main, who, number, skip="not in English")
            else:
                make.submit(main, who, number, {"symptom": ["crash" if number <= right else "hang"]})
    retry = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=[RATERS[1]], raters_per_item=1, known=other, kind="pilot"),
    )
    rounds.open_round(seat=make.owner_seat(study), number=retry.number, unregistered=True)
    make.submit(retry, RATERS[1], 4, {}, proposals={"symptom": {"name": "New", "memo": "none fits"}})
    make.submit(retry, RATERS[1], 4, {"symptom": ["crash"]})
    make.submit(retry, RATERS[1], 5, {"symptom": ["crash"]})
    gold.admit(seat=make.owner_seat(study), number=main.number, rater=RATERS[1], reason="One of two is enough.")
    gold.admit(seat=make.owner_seat(study), number=main.number, rater=RATERS[2], reason="Wrote the codebook.")
    for each in main.assignments.filter(state="waiting").select_related("rater__user", "item"):
        make.submit(main, each.rater.user.username, int(each.item.identifier[-1]), {"symptom": ["slow"]})
    return study


MEETING = {"held_on": date.today().isoformat(), "participants": ["erin", "Ada"]}
"""Of people who labeled nothing."""


def repeated_study() -> Study:
    """A round with a withdrawn assignment, a skip of a third rater and a meeting, and the same items once more.

    One of them is renamed and pinned again between the two answers, and after them.
    """
    study = make.study(raters=[*RATERS, "erin"])
    make.user("model")
    add_member(seat=make.owner_seat(study), username="model", roles=["rater"], kind="machine", machine={"name": "M"})
    made = make.open_round(study, 4, raters=[*RATERS[:2], "model"], raters_per_item=2)
    for number in (1, 2):
        make.submit(made, "model", number, {"symptom": ["crash"]})
    make.rate(made, "item bob carol\n1 crash hang\n2 crash crash\n3 hang hang")
    make.submit(made, "bob", 4, {"symptom": ["slow"]})
    rounds.resolve_round(seat=make.owner_seat(study), number=1, withdraw=True)
    seat = make.seat(study, "ada")
    ask_third_rater(seat=seat, round_=get_round(seat, 1), item=get_item(seat, "acme/rocket#1"), rater="dave")
    make.submit(made, "dave", 1, skip="not in English")
    place = {"seat": seat, "round_": get_round(seat, 1), "item": get_item(seat, "acme/rocket#1")}
    resolve(**place, part=1, dimension="symptom", values=["crash"], meeting=MEETING)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    again = make.open_round(study, 4, raters=RATERS[:2], raters_per_item=2)
    make.rate(again, "item bob carol\n1 crash crash\n2 crash crash\n4 slow slow")
    for who in ("bob", "carol"):
        make.submit(again, who, 3, {"symptom": ["hang"]})
        make.new_state(3, title=f"Renamed after {who}")
        repin_item(seat=make.owner_seat(study), item=get_item(seat, "acme/rocket#3"))
    opened_later(again)
    return study


def opened_later(round_: Round) -> None:
    """Has a round opened an hour later, because files have seconds."""
    Round.objects.filter(pk=round_.pk).update(opened_at=F("opened_at") + timedelta(hours=1))


def everything_study() -> Study:
    """A study in which most sentences occur: a sample, a pilot, registered and default coefficients, a gate."""
    study = make.study(text=EVERYTHING, raters=RATERS)
    seat = make.owner_seat(study)
    primary = {
        "kind": {"coefficient": "cohen_kappa", "threshold": 0.4, "reason": "Two raters labeled everything."},
        "symptom": {"coefficient": "fleiss_kappa", "threshold": 0.9},
    }
    change_study(seat=seat, changes={"primary": primary})
    labeled_round(study, Random(1), kind="pilot", n_items=8, first=1, seed=5)
    make.issues(60, first=100)
    sample = draw_sample(seat=make.owner_seat(study), size=22, seed=77, filter={"labels": ["bug"]})
    made = rounds.create_round(
        seat=make.owner_seat(study),
        asked=rounds.NewRound(raters=list(RATERS[:2]), raters_per_item=2, sample=sample.pk, n_items=18, seed=3),
    )
    fix_headline(seat=make.owner_seat(study), rounds=[made.number])
    with opened_as(made.number):
        labeled(study, 22, RATERS[:2], first=1, seed=8, per_item=2)
    for key in ("kind", "symptom", "stage"):
        save_analysis(
            seat=make.owner_seat(study), title=f"Counts of {key}", kind="counts", question={"dimension": [key]}
        )
    return study


SPLIT = make.SYMPTOMS.replace(
    "- {key: hang, name: Hang}",
    "- {key: early, name: Early, was: [hang]}\n      - {key: late, name: Late, was: [hang]}",
)


def staffed_study() -> Study:
    """Raters who leave, come and come back, items planned for one, third raters by rule and by hand, and a split."""
    study = make.study(raters=("bob", "carol", "dave", "erin"))
    seat = make.owner_seat(study)
    change_study(seat=seat, changes={"third_rater": True})
    made = make.open_round(study, 12, raters=RATERS, raters_per_item=2, double_share=0.75, quotas={"dave": 7})
    withdraw_rater(seat=seat, number=1, rater="R2")
    add_rater(seat=seat, number=1, user="erin", quota=1)
    add_rater(seat=seat, number=1, user="carol")
    for turn, each in enumerate(made.assignments.exclude(state="withdrawn").order_by("pk")):
        make.submit(made, each.rater.user.username, issue_of(each), {"symptom": [("hang", "crash")[turn % 2]]})
    disputed = [each.round_item.item for each in round_verdicts(get_round(seat, 1), disputed_only=True)]
    ask_third_rater(seat=make.seat(study, "ada"), round_=get_round(seat, 1), item=disputed[0])
    rule_round(made.pk)
    for each in made.assignments.filter(slot=None):
        make.submit(made, each.rater.user.username, issue_of(each), {"symptom": ["hang"]})
    rule_round(made.pk)
    rounds.close_round(seat=make.owner_seat(study), number=1, leave_open=True)
    make.next_version(study, SPLIT)
    seat = make.owner_seat(study)
    plan = run_plan(seat=seat, plan=preview_plan(seat=seat, to=2))
    plan_jobs.work(plan.pk)
    relabeling = get_round(make.owner_seat(study), 2)
    first = relabeling.assignments.order_by("pk").first()
    assert first is not None
    make.submit(relabeling, first.rater.user.username, issue_of(first), {"symptom": ["early"]})
    later = make.open_round(study, 2, first=30, raters=("bob", "carol"), kind="pilot")  # nothing of it was migrated
    make.rate(later, "item bob carol\n30 early early\n31 late late")
    return study


def issue_of(assignment: Assignment) -> int:
    return int(assignment.item.identifier.rpartition("#")[2])


def screened_study(screened_out: str) -> Study:
    """A screened sample: in, out with and without a reason, open, not screened; coded, and then two leave it."""
    study = make.study()
    seat = make.owner_seat(study)
    change_study(seat=seat, changes={"screened_out": screened_out})
    make.issues(10)
    sample = draw_sample(seat=seat, size=9, seed=5, filter={"repository": "acme/rocket"})
    named = [int(row.issue.identifier.rpartition("#")[2]) for row in sample.drawn.select_related("issue")]
    asked = {"kind": "screening", "reasons": ["Spam", "Old"], "raters": ["bob", "carol"], "sample": sample.pk}
    rounds.create_round(seat=seat, asked=rounds.NewRound(**asked, n_items=7))
    screening = rounds.open_round(seat=seat, number=1)
    for number, *given in zip(
        named, ("in",) * 4 + ("spam", "spam", "in"), ("in",) * 4 + ("spam", "old", "old"), strict=False
    ):
        for who, value in zip(("bob", "carol"), given, strict=True):
            labels = {"screening": ["in"]} if value == "in" else {"screening": ["out"], "screening-reason": [value]}
            make.submit(screening, who, number, labels)
    rounds.close_round(seat=seat, number=1, leave_open=True)
    chosen = ["in", "unscreened"]
    rounds.create_round(
        seat=seat, asked=rounds.NewRound(raters=["bob", "carol"], sample=sample.pk, n_items=5, screening=chosen)
    )
    coding = rounds.open_round(seat=seat, number=2, unregistered=True)
    for number, values in zip([*named[:4], named[7]], ("ab", "aa", "bb", "ab", "bb"), strict=True):
        for who, value in zip(("bob", "carol"), values, strict=True):
            make.submit(coding, who, number, {"symptom": [{"a": "crash", "b": "hang"}[value]]})
    rounds.close_round(seat=seat, number=2, leave_open=True)
    control = draw_sample(seat=seat, size=1, filter={"repository": "acme/rocket", "screened_out_of": sample.pk})
    again = study.items.get(issue__in=control.drawn.values("issue"))
    screen_items(seat=seat, screening="out", reason=again.screening_reason, items=[again.identifier])
    assert again.snapshot is not None
    state = {"repository": "acme/rocket", "screened_out_of": sample.pk, "state": again.snapshot.state}
    for more in ({}, {"stratify_by": "state", "allocation": "equal"}):
        restricted = draw_sample(seat=seat, size=1, filter=state, **more)
        item = study.items.get(issue__in=restricted.drawn.values("issue"))
        screen_items(seat=seat, screening="out", reason=item.screening_reason, items=[item.identifier])
    late = [f"acme/rocket#{named[place]}" for place in (3, 7)]
    screen_items(seat=seat, screening="out", reason="Old", items=late)
    return study


ASSOCIATED: list[tuple[str, dict[str, list[str]]]] = [
    ("crosstab", {"rows": ["symptom"], "columns": ["cause"]}),
    ("crosstab", {"rows": ["symptom"], "columns": ["fix"]}),
    ("crosstab", {"rows": ["cause"], "columns": ["few"]}),
    ("crosstab", {"rows": ["large"], "columns": ["pair"]}),
    ("flow", {"dimensions": ["symptom,cause,fix"]}),
    ("flow", {"dimensions": ["symptom,cause"], "within": ["fix"]}),
    ("saturation", {"dimension": ["cause"]}),
]


def associated_study() -> Study:
    """Ratings from a sheet whose dimensions hang together, in tables of every kind of test."""
    draw = Random(3)
    keys = ["symptom", "cause", "fix", "large", "few", "pair"]
    lines = [",".join(["item", "rater", *keys])]
    for number in range(60):
        symptom = draw.choice("abc")
        cause = symptom.upper() if draw.random() < 0.8 else draw.choice("ABC")
        fix, large = draw.choice("xyyy"), "big" if number < 4 else "little"
        few, pair = ({"A": "p", "B": "q", "C": "r"}[cause], large[0]) if number < 9 else ("", "")
        lines += [f"i{number:02},{rater},{symptom},{cause},{fix},{large},{few},{pair}" for rater in ("ann", "bo")]
    text = "\n".join(lines).encode()
    import_ratings(user=make.user("olga"), study="sheet", file=text, name="s.csv", dimensions=keys, create=True)
    study = Study.objects.get(slug="sheet")
    for number, (kind, question) in enumerate(ASSOCIATED, start=1):
        save_analysis(seat=make.owner_seat(study), title=f"Analysis {number}", kind=kind, question=question)
    return study


@contextmanager
def opened_as(number: int) -> Iterator[None]:
    """The builder opens a draft that is there instead of making a round."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            make,
            "open_round",
            lambda study, *given, **more: rounds.open_round(
                seat=make.owner_seat(study), number=number, reason="It has to go on."
            ),
        )
        yield


def exported(study: Study, *, resamples: int = 1000) -> Made:
    """The tables of the package, the audit log as a file, settings and members as REST answers them."""
    seat = make.owner_seat(study)
    told: list[Facts] = []

    def noted(reader: Seat) -> Facts:
        told.append(methods(reader, resamples=resamples))
        return told[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study_package, "methods", noted)
        patch.setattr(study_package, "draw_each", lambda wanted: [b"drawn"] * len(wanted))
        patch.setattr(study_package, "in_order", lambda pdf: pdf)
        patch.setattr(study_package, "agreement_document", lambda seat, step: {"entries": []})
        patch.setattr(results, "_usual", lambda seat: iter(()))  # those that were saved are enough
        content = package(seat)
    tables: dict[str, list[dict[str, str]]] = {}
    samples = []
    issues: dict[str, set[tuple[str, str]]] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        for name in file.namelist():
            if name.startswith("data/") and name.endswith(".csv"):
                text = file.read(name).decode()
                tables[name[5:-4]] = list(csv.DictReader(io.StringIO(text)))
            elif name.startswith("sample/sample-") and name.endswith(".json"):
                samples.append(json.loads(file.read(name)))
            elif name.startswith("sample/sample-") and name.endswith("-frame.csv"):
                rows_of = csv.DictReader(io.StringIO(file.read(name).decode()))
                issues[name[14:-10]] = {(row["repository"], row["number"]) for row in rows_of if row["drawn"]}
        readme = file.read("README.md").decode()
        texts = {name[7:-4]: file.read(name).decode() for name in file.namelist() if name.startswith("tables/")}
        saved = [each for each in json.loads(file.read("results/analyses.json"))["analyses"] if each["number"]]
    client = Client()
    client.force_login(study.created_by)
    answer: Any = client.get(f"/studies/{study.slug}/audit/audit.jsonl")
    audit = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    olga = Caller("olga")
    settings = olga.get(f"studies/{study.slug}/").json()
    settings["taxonomy_title"] = olga.get(f"taxonomies/{settings['taxonomy']}/").json()["title"]
    members = olga.get(f"studies/{study.slug}/members/?page_size=100").json()["results"]
    known, minima, present = {}, {}, {}
    for each in study.rounds.exclude(state="draft").order_by("number"):
        at = f"studies/{study.slug}/rounds/{each.number}/"
        document = olga.get(f"{at}training/").json()
        known[each.number] = {item["item"]: item["known"] for item in document["items"]}
        minima[each.number] = document["gold_minimum"]
        present[each.number] = olga.get(f"{at}raters/?page_size=100").json()["results"]
    first = olga.get(f"studies/{study.slug}/ratings/?revision=first&page_size=5000").json()["results"]
    facts = methods(seat, resamples=resamples) if seat.blind_round_ids or seat.withheld else told[0]
    counts = {name: text for name, text in texts.items() if name.endswith("-counts")}
    found = [
        (each["kind"], each["words"], each["title"], name.removeprefix(f"analysis-{each['number']}-"), text)
        for each in saved
        for name, text in texts.items()
        if name.startswith(f"analysis-{each['number']}-") and each["kind"] != "counts"
    ]
    rows = Exported(tables, audit, settings, members, facts.software, samples, known, minima, present, first, issues)
    return Made(facts, rows, readme, counts, found)
