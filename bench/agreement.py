"""Agreement of one dimension over REST with 1,000 resamples, beside libraries that give one point value each."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
from django.core.cache import cache
from django.test import Client
from sklearn.metrics import cohen_kappa_score

from accounts.actions import make_token
from annotation.models import Rating
from bench.ground import rated_study, row, timed, user

KEPT_TIMES = 20


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    study = rated_study(size)
    _, plain = make_token(user=user("owner"), name="bench", scope="read")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    client.force_login(user("owner"))
    address, page = f"/api/v1/studies/{study.slug}/agreement/?dimension=symptom", f"/studies/{study.slug}/agreement/"
    client.get("/api/v1/studies/", headers=headers)
    cache.clear()
    with timed() as taken:
        answer = client.get(address, headers=headers).json()[0]
    assert answer["units"] == size
    kept = again(lambda: client.get(address, headers=headers).json())
    cache.clear()
    with timed() as page_taken:
        assert client.get(page).status_code == 200
    page_kept = again(lambda: client.get(page))
    rows = Rating.objects.filter(round__study=study).order_by("rater", "item").values_list("category_id", flat=True)
    values = np.array(list(rows)).reshape(2, size)
    started = time.perf_counter()
    alpha = krippendorff.alpha(values, level_of_measurement="nominal")
    alpha_seconds = time.perf_counter() - started
    started = time.perf_counter()
    kappa = cohen_kappa_score(values[0], values[1])
    kappa_seconds = time.perf_counter() - started
    by_name = {each["name"]: each["value"] for each in answer["coefficients"]}
    assert abs(by_name["krippendorff_alpha"] - alpha) < 1e-9
    assert abs(by_name["cohen_kappa"] - kappa) < 1e-9
    said = f"{alpha_seconds:.2f} s krippendorff, {kappa_seconds:.2f} s scikit-learn: one value each, from arrays"
    reference = alpha_seconds + kappa_seconds
    what = "agreement: ten coefficients, 1,000 resamples"
    return [
        row(what, size, f"{taken():.2f} s", said, taken() / reference),
        row("the same where nothing changed", size, f"{kept * 1000:.1f} ms", said, kept / reference),
        row("the page of agreement", size, f"{page_taken():.2f} s", said, page_taken() / reference),
        row("the page where nothing changed", size, f"{page_kept * 1000:.1f} ms", said, page_kept / reference),
    ]


def again(ask: Callable[[], object]) -> float:
    """The median of the seconds that asking once more takes."""
    seconds = []
    for _ in range(KEPT_TIMES):
        with timed() as taken:
            ask()
        seconds.append(taken())
    return sorted(seconds)[len(seconds) // 2]
