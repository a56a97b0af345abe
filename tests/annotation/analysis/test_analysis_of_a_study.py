"""A study of 1,000 items with known labels: every table of its analysis against pandas and SciPy, from its export."""

import io
from datetime import UTC, datetime, timedelta
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import Table
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from annotation.imports.actions.ratings import import_ratings
from annotation.models import Item
from ingest.models import ClosingChange, Comment, Snapshot, SnapshotComment
from tests import builders as make
from tests.scripts import Script

TAXONOMY = """
slug: bugs
title: Bugs
dimensions:
  - {key: stage, title: Stage, kind: single, categories: [{key: setup, name: Setup}, {key: train, name: Training},
     {key: save, name: Saving}]}
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - {key: failure, name: Failure, categories: [{key: crash, name: Crash}, {key: hang, name: Hang}]}
      - {key: quality, name: Quality, categories: [{key: slow, name: Slow}, {key: memory, name: Memory},
         {key: wrong, name: Wrong result}]}
      - {key: rare, name: Rare}
  - {key: cause, title: Root cause, kind: single, categories: [{key: config, name: Configuration},
     {key: api, name: Misused API}, {key: race, name: Race}, {key: version, name: Version}]}
  - {key: fix, title: Fix pattern, kind: multi, categories: [{key: edit, name: Edit}, {key: pin, name: Pin},
     {key: guard, name: Guard}]}
  - {key: only, title: Only distributed, kind: boolean}
"""
SYMPTOMS = ("crash", "hang", "slow", "memory", "wrong", "rare", "failure")
ROOT = {"crash": "failure", "hang": "failure", "slow": "quality", "memory": "quality", "wrong": "quality"}
CHANCE = {"setup": (0.5, 0.2, 0.1, 0.09, 0.06, 0.01, 0.04), "train": (0.1, 0.35, 0.25, 0.2, 0.08, 0.0, 0.02)}
CHANCE["save"] = (0.3, 0.1, 0.1, 0.1, 0.4, 0.0, 0.0)
N = 1000


def made_up(draw: np.random.Generator) -> list[dict[str, Any]]:
    """One row per part, with a distribution that is known: causes hang on symptoms, symptoms on stages."""
    rows = []
    for number in range(1, N + 1):
        for part in range(1, 3 if number % 25 == 0 else 2):
            stage = str(draw.choice(["setup", "train", "save"], p=[0.5, 0.35, 0.15]))
            symptom = str(draw.choice(SYMPTOMS, p=CHANCE[stage]))
            favored = {"crash": 0, "hang": 2, "slow": 1}.get(symptom, 3)
            chances = np.full(4, 0.15)
            chances[favored] += 0.4
            row = {
                "item": f"acme/{('rocket', 'plane', 'boat')[number % 10 // 4]}#{number}",
                "part": part,
                "stage": stage,
                "symptom": symptom,
                "cause": str(draw.choice(["config", "api", "race", "version"], p=chances)),
                "fix": sorted({str(each) for each in draw.choice(["edit", "pin", "guard"], size=2, p=[0.6, 0.3, 0.1])}),
                "only": bool(draw.random() < (0.95 if stage == "setup" else 0.3)),
            }
            rows.append(row)
    return rows


def sheet(rows: list[dict[str, Any]]) -> bytes:
    """Two raters; the second says another symptom in some, which is decided."""
    lines = ["item,part,rater,dimension,value"]
    for place, row in enumerate(rows):
        for rater in ("r1", "r2"):
            is_other = rater == "r2" and place % 20 == 3
            said = row | ({"symptom": "slow" if row["symptom"] != "slow" else "hang"} if is_other else {})
            for key in ("stage", "symptom", "cause", "only"):
                lines.append(f"{row['item']},{row['part']},{rater},{key},{str(said[key]).lower()}")
            lines += [f"{row['item']},{row['part']},{rater},fix,{value}" for value in row["fix"]]
        if place % 20 == 3:
            lines.append(f"{row['item']},{row['part']},final,symptom,{row['symptom']}")
    return "\n".join(lines).encode()


