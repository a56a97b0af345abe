"""Who looks at a page in a real browser: signed in, and told where the page is hard to read for somebody."""

from collections.abc import Callable
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from tests import builders as make

Visit = Callable[..., Page]
"""(name of a user, address, width, scheme) → the page."""


def sign_in(page: Page, server: Any, name: str) -> None:
    """Gives the browser the session of a user."""
    page.context.clear_cookies()
    client = Client()
    client.force_login(make.user(name))
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": server.url}])


def assert_accessible(page: Page) -> None:
    """axe finds nothing, and the page is no wider than the window."""
    found = Axe().run(page).response["violations"]
    told = [f"{each['id']}: {each['help']} {[node['html'][:120] for node in each['nodes']]}" for each in found]
    assert not told, f"{page.url}\n" + "\n".join(told)
    wider = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wider <= 0, f"{page.url} is {wider} px wider than the window"
