"""The room where differences are decided: the queue, and one item after another."""

from annotation.resolving.views.beside import apply, ask, fault, match
from annotation.resolving.views.queue import queue
from annotation.resolving.views.resolutions import resolve_item

__all__ = ["apply", "ask", "fault", "match", "queue", "resolve_item"]
