"""Signing in, the theme and tokens in a real browser, under the strict policy."""

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiToken, User
from tests.browser.visitors import assert_accessible, screens

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
PASSWORD = "a long password"


def sign_in(page: "Page", live_server: LiveServer, name: str = "alice") -> None:
    User.objects.filter(username=name).exists() or User.objects.create_user(name, password=PASSWORD)
    page.goto(f"{live_server.url}/sign-in/?next=/me/")
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="My settings").wait_for()


def ground(page: "Page") -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_the_theme_follows_the_system_until_someone_chooses(page: "Page", live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.emulate_media(color_scheme="light")
    light = ground(page)
    page.emulate_media(color_scheme="dark")
    dark = ground(page)
    assert light != dark
    page.locator("main [data-theme-choice]").get_by_role("button", name="Light").click()
    assert ground(page) == light
    page.reload()
    assert ground(page) == light
    page.locator("main [data-theme-choice]").get_by_role("button", name="System").click()
    assert ground(page) == dark


def test_a_token_is_made_shown_and_revoked(page: "Page", live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.get_by_label("Token name").fill("notebook")
    tokens = page.get_by_role("region", name="Tokens")
    tokens.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Create token").click()
    assert page.locator("#new-token").inner_text().startswith("concord_")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke notebook").click()
    page.get_by_text("The token “notebook” no longer works.").wait_for()
    assert ApiToken.objects.get().revoked_at is not None


def test_the_menu_signs_out_and_closes_by_escape(page: "Page", live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.locator("[data-menu] summary").click()
    page.keyboard.press("Escape")
    assert not page.get_by_role("button", name="Sign out").is_visible()
    page.locator("[data-menu] summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Sign in").wait_for()


def test_the_first_error_has_the_focus(page: "Page", live_server: LiveServer) -> None:
    sign_in(page, live_server)
    page.get_by_role("button", name="Create token").click()
    page.locator(".error").first.wait_for()
    expect(page.locator("[name=name]")).to_be_focused()


@pytest.mark.parametrize("address", ["/me/", "/no-such-page/"])
def test_pages_are_accessible(page: "Page", live_server: LiveServer, address: str) -> None:
    sign_in(page, live_server)
    page.goto(live_server.url + address)
    for _ in screens(page):
        assert_accessible(page)


def test_sign_in_is_accessible(page: "Page", live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/sign-in/")
    for _ in screens(page):
        assert_accessible(page)


@pytest.mark.slow
def test_the_description_of_the_api_runs_under_the_strict_policy(page: "Page", live_server: LiveServer) -> None:
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(f"{live_server.url}/api/v1/docs/")
    page.get_by_role("button", name="Authorize").first.wait_for()
    assert complaints == []
