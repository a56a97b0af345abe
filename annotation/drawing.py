"""Draws a Vega-Lite specification as an SVG, PNG or PDF, in a process of its own.

Measured with vl-convert-python 1.9: 0.6 s and 100 MB for a file, wherever it is drawn. In a thread of the web server it
works, too, but holds up all other threads meanwhile, and keeps its memory for good.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from threading import BoundedSemaphore
from typing import Any

TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
"""The formats with their media types."""
DOTS_PER_INCH = 300
SECONDS = 60
DRAW = f"""
import json, sys, vl_convert
format, spec = sys.argv[1], json.load(sys.stdin)
more = {{"ppi": {DOTS_PER_INCH}}} if format == "png" else {{}}
drawn = getattr(vl_convert, "vegalite_to_" + format)(spec, allowed_base_urls=[], **more)
sys.stdout.buffer.write(drawn.encode() if isinstance(drawn, str) else drawn)
"""
_at_once = BoundedSemaphore(2)


class CannotDraw(Exception):
    """The specification could not be drawn; what was said of it is the message."""


def draw(spec: Mapping[str, Any], format: str) -> bytes:
    """The file; a px of the specification is a point (1/72 inch) on paper. Two are drawn at once, others wait.

    Raises CannotDraw, and KeyError for an unknown format.
    """
    TYPES[format]
    with _at_once:
        try:
            done = subprocess.run(
                [sys.executable, "-c", DRAW, format],
                input=json.dumps(spec).encode(),
                capture_output=True,
                timeout=SECONDS,
                check=True,
            )
        except subprocess.CalledProcessError as error:
            raise CannotDraw(error.stderr.decode(errors="replace")[-2000:]) from error
        except subprocess.TimeoutExpired as error:
            raise CannotDraw(f"It took longer than {SECONDS} seconds.") from error
    return _in_points(done.stdout) if format == "svg" else done.stdout


def _in_points(svg: bytes) -> bytes:
    """An SVG whose size is told in points, so that its letters have the size they were given."""
    head, end, rest = svg.partition(b">")
    return re.sub(rb' (width|height)="([\d.]+)"', rb' \1="\2pt"', head) + end + rest
