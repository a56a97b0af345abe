"""How much the tests with drawn data draw: a tenth in `make test`, everything in `make soak`."""

import os

WHOLE = os.environ.get("WHOLE") == "1"
FEWEST = 5


def examples(whole: int) -> int:
    """The number of examples of a property test that draws `whole` of them in `make soak`."""
    return whole if WHOLE else max(FEWEST, whole // 10)
