"""The script of replication packages, imported as it runs there: with the folders `agreement` and `kinds` beside it."""

import sys

import annotation.agreement
import taxonomy.kinds

sys.modules.setdefault("agreement", annotation.agreement)
sys.modules.setdefault("kinds", taxonomy.kinds)

from annotation.package import recompute  # noqa: E402

__all__ = ["recompute"]
