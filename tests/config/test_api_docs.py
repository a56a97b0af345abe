"""The browsable description of the API under the policy of every page: its icons are files."""

import re

import pytest
from django.test import Client

from config import api_docs


def served(path: str) -> tuple[int, bytes, str]:
    answer = Client().get(path)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return answer.status_code, content, answer["Content-Type"]


@pytest.mark.django_db
def test_the_page_loads_its_icons_as_files_of_this_host() -> None:
    page = Client().get("/api/v1/docs/")
    assert "img-src 'self';" in page["Content-Security-Policy"] + ";" and "data:" not in page["Content-Security-Policy"]
    (address,) = re.findall(r'<link rel="stylesheet" href="([^"]+)">', page.content.decode())
    status, sheet, kind = served(address)
    assert status == 200 and kind.startswith("text/css") and b"data:" not in sheet
    icons = set(re.findall(rb"url\(([^)]+)\)", sheet))
    assert len(icons) > 5
    for name in icons:
        status, icon, kind = served(f"{address.rpartition('/')[0]}/{name.decode()}")
        begins = {"image/svg+xml": b"<svg", "image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8"}[kind]
        assert status == 200 and icon.startswith(begins)


def test_an_icon_in_a_style_sheet_becomes_a_file() -> None:
    svg = r'url("data:image/svg+xml;charset=utf-8,<svg t=\"rotate(1)\">%23</svg>")'
    found = api_docs.parts("a{b:" + svg + ";c:d}e{f:url(data:image/png;base64,QUJD) g}")
    sheet = found.pop("swagger-ui.css")
    assert sorted(found.values()) == [b'<svg t="rotate(1)">#</svg>', b"ABC"]
    assert re.fullmatch(rb"a\{b:url\(\w+\.svg\);c:d\}e\{f:url\(\w+\.png\) g\}", sheet)
