"""The taxonomies that come with Concord, as documents in `presets/`."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from taxonomy.checking import load
from taxonomy.errors import TaxonomyNotFound
from taxonomy.schema import Document

FOLDER = Path(__file__).parent / "presets"


@dataclass(frozen=True)
class Preset:
    """A ready-made taxonomy: its name, its text and what the text says."""

    name: str
    text: str
    document: Document

    @property
    def n_categories(self) -> int:
        return sum(1 for dimension in self.document.dimensions for _ in dimension.walk())


@lru_cache(maxsize=1)
def presets() -> tuple[Preset, ...]:
    """All of them, by name."""
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        found.append(Preset(path.stem, text, load(text)))
    return tuple(found)


def preset(name: str) -> Preset:
    """One of them; raises TaxonomyNotFound naming those there are."""
    for each in presets():
        if each.name == name:
            return each
    names = ", ".join(each.name for each in presets())
    raise TaxonomyNotFound(f"There is no ready-made taxonomy {name}; there are: {names}.")
