"""Ready-made selections: repositories and filters of published studies, as documents in `presets/`."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from ingest.errors import NotFound

FOLDER = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Selection:
    """A ready-made selection: whose it is, what is published of it as a filter, and what is missing."""

    slug: str
    title: str
    source: str
    note: str
    missing: tuple[str, ...]
    filter: Mapping[str, Any]

    @property
    def repositories(self) -> tuple[str, ...]:
        """The repositories it names, as owner/name."""
        return tuple(self.filter["repository"])


@lru_cache(maxsize=1)
def selections() -> tuple[Selection, ...]:
    """All of them, by slug."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        document = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
        missing = tuple(document.pop("missing"))
        found.append(Selection(slug=path.stem, missing=missing, **document))
    return tuple(found)


def selection(slug: object) -> Selection:
    """One of them; raises NotFound naming those there are."""
    for each in selections():
        if each.slug == slug:
            return each
    names = ", ".join(each.slug for each in selections())
    raise NotFound(f"Unknown ready-made selection “{str(slug)[:60]}”. Known: {names}.")
