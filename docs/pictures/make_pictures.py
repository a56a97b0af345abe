"""Pictures of README, guides and the first page, taken from the demo study of a running Concord.

`make run` in a fresh data folder, then `.venv/bin/python docs/pictures/make_pictures.py http://127.0.0.1:8000/`.
"""

import base64
import json
import struct
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from playwright.sync_api import sync_playwright

from tests.find_chromium import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Page

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "static" / "img"
SIZE = (1200, 720)
FIRST_PAGE = (1440, 900)
FRAME_SECONDS = 3
PNG = b"\x89PNG\r\n\x1a\n"


def main(site: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_context(viewport={"width": SIZE[0], "height": SIZE[1]}).new_page()
        frames = [*_labeling(page, site), *_resolving(page, site), _agreement(page, site)]
        _editor_and_migration(page, site)
        browser.close()
    (HERE / "concord.png").write_bytes(animated(frames))


def _first_page(page: "Page") -> None:
    """The labeling page that is open, light and dark, as WebP for the page of visitors."""
    page.locator(".demo-banner").evaluate("each => each.remove()")
    page.set_viewport_size({"width": FIRST_PAGE[0], "height": FIRST_PAGE[1]})
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(1000)
        (FOLDER / f"labeling-{scheme}.webp").write_bytes(_webp(page, page.screenshot()))
    page.set_viewport_size({"width": SIZE[0], "height": SIZE[1]})


def _webp(page: "Page", png: bytes) -> bytes:
    """A PNG as WebP, which the browser writes."""
    script = """async (png) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height);
      canvas.getContext("2d").drawImage(image, 0, 0);
      const blob = await canvas.convertToBlob({ type: "image/webp", quality: 0.85 });
      return btoa(Array.from(new Uint8Array(await blob.arrayBuffer()), (each) => String.fromCharCode(each)).join(""));
    }"""
    blank = page.context.new_page()  # without a policy that keeps data URLs out
    encoded = blank.evaluate(script, base64.b64encode(png).decode())
    blank.close()
    return base64.b64decode(encoded)


def _sign_in(page: "Page", site: str, role: str) -> None:
    page.context.clear_cookies()
    page.goto(site)
    page.get_by_role("button", name=f"Try as {role}").click()
    page.wait_for_load_state()


def _labeling(page: "Page", site: str) -> list[bytes]:
    """An issue before and after its first question is answered; then both raters are done with round 2."""
    _sign_in(page, site, "rater")
    page.goto(f"{site}studies/demo/rounds/2/label/")
    page.locator("#answers .question").first.wait_for()
    before = page.screenshot()
    page.locator("#answers .question input[type=radio] + span").first.click()
    page.wait_for_timeout(400)
    after = page.screenshot()
    _first_page(page)
    _finish(page, site)
    page.goto(site + "studies/demo/")
    page.get_by_label("Switch to").select_option("demo-bob")
    page.get_by_role("button", name="Switch person").click()
    page.wait_for_load_state()
    _finish(page, site)
    return [before, after]


def _headers(page: "Page", site: str) -> dict[str, str]:
    """What a request over REST needs in the session of the page."""
    token = page.evaluate("document.body.getAttribute('hx-headers')")
    return {"X-CSRFToken": json.loads(token)["X-CSRFToken"], "Referer": site}


def _finish(page: "Page", site: str) -> None:
    """Skips what is left of round 2."""
    headers = _headers(page, site)
    study = f"{site}api/v1/studies/demo"
    while (item := page.request.get(f"{study}/rounds/2/next/")).status == 200:
        body = {"assignment": item.json()["assignment"], "skip": "left out of the picture"}
        answer = page.request.post(f"{study}/annotations/", data=body, headers=headers)
        assert answer.ok, answer.text()


def _resolving(page: "Page", site: str) -> list[bytes]:
    """A disagreement, before and after a label is chosen."""
    _sign_in(page, site, "adjudicator")
    page.goto(f"{site}studies/demo/rounds/2/resolve/")
    page.get_by_role("link", name="Start resolving").click()
    page.locator("#decision").wait_for()
    before = page.screenshot()
    page.locator("#decision label").first.click()
    page.wait_for_timeout(300)
    return [before, page.screenshot()]


def _agreement(page: "Page", site: str) -> bytes:
    _sign_in(page, site, "owner")
    page.goto(f"{site}studies/demo/agreement/?round=2")
    page.wait_for_timeout(1500)
    return page.screenshot()


def _editor_and_migration(page: "Page", site: str) -> None:
    """Version 2 of the taxonomy in the editor, and the preview of the migration to it."""
    _sign_in(page, site, "owner")
    page.locator(".demo-banner").wait_for()
    headers, rest = _headers(page, site), f"{site}api/v1/"
    taxonomy = f"{rest}taxonomies/liu-2023/"
    page.request.post(f"{taxonomy}drafts/", headers=headers)
    read = page.request.get(f"{taxonomy}versions/2/")
    document = read.json()
    for dimension in document["dimensions"]:
        _change(dimension.get("categories") or [])
    written = page.request.put(
        f"{taxonomy}versions/2/", data=document, headers=headers | {"If-Match": read.headers["etag"]}
    )
    assert written.ok, written.text()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{site}taxonomies/liu-2023/versions/2/edit/")
    page.get_by_text("Memory leak", exact=True).first.click()
    _without_banner(page, "editor.png")
    for path in ("taxonomies/liu-2023/versions/2/publish/", "studies/demo/rounds/3/resolve/"):
        answer = page.request.post(rest + path, data={"withdraw": True} if "rounds" in path else {}, headers=headers)
        assert answer.ok, answer.text()
    plan = page.request.post(f"{rest}studies/demo/plans/", data={"to": 2}, headers=headers)
    assert plan.ok, plan.text()
    page.goto(f"{site}studies/demo/plans/{plan.json()['id']}/")
    _without_banner(page, "plan.png")


def _change(categories: list[dict[str, Any]]) -> None:
    """Merges the two hangs at the start, splits *Memory issue*, and renames *Unexpected intermediate result*."""
    for each in list(categories):
        if each["key"] == "communication-setup-hang-and-timeout":
            each |= {
                "key": "hang-at-start",
                "name": "Hang at start",
                "was": [each["key"], "preparation-hang-and-timeout"],
            }
        elif each["key"] == "preparation-hang-and-timeout":
            categories.remove(each)
        elif each["key"] == "memory-issue":
            at = categories.index(each)
            leak = {"key": "memory-leak", "name": "Memory leak", "was": ["memory-issue"]}
            leak["definition"] = "Memory that is not needed any more is not freed."
            rest = {"key": "memory-error", "name": "Memory error", "was": ["memory-issue"]}
            rest["definition"] = "Memory is corrupted, or cannot be allocated, shared or pinned."
            categories[at : at + 1] = [leak, rest]
        elif each["key"] == "unexpected-intermediate-result":
            each["name"] = "Wrong intermediate result"
        _change(each.get("categories") or [])


def _without_banner(page: "Page", name: str) -> None:
    page.locator(".demo-banner").evaluate("each => each.remove()")
    page.wait_for_timeout(1500)
    (HERE / name).write_bytes(page.screenshot())


def animated(frames: list[bytes]) -> bytes:
    """An animated PNG of PNGs of one size, each shown for `FRAME_SECONDS` (PNG, third edition, W3C 2025)."""
    number, out = 0, [PNG]
    for place, frame in enumerate(frames):
        chunks = _chunks(frame)
        header = next(data for kind, data in chunks if kind == b"IHDR")
        if not place:
            out += [_chunk(b"IHDR", header), _chunk(b"acTL", struct.pack(">II", len(frames), 0))]
        control = struct.pack(">IIIIIHHBB", number, *struct.unpack(">II", header[:8]), 0, 0, FRAME_SECONDS, 1, 0, 0)
        out.append(_chunk(b"fcTL", control))
        number += 1
        for kind, data in chunks:
            if kind == b"IDAT" and not place:
                out.append(_chunk(kind, data))
            elif kind == b"IDAT":
                out.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
                number += 1
    return b"".join([*out, _chunk(b"IEND", b"")])


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    at, found = len(PNG), []
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        found.append((png[at + 4 : at + 8], png[at + 8 : at + 8 + size]))
        at += size + 12
    return found


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


if __name__ == "__main__":
    main(sys.argv[1])
