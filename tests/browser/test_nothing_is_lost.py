"""Lost network, killed server, ended session, two tabs, two devices: nothing lost, nothing doubled, and it is told."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import Session
from annotation.models import Annotation, Assignment, Draft, Rating, Round
from config.management.commands.up import web_command
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in, wait_until
from tests.conftest import environment_of_servers

if TYPE_CHECKING:
    from annotation.models import Study

pytestmark = [
    pytest.mark.browser, pytest.mark.process, pytest.mark.django_db(transaction=True), pytest.mark.timeout(180)
]  # fmt: skip

PASSWORD = "a long password"
SUBMIT = re.compile(r"/label/[0-9a-f-]{36}/$")
Enter = Callable[..., Page]


@pytest.fixture
def study() -> "Study":
    forget_trees()
    study = make.study(text=make.FAULTS)
    for name in ("bob", "carol"):
        person = make.user(name)
        person.set_password(PASSWORD)
        person.save()
    return study


@pytest.fixture
def round_(study: "Study") -> Round:
    return make.open_round(study)


@pytest.fixture
def errors() -> Iterator[list[str]]:
    """What went wrong in scripts; nothing may."""
    found: list[str] = []
    yield found
    assert not found


def watched(page: Page, errors: list[str]) -> Page:
    page.set_default_timeout(15_000)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: errors.append(said.text) if "Content Security" in said.text else None)
    return page


@pytest.fixture
def enter(page: Page, live_server: LiveServer, errors: list[str]) -> Enter:
    """Opens the labelling page of a round as bob and waits until the next issue is at hand."""
    watched(page, errors)
    sign_in(page, live_server, "bob")

    def entered(round_: Round, rest: str = "", *, is_ahead: bool = True) -> Page:
        page.goto(f"{live_server.url}/studies/{round_.study.slug}/rounds/{round_.number}/label/{rest}")
        ready(page, is_ahead=is_ahead)
        return page

    return entered


def ready(page: Page, *, is_ahead: bool = True) -> None:
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    if is_ahead:
        page.wait_for_selector("html[data-ahead]", state="attached")


def answer(page: Page, memo: str) -> None:
    page.keyboard.press("h")
    page.fill("#memo", memo)
    page.keyboard.press("Control+Enter")


def on_item(page: Page, n_done: int) -> None:
    page.wait_for_selector(f"#where strong:text-is('{n_done}')")


def shown(page: Page) -> str:
    """The name of the issue that the page is about, which its text and its script have to agree on."""
    name = str(json.loads(page.locator("#turn").text_content() or "")["name"])
    expect(page.locator("#reading .issue-head")).to_contain_text(name.rpartition("#")[2])
    return name


def banner(page: Page, words: str) -> None:
    expect(page.locator("#banner")).to_contain_text(words)


def stored() -> list[tuple[str, int, str]]:
    """Issue, revision and memo of every answer, in the order in which they came."""
    rows = Annotation.objects.order_by("pk").values_list("assignment__item__identifier", "revision", "memo")
    return [(str(name), revision, memo) for name, revision, memo in rows]


def test_with_its_storage_full_the_page_says_that_it_alone_keeps_what_waits(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first = shown(page)
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }; }"
    )
    page.context.set_offline(True)
    page.keyboard.press("h")
    banner(page, "everything is kept on this page only (don’t close it)")
    expect(page.locator("#saved-words")).to_have_text("Kept on this page only (don’t close it)")
    answer(page, "one")
    banner(page, "One answer is kept on this page only (don’t close it) and will be sent.")
    asked: list[str] = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.close(run_before_unload=True)
    wait_until(page, "() => document.querySelector('#banner') !== null")
    assert asked == ["beforeunload"]
    page.context.set_offline(False)
    on_item(page, 1)
    assert stored() == [(first, 1, "one")]


def test_answers_given_without_a_network_are_sent_in_order_and_once(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first = shown(page)
    page.context.set_offline(True)
    answer(page, "one")
    banner(page, "One answer is kept in this browser and will be sent.")
    second = shown(page)
    assert second != first
    assert page.input_value("#memo") == ""
    expect(page.locator(".label-line[aria-current]")).to_have_attribute("title", second)
    answer(page, "two")
    banner(page, "2 answers are kept in this browser and will be sent.")
    expect(page.locator("#held")).to_contain_text("The next issue comes with the connection")
    assert shown(page) == second
    assert not Annotation.objects.exists()
    page.context.set_offline(False)
    on_item(page, 2)
    assert stored() == [(first, 1, "one"), (second, 1, "two")]
    assert shown(page) not in (first, second)
    expect(page.locator("#banner")).to_be_empty()
    assert page.evaluate("Object.keys(localStorage).filter((name) => name.endsWith('.submit'))") == []


def test_who_went_on_to_the_next_issue_stays_there_when_the_first_answer_arrives(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    page.context.set_offline(True)
    answer(page, "one")
    banner(page, "One answer is kept")
    second = shown(page)
    page.fill("#memo", "half typed")
    page.context.set_offline(False)
    on_item(page, 1)
    expect(page.locator("#announcer")).to_have_text("The waiting labels are saved.")
    assert (shown(page), page.input_value("#memo")) == (second, "half typed")
    expect(page.locator(".label-line[aria-current]")).to_have_attribute("title", second)
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 2)
    assert [memo for _, _, memo in stored()] == ["one", "half typed"]


def test_an_answer_that_waits_on_its_own_issue_can_still_be_changed(study: "Study", enter: Enter) -> None:
    round_ = make.open_round(study, 1)
    page = enter(round_, is_ahead=False)
    page.context.set_offline(True)
    answer(page, "hasty")
    expect(page.locator("#held")).to_contain_text("Your answer waits in this browser")
    page.fill("#memo", "considered")
    banner(page, "Not sent yet")
    page.context.set_offline(False)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=You have labeled the only item")
    assert [memo for _, _, memo in stored()] == ["considered"]


def test_the_answer_to_a_submit_leaves_out_the_issue_that_was_fetched_ahead(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    coming = page.locator("html").get_attribute("data-ahead")
    page.keyboard.press("h")
    with page.expect_response(SUBMIT) as found:
        page.keyboard.press("Control+Enter")
    assert 'id="reading"' not in found.value.text()
    on_item(page, 1)
    assert shown(page) == coming
    page.reload()
    assert shown(page) == coming


def test_nothing_is_fetched_ahead_where_data_are_to_be_saved(round_: Round, enter: Enter, page: Page) -> None:
    page.add_init_script("Object.defineProperty(navigator, 'connection', { value: { saveData: true } })")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    enter(round_, is_ahead=False)
    page.wait_for_load_state("networkidle")
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    assert not [url for url in asked if "/after/" in url]


@pytest.mark.slow
def test_a_session_that_ended_is_begun_again_in_place(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first, address = shown(page), page.url
    page.fill("#memo", "typed while signed in")
    Session.objects.all().delete()
    page.fill("#memo", "typed while signed out")
    banner(page, "You are signed out. What you typed is kept.")
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    assert page.is_hidden("#signed-out")  # nobody is interrupted while typing
    page.keyboard.press("Control+Enter")
    dialog = page.get_by_role("dialog", name="Sign in again")
    expect(dialog.get_by_label("Password")).to_be_focused()
    expect(dialog.get_by_label("User name")).to_have_value("bob")
    assert_accessible(page)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.click("#banner >> text=Sign in")
    expect(dialog.get_by_label("Password")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("Wrong user name or password")
    expect(dialog.get_by_label("Password")).to_be_focused()
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    on_item(page, 1)
    expect(dialog).to_be_hidden()
    assert page.url == address
    assert stored() == [(first, 1, "typed while signed out")]
    answer(page, "and on")
    on_item(page, 2)


@pytest.mark.slow
def test_someone_else_who_signs_in_never_sends_anothers_answers(
    round_: Round, enter: Enter, live_server: LiveServer
) -> None:
    page = enter(round_)
    page.context.set_offline(True)
    answer(page, "bob's")
    banner(page, "One answer is kept")
    bobs = page.context.cookies()
    sign_in(page, live_server, "carol")
    page.context.set_offline(False)
    banner(page, "carol is now signed in in this browser")
    other = page.context.new_page()
    other.goto(page.url)
    ready(other)
    answer(other, "carol's")
    on_item(other, 1)
    assert [row.memo for row in Annotation.objects.all()] == ["carol's"]
    other.close()
    page.context.clear_cookies()
    page.context.add_cookies(bobs)
    page.click("#banner >> text=Sign in")
    on_item(page, 1)
    given = Annotation.objects.values_list("rater__user__username", "memo")
    assert set(given) == {("bob", "bob's"), ("carol", "carol's")}


@pytest.mark.slow
@pytest.mark.parametrize("is_over", [False, True])
def test_what_waits_when_the_page_is_closed_is_sent_at_the_next_visit(
    study: "Study", enter: Enter, is_over: bool
) -> None:
    round_ = make.open_round(study, 2)
    page = enter(round_)
    first, address = shown(page), page.url
    page.context.set_offline(True)
    answer(page, "one")
    banner(page, "One answer is kept")
    second = shown(page)
    answer(page, "two")
    banner(page, "2 answers are kept")
    if is_over:  # answered on another device, before a page that is just being closed hears of the network
        for assignment in Assignment.objects.filter(rater__user__username="bob").order_by("position"):
            make.submit(round_, "bob", int(assignment.item.identifier.rpartition("#")[2]), {"kind": ["how-to"]})
    page.goto("about:blank")
    page.context.set_offline(False)
    if is_over:
        page.goto(address)
        banner(page, "Your labels of " + first + " could not be saved.")
        banner(page, "1 more is also kept.")
        assert Annotation.objects.count() == 2
        return
    enter(round_, is_ahead=False)
    page.wait_for_selector("text=You have labeled all 2 items")
    assert stored() == [(first, 1, "one"), (second, 1, "two")]


def test_an_answer_that_is_refused_when_it_arrives_comes_back_to_be_given_anew(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first = shown(page)
    page.context.set_offline(True)
    answer(page, "from this browser")
    banner(page, "One answer is kept")
    second = shown(page)
    make.submit(round_, "bob", int(first.rpartition("#")[2]), {"kind": ["how-to"]}, memo="from another device")
    page.fill("#memo", "half typed")
    page.context.set_offline(False)
    banner(
        page,
        f"Your labels of {first} could not be saved. "
        "You submitted labels for this issue in another tab or on another device",
    )
    assert (shown(page), page.input_value("#memo")) == (second, "half typed")
    page.wait_for_selector("text=Draft saved")
    page.click("#banner >> text=Open item")
    page.wait_for_selector("text=Filled in from the labels that were not saved")
    assert shown(page) == first
    assert page.input_value("#memo") == "from this browser"
    assert [memo for _, _, memo in stored()] == ["from another device"]
    page.fill("#memo", "from this browser, after all")
    page.click("text=Save change")
    page.wait_for_selector("text=restored")
    assert stored() == [(first, 1, "from another device"), (first, 2, "from this browser, after all")]
    assert (shown(page), page.input_value("#memo")) == (second, "half typed")
    expect(page.locator("#banner")).to_be_empty()


def test_what_is_changed_while_the_answer_is_on_its_way_stays_on_the_page(study: "Study", enter: Enter) -> None:
    page = enter(make.open_round(study, 2))
    held: list[Route] = []
    page.route(SUBMIT, lambda route: held.append(route))
    answer(page, "hasty")
    first = shown(page)
    while not held:
        page.wait_for_timeout(20)
    page.fill("#memo", "considered")
    held.pop().continue_()
    banner(page, "Your labels are saved as you sent them")
    page.unroute(SUBMIT)
    assert (shown(page), page.input_value("#memo")) == (first, "considered")
    assert stored() == [(first, 1, "hasty")]
    page.click("text=Save change")
    on_item(page, 1)
    assert stored() == [(first, 1, "hasty"), (first, 2, "considered")]


def test_what_is_changed_before_the_answer_leaves_is_sent_with_the_next_submit(study: "Study", enter: Enter) -> None:
    page = enter(make.open_round(study, 2))
    first = shown(page)
    person = page.evaluate("JSON.parse(document.querySelector('#version').textContent).user")
    hold = """name => new Promise((held) =>
        navigator.locks.request(name, () => new Promise((free) => { window.free = free; held(); })))"""
    page.evaluate(hold, f"concord.labelling.{person}")
    answer(page, "hasty")
    page.fill("#memo", "considered")
    banner(page, "Not sent yet. Submit again when you have finished.")
    assert page.get_attribute("#submit", "aria-busy") == "false"
    page.evaluate("free()")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    assert stored() == [(first, 1, "considered")]


@pytest.mark.slow
def test_an_answer_that_waits_for_an_issue_answered_elsewhere_is_brought_back_where_it_is_opened(
    round_: Round, enter: Enter, page: Page
) -> None:
    page = enter(round_)
    first = shown(page)
    page.route(SUBMIT, lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    answer(page, "from this browser")
    banner(page, "One answer is kept")
    number = int(first.rpartition("#")[2])
    make.submit(round_, "bob", number, {"kind": ["how-to"]}, memo="from another device")
    enter(round_, f"{make.assignment(round_, 'bob', number).public_id}/", is_ahead=False)
    banner(
        page,
        f"Your labels of {first} could not be saved. This issue was labeled in another tab or on another device",
    )
    assert page.input_value("#memo") == "from this browser"
    assert stored() == [(first, 1, "from another device")]


def test_an_answer_to_a_round_that_was_closed_meanwhile_keeps_its_words(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first = shown(page)
    page.context.set_offline(True)
    answer(page, "too late")
    banner(page, "One answer is kept")
    Round.objects.update(state=Round.State.CLOSED)
    page.context.set_offline(False)
    banner(page, f"Your labels of {first} could not be saved. Round 1 is closed")
    page.click("#banner >> text=Open item")
    banner(page, "could not be saved")
    assert page.input_value("#memo") == "too late"
    assert not Annotation.objects.exists()
    page.click("#banner >> text=Discard answer")
    expect(page.locator("#banner")).to_be_empty()


def test_a_double_click_without_a_network_answers_one_issue(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    first = shown(page)
    page.context.set_offline(True)
    page.keyboard.press("h")
    page.dblclick("#submit")
    banner(page, "One answer is kept")
    page.context.set_offline(False)
    on_item(page, 1)
    assert stored() == [(first, 1, "")]


@pytest.mark.slow
def test_the_back_button_brings_nothing_twice(round_: Round, enter: Enter, live_server: LiveServer) -> None:
    page = enter(round_)
    first = shown(page)
    answer(page, "one")
    on_item(page, 1)
    second = shown(page)
    page.fill("#memo", "half typed")
    page.click("#previous")
    page.wait_for_selector("text=You labeled this item")
    assert shown(page) == first
    page.go_back()
    page.wait_for_selector("text=restored")
    assert (shown(page), page.input_value("#memo")) == (second, "half typed")
    page.keyboard.press("Escape")
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 2)
    assert [(name, revision) for name, revision, _ in stored()] == [(first, 1), (second, 1)]


def test_two_tabs_with_one_issue_are_told_of_each_other(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    other = page.context.new_page()
    other.goto(page.url)
    for each in (page, other):
        banner(each, "This issue is open in another tab, too.")
    page.keyboard.press("h")
    page.keyboard.press("Control+Enter")
    on_item(page, 1)
    banner(other, "This issue was just labeled in another tab.")
    other.click("text=Continue with the next item")
    on_item(other, 1)
    assert shown(other) == shown(page)
    assert Annotation.objects.count() == 1


@pytest.mark.slow
@pytest.mark.parametrize("takes_other", [True, False])
def test_of_two_drafts_typed_on_two_devices_one_is_chosen(
    round_: Round, enter: Enter, browser: Browser, live_server: LiveServer, errors: list[str], takes_other: bool
) -> None:
    page, device = enter(round_), browser.new_context()
    other = watched(device.new_page(), errors)
    sign_in(other, live_server, "bob")
    other.goto(page.url)
    ready(other)
    page.fill("#memo", "at the desk")
    page.wait_for_selector("text=Draft saved")
    other.fill("#memo", "on the train")
    banner(other, "There is another draft of this issue from another tab or device")
    assert Draft.objects.get().body["parts"][0]["memo"] == "at the desk"
    assert other.input_value("#memo") == "on the train"
    other.click("text=Use the other draft" if takes_other else "text=Keep this draft")
    other.wait_for_selector("text=Draft saved")
    left = "at the desk" if takes_other else "on the train"
    assert other.input_value("#memo") == left
    assert Draft.objects.get().body["parts"][0]["memo"] == left
    device.close()


class Web:
    """The web server as users run it, on the database of the tests: killed, and started again at its address."""

    def __init__(self) -> None:
        with closing(socket.socket()) as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", *web_command(f"127.0.0.1:{self.port}")]
        environment = environment_of_servers() | {"PORT": str(self.port)}
        self.process = subprocess.Popen(
            command,
            cwd=settings.BASE_DIR,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        ends_at = time.monotonic() + 120
        while not self._answers():
            assert self.process.poll() is None and time.monotonic() < ends_at, "the web server does not start"

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/sign-in/", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False

    def kill(self) -> None:
        """At once, with all that it was doing."""
        if self.process is not None:
            os.killpg(self.process.pid, 9)
            self.process.wait()
            self.process = None


@pytest.fixture
def web() -> Iterator[Web]:
    web = Web()
    web.start()
    yield web
    web.kill()


def signed_in(context: BrowserContext, web: Web, name: str) -> None:
    client = Client()
    client.force_login(make.user(name))
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    context.add_cookies([{"name": f"concord_{web.port}", "value": value, "url": web.url}])


@pytest.mark.slow
def test_a_server_killed_between_storing_and_answering_stores_once(
    round_: Round, web: Web, page: Page, errors: list[str]
) -> None:
    signed_in(watched(page, errors).context, web, "bob")
    page.goto(f"{web.url}/studies/study/rounds/1/label/")
    ready(page)
    first, keys = shown(page), []

    def lose_the_answer(route: Route) -> None:
        keys.append(route.request.headers["idempotency-key"])
        if len(keys) == 1:
            assert route.fetch().status == 200
            web.kill()
            route.abort("connectionreset")
        else:
            route.continue_()

    page.route(SUBMIT, lose_the_answer)
    answer(page, "once")
    banner(page, "One answer is kept")
    assert [memo for _, _, memo in stored()] == ["once"]
    second = shown(page)
    answer(page, "typed while it was down")
    banner(page, "2 answers are kept")
    web.start()
    on_item(page, 2)
    assert stored() == [(first, 1, "once"), (second, 1, "typed while it was down")]
    assert keys.count(keys[0]) > 1 and len(set(keys)) == 2
    assert Rating.objects.count() == 2
    expect(page.locator("#banner")).to_be_empty()


def test_an_answer_that_waits_under_a_number_from_before_the_upgrade_is_sent(round_: Round, enter: Enter) -> None:
    page = enter(round_)
    name = shown(page)
    page.context.set_offline(True)
    answer(page, "from before")
    banner(page, "will be sent")
    page.evaluate(
        """() => {
          for (const key of Object.keys(localStorage).filter((each) => each.endsWith(".submit"))) {
            const entry = JSON.parse(localStorage.getItem(key));
            localStorage.removeItem(key);
            const url = entry.url.replace(/[0-9a-f-]{36}/, "41");
            const former = JSON.stringify({ ...entry, assignment: 41, url });
            localStorage.setItem(key.replace(entry.assignment, "41"), former);
          }
        }"""
    )
    page.goto("about:blank")
    page.context.set_offline(False)
    page.go_back()
    ready(page)
    on_item(page, 1)
    assert stored() == [(name, 1, "from before")]
