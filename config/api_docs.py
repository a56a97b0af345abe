"""API documentation pages: their style sheet with icons as files, because pages load no `data:` images.

The style sheet of drf-spectacular-sidecar contains its icons. They are written to files once for each version of the
package, in the data folder or where `collectstatic` puts them.
"""

import base64
import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage, Storage

log = logging.getLogger(__name__)
SHEET = "static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui.css"
ENDINGS = {"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpg"}
_HEAD = r"data:([\w/+-]+)(?:;charset=utf-8)?(;base64)?,"
_INSIDE = re.compile(rf"""url\((?:"{_HEAD}((?:[^"\\]|\\.)*)"|{_HEAD}([^)"]*))\)""")


@cache
def folder_name() -> str:
    """The folder of these files among the static files; it changes with the package's version."""
    return f"api-docs-{version('drf-spectacular-sidecar')}"


def sheet_path() -> str:
    return f"{folder_name()}/swagger-ui.css"


def parts(sheet: str) -> dict[str, bytes]:
    """The style sheet that names its icons as files, and the icons, by their file names."""
    found: dict[str, bytes] = {}

    def name_of(inside: re.Match[str]) -> str:
        kind, is_base64, content = next(group for group in (inside.groups()[:3], inside.groups()[3:]) if group[0])
        icon = base64.b64decode(content) if is_base64 else unquote_to_bytes(re.sub(r"\\(.)", r"\1", content))
        name = f"{hashlib.sha256(icon).hexdigest()[:12]}.{ENDINGS[kind]}"
        found[name] = icon
        return f"url({name})"

    sheet = _INSIDE.sub(name_of, sheet)
    return {**found, Path(sheet_path()).name: sheet.encode()}


def docs_folder() -> Path | None:
    """The folder that holds the files; they are written now where they are nowhere yet. None where that fails."""
    for root in (settings.STATIC_ROOT, settings.DATA_DIR / "static"):
        if (root / sheet_path()).exists():
            return Path(root)
    root = Path(settings.DATA_DIR / "static")
    (package,) = find_spec("drf_spectacular_sidecar").submodule_search_locations  # type: ignore[union-attr,misc]
    try:
        (root / folder_name()).mkdir(parents=True, exist_ok=True)
        for name, content in parts((Path(package) / SHEET).read_text()).items():  # the style sheet last
            draft = root / folder_name() / f"{name}.{os.getpid()}"
            draft.write_bytes(content)
            draft.replace(draft.with_name(name))
    except OSError:
        log.exception("The style sheet of the API's description could not be written.")
        return None
    return root


class DocsFinder(BaseFinder):
    """Finds the files for `collectstatic` and for the web server."""

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        folder = docs_folder() if path.startswith(f"{folder_name()}/") else None
        place = None if folder is None else folder / path
        found = [str(place)] if place and place.is_file() and ".." not in place.parts else []
        return found if find_all or kwargs.get("all") or not found else found[0]

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, Storage]]:
        folder = docs_folder()
        if folder is not None:
            storage = FileSystemStorage(location=folder)
            for each in sorted((folder / folder_name()).iterdir()):
                if each.suffix[1:] in {"css", *ENDINGS.values()}:
                    yield f"{folder_name()}/{each.name}", storage
