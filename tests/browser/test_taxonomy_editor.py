"""The editor of a draft, by keyboard, by mouse, by two people and without a network, in a real browser."""

import json
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import BrowserContext, Locator, Page, expect

from taxonomy import actions, queries, schema
from taxonomy.checking import load
from taxonomy.models import TaxonomyVersion
from tests import builders as make
from tests.browser.visitors import assert_accessible, sign_in, wait_until

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DISTRIBUTED = """
slug: faults
title: Faults
dimensions:
  - key: symptom
    title: Symptom
    kind: single
    categories:
      - key: crash
        name: Crash
        definition: It ends.
        categories:
          - {key: oom, name: Out of memory, definition: No memory is left.}
          - {key: nccl, name: NCCL error, definition: NCCL says so.}
      - {key: hang, name: Hang, definition: It waits.}
      - {key: slow, name: Slow, definition: It takes long.}
      - {key: slowness, name: Slowness, definition: It takes longer.}
"""


def draft(text: str = DISTRIBUTED) -> TaxonomyVersion:
    """The draft of a version 2."""
    published = make.version(text)
    return actions.start_draft(user=make.user("olga"), taxonomy=published.taxonomy)


def open_editor(page: Page, server: Any, version: TaxonomyVersion, name: str = "olga") -> None:
    sign_in(page, server, name)
    page.goto(f"{server.url}/taxonomies/{version.taxonomy.slug}/versions/{version.number}/edit/")
    expect(page.get_by_role("tree")).to_be_visible()


def row(page: Page, name: str) -> Locator:
    return page.locator("#tree [role=treeitem]").filter(
        has=page.locator(f":scope > .node > .node-name:text-is('{name}')")
    )


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def saved(page: Page) -> None:
    expect(page.locator("#saved.saved-saved")).to_contain_text("Saved", timeout=8_000)


def outline(version: TaxonomyVersion) -> list[str]:
    """The tree as it is stored: a line each, indented."""
    found = []
    for dimension in queries.document(version).dimensions:
        found.append(dimension.title)
        found += ["  " * (len(above) + 1) + spec.name for spec, above in dimension.walk()]
    return found


def was(version: TaxonomyVersion) -> dict[str, list[str]]:
    return {
        spec.key: list(spec.was)
        for dimension in queries.document(version).dimensions
        for spec, _ in dimension.walk()
        if spec.was
    }


@pytest.mark.slow
def test_a_taxonomy_is_built_from_one_category_and_published_by_keyboard_alone(page: Page, live_server: Any) -> None:
    version = actions.load_document(user=make.user("olga"), text=make.SYMPTOMS)
    open_editor(page, live_server, version)
    page.locator("#tree [role=treeitem]").first.focus()
    press(page, "ArrowDown", "Delete", "Delete", "F2")
    page.keyboard.type("Failure")
    press(page, "Enter", "Enter")
    page.keyboard.type("Out of memory")
    press(page, "Tab")  # below Failure
    expect(row(page, "Out of memory")).to_have_attribute("aria-level", "3")
    press(page, "Enter")
    page.keyboard.type("Hang & timeout")
    press(page, "Enter")
    page.keyboard.type("Other")
    press(page, "Shift+Tab")
    expect(row(page, "Other")).to_have_attribute("aria-level", "2")
    expect(row(page, "Other")).to_be_focused()
    press(page, "Control+Enter")
    expect(page.get_by_role("textbox", name="Definition")).to_be_focused()
    page.keyboard.type("None of these.")
    press(page, "Escape")
    expect(row(page, "Other")).to_be_focused()
    saved(page)
    assert outline(version) == ["Symptom", "  Failure", "    Out of memory", "    Hang & timeout", "  Other"]
    specs = {spec.key: spec for spec, _ in queries.document(version).dimensions[0].walk()}
    assert list(specs) == ["failure", "out-of-memory", "hang-and-timeout", "other"]
    assert specs["other"].definition == "None of these."
    press(page, "Escape", "Tab")  # out of the tree
    expect(page.get_by_role("button", name="Add a dimension")).to_be_focused()
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Publish version 1").press("Enter")
    expect(page.get_by_text("Version 1 is published")).to_be_visible()
    version.refresh_from_db()
    assert version.state == "published"


