"""The whole way of one issue in a real browser: from an empty database to agreed labels in a script's hands."""

import csv
import io
import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.actions import add_user
from annotation.models import Annotation
from taxonomy.queries import forget_trees
from tests import builders as make
from tests.github import GitHub, World, made_up

pytestmark = [pytest.mark.browser, pytest.mark.worker, pytest.mark.django_db(transaction=True)]

PASSWORD = "a long password"
SignIn = Callable[[str], Page]
ISSUES = [
    {
        "number": number,
        "title": title,
        "body": f"It **stops** on two nodes, as in #1.\n\n```python\nloss = engine(batch)  # step {number}\n```\n",
        "state": "closed" if number % 2 else "open",
        "labels": ["bug"] if number < 7 else ["question"],
        "user": {"login": "dana", "id": 7},
        "comments": [{"id": number, "body": "Same `here`.", "user": {"login": "erin", "id": 8}}],
        "html_url": f"https://github.com/acme/engine/issues/{number}",
    }
    for number, title in enumerate(
        [
            "Barrier never returns",
            "Loss is not a number",
            "Saving a checkpoint crashes",
            "Slow with eight ranks",
            "Rank 3 leaves without a word",
            "Resuming starts at step 0",
            "How do I set the world size?",
        ],
        start=1,
    )
]


@pytest.fixture
def sign_in(browser: Browser, live_server: LiveServer) -> Iterator[SignIn]:
    """Signs someone in by the form, in a browser of their own; a script that fails, or is refused, fails the test."""
    forget_trees()
    errors: list[str] = []
    contexts = []

    def signed_in(name: str) -> Page:
        context = browser.new_context(base_url=live_server.url, viewport={"width": 1280, "height": 800})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda said: errors.append(said.text) if "Content Security" in said.text else None)
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto("/sign-in/")
        page.get_by_label("User name").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        return page

    yield signed_in
    for context in contexts:
        context.close()
    assert not errors


def upload_issues(page: Page) -> None:
    """Seven issues and a broken row, by a real worker; then the list with its filters, and one issue."""
    page.get_by_role("link", name="Repositories").click()
    content = "\n".join(json.dumps(row) for row in ISSUES) + '\n{"number": 8, "title":\n'
    page.get_by_label("File", exact=True).set_input_files(
        {"name": "issues.jsonl", "mimeType": "application/jsonl", "buffer": content.encode()}
    )
    page.get_by_role("button", name="Upload", exact=True).click()
    refused = page.get_by_role("row").filter(has=page.get_by_role("cell", name="8", exact=True))
    expect(refused).to_be_visible(timeout=20_000)
    page.get_by_role("link", name="Show issues").click()
    expect(page.locator("table.issues tbody tr")).to_have_count(7)
    page.get_by_role("combobox", name="Search").fill("checkpoint")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("table.issues tbody tr")).to_have_count(1)
    page.get_by_role("link", name="Clear").click()
    page.get_by_label("State").select_option("closed")
    page.get_by_label("GitHub label").fill("bug")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("table.issues tbody tr")).to_have_count(3)
    page.get_by_role("link", name="Saving a checkpoint crashes").click()
    issue = page.get_by_role("article")
    expect(issue.get_by_role("heading", name="Saving a checkpoint crashes")).to_be_visible()
    expect(issue.locator("strong", has_text="stops")).to_be_visible()
    expect(issue.locator("pre span", has_text="step 3")).to_be_visible()
    expect(issue.get_by_label("Comments").locator("code", has_text="here")).to_be_visible()
    expect(issue.locator(".state")).to_have_text("Closed")
    expect(issue.get_by_label("GitHub labels")).to_have_text("bug")


def fetch_a_repository(page: Page, github: GitHub) -> None:
    """The page shows how far the worker is while GitHub is still answering, and the end by itself."""
    n_issues = sum(not issue.is_pull_request for issue in made_up(github.world, "acme/trainer", 220).issues.values())
    may_go_on = threading.Event()

    def hold(asked: Any) -> None:
        if asked.path.endswith("/issues") and "since" in asked.query:
            may_go_on.wait(30)

    github.before_answer = hold
    page.get_by_role("link", name="Repositories").click()
    form = page.get_by_role("region", name="Fetch from GitHub")
    form.get_by_label("Repository").fill("acme/trainer")
    form.get_by_role("button", name="Fetch issues").click()
    expect(page.locator("#run .state")).to_have_text("Running", timeout=20_000)
    expect(page.locator("#run .facts div").filter(has_text="New")).not_to_have_text(re.compile(r"New\s*0"))
    may_go_on.set()
    expect(page.locator("#run .state")).to_have_text("Done", timeout=20_000)
    expect(page.locator("#run .facts div").filter(has_text="New")).to_have_text(re.compile(rf"New\s*{n_issues}"))
    page.get_by_role("link", name="Show issues").click()
    expect(page.get_by_text("#220")).to_be_visible()


