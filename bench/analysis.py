"""A cross table with its test over REST, two labels per item, beside pandas and SciPy that begin with arrays."""

import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from django.core.cache import cache
from django.test import Client
from scipy import stats

from accounts.actions import make_token
from annotation.analysis.crosstab import crosstab
from annotation.analysis.queries.labels import study_labels
from annotation.core.access import get_seat
from annotation.models import Resolution, RoundItem, Study
from annotation.studies.actions.studies import create_study
from bench.agreement import again
from bench.bulk import Given, bring_in
from bench.ground import processor_seconds, row, timed, user
from taxonomy.actions import load_document, publish_version
from taxonomy.models import Dimension

SYMPTOMS, CAUSES = ([f"{letter}{number}" for number in range(n)] for letter, n in (("s", 34), ("c", 28)))


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    study = labeled_study(size)
    _, plain = make_token(user=user("owner"), name="bench", scope="read")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    asked = f"/api/v1/studies/{study.slug}/analysis"
    client.get("/api/v1/studies/", headers=headers)
    client.get(f"{asked}/crosstab/?rows=symptom&columns=cause", headers=headers)  # SciPy is loaded with the first one
    cache.clear()
    used = processor_seconds()
    with timed() as taken:
        answer = client.get(f"{asked}/crosstab/?rows=symptom&columns=cause", headers=headers).json()
    used = processor_seconds() - used
    assert answer["n"] == size
    changed, used_again = [], processor_seconds()
    place = RoundItem.objects.filter(round__study=study).order_by("position")[size // 2]
    dimension = Dimension.objects.get(version=place.round.taxonomy_version_id, key="symptom")
    for number in range(1, 4):
        # An answer does the same: the labels around it are read anew. A closed round takes none, but this.
        Resolution.objects.create(
            round=place.round, item=place.item, dimension=dimension, revision=number, method=Resolution.Method.REOPENED
        )
        with timed() as after_change:
            assert client.get(f"{asked}/crosstab/?rows=symptom&columns=cause", headers=headers).json() == answer
        changed.append(after_change())
    used_again = (processor_seconds() - used_again) / len(changed)
    kept = again(lambda: client.get(f"{asked}/crosstab/?rows=symptom&columns=cause", headers=headers).json())
    counted = again(lambda: client.get(f"{asked}/counts/?dimension=symptom&by=cause", headers=headers).json())
    flowing = again(lambda: client.get(f"{asked}/flow/?dimensions=symptom,cause", headers=headers).json())
    columns = study_labels(get_seat(user("owner"), study.slug)).columns
    symptom, cause = columns.singles["symptom"], columns.singles["cause"]
    pure = again(lambda: crosstab(symptom, cause, columns.items))
    frame = pd.DataFrame(
        {
            key: pd.Categorical.from_codes(each.codes, list(each.categories.keys))
            for key, each in (("symptom", symptom), ("cause", cause))
        }
    )
    started = time.perf_counter()
    table = pd.crosstab(frame["symptom"], frame["cause"])
    statistic = stats.chi2_contingency(table.to_numpy(), correction=False)[0]
    reference = time.perf_counter() - started
    assert abs(answer["test"]["statistic"] - statistic) < 1e-6 * statistic
    assert np.array_equal(np.array(answer["counts"]), table.to_numpy()[table.sum(axis=1) > 0][:, table.sum() > 0])
    said = f"{reference * 1000:.0f} ms pandas.crosstab and SciPy's chi-square, from categories in memory"
    method = answer["test"]["method"].replace("_", " ")
    return [
        row(
            f"cross table of two labels per item with test ({method}), with an empty cache",
            size,
            f"{taken():.2f} s ({used:.2f} s of a processor)",
            said,
            taken() / reference,
        ),
        row(
            "the same after one answer changed",
            size,
            f"{sorted(changed)[1]:.2f} s, most {max(changed):.2f} s ({used_again:.2f} s of a processor)",
            said,
            sorted(changed)[1] / reference,
        ),
        row("the same where nothing changed", size, f"{kept * 1000:.0f} ms", said, kept / reference),
        row("the statistics of it alone", size, f"{pure * 1000:.1f} ms", said, pure / reference),
        row("counts of 34 categories in 28 groups, where nothing changed", size, f"{counted * 1000:.0f} ms"),
        row("a flow of two dimensions, where nothing changed", size, f"{flowing * 1000:.0f} ms"),
    ]


def labeled_study(size: int) -> Study:
    """A study of `size` items with a symptom and a cause each, which hangs on it a little; made once per size."""
    slug = f"labelled-{size}"
    if found := Study.objects.filter(slug=slug).first():
        return found
    text = f"slug: {slug}\ntitle: Bugs\ndimensions:\n"
    for key, keys in (("symptom", SYMPTOMS), ("cause", CAUSES)):
        listed = ", ".join(f"{{key: {each}, name: {key} {each}}}" for each in keys)
        text += f"  - {{key: {key}, title: {key.title()}, kind: single, categories: [{listed}]}}\n"
    version = publish_version(user=user("owner"), version=load_document(user=user("owner"), text=text))
    study = create_study(user=user("owner"), slug=slug, title=slug, taxonomy=version.taxonomy.slug)
    of = dict.fromkeys(SYMPTOMS, "symptom") | dict.fromkeys(CAUSES, "cause")
    bring_in(study, of, _given(size))
    return study


def _given(size: int) -> Iterator[Given]:
    rng = random.Random(size)
    for number in range(size):
        symptom = min(rng.randrange(34), rng.randrange(34))
        cause = symptom % 28 if rng.random() < 0.2 else rng.randrange(28)
        yield number, "r1", (SYMPTOMS[symptom], CAUSES[cause])