@pytest.mark.slow
def test_every_change_is_undone_and_done_again(page: Page, live_server: Any) -> None:
    version = draft()
    before = outline(version)
    open_editor(page, live_server, version)
    row(page, "Hang").first.focus()
    press(page, "Alt+ArrowUp")
    expect(page.locator("#announcer")).to_have_text("Hang moved up")
    press(page, "Alt+ArrowDown", "Alt+ArrowRight", "Alt+ArrowLeft", "Alt+ArrowRight", "F2")
    page.keyboard.type("Hangs")
    press(page, "Enter", "Delete")
    expect(page.locator("#announcer")).to_contain_text("Hangs retired")
    saved(page)
    assert "Hangs" not in " ".join(outline(version))
    for _ in range(7):
        press(page, "Control+z")
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()
    saved(page)
    expect(page.locator("#bar-changes")).to_have_text("No changes")
    assert outline(version) == before and was(version) == {}
    for _ in range(6):
        press(page, "Control+Shift+z")
    saved(page)
    expect(row(page, "Hangs")).to_contain_text("renamed")
    expect(page.locator("#bar-changes")).to_contain_text("1 change")
    assert "    Hangs" in outline(version)


@pytest.mark.slow
def test_merging_splitting_and_bringing_back_are_written_as_was(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    expect(row(page, "Slowness")).to_be_visible()
    row(page, "Slowness").focus()
    press(page, "Alt+m")
    page.keyboard.type("slo")
    press(page, "Enter")
    expect(row(page, "Slow")).to_be_focused()
    row(page, "Out of memory").focus()
    press(page, "Alt+s")
    page.keyboard.type("Out of GPU memory\nOut of host memory")
    press(page, "Control+Enter")
    row(page, "Hang").focus()
    press(page, "Delete")
    saved(page)
    assert was(version) == {
        "slow": ["slow", "slowness"],
        "out-of-gpu-memory": ["oom"],
        "out-of-host-memory": ["oom"],
    }
    expect(page.locator("#bar-changes")).to_have_text("5 changes · 1 merge · 1 split · 1 retired · affects 0 labels")
    expect(row(page, "Slow")).to_contain_text("merged")
    expect(row(page, "Out of GPU memory")).to_contain_text("split")
    row(page, "Slow").click()
    expect(page.get_by_text("Merged from 2 categories")).to_be_visible()
    expect(page.get_by_text("Comes from “Slowness”")).to_be_visible()
    page.get_by_role("treeitem", name="Hang, retired").focus()
    press(page, "Enter")
    expect(row(page, "Hang")).to_be_focused()
    page.get_by_role("button", name="It no longer comes from “Slowness”").wait_for(state="hidden")
    row(page, "Slow").click()
    page.get_by_role("button", name="It no longer comes from “Slowness”").click()
    expect(page.get_by_role("treeitem", name="Slowness, retired")).to_be_visible()
    saved(page)
    wait_until(page, "document.getElementById('bar-changes').textContent.startsWith('3 changes')")
    assert "slow" not in was(version)
    assert outline(version)[-1] == "  Hang"


def test_a_key_that_labels_hang_on_changes_only_with_a_note_of_the_old_one(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    row(page, "Hang").click()
    key = page.get_by_label("Key", exact=True).and_(page.locator("#category-key"))
    expect(key).to_have_attribute("readonly", "")
    page.get_by_role("button", name="Change the key").click()
    key.fill("stall")
    saved(page)
    assert was(version) == {"stall": ["hang"]}


@pytest.mark.slow
def test_what_is_wrong_is_marked_at_its_row_and_kept_until_it_is_right(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    row(page, "Hang").focus()
    press(page, "F2")
    page.keyboard.type("crash")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("Another category at this place of the tree has the name “crash”")
    expect(row(page, "crash")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#category-name")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_role("button", name="Publish version 2")).to_be_disabled()
    assert "  Hang" in outline(version)
    press(page, "F2")
    page.keyboard.type("Stall")
    press(page, "Enter")
    saved(page)
    expect(row(page, "Stall")).not_to_have_attribute("aria-invalid", "true")


@pytest.mark.slow
def test_the_first_click_outside_an_open_field_counts_and_what_is_unfinished_is_stored(
    page: Page, live_server: Any
) -> None:
    version = draft()
    open_editor(page, live_server, version)
    row(page, "Hang").focus()
    press(page, "Enter")
    expect(page.get_by_label("Name of the category")).to_be_focused()
    page.get_by_role("button", name="Add a dimension").click()
    expect(page.get_by_label("Title of the dimension")).to_be_focused()
    page.keyboard.type("Cause")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("Saved. Before you can publish")
    expect(page.get_by_role("button", name="Publish version 2")).to_be_disabled()
    page.reload()
    expect(row(page, "Cause")).to_be_visible()
    expect(page.locator("#saved")).to_contain_text("Saved. Before you can publish")


@pytest.mark.slow
def test_rows_are_dragged_before_after_and_into_others(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)

    def drag(name: str, target: str, share: float, *, lands: bool = True) -> None:
        start, end = (row(page, each).locator(":scope > .node").bounding_box() for each in (name, target))
        assert start and end
        page.mouse.move(start["x"] + 60, start["y"] + 12)
        page.mouse.down()
        page.mouse.move(end["x"] + 70, end["y"] + end["height"] * 0.4, steps=4)
        page.mouse.move(end["x"] + 70, end["y"] + end["height"] * share)
        if share != 0.5 or not lands:
            expect(page.locator(".drop-line")).to_be_visible(visible=lands)
        page.mouse.up()

    drag("Slow", "Hang", 0.1)
    saved(page)
    assert outline(version)[-3:] == ["  Slow", "  Hang", "  Slowness"]
    drag("Hang", "Crash", 0.5)
    saved(page)
    wait_until(page, "document.querySelector('#bar-changes').textContent.startsWith('1 change')")
    assert outline(version)[1:5] == ["  Crash", "    Out of memory", "    NCCL error", "    Hang"]
    drag("Crash", "Hang", 0.9, lands=False)  # not below itself
    drag("NCCL error", "Slowness", 0.9)
    expect(page.locator("#announcer")).to_have_text("NCCL error moved after Slowness")
    saved(page)
    wait_until(page, "document.querySelector('#bar-changes').textContent.startsWith('2 changes')")
    assert outline(version)[-1] == "  NCCL error"


@pytest.mark.slow
def test_the_second_editor_is_told_and_nothing_is_overwritten(page: Page, live_server: Any) -> None:
    version = draft()
    version.taxonomy.maintainers.add(make.user("max"))
    open_editor(page, live_server, version, "max")
    theirs = queries.document(version)
    text = make_text(theirs).replace("It waits.", "It waits for ever.")
    actions.replace_draft(user=make.user("olga"), version=version, text=text, expected=1)
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    banner = page.locator("#editor-banner")
    expect(banner).to_contain_text("olga saved this draft at")
    expect(banner).to_contain_text("Nothing is overwritten")
    version.refresh_from_db()
    assert version.revision == 2 and "It waits for ever." in make_text(queries.document(version))
    with page.expect_popup() as popup:
        banner.get_by_role("button", name="Show their version").click()
    expect(popup.value.get_by_role("tree")).to_be_visible()
    popup.value.close()
    banner.get_by_role("button", name="Save mine as another draft").click()
    page.wait_for_url("**/versions/3/edit/")
    expect(row(page, "Too slow")).to_be_visible()
    copy = TaxonomyVersion.objects.get(number=3)
    assert copy.is_draft and copy.created_by.username == "max"
    assert "Too slow" not in make_text(queries.document(version))


@pytest.mark.slow
def test_who_takes_the_others_work_has_the_own_as_a_file(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    text = make_text(queries.document(version)).replace("It waits.", "It waits for ever.")
    actions.replace_draft(user=make.user("max", staff=True), version=version, text=text, expected=1)
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    with page.expect_download() as download:
        page.get_by_role("button", name="Use theirs").click()
    kept = json.loads(download.value.path().read_text())
    assert "Too slow" in [each["name"] for each in kept["dimensions"][0]["categories"]]
    expect(row(page, "Slow")).to_be_visible()
    row(page, "Hang").click()
    expect(page.get_by_role("textbox", name="Definition")).to_have_value("It waits for ever.")
    expect(page.locator("#editor-banner")).to_contain_text("saved this draft since")  # offered until thrown away
    page.get_by_role("button", name="Discard changes").click()
    page.reload()
    expect(page.get_by_role("tree")).to_be_visible()
    expect(page.locator("#editor-banner")).to_be_empty()


def test_who_looks_again_learns_of_the_others_work_before_typing(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    text = make_text(queries.document(version)).replace("It waits.", "It waits for ever.")
    actions.replace_draft(user=make.user("max", staff=True), version=version, text=text, expected=1)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(page.locator("#editor-banner")).to_contain_text("max saved this draft at")
    expect(page.locator("#editor-banner")).to_contain_text("You have no unsaved changes")


def test_without_a_network_all_is_kept_and_saved_when_it_is_back(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    context: BrowserContext = page.context
    context.set_offline(True)
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("no connection")
    context.set_offline(False)
    saved(page)
    assert "  Too slow" in outline(version)


def test_who_was_signed_out_signs_in_elsewhere_comes_back_and_all_is_saved(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    context: BrowserContext = page.context
    cookies = context.cookies()
    context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("signed out")
    context.add_cookies(cookies)
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    saved(page)
    assert "  Too slow" in outline(version)


@pytest.mark.slow
def test_an_answer_that_got_lost_is_no_other_persons_work(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)

    lost = []

    def lose(route: Any) -> None:
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch().status)
            route.abort()
        else:
            route.continue_()

    page.route("**/edit/", lose)
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("no connection")
    saved(page)
    expect(page.locator("#editor-banner")).to_be_empty()
    version.refresh_from_db()
    assert lost == [200] and version.revision == 2


@pytest.mark.slow
def test_what_was_not_saved_is_offered_after_a_crash(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    page.route("**/edit/", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    row(page, "Slow").focus()
    press(page, "F2")
    page.keyboard.type("Too slow")
    press(page, "Enter")
    expect(page.locator("#saved")).to_contain_text("no connection")
    asked = []
    page.once("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    page.reload()
    assert asked == ["beforeunload"]
    page.unroute("**/edit/")
    expect(row(page, "Slow")).to_be_visible()
    page.get_by_role("button", name="Restore changes").click()
    expect(row(page, "Too slow")).to_be_visible()
    saved(page)
    assert "  Too slow" in outline(version)
    page.reload()
    expect(row(page, "Too slow")).to_be_visible()
    expect(page.locator("#editor-banner")).to_be_empty()


def test_the_search_shows_what_holds_the_words_and_enter_goes_there(page: Page, live_server: Any) -> None:
    open_editor(page, live_server, draft())
    row(page, "Hang").focus()
    press(page, "/")
    page.keyboard.type("ncc")
    expect(page.locator("#editor-found")).to_have_text("1 found")
    expect(row(page, "Slow")).to_be_hidden()
    press(page, "Enter")
    expect(row(page, "NCCL error")).to_be_focused()
    expect(row(page, "Slow")).to_be_visible()
    press(page, "ArrowLeft", "ArrowLeft")
    expect(row(page, "NCCL error")).to_be_hidden()
    press(page, "End")
    expect(row(page, "Slowness")).to_be_focused()


@pytest.mark.slow
def test_a_dimension_is_added_and_asked_only_where_an_earlier_answer_fits(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    page.get_by_role("button", name="Add a dimension").press("Enter")
    page.keyboard.type("Fix pattern")
    press(page, "Enter")
    page.keyboard.type("Version change")
    press(page, "Enter", "Escape")
    expect(row(page, "Version change")).to_be_focused()
    row(page, "Fix pattern").focus()
    press(page, "Control+Enter")
    page.get_by_label("Kind").select_option("multi")
    page.get_by_label("Applies when").select_option("symptom")
    page.get_by_role("checkbox", name="Hang").check()
    saved(page)
    page.wait_for_timeout(1_300)
    found = queries.document(version).dimensions[1]
    assert (found.key, found.kind) == ("fix-pattern", "multi")
    assert found.applies_when and found.applies_when.values == ("crash", "hang")


@pytest.mark.slow
def test_the_editor_is_accessible_in_light_dark_and_on_a_phone(page: Page, live_server: Any) -> None:
    open_editor(page, live_server, draft())
    row(page, "Hang").focus()
    press(page, "Delete")
    saved(page)
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        assert_accessible(page)
        press(page, "?")
        assert_accessible(page)
        press(page, "Escape")
    page.set_viewport_size({"width": 360, "height": 740})
    assert_accessible(page)


RANDOM_CHANGES = """
async ({ seed, plain }) => {
  const docs = await import("/static/js/taxonomy_editor/document.js");
  const origins = await import("/static/js/taxonomy_editor/origins.js");
  const text = JSON.stringify(plain);
  const past = new origins.Past(plain);
  let state = seed;
  const any = (n) => ((state = (state * 1103515245 + 12345) % 2147483648), state % n);
  let doc = docs.fromPlain(plain);
  const first = doc;
  const steps = [];
  for (let turn = 0; turn < 200; turn += 1) {
    const dimension = doc.nodes.get(doc.order[any(doc.order.length)]);
    const nodes = [...docs.categories(doc, dimension)];
    const node = nodes.length ? nodes[any(nodes.length)] : null;
    const other = nodes.length ? nodes[any(nodes.length)] : null;
    const acts = [
      () => {
        const { doc: grown, id } = docs.add(doc, (other ?? dimension).id, 0, { key: "", name: "" });
        return origins.rename(grown, id, "New " + turn, past);
      },
      () => node && origins.rename(doc, node.id, "Other " + turn, past),
      () => node && docs.indent(doc, node.id),
      () => node && docs.outdent(doc, node.id),
      () => node && docs.shift(doc, node.id, any(2) ? 1 : -1),
      () => node && nodes.length > 2 && docs.remove(doc, node.id),
      () => node && node !== other && origins.merge(doc, node.id, other.id, past),
      () => node && origins.split(doc, node.id, ["Part " + turn, any(2) ? node.fields.name : "Rest " + turn], past).doc,
      () => {
        const gone = origins.retired(doc, dimension, past);
        return gone.length ? origins.bringBack(doc, dimension.id, gone[any(gone.length)].spec.key, past).doc : null;
      },
      () => node && origins.changeKey(doc, node.id, "key-" + turn, past),
    ];
    const next = acts[any(acts.length)]();
    if (!next) continue;
    steps.push([doc, JSON.stringify(docs.toPlain(doc).plain)]);
    doc = next;
    for (const id of doc.order) {
      const each = doc.nodes.get(id);
      const keys = [...docs.categories(doc, each)].map((one) => one.fields.key);
      if (new Set(keys).size !== keys.length) return `turn ${turn}: a key is there twice: ${keys}`;
      const sources = origins.sources(doc, each, past);
      const gone = origins.retired(doc, each, past).map((one) => one.spec.key);
      const told = new Set([...[...sources.values()].flat(), ...gone]);
      for (const key of past.specs(each.fields.key).keys()) if (!told.has(key)) return `turn ${turn}: ${key} is lost`;
      for (const one of docs.categories(doc, each)) {
        if (!doc.nodes.get(one.parent).children.includes(one.id)) return `turn ${turn}: ${one.id} is lost`;
      }
    }
  }
  for (const [before, was] of steps) {
    if (JSON.stringify(docs.toPlain(before).plain) !== was) return "a document was changed in place";
  }
  if (JSON.stringify(docs.toPlain(first).plain) !== text) return "the way back does not lead to the start";
  return JSON.stringify(docs.toPlain(doc).plain);
}
"""


def test_random_changes_lose_no_category_and_are_documents_that_the_server_takes(page: Page, live_server: Any) -> None:
    version = draft()
    open_editor(page, live_server, version)
    plain = schema.plain(queries.document(version))
    before = queries.document(version)
    for seed in range(1, 16):
        told = page.evaluate(RANDOM_CHANGES, {"seed": seed * 7919, "plain": plain})
        assert told.startswith("{"), told
        load(told, slug="faults", before=before)


def make_text(document: Any) -> str:
    return schema.dump(document)


@pytest.mark.slow
def test_the_bar_tells_what_is_not_saved_and_leads_to_what_is_doubtful(page: Page, live_server: Any) -> None:
    version = draft(DISTRIBUTED.replace(", definition: It waits.", "").replace(", definition: NCCL says so.", ""))
    open_editor(page, live_server, version)
    bar = page.get_by_role("button", name="2 warnings")
    for name in ("Hang", "NCCL error"):
        bar.click()
        page.get_by_role("dialog", name="Warnings").get_by_role("button", name=name, exact=True).click()
        expect(row(page, name)).to_be_focused()
    press(page, "F2")
    page.keyboard.type("Collective error")
    press(page, "Enter")
    expect(page.locator("#saved")).to_have_text("Not saved yet")
    saved(page)
    expect(page.locator("#bar-changes")).to_contain_text("1 change")
