"""Images of other hosts in a real browser: nothing is loaded before a click, then the image alone, in its place."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Round
from tests import builders as make
from tests.browser.visitors import Visit, assert_accessible, sign_in, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)]

SVG = b"""<svg xmlns="http://www.w3.org/2000/svg" width="400" height="240" viewBox="0 0 400 240">
<rect width="400" height="240" fill="#2a6f97"/><circle cx="200" cy="120" r="80" fill="#f4d35e"/></svg>"""
FRAME = ".shown-image iframe"


class Images(ThreadingHTTPServer):
    """Another host with images; it remembers who asked what."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.asked: list[tuple[str, dict[str, str]]] = []

    def address(self, path: str, host: str = "images.example") -> str:
        return f"http://{host}:{self.server_port}/{path}"


class _Answers(BaseHTTPRequestHandler):
    server: Images

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if self.path == "/moved.svg":
            self.send_response(302)
            self.send_header("Location", self.server.address("shot.svg", "127.0.0.2"))
            self.end_headers()
            return
        is_here = self.path == "/shot.svg"
        self.send_response(200 if is_here else 404)
        self.send_header("Content-Type", "image/svg+xml" if is_here else "text/plain")
        self.end_headers()
        self.wfile.write(SVG if is_here else b"gone")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def images() -> Iterator[Images]:
    server = Images()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def round_with(body: str) -> Round:
    study = make.study(text=make.FAULTS)
    make.issues(1)
    make.new_state(1, body=body)
    return make.open_round(study, 1)


@pytest.fixture
def room(visit: Visit, images: Images) -> Page:
    """The labelling page of an issue with a screenshot."""
    round_with(f"It hangs here:\n\n![the plot]({images.address('shot.svg')})\n\nafter a while.")
    return visit("bob", "/studies/study/rounds/1/label/")


def shown(page: Page) -> None:
    wait_until(page, "document.querySelector('.shown-image a')")


def size(page: Page) -> tuple[int, int]:
    box = page.locator(FRAME).bounding_box()
    assert box is not None
    return round(box["width"]), round(box["height"])


def test_a_screenshot_is_shown_in_place_after_a_click_and_its_host_learns_nothing_else(
    room: Page, images: Images
) -> None:
    assert images.asked == []
    room.click(".remote-image")
    shown(room)
    assert size(room) == (400, 240)
    inside = room.frame_locator(FRAME).locator("img")
    assert inside.get_attribute("alt") == "the plot"
    assert inside.bounding_box() == room.locator(FRAME).bounding_box()
    assert [path for path, _ in images.asked] == ["/shot.svg"]
    assert not {"referer", "cookie", "origin"} & set(images.asked[0][1])
    link = room.locator(".shown-image a")
    assert link.get_attribute("href") == images.address("shot.svg")
    assert link.get_attribute("rel") == "noopener noreferrer"
    assert_accessible(room)


def test_the_keys_stay_with_the_page_when_the_image_is_clicked(room: Page) -> None:
    room.click(".remote-image")
    shown(room)
    room.mouse.click(*(room.locator(FRAME).bounding_box()[side] + 40 for side in ("x", "y")))  # type: ignore[index]
    assert room.evaluate("document.activeElement.localName") != "iframe"
    room.keyboard.press("f")
    room.wait_for_selector("#question-2:not([hidden])")


def test_by_keyboard_it_opens_and_the_focus_goes_on_to_its_link(room: Page, images: Images) -> None:
    room.keyboard.press("Shift+Tab")  # so that the focus is one of the keyboard
    room.focus(".remote-image")
    room.keyboard.press("Enter")
    shown(room)
    expect(room.locator(".shown-image a")).to_be_focused()
    assert len(images.asked) == 1


def test_it_is_no_wider_than_a_phone_and_clear_on_dark_paper(visit: Visit, images: Images) -> None:
    round_with(f'<img width="900" alt="wide" src="{images.address("shot.svg")}">')
    page = visit("bob", "/issues/acme/rocket/1/", width=360, scheme="dark")
    page.click(".remote-image")
    shown(page)
    width, height = size(page)
    assert 250 < width <= 360
    assert height == pytest.approx(width * 240 / 400, abs=2)
    assert_accessible(page)
    transparent = "getComputedStyle(document.querySelector('.shown-image iframe')).colorScheme === 'light'"
    assert page.evaluate(transparent), "else the browser paints white paper behind the image"


@pytest.mark.parametrize("name", ["gone", "moved"])
def test_what_is_not_there_or_is_sent_on_to_another_host_is_said_with_its_address(
    page: Page, live_server: LiveServer, images: Images, name: str
) -> None:
    round_with(f"![{name}]({images.address(f'{name}.svg')})")
    sign_in(page, live_server, "bob")
    page.goto(f"{live_server.url}/issues/acme/rocket/1/")
    page.click(".remote-image")
    shown(page)
    assert page.inner_text(".shown-image") == f"{name} can't be shown here; open it separately"
    assert page.locator(".shown-image a").get_attribute("href") == images.address(f"{name}.svg")
    assert page.locator(FRAME).count() == 0
    assert {path for path, _ in images.asked} == {f"/{name}.svg"}


def test_a_linked_image_is_shown_after_its_link_which_stays(visit: Visit, images: Images) -> None:
    round_with(f"[![status]({images.address('shot.svg')})](https://ci.example.org/)")
    page = visit("bob", "/issues/acme/rocket/1/")
    page.click(".remote-image")
    shown(page)
    assert page.inner_text('a[href="https://ci.example.org/"]') == "status"
    assert page.locator("a .shown-image").count() == 0
    assert size(page) == (400, 240)


def test_no_page_but_the_one_document_may_load_an_image_from_elsewhere(
    page: Page, live_server: LiveServer, images: Images
) -> None:
    page.goto(f"{live_server.url}/sign-in/")
    blocked = page.evaluate(
        """async (address) => {
          const told = new Promise((done) => document.addEventListener("securitypolicyviolation", done, {once: true}));
          document.body.append(Object.assign(new Image(), {src: address}));
          return (await told).effectiveDirective;
        }""",
        images.address("shot.svg"),
    )
    assert blocked == "img-src"
    assert images.asked == []
