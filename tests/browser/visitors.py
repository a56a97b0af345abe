"""Who looks at a page in a real browser: signed in, and told where the page is hard to read for someone."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Error, Page

from tests import builders as make

COLORS_STAND = """async () => {
    const isChanging = (each) => each instanceof CSSTransition && each.playState === "running";
    do await new Promise((go) => setTimeout(go, 20)); while (document.getAnimations().some(isChanging));
}"""

SCREENS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((1280, "light"), (360, "dark"))

Visit = Callable[..., Page]
"""(name of a user, address, width, scheme) → the page."""


def sign_in(page: Page, server: Any, name: str) -> None:
    """Gives the browser the session of a user."""
    page.context.clear_cookies()
    client = Client()
    client.force_login(make.user(name))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": server.url}])


def wait_until(page: Page, expression: str, arg: Any = None) -> None:
    """The expression comes true within 20 seconds; asked from outside, for the page may evaluate nothing."""
    for _ in range(400):
        with suppress(Error):  # a page that is just coming has not everything, or goes away
            if page.evaluate(expression, arg):
                return
        page.wait_for_timeout(50)
    raise AssertionError(f"it never came true: {expression}")


def screens(page: Page) -> Iterator[int]:
    """The page on a wide and light screen, then on a dark phone; gives the width."""
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        yield width


def found_by_axe(page: Page, **options: Any) -> list[dict[str, Any]]:
    """What axe finds on the page, or in `context` alone, once colours that change over stand still."""
    page.evaluate(COLORS_STAND)
    found: list[dict[str, Any]] = Axe().run(page, **options).response["violations"]
    return found


def assert_accessible(page: Page) -> None:
    """axe finds nothing, and the page is no wider than the window."""
    found = found_by_axe(page)
    told = [f"{each['id']}: {each['help']} {[node['html'][:120] for node in each['nodes']]}" for each in found]
    assert not told, f"{page.url}\n" + "\n".join(told)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, f"{page.url} is {wider} px wider than the window"