def publish_a_taxonomy(page: Page) -> None:
    page.get_by_role("link", name="Taxonomies").click()
    page.get_by_label("A file").set_input_files(
        {"name": "faults.yaml", "mimeType": "application/yaml", "buffer": make.FAULTS.encode()}
    )
    page.get_by_role("button", name="Load as a draft").click()
    page.get_by_role("button", name="Publish version 1").click()
    expect(page.get_by_text("Version 1 is published.")).to_be_visible()


def open_a_round(page: Page) -> list[str]:
    """A study with its members, a sample and a round of five items; the issues in the order drawn."""
    page.get_by_role("link", name="Studies").click()
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Title").fill("Faults of the engine")
    page.get_by_label("Taxonomy", exact=True).select_option("faults")
    page.get_by_label("Coefficient of Symptom", exact=True).select_option("cohen_kappa")
    page.get_by_label("Threshold of Symptom").fill("0.8")
    page.get_by_role("button", name="Create study").click()
    page.get_by_role("link", name="Members").click()
    for name, role in (("bob", "rater"), ("carol", "rater"), ("ada", "adjudicator")):
        adding = page.get_by_role("region", name="Add someone with an account")
        adding.get_by_label("User name").fill(name)
        for each in ("owner", "adjudicator", "rater", "reader"):
            adding.get_by_role("checkbox", name=re.compile(f"^{each}")).set_checked(each == role)
        adding.get_by_role("button", name="Add member").click()
        expect(page.get_by_text(f"{name} is invited as {role} and can be named in rounds.")).to_be_visible()
    page.get_by_role("link", name="Rounds").click()
    page.get_by_role("link", name="Draw a sample").first.click()
    page.get_by_label("Repositories").fill("acme/engine")
    page.get_by_label("With GitHub labels").fill("bug")
    page.get_by_label("How many").fill("5")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Draw sample").click()
    drawn = page.get_by_role("region", name="Table: issues drawn").locator("td.id")
    expect(drawn).to_have_count(5)
    items = drawn.all_inner_texts()
    page.get_by_role("link", name="New round").click()
    expect(page.get_by_text("5 items × 2 raters = 10 assignments")).to_be_visible()
    page.get_by_role("button", name="Create round").click()
    page.get_by_role("button", name="Open round 1").click()
    expect(page.get_by_text("0 of 10 finished")).to_be_visible()
    return items


def accept_the_invitation(page: Page) -> None:
    page.get_by_role("button", name="Accept the invitation to Faults of the engine").click()


def label_everything(page: Page, keys_of: dict[str, str], *, memo: str, hidden: str) -> None:
    """Answers item by item with single keys (`s` skips with a reason); what is hidden is on no page."""
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.url) if asked.resource_type in ("document", "fetch") else None)
    page.get_by_role("link", name=re.compile("^Label")).first.click()
    page.wait_for_selector("#announcer:not(:empty)", state="attached")
    seen = []
    for n_done in range(len(keys_of)):
        expect(page.locator("#where strong")).to_have_text(str(n_done))
        item = page.locator("#reading .issue-line .mono").inner_text()
        seen.append(item)
        assert hidden not in page.content()
        sent.clear()
        if keys_of[item] == "s":
            page.keyboard.press("s")
            page.keyboard.press("ArrowDown")
            page.keyboard.press("Enter")
        else:
            for key in keys_of[item]:
                page.keyboard.press(key)
            page.keyboard.press("m")
            page.keyboard.type(memo)
            page.keyboard.press("Control+Enter")
        expect(page.locator("#where strong")).to_have_text(str(n_done + 1))
        assert len([address for address in sent if re.search(r"/label/[0-9a-f-]{36}/$", address)]) == 1
    assert sorted(seen) == sorted(keys_of)


def decide_everything(page: Page, decisions: dict[tuple[str, str], str], why: str) -> None:
    """Decides by keyboard, in whatever order the queue asks: for the first answer, or for another category."""
    page.get_by_role("link", name=re.compile("^Resolve")).first.click()
    page.locator("#resolve-first").click()
    open_ones = dict(decisions)
    while open_ones:
        page.wait_for_selector("body.resolving[data-keys=on] #decision-title:not([data-seen])")
        title = page.locator("#decision-title").inner_text()
        item = page.locator("#reading .issue-line .mono").inner_text()
        assert page.locator(".resolve-said").count() == 2, "both answers stand there"
        page.locator("#decision-title").evaluate("heading => heading.dataset.seen = true")
        choice = open_ones.pop((item, title))
        if choice in ("R1", "R2"):
            said = page.locator(".resolve-option").filter(has=page.locator(".rater", has_text=choice))
            assert f"says {'bob' if choice == 'R1' else 'carol'}" in said.inner_text()
            page.keyboard.press(said.locator("kbd").inner_text())
        else:
            page.keyboard.press("o")
            page.keyboard.type(choice)
            page.keyboard.press("Enter")
        page.keyboard.press("w")
        page.keyboard.type(why)
        page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="All items are agreed")).to_be_visible()