def with_effort(draw: np.random.Generator) -> None:
    """Days, comments and changes of the issues, drawn; some issues are open, some changes unknown."""
    opened = datetime(2024, 1, 1, tzinfo=UTC)
    snapshots = list(Snapshot.objects.order_by("pk"))
    comments = [
        Comment(sha256=f"{number:064x}", author_login=f"person{number % 7}", body=str(number)) for number in range(21)
    ]
    comments = Comment.objects.bulk_create(comments)
    changes, said = [], []
    for snapshot in snapshots:
        snapshot.created_at = opened
        snapshot.closed_at = opened + timedelta(hours=int(draw.exponential(300))) if draw.random() < 0.9 else None
        snapshot.n_comments = int(draw.integers(0, 6))
        said += [
            SnapshotComment(snapshot=snapshot, comment=comments[at], position=position)
            for position, at in enumerate(draw.choice(21, snapshot.n_comments, replace=False), start=1)
        ]
        for number in range(int(draw.integers(0, 3))):
            changes.append(
                ClosingChange(
                    issue_id=snapshot.issue_id,
                    kind="pull_request",
                    identifier=f"acme/x#{snapshot.pk}-{number}",
                    merged_at=opened if draw.random() < 0.9 else None,
                    additions=int(draw.exponential(12)),
                    deletions=int(draw.exponential(5)) if draw.random() < 0.95 else None,
                    n_files=int(draw.integers(1, 5)),
                )
            )
    # Snapshots can't be changed by anybody but a test that makes them up.
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Snapshot.objects.bulk_update(snapshots, ["created_at", "closed_at", "n_comments"], batch_size=500)
        SnapshotComment.objects.bulk_create(said, batch_size=5000)
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")
    ClosingChange.objects.bulk_create(changes, batch_size=5000)


class Known:
    """The study, its exported labels as a frame of one row per part, and its answers."""

    def __init__(self) -> None:
        draw = np.random.default_rng(11)
        rows = made_up(draw)
        make.study(text=TAXONOMY, raters=())
        by_repository: dict[str, list[int]] = {}
        for row in rows:
            repository, _, number = row["item"].partition("#")
            by_repository.setdefault(repository, []).append(int(number))
        for repository, numbers in by_repository.items():
            make_issues(repository, list(dict.fromkeys(numbers)))
        with_effort(draw)
        report = import_ratings(user=make.user("olga"), study="study", file=sheet(rows), name="known.csv")
        assert report.n_refused == 0
        self.script = Script("olga")
        labels = self.script.send("GET", "studies/study/labels/?format=csv")
        long = pd.read_csv(io.BytesIO(b"".join(labels.streaming_content)), dtype=str)
        long["part"] = long["part"].astype(int)
        self.long = long
        wide = long.pivot(index=["item", "part"], columns="dimension", values="values").reset_index()
        order = {item: place for place, item in enumerate(dict.fromkeys(long["item"]))}
        wide["order"] = wide["item"].map(order)
        self.wide = wide.sort_values(["order", "part"]).reset_index(drop=True)
        self.wide["repository"] = self.wide["item"].str.split("#").str[0]
        self.wide["fix"] = self.wide["fix"].str.split(";")
        self.rows = rows

    def ask(self, path: str) -> dict[str, Any]:
        answer = self.script.send("GET", f"studies/study/analysis/{path}")
        assert answer.status_code == 200, answer.content
        found: dict[str, Any] = answer.json()
        return found


def make_issues(repository: str, numbers: list[int]) -> None:
    """Issues of a repository with these numbers."""
    from ingest.models import Issue

    made = make.issues(len(numbers), repository, first=100_000)
    for issue, number in zip(made, numbers, strict=True):
        issue.number = number
    Issue.objects.bulk_update(made, ["number"], batch_size=1000)


