"""The script that draws charts: made once, found by name, and missing without harm."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from config import vega


def test_the_script_is_served_packed_and_kept_by_browsers() -> None:
    address = f"/static/{vega.vega_path()}"
    answer = Client().get(address, headers={"Accept-Encoding": "gzip"})
    assert answer.status_code == 200 and answer["Content-Encoding"] == "gzip" and "immutable" in answer["Cache-Control"]
    script = gzip.decompress(b"".join(answer.streaming_content))  # type: ignore[attr-defined]
    assert b"vegaEmbed" in script


def test_it_is_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> None:
    settings.DATA_DIR = tmp_path
    folder = vega.vega_folder()
    assert folder == tmp_path / "static"
    script = (folder / vega.vega_path()).read_bytes()
    assert b"vegaEmbed" in script and script == gzip.decompress((folder / f"{vega.vega_path()}.gz").read_bytes())

    def refused(*arguments: Any, **more: Any) -> None:
        raise AssertionError("It is made again.")

    monkeypatch.setattr(vega.subprocess, "run", refused)
    assert vega.vega_folder() == folder
    assert finders.find(vega.vega_path()) == str(folder / vega.vega_path())
    assert finders.find("vega/vega-0.js") is None


def test_where_it_can_not_be_made_the_site_goes_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any, caplog: Any
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(vega, "MAKE", "raise SystemExit(1)")
    assert vega.vega_folder() is None and list(vega.VegaFinder().list(None)) == []
    assert "could not be made" in caplog.text and not list(tmp_path.rglob("*.js*"))
