"""All agreed labels as files over REST, beside COPY of the ratings they rest on."""

import io
import resource
from pathlib import Path
from typing import Any

from django.db import connection
from django.test import Client

from accounts.actions import make_token
from bench.ground import rated_study, row, timed, user


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    study = rated_study(size)
    _, plain = make_token(user=user("owner"), name="bench", scope="read")
    client, headers = Client(), {"Authorization": f"Bearer {plain}"}
    with timed() as reference, connection.cursor() as cursor:
        cursor.copy_expert(
            f"""COPY (SELECT i.identifier, r.part, m.code, d.key, c.key FROM annotation_rating r
                JOIN annotation_item i ON i.id = r.item_id JOIN annotation_membership m ON m.id = r.rater_id
                JOIN taxonomy_dimension d ON d.id = r.dimension_id JOIN taxonomy_category c ON c.id = r.category_id
                WHERE i.study_id = {study.pk}) TO STDOUT WITH CSV""",
            io.BytesIO(),
        )
    found = []
    for what in ("labels", "ratings"):
        for kind in ("csv", "jsonl", "parquet"):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with timed() as taken:
                answer = client.get(f"/api/v1/studies/{study.slug}/{what}/?format={kind}", headers=headers)
                n_bytes = sum(len(chunk) for chunk in answer.streaming_content)  # type: ignore[attr-defined]
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            n_rows = size * 2 if what == "ratings" else size
            said = f"{taken():.2f} s, {n_rows / taken():,.0f} rows/s, {n_bytes / 2**20:.1f} MB, +{grown:.0f} MB memory"
            said_of_copy = f"{reference():.2f} s COPY of {size * 2:,} ratings"
            found.append(row(f"{what} as {kind}", size, said, said_of_copy, taken() / reference()))
    return found