@pytest.mark.slow
@pytest.mark.django_db
def test_every_table_of_a_known_study_is_that_of_pandas_and_scipy() -> None:
    known = Known()
    wide = known.wide
    assert len(wide) == len(known.rows) == 1040
    told = {(row["item"], row["part"]): row for row in known.rows}
    for row in wide.to_dict("records"):  # the export itself says what was made up
        wanted = told[row["item"], row["part"]]
        assert (row["symptom"], row["stage"], row["cause"]) == (wanted["symptom"], wanted["stage"], wanted["cause"])
        assert (sorted(row["fix"]), row["only"]) == (wanted["fix"], str(wanted["only"]).lower())
    for check in (counts, shares, crosstab, flow, effort, profiles, saturation, frequent):
        check(known)


def wilson(n: int, of: int) -> Any:
    return pytest.approx(proportion_confint(n, of, method="wilson"), abs=1e-12)


def same_interval(each: dict[str, Any], labels: dict[str, Any]) -> None:
    """Parts of one item are not independent, so that there is the reason in place of the interval."""
    if labels["n_items"] == labels["n_parts"]:
        assert (each["ci_low"], each["ci_high"]) == wilson(each["n"], each["of"]) and each["undefined"] is None
    else:
        assert each["ci_low"] is each["ci_high"] is None
        assert each["undefined"].startswith(f"{labels['n_parts']:,} parts are of {labels['n_items']:,} items")


def same_shares(found: list[dict[str, Any]], wanted: pd.Series, of: int, labels: dict[str, Any]) -> None:
    assert {each["category"]: each["n"] for each in found if each["n"]} == wanted.to_dict()
    for each in found:
        assert (each["of"], each["share"]) == (of, pytest.approx(each["n"] / of))
        same_interval(each, labels)


def counts(known: Known) -> None:
    wide = known.wide
    found = known.ask("counts/?dimension=symptom&by=stage")
    assert found["denominator"] == {"of": "all", "words": "of the 1,040 parts with a value of symptom", "n": 1040}
    same_shares(found["categories"], wide["symptom"].value_counts(), 1040, found["labels"])
    for group in found["groups"]:
        here = wide[wide["stage"] == group["value"]]
        assert (group["n"], group["denominator"]["n"], group["denominator"]["of"]) == (len(here), len(here), "group")
        same_shares(group["categories"], here["symptom"].value_counts(), len(here), found["labels"])
    found = known.ask("counts/?dimension=symptom&by=stage&of=category")
    for group in found["groups"]:
        table = pd.crosstab(wide["stage"], wide["symptom"], normalize="columns").loc[group["value"]]
        told = {each["category"]: each["share"] for each in group["categories"] if each["of"]}
        assert told == pytest.approx(table.to_dict())
    found = known.ask("counts/?dimension=symptom&by=repository&level=root&fold=20&parts=single")
    single = wide[~wide["item"].duplicated(keep=False)]
    lifted = single["symptom"].map(lambda key: ROOT.get(key, key))
    n = lifted.value_counts()
    assert found["labels"]["folded"] == {"symptom": {"categories": ["rare"], "n": int(n["rare"])}}
    same_shares(found["categories"], lifted.replace("rare", "others").value_counts(), len(single), found["labels"])
    assert found["labels"]["left_out"] == [{"why": "Their items have several parts.", "n": 80}]
    found = known.ask(
        "counts/?dimension=fix&where=stage:train,stage:save&where=symptom:failure".replace("&where=symptom", ",symptom")
    )
    here = wide[wide["stage"].isin(["train", "save"]) & wide["symptom"].isin(["failure", "crash", "hang"])]
    same_shares(found["categories"], here["fix"].explode().value_counts(), len(here), found["labels"])
    assert found["notes"] == [
        f"A part can have several values of fix pattern, so that the numbers add up to {here['fix'].str.len().sum()}, "
        f"not to {len(here)}."
    ]
    found = known.ask("counts/?dimension=symptom&left_out=quality")
    same_shares(
        found["categories"],
        wide["symptom"][~wide["symptom"].isin(["slow", "memory", "wrong"])].value_counts(),
        found["n"],
        found["labels"],
    )


