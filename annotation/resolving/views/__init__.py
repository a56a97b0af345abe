"""Pages of resolving: the queue, and one item after another."""

from annotation.resolving.views.queue import queue
from annotation.resolving.views.resolutions import resolve_item
from annotation.resolving.views.third_raters_and_faults import apply, ask, fault, match

__all__ = ["apply", "ask", "fault", "match", "queue", "resolve_item"]