def close_and_download(page: Page) -> bytes:
    """Closes the round, reads agreement per dimension, and downloads the agreed labels."""
    page.get_by_role("button", name="Close round 1").click()
    expect(page.get_by_text("Round 1 is closed. Its agreed labels are final.")).to_be_visible()
    page.get_by_role("link", name="Agreement").first.click()
    symptom = page.locator("details.dimension").filter(has=page.locator("h2", has_text="Symptom"))
    if symptom.get_attribute("open") is None:
        symptom.locator("summary").first.click()
    for name in ("Percent agreement", "Cohen.s kappa", "Fleiss. kappa", "Krippendorff.s alpha"):
        expect(symptom.locator("table.coefficients").get_by_role("rowheader", name=re.compile(name))).to_be_visible()
    expect(symptom.get_by_role("heading", name="Confusion")).to_be_visible()
    page.get_by_role("link", name="Exports").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of Agreed labels").click()
    return download.value.path().read_bytes()


def make_a_token(page: Page) -> str:
    page.goto("/me/")
    page.get_by_label("Token name").fill("my notebook")
    page.get_by_role("region", name="Tokens").get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Create token").click()
    return page.locator("#new-token").inner_text()


def asked_by_script(address: str, token: str) -> bytes:
    with urllib.request.urlopen(
        urllib.request.Request(address, headers={"Authorization": f"Bearer {token}"})
    ) as answer:
        return bytes(answer.read())


@pytest.mark.slow
def test_from_an_empty_database_to_agreed_labels_in_the_hands_of_a_script(
    sign_in: SignIn, live_server: LiveServer, live_worker: object, github: GitHub, world: World
) -> None:
    for name in ("olga", "bob", "carol", "ada"):
        add_user(username=name, password=PASSWORD)

    olga = sign_in("olga")
    upload_issues(olga)
    fetch_a_repository(olga, github)
    publish_a_taxonomy(olga)
    same, theirs, third, question, skipped = open_a_round(olga)

    said = {same: "fcy", theirs: "fhy", third: "fcn", question: "h", skipped: "s"}
    bob = sign_in("bob")
    accept_the_invitation(bob)
    label_everything(bob, said, memo="says bob", hidden="says carol")
    expect(bob.get_by_role("heading", name="You have finished all 5 items")).to_be_visible()
    olga.reload()
    expect(olga.get_by_text("5 of 10 finished")).to_be_visible()
    carol = sign_in("carol")
    accept_the_invitation(carol)
    label_everything(carol, {**said, theirs: "fcy", third: "fhn", skipped: "fcy"}, memo="says carol", hidden="says bob")
    expect(carol.get_by_role("heading", name="Round 1 is being resolved")).to_be_visible()
    assert Annotation.objects.count() == 10

    ada = sign_in("ada")
    accept_the_invitation(ada)
    decisions = {(theirs, "Symptom"): "R1", (third, "Symptom"): "slow"}
    decisions |= {(skipped, title): "R2" for title in ("Kind of issue", "Symptom", "Fix patterns", "Only distributed")}
    decide_everything(ada, decisions, why="We read it again.")

    olga.reload()
    downloaded = close_and_download(olga)
    symptoms = {
        row["item"]: (row["values"], row["method"])
        for row in csv.DictReader(io.StringIO(downloaded.decode()))
        if row["dimension"] == "symptom"
    }
    assert symptoms == {
        same: ("crash", "unanimous"),
        theirs: ("hang", "adjudicator"),
        third: ("slow", "adjudicator"),
        skipped: ("crash", "adjudicator"),
    }

    token = make_a_token(olga)
    labels = f"{live_server.url}/api/v1/studies/faults-of-the-engine/labels/"
    assert asked_by_script(f"{labels}?format=csv", token) == downloaded
    rows = json.loads(asked_by_script(labels, token))["results"]
    assert {row["item"]: (*row["values"], row["method"]) for row in rows if row["dimension"] == "symptom"} == symptoms
    assert {row["item"] for row in rows if row["values"] == ["how-to"]} == {question}
    entries = json.loads(asked_by_script(labels.replace("labels", "agreement") + "?dimension=symptom", token))
    found = {each["name"]: each["value"] for each in entries[0]["coefficients"]}
    assert (entries[0]["units"], found["percent_agreement"]) == (3, pytest.approx(1 / 3))
