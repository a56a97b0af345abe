"""Figures of the tests are drawn by one process that lives as long as the tests do: to start it takes most of the time.

A specification that was drawn before is not drawn again: its file is the same to the byte.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from annotation.charts import drawing


class _Lasting:
    def __init__(self, start: type[drawing.DrawingProcess]) -> None:
        self._start = start
        self._process: drawing.DrawingProcess | None = None
        self._kept: dict[str, bytes] = {}

    def __enter__(self) -> "_Lasting":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def draw(self, spec: Mapping[str, Any], format: str, seconds: float) -> bytes:
        key = json.dumps([format, spec], sort_keys=True)
        if key not in self._kept:
            self._process = self._process or self._start().__enter__()
            try:
                self._kept[key] = self._process.draw(spec, format, seconds)
            except drawing.CannotDraw:
                self.end()
                raise
        return self._kept[key]

    def end(self) -> None:
        if self._process:
            self._process.__exit__()
        self._process = None


@contextmanager
def one_drawing_process() -> Iterator[None]:
    lasting = _Lasting(drawing.DrawingProcess)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "DrawingProcess", lambda: lasting)
        yield
    lasting.end()
