"""PDF objects in one order, so that a figure drawn twice is byte-identical.

The drawing library numbers fonts differently in each process. Here objects are numbered in the order of references from
the root, and nothing else changes.
"""

import re

_REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
_NAMED = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n){2,}", re.MULTILINE)
"""Names of objects, line after line, whose order in a dictionary means nothing."""
_START = re.compile(rb"startxref\s+(\d+)\s+%%EOF\s*$")
_HEAD = re.compile(rb"(\d+) 0 obj\s")


class NotSimple(ValueError):
    """The PDF is of a form that is not read here: no table of objects, or one in several parts."""


def in_order(pdf: bytes) -> bytes:
    """The same PDF with its objects numbered and laid down from the root on. Raises NotSimple."""
    start = _START.search(pdf)
    if start is None or not pdf[int(start[1]) :].startswith(b"xref"):
        raise NotSimple("The PDF has no plain table of objects.")
    table, _, trailer = pdf[int(start[1]) : start.start()].partition(b"trailer")
    offsets = sorted(int(line[:10]) for line in table.splitlines()[1:] if line.endswith((b"n", b"n ")))
    bodies: dict[int, bytes] = {}
    for begin, end in zip(offsets, [*offsets[1:], int(start[1])], strict=True):
        head = _HEAD.match(pdf, begin)
        if head is None:
            raise NotSimple("An object of the PDF is not where its table says.")
        told, stream = _split(pdf[head.end() : end].rstrip())
        bodies[int(head[1])] = _NAMED.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), told) + stream
    order = _from_the_root(trailer, bodies)
    number = {old: new for new, old in enumerate(order, start=1)}

    def renamed(text: bytes) -> bytes:
        return _REFERENCE.sub(lambda found: b"%d 0 R" % number[int(found[1])], text)

    out, places = pdf[: offsets[0]], []
    for old in order:
        places.append(len(out))
        told, stream = _split(bodies[old])
        out += b"%d 0 obj\n%s%s\n\n" % (number[old], renamed(told), stream)
    lines = b"".join(b"%010d 00000 n \n" % place for place in places)
    entries = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(order) + 1, lines)
    return out + entries + b"trailer" + renamed(trailer) + b"startxref\n%d\n%%%%EOF" % len(out)


def _split(body: bytes) -> tuple[bytes, bytes]:
    """What an object says, and its stream, which is bytes."""
    told, mark, stream = body.partition(b"stream\n")
    return told, mark + stream


def _from_the_root(trailer: bytes, bodies: dict[int, bytes]) -> list[int]:
    found: dict[int, None] = {}
    waiting = [int(each) for each in _REFERENCE.findall(trailer)][::-1]
    while waiting:
        at = waiting.pop()
        if at in found or at not in bodies:
            continue
        found[at] = None
        waiting += [int(each) for each in _REFERENCE.findall(_split(bodies[at])[0])][::-1]
    return list(found)
