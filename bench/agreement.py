"""Agreement of one dimension over REST with 1,000 resamples, beside libraries that give one point value each."""

import time
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
from django.test import Client
from sklearn.metrics import cohen_kappa_score

from accounts.actions import make_token
from annotation.models import Rating
from bench.ground import rated_study, row, timed, user


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    study = rated_study(size)
    _, plain = make_token(user=user("owner"), name="bench", scope="read")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    address = f"/api/v1/studies/{study.slug}/agreement/?dimension=symptom"
    client.get("/api/v1/studies/", headers=headers)
    with timed() as taken:
        answer = client.get(address, headers=headers).json()[0]
    assert answer["units"] == size
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
    what = "agreement: ten coefficients, 1,000 resamples"
    return [row(what, size, f"{taken():.2f} s", said, taken() / (alpha_seconds + kappa_seconds))]
