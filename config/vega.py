"""Vega, Vega-Lite, and vega-embed as one static script, from the package vl-convert-python.

The package holds the libraries in its binary and returns them as one bundle, which takes two seconds and 140 MB. So a
process of its own builds it once for each version of the package and stores it in the data folder.
"""

import gzip
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

log = logging.getLogger(__name__)
MAKING_SECONDS = 120
MAKE = """
import sys, vl_convert
sys.stdout.write(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
"""


@cache
def vega_path() -> str:
    """The name of the script among the static files; it changes with the package's version."""
    return f"vega/vega-{version('vl-convert-python')}.js"


def vega_folder() -> Path | None:
    """The folder that holds the script and its compressed form; they are made now where they are nowhere yet.

    None where they can't be made, which the log says: pages then show tables without charts.
    """
    for root in (settings.STATIC_ROOT, settings.DATA_DIR / "static"):
        if all((root / name).exists() for name in _names()):
            return Path(root)
    root = settings.DATA_DIR / "static"
    place = root / vega_path()
    try:
        made = subprocess.run(
            [sys.executable, "-c", MAKE], check=True, capture_output=True, timeout=MAKING_SECONDS, cwd=settings.BASE_DIR
        ).stdout
        place.parent.mkdir(parents=True, exist_ok=True)
        _put(place.with_name(f"{place.name}.gz"), gzip.compress(made, mtime=0))
        _put(place, made)
    except (OSError, subprocess.SubprocessError):
        log.exception("The script that draws charts could not be made.")
        return None
    return root


def _names() -> tuple[str, str]:
    return vega_path(), f"{vega_path()}.gz"


def _put(place: Path, content: bytes) -> None:
    """Whole or not at all; of several processes the last one wins, with the same content."""
    draft = place.with_name(f"{place.name}.{os.getpid()}")
    draft.write_bytes(content)
    draft.replace(place)


class VegaFinder(BaseFinder):
    """Finds the script for `collectstatic` and for the web server."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        folder = vega_folder() if path in _names() else None
        found = [] if folder is None else [str(folder / path)]
        return found if find_all or kwargs.get("all") or not found else found[0]

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        folder = vega_folder()
        if folder is not None:
            storage = FileSystemStorage(location=folder)
            yield from ((name, storage) for name in _names())
