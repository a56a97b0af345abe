"""The slider, a kind of question that tests register for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from taxonomy.kinds import KINDS
from tests.slider import SLIDER

del KINDS[SLIDER.name]


@contextmanager
def slider_registered() -> Iterator[None]:
    """Makes the kind known for a while."""
    KINDS[SLIDER.name] = SLIDER
    try:
        yield
    finally:
        del KINDS[SLIDER.name]
