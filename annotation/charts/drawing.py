"""Drawing of a specification as SVG, PNG, or PDF, in a process of its own.

Measured with vl-convert-python 1.9: a file takes 0.6 s and 100 MB in any process. In a thread of the web server it
holds up all other threads and never returns the memory.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from subprocess import PIPE
from threading import BoundedSemaphore, Timer
from typing import Any

TYPES = {"svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf"}
"""The formats with their media types."""
DOTS_PER_INCH = 300
SECONDS = 60
DRAWING = f"""
import json, sys, vl_convert

def draw(format, spec):
    more = {{"ppi": {DOTS_PER_INCH}}} if format == "png" else {{}}
    kind = "vegalite" if "vega-lite" in spec["$schema"] else "vega"
    drawn = getattr(vl_convert, kind + "_to_" + format)(spec, allowed_base_urls=[], **more)
    return drawn.encode() if isinstance(drawn, str) else drawn
"""
DRAW = f"{DRAWING}\nsys.stdout.buffer.write(draw(sys.argv[1], json.load(sys.stdin)))"
DRAW_EACH = f"""{DRAWING}
for line in sys.stdin:
    drawn = draw(*json.loads(line))
    sys.stdout.buffer.write(b"%d\\n" % len(drawn) + drawn)
    sys.stdout.buffer.flush()
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


def draw_each(wanted: Sequence[tuple[Mapping[str, Any], str]]) -> Iterator[bytes]:
    """The files of several (specification, format), one after the other and all in one process.

    Raises CannotDraw, and KeyError for an unknown format.
    """
    for _, format in wanted:
        TYPES[format]
    with _at_once, subprocess.Popen([sys.executable, "-c", DRAW_EACH], stdin=PIPE, stdout=PIPE, stderr=PIPE) as drawing:
        assert drawing.stdin is not None
        assert drawing.stdout is not None
        assert drawing.stderr is not None
        for spec, format in wanted:
            late = Timer(SECONDS, drawing.kill)
            late.start()
            try:
                drawing.stdin.write(json.dumps([format, spec]).encode() + b"\n")
                drawing.stdin.flush()
                size = drawing.stdout.readline()
                drawn = drawing.stdout.read(int(size)) if size else b""
            except BrokenPipeError:
                drawn = b""
            finally:
                late.cancel()
            if not drawn:
                said = drawing.stderr.read().decode(errors="replace")[-2000:]
                raise CannotDraw(said or f"It took longer than {SECONDS} seconds.")
            yield _in_points(drawn) if format == "svg" else drawn
