"""What lies in the cache holds no class of Concord, so no version finds an object there that it does not know."""

import io
import pickletools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
import redis
from django.conf import settings
from django.core.cache import cache
from django.core.files.base import ContentFile

from annotation.agreement_report.queries import coefficients
from annotation.agreement_report.queries.across_rounds import dimension_patterns
from annotation.agreement_report.queries.options import ask
from annotation.analysis.queries.attributes import attributes_of
from annotation.analysis.queries.labels import study_labels
from annotation.imports.actions import workbooks
from annotation.imports.queries.workbooks import opened_book
from annotation.resolving.queries.queue import queue_of
from config.patient_cache import MARK_BYTES
from shared import cached_values
from tests import builders as make

pytestmark = pytest.mark.django_db
OURS = ("accounts.", "annotation.", "config.", "ingest.", "taxonomy.")


@dataclass(frozen=True, slots=True)
class Row:
    cells: list[str]
    more: "Row | None" = None


class Pair(NamedTuple):
    first: int
    rest: tuple[object, ...] = ()


def pickled_words() -> set[str]:
    """All words of the pickles in the cache, the modules that they would import among them."""
    server = redis.Redis.from_url(settings.REDIS_URL.replace("redis+socket://", "unix://"))
    found = set()
    for key in server.scan_iter(f"{settings.CACHES['default']['KEY_PREFIX']}:*"):
        value = (server.get(key) or b"")[MARK_BYTES:]
        if value.startswith(b"\x80"):
            found |= {str(given) for _, given, _ in pickletools.genops(io.BytesIO(value)) if isinstance(given, str)}
    return found


def test_objects_come_back_as_they_were_and_of_other_fields_as_missing() -> None:
    value = (Pair(1, (Row(["a"], Row([])), {"k": [Pair(2)]})), {(1, 2): "x"}, np.array([1, 2]))
    cached_values.keep("values", value, 60, (Row, Pair))
    found = cached_values.find("values", (Row, Pair))
    assert found[:2] == value[:2] and found[2].tolist() == [1, 2]
    assert cached_values.find("values", (Row,)) is None
    kept = cache.get("values")
    kept[0]["older"] = 1
    cache.set("values", kept, 60)
    assert cached_values.find("values", (Row, Pair)) is None and cached_values.find("nothing", ()) is None
    with pytest.raises(KeyError):
        cached_values.keep("values", [Row([])], 60, (Pair,))


def test_no_page_keeps_a_class_of_concord_and_what_is_kept_is_what_was_computed() -> None:
    study = make.study()
    round_ = make.rate(make.open_round(study, 3), "item bob carol\n1 crash hang\n2 slow slow\n3 hang hang")
    seat, asked = make.owner_seat(study), ask(make.owner_seat(study), {})
    book = workbooks.take_workbook(
        user=seat.user, files=[ContentFile(b"item,rater,symptom\nx,bob,crash\nx,carol,hang\n", "made.csv")]
    )
    found = dimension_patterns([round_], asked)

    def looked_at() -> list[object]:
        items, columns = attributes_of(study)
        return [
            [tuple(line) for line in queue_of(round_).everything],
            opened_book(book),
            coefficients.of_rounds(seat, [round_]),
            coefficients.coverage_of([round_], found, asked),
            items.tolist(),
            {name: (each.categories, each.codes.tolist()) for name, each in columns.items()},
            study_labels(seat).columns.items.tolist(),
        ]

    first = looked_at()
    assert looked_at() == first
    words = pickled_words()
    assert cached_values.MARK in words and not [name for name in words if name.startswith(OURS)]
