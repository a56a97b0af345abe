"""The script of replication packages, imported as it runs there: with the folder `agreement` beside it."""

import sys

import annotation.agreement

sys.modules.setdefault("agreement", annotation.agreement)

from annotation.package import recompute  # noqa: E402

__all__ = ["recompute"]