def shares(known: Known) -> None:
    wide = known.wide.assign(only=known.wide["only"] == "true")
    found = known.ask("shares/?mark=only&dimension=symptom&by=stage")
    assert (found["total"]["n"], found["total"]["of"]) == (wide["only"].sum(), 1040)
    for group in [found["total"], *found["groups"]]:
        here = wide if group["value"] is None else wide[wide["stage"] == group["value"]]
        assert (group["n"], group["of"], group["share"]) == (
            here["only"].sum(),
            len(here),
            pytest.approx(here["only"].mean()),
        )
        told = {each["category"]: (each["n"], each["of"]) for each in group["categories"] if each["of"]}
        table = here.groupby("symptom")["only"].agg(["sum", "count"])
        assert told == {key: (int(row["sum"]), int(row["count"])) for key, row in table.iterrows()}
        for each in group["categories"]:
            if each["of"]:
                same_interval(each, found["labels"])
            else:
                assert each["share"] is None and each["undefined"]


def crosstab(known: Known) -> None:
    single = known.wide[~known.wide["item"].duplicated(keep=False)]
    found = known.ask("crosstab/?rows=symptom&columns=cause&parts=single&fold=20&of=column")
    rare = [key for key, n in single["symptom"].value_counts().items() if n < 20]
    table = pd.crosstab(single["symptom"].replace(rare, "others"), single["cause"])
    table = table.loc[
        [each["category"] for each in found["row_categories"]],
        [each["category"] for each in found["column_categories"]],
    ]
    values = table.to_numpy()
    assert found["counts"] == values.tolist()
    assert np.array(found["shares"]) == pytest.approx(values / values.sum(axis=0))
    statistic, p_value, df, expected = stats.chi2_contingency(values, correction=False)
    assert found["test"]["method"] == "chi_square"
    assert (found["test"]["statistic"], found["test"]["df"]) == (pytest.approx(statistic), df)
    assert found["test"]["p_value"] == pytest.approx(p_value, rel=1e-6)
    assert np.array(found["expected"]) == pytest.approx(expected)
    residuals = Table(values, shift_zeros=False).standardized_resids
    assert np.array(found["residuals"]) == pytest.approx(residuals)
    adjusted = multipletests(2 * stats.norm.sf(abs(residuals.ravel())), method="holm")[1]
    assert np.array(found["p_residuals"]).ravel() == pytest.approx(adjusted, abs=1e-12)
    v = found["cramers_v"]
    assert v["value"] == pytest.approx(stats.contingency.association(values, method="cramer"))
    n, narrow = values.sum(), min(values.shape) - 1
    for end, p in (("ci_low", 0.975), ("ci_high", 0.025)):
        assert stats.ncx2.cdf(statistic, df, v[end] ** 2 * n * narrow) == pytest.approx(p, abs=1e-6)
    assert [each["n"] for each in found["row_categories"]] == values.sum(axis=1).tolist()
    found = known.ask("crosstab/?rows=symptom&columns=cause")
    assert found["test"] is None and found["residuals"] is None
    assert found["undefined"].startswith("1040 parts are of 1000 items")
    table = pd.crosstab(known.wide["symptom"], known.wide["cause"])
    table = table.loc[
        [each["category"] for each in found["row_categories"]],
        [each["category"] for each in found["column_categories"]],
    ]
    assert found["counts"] == table.to_numpy().tolist()
    found = known.ask("crosstab/?rows=stage&columns=fix&parts=single&of=all")
    exploded = single.explode("fix")
    wanted = pd.crosstab(exploded["stage"], exploded["fix"]).loc[["setup", "train", "save"], ["edit", "pin", "guard"]]
    assert found["counts"] == wanted.to_numpy().tolist()
    assert found["undefined"].startswith("A part can have several values of fix pattern")


