"""Kinds of questions that exist in tests alone: modules of `tests/kinds`, as if they stood in `taxonomy/kinds`."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from taxonomy import kinds

kinds.__path__.append(str(Path(__file__).parent / "kinds"))
SLIDER = import_module("taxonomy.kinds.slider").SLIDER
del kinds.KINDS[SLIDER.name]


@contextmanager
def slider_registered() -> Iterator[None]:
    """Makes the slider known for a while."""
    kinds.KINDS[SLIDER.name] = SLIDER
    try:
        yield
    finally:
        del kinds.KINDS[SLIDER.name]
