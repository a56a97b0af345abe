"""The script of replication packages, imported as it runs there: with the folder `kinds` beside it."""

import sys

import taxonomy.kinds

sys.modules.setdefault("kinds", taxonomy.kinds)

from annotation.package import recompute  # noqa: E402

__all__ = ["recompute"]
