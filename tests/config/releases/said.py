"""What a Concord says of its studies: their files, their agreement, and how many rows there are of what."""

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import Any

from django.core.management import call_command

from annotation.models import Study

FILES = ("labels", "ratings", "resolutions")


def said() -> dict[str, Any]:
    """By study: the rows of each file, and agreement by dimension before and after discussion."""
    return {slug: said_of(slug) for slug in Study.objects.order_by("slug").values_list("slug", flat=True)}


def said_of(slug: str) -> dict[str, Any]:
    return {**{what: _rows(slug, what) for what in FILES}, **_agreement(slug)}


def _rows(slug: str, what: str) -> list[dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{what}.csv"
        call_command("export", slug, what=what, out=str(path), stdout=io.StringIO())
        with path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


def _agreement(slug: str) -> dict[str, Any]:
    found = {}
    for when in ("before", "after"):
        out = io.StringIO()
        call_command("agreement", slug, "--json", when=when, stdout=out)
        found[when] = json.loads(out.getvalue())
    return found