def flow(known: Known) -> None:
    found = known.ask("flow/?dimensions=symptom,cause,fix&within=stage")
    exploded = known.wide.explode("fix")
    assert [group["value"] for group in found["groups"]] == ["setup", "train", "save"]
    for group in found["groups"]:
        here, long = (frame[frame["stage"] == group["value"]] for frame in (known.wide, exploded))
        assert group["denominator"]["n"] == len(here)
        bands = {(b["from_dimension"], b["from"], b["to"]): (b["n"], b["share"]) for b in group["bands"]}
        wanted = {("symptom", *key): n for key, n in here.value_counts(["symptom", "cause"]).items()}
        wanted |= {("cause", *key): n for key, n in long.value_counts(["cause", "fix"]).items()}
        assert bands == {key: (n, pytest.approx(n / len(here))) for key, n in wanted.items()}
        paths = {tuple(path["categories"]): path["n"] for path in group["paths"]}
        assert paths == long.value_counts(["symptom", "cause", "fix"]).to_dict()
        of_start = {
            b["from"]: b["share_of_from"] for b in group["bands"] if (b["from"], b["to"]) == ("crash", "config")
        }
        crashes = here[here["symptom"] == "crash"]
        assert of_start["crash"] == pytest.approx((crashes["cause"] == "config").mean())


def effort(known: Known) -> None:
    rows = []
    for item in Item.objects.select_related("snapshot", "issue").order_by("pk"):
        snapshot = item.snapshot
        assert snapshot is not None and item.issue is not None
        merged = [each for each in item.issue.closing_changes.all() if each.merged_at]
        lines = [each.n_lines for each in merged]
        rows.append(
            {
                "item": item.identifier,
                "days_open": (snapshot.closed_at - snapshot.created_at) / timedelta(days=1)
                if snapshot.closed_at
                else None,
                "comments": snapshot.n_comments,
                "participants": len({"ghost", *(each.author_login for each in snapshot.comments.all())}),
                "lines": sum(lines) if lines and None not in lines else None,
                "files": sum(each.n_files for each in merged) if merged else None,
            }
        )
    of_items = pd.DataFrame(rows).set_index("item").astype(float)
    assert of_items["lines"].isna().any() and (of_items["lines"] <= 10).any()
    for measure in of_items:
        found = known.ask(f"numbers/?measure={measure}&cut=10")["total"]
        same_distribution(found, of_items[measure], 10)
    once = known.wide.drop_duplicates(["item", "symptom"]).assign(
        lines=lambda frame: frame["item"].map(of_items["lines"])
    )
    found = known.ask("numbers/?measure=lines&by=symptom&cut=10")
    assert found["comparison"] is None and found["uncompared"]
    for group in found["groups"]:
        same_distribution(group, once[once["symptom"] == group["value"]]["lines"], 10)
    single = once[~once["item"].isin(known.wide["item"][known.wide["item"].duplicated()])].dropna(subset="lines")
    found = known.ask("numbers/?measure=lines&by=stage&parts=single")["comparison"]
    samples = {key: group["lines"].to_numpy() for key, group in single.groupby("stage")}
    h, p_value = stats.kruskal(*samples.values())
    assert found["kruskal_wallis"]["h"] == pytest.approx(h)
    assert found["kruskal_wallis"]["p_value"] == pytest.approx(p_value)
    assert found["kruskal_wallis"]["epsilon_squared"] == pytest.approx(h / (len(single) - 1))
    p_values = []
    for pair in found["pairs"]:
        x, y = samples[pair["a"]], samples[pair["b"]]
        u, p = stats.mannwhitneyu(x, y)
        assert (pair["u"], pair["p_value"]) == pytest.approx((u, p))
        assert pair["delta"] == pytest.approx(np.sign(x[:, None] - y[None, :]).mean())
        p_values.append(p)
    assert [pair["p_holm"] for pair in found["pairs"]] == pytest.approx(
        multipletests(p_values, method="holm")[1].tolist()
    )


