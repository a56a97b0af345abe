"""Drawing of a specification as SVG, PNG, or PDF, in a process of its own.

Measured with vl-convert-python 1.9: a file takes 0.6 s and 100 MB in any process. In a thread of the web server it
holds up all other threads and never returns the memory.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from subprocess import PIPE
from threading import BoundedSemaphore, Timer
from typing import Any

from shared.errors import Invalid, TooMany

TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
"""The formats with their media types."""
DOTS_PER_INCH = 300
SECONDS = 60
REQUEST_SECONDS = 20
"""For a figure that a request waits for."""
WAIT_SECONDS = 10
"""How long a request waits while others are drawn. It holds a thread of the server for that time."""
DRAW = f"""
import json, sys, vl_convert

for line in sys.stdin:
    format, spec = json.loads(line)
    more = {{"ppi": {DOTS_PER_INCH}}} if format == "png" else {{}}
    kind = "vegalite" if "vega-lite" in spec["$schema"] else "vega"
    drawn = getattr(vl_convert, kind + "_to_" + format)(spec, allowed_base_urls=[], **more)
    drawn = drawn.encode() if isinstance(drawn, str) else drawn
    sys.stdout.buffer.write(b"%d\\n" % len(drawn) + drawn)
    sys.stdout.buffer.flush()
"""
_at_once = BoundedSemaphore(2)


class CannotDraw(Invalid):
    """The specification could not be drawn, or not in time."""

    def __init__(self, why: str) -> None:
        super().__init__(f"This figure could not be drawn. {why}")


class DrawingProcess:
    """A process that draws one specification after the other, until the block is left."""

    def __enter__(self) -> "DrawingProcess":
        self._process = subprocess.Popen([sys.executable, "-c", DRAW], stdin=PIPE, stdout=PIPE, stderr=PIPE)
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            self._process.__exit__(None, None, None)

    def draw(self, spec: Mapping[str, Any], format: str, seconds: float) -> bytes:
        """Raises CannotDraw; then the process has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        late = Timer(seconds, self._process.kill)
        late.start()
        try:
            self._process.stdin.write(json.dumps([format, spec]).encode() + b"\n")
            self._process.stdin.flush()
            size = self._process.stdout.readline()
            drawn = self._process.stdout.read(int(size)) if size else b""
        except BrokenPipeError:
            drawn = b""
        finally:
            late.cancel()
        if not drawn:
            said = self._process.stderr.read().decode(errors="replace")[-2000:]
            late_ones = f"It took longer than {seconds:g} seconds. Ask for fewer categories, or read its table."
            raise CannotDraw(said or late_ones)
        return _in_points(drawn) if format == "svg" else drawn


def draw(spec: Mapping[str, Any], format: str) -> bytes:
    """The file, for a request; a px of the specification is a point (1/72 inch) on paper.

    Two are drawn at once, others wait for a while. Raises CannotDraw, TooMany, and KeyError for an unknown format.
    """
    TYPES[format]
    if not _at_once.acquire(timeout=WAIT_SECONDS):
        raise TooMany("Other figures are being drawn. Try again in a moment.", wait_seconds=REQUEST_SECONDS)
    try:
        with DrawingProcess() as process:
            return process.draw(spec, format, REQUEST_SECONDS)
    finally:
        _at_once.release()


def draw_each(wanted: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[bytes]:
    """The files of several (specification, format), one after the other in one process, for a job.

    Raises CannotDraw, and KeyError for an unknown format.
    """
    for _, format in wanted:
        TYPES[format]
    with _at_once, DrawingProcess() as process:
        for spec, format in wanted:
            yield process.draw(spec, format, SECONDS)


def _in_points(svg: bytes) -> bytes:
    """An SVG with its size in points, so that its letters have the size they were given."""
    head, end, rest = svg.partition(b">")
    return re.sub(rb' (width|height)="([\d.]+)"', rb' \1="\2pt"', head) + end + rest
