"""Ready-made taxonomies: the documents in `presets/`."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from taxonomy.checking import load
from taxonomy.errors import TaxonomyNotFound
from taxonomy.schema import Document

FOLDER = Path(__file__).parent / "presets"
PARTIAL = "Partial."
"""The first word of the note of a taxonomy that holds only a part of the categories of its study."""


@dataclass(frozen=True)
class Preset:
    """A ready-made taxonomy: its name, its text and what the text says."""

    name: str
    text: str
    document: Document

    @property
    def n_dimensions(self) -> int:
        return len(self.document.dimensions)

    @property
    def n_categories(self) -> int:
        """How many categories there are in all dimensions, those included that only hold others."""
        return sum(1 for dimension in self.document.dimensions for _ in dimension.walk())

    @property
    def is_partial(self) -> bool:
        """Whether categories of the study are missing; its note says which, and where they are to be read."""
        return self.document.note.startswith(PARTIAL)


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
    raise TaxonomyNotFound(f"Unknown ready-made taxonomy {name}. Known: {names}.")
