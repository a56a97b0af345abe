"""The room where differences are decided: the queue, and one item after another."""

from annotation.views.resolving.beside import apply, ask, fault, match
from annotation.views.resolving.decisions import resolve_item
from annotation.views.resolving.queue import queue

__all__ = ["apply", "ask", "fault", "match", "queue", "resolve_item"]
