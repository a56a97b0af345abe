"""Frames and flow tables of samples as files, for pages and REST."""

import io
from itertools import chain

from django.http import HttpResponse, StreamingHttpResponse

from annotation.choosing.queries.samples import flow, flow_as_markdown, frame_rows, require_frame
from annotation.core.access import Seat
from annotation.core.errors import NotFound
from annotation.exports.columns import CONTENT_TYPES, write
from annotation.exports.queries.rows import while_reading
from annotation.models import Sample
from shared.csv_files import SafeCsv
from shared.watched_streams import watched

FRAME_FORMATS = ("csv", "jsonl")
FLOW_FORMATS = ("csv", "md")


def frame_file(seat: Seat, sample: Sample, format: str) -> StreamingHttpResponse:
    """The frame in the order drawn from, written while it is sent. Raises NotFound, Conflict, Forbidden."""
    if format not in FRAME_FORMATS:
        raise NotFound(f"Unknown format “{format[:20]}”. Use one of {', '.join(FRAME_FORMATS)}.")
    rows = watched(while_reading(seat, frame_rows(seat, sample)), lambda: require_frame(seat, sample))
    answer = StreamingHttpResponse(write("frame", format, rows), content_type=CONTENT_TYPES[format])
    answer["Content-Disposition"] = f'attachment; filename="{seat.study.slug}-sample-{sample.number}-frame.{format}"'
    return answer


def flow_file(seat: Seat, sample: Sample, format: str) -> HttpResponse:
    """The flow table as CSV or Markdown. Raises NotFound."""
    if format not in FLOW_FORMATS:
        raise NotFound(f"Unknown format “{format[:20]}”. Use one of {', '.join(FLOW_FORMATS)}.")
    lines = flow(sample)
    if format == "md":
        answer = HttpResponse(flow_as_markdown(lines), content_type="text/markdown; charset=utf-8")
    else:
        text = io.StringIO()
        rows = chain([("step", "n", "kind")], ((line.step, line.n, line.kind) for line in lines))
        SafeCsv(text).rows(rows)
        answer = HttpResponse(text.getvalue(), content_type=CONTENT_TYPES["csv"])
    answer["Content-Disposition"] = f'attachment; filename="{seat.study.slug}-sample-{sample.number}-flow.{format}"'
    return answer