def same_distribution(found: dict[str, Any], wanted: pd.Series, cut: float) -> None:
    assert (found["n"], found["n_missing"]) == (wanted.count(), wanted.isna().sum())
    assert (found["mean"], found["sd"]) == pytest.approx((wanted.mean(), wanted.std()))
    for each in found["quantiles"]:
        assert each["value"] == pytest.approx(wanted.quantile(each["share"]))
    n = int((wanted <= cut).sum())
    assert (found["at_or_under"]["n"], found["at_or_under"]["of"]) == (n, wanted.count())
    for point in found["curve"][:: max(1, len(found["curve"]) // 20)]:
        assert point["n"] == (wanted <= point["value"] + 1e-9).sum()


def profiles(known: Known) -> None:
    found = known.ask("profiles/?dimension=symptom")
    table = pd.crosstab(known.wide["repository"], known.wide["symptom"])
    assert found["by"] == "repository" and len(found["correlations"]) == 3
    for each in found["correlations"]:
        pair = table.loc[[each["a"], each["b"]]]
        pair = pair.loc[:, pair.sum() > 0]
        wanted = stats.spearmanr(*pair.to_numpy())
        assert each["rho"] == pytest.approx(wanted.statistic)
        if each["method"] == "t":
            assert each["p_value"] == pytest.approx(wanted.pvalue)
        else:
            assert each["n_categories"] <= 9


def saturation(known: Known) -> None:
    found = known.ask("saturation/?dimension=cause")
    seen: set[str] = set()
    curve = []
    for _, here in known.wide.groupby("order"):
        seen |= set(here["cause"])
        curve.append(len(seen))
    assert found["n_items"] == 1000
    for point in found["curve"]:
        assert point["n_categories"] == curve[point["n_items"] - 1]
    sets = [frozenset(here["cause"]) for _, here in known.wide.groupby("order")]
    draw = np.random.default_rng(3)
    means = np.mean(
        [
            [len(frozenset().union(*draw.permutation(np.array(sets, dtype=object))[:k])) for k in (1, 2, 3, 5)]
            for _ in range(400)
        ],
        axis=0,
    )
    points = {point["n_items"]: point["mean"] for point in found["curve"]}
    assert points[1] == pytest.approx(np.mean([len(each) for each in sets]))
    for k, mean in zip((1, 3), (means[0], means[2]), strict=True):
        if k in points:
            assert points[k] == pytest.approx(mean, abs=0.15)


def frequent(known: Known) -> None:
    found = known.ask("combinations/?dimensions=symptom,cause,fix&least=30&largest=3")
    baskets = [
        frozenset({("symptom", row["symptom"]), ("cause", row["cause"]), *(("fix", each) for each in row["fix"])})
        for row in known.wide.to_dict("records")
    ]
    values = sorted({value for basket in baskets for value in basket})
    wanted = {}
    for size in (2, 3):
        for chosen in combinations(values, size):
            n = sum(set(chosen) <= basket for basket in baskets)
            if n >= 30:
                wanted[frozenset(chosen)] = n
    told = {
        frozenset((v["dimension"], v["category"]) for v in each["values"]): each["n"] for each in found["combinations"]
    }
    assert told == wanted
    one = found["combinations"][0]
    alone = [sum((v["dimension"], v["category"]) in basket for basket in baskets) / 1040 for v in one["values"]]
    assert one["lift"] == pytest.approx(one["n"] / 1040 / np.prod(alone))
