"""Versions in the database: documents come out as they came in, what was published stays, changes are recorded."""

import json
import threading
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from accounts.models import User
from taxonomy import queries, schema
from taxonomy.actions import (
    add_document,
    discard_draft,
    load_document,
    new_draft,
    publish_version,
    replace_draft,
    retire_version,
    start_draft,
)
from taxonomy.checking import load
from taxonomy.errors import InvalidDocument, StaleDraft, TaxonomyConflict, TaxonomyNotFound
from taxonomy.models import Category, CategoryChange, Dimension, Taxonomy, TaxonomyVersion
from taxonomy.ready_made import presets
from tests.asserts import assert_queries, wait_until_someone_waits_for_a_lock
from tests.taxonomy.test_documents import WHOLE, dimension

pytestmark = pytest.mark.django_db

FIRST = dimension("- {key: hang, name: Hang}", "- {key: crash, name: Crash}", "- {key: slow, name: Slow}")
SECOND = dimension(
    "- {key: stop, name: Stop, was: [hang, crash]}",
    "- {key: slow, name: Slow}",
    "- {key: slower, name: Slower, was: [slow]}",
    "- {key: oom, name: Out of memory}",
)
THIRD = dimension("- {key: halt, name: Halt, was: [stop]}", "- {key: oom, name: Out of memory}")


@pytest.fixture
def maria() -> User:
    return User.objects.create_user("maria")


def published(user: User, text: str) -> TaxonomyVersion:
    return publish_version(user=user, version=load_document(user=user, text=text))


def test_a_document_comes_out_of_the_database_as_it_went_in(maria: User) -> None:
    version = load_document(user=maria, text=WHOLE)
    assert (version.number, version.state) == (1, "draft")
    assert list(version.taxonomy.maintainers.all()) == [maria]
    with assert_queries(3):
        found = queries.document(version)
    assert found == load(WHOLE)


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.name)
def test_every_ready_made_taxonomy_is_stored_whole(maria: User, preset) -> None:  # type: ignore[no-untyped-def]
    assert queries.document(published(maria, preset.text)) == preset.document


def test_a_slug_is_taken_once(maria: User) -> None:
    load_document(user=maria, text=WHOLE)
    with pytest.raises(TaxonomyConflict):
        load_document(user=maria, text=WHOLE)
    assert Taxonomy.objects.count() == 1


def test_a_document_with_a_mistake_leaves_nothing_behind(maria: User) -> None:
    with pytest.raises(InvalidDocument):
        load_document(user=maria, text=WHOLE.replace("kind: text", "kind: txt"))
    assert not Taxonomy.objects.exists()


def test_a_draft_can_be_replaced_and_published_once(maria: User) -> None:
    version = load_document(user=maria, text=FIRST)
    replace_draft(user=maria, version=version, text=THIRD.replace(", was: [stop]", ""))
    assert list(Category.objects.values_list("key", flat=True)) == ["halt", "oom"]
    publish_version(user=maria, version=version)
    for refused in (
        lambda: replace_draft(user=maria, version=version, text=FIRST),
        lambda: publish_version(user=maria, version=version),
    ):
        with pytest.raises(TaxonomyConflict, match="published"):
            refused()
    version.refresh_from_db()
    assert (version.state, version.published_by) == ("published", maria)


def test_a_version_of_another_slug_is_refused(maria: User) -> None:
    version = published(maria, FIRST)
    with pytest.raises(InvalidDocument, match="This is a document of “training-faults”, not of “s”") as caught:
        new_draft(user=maria, taxonomy=version.taxonomy, text=WHOLE)
    assert list(caught.value.fields) == ["slug"]


def changes(version: TaxonomyVersion) -> set[str]:
    rows = CategoryChange.objects.filter(version=version).select_related("old", "new")
    return {f"{row.old and row.old.key} → {row.new and row.new.key}: {row.kind}" for row in rows}


SECOND_FROM_FIRST = {
    "hang → stop: merged",
    "crash → stop: merged",
    "slow → slow: split",
    "slow → slower: split",
    "None → oom: added",
}


def test_what_became_of_each_category_is_recorded_with_the_draft(maria: User) -> None:
    first = published(maria, FIRST)
    second = new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND)
    assert (second.number, second.parent) == (2, first)
    assert changes(second) == SECOND_FROM_FIRST
    replace_draft(user=maria, version=second, text=FIRST)
    assert changes(second) == {"hang → hang: kept", "crash → crash: kept", "slow → slow: kept"}
    with pytest.raises(InvalidDocument, match="The version before has no category “stop”"):
        replace_draft(user=maria, version=second, text=THIRD)


def test_a_draft_made_before_another_was_published_follows_that_one(maria: User) -> None:
    draft = load_document(user=maria, text=FIRST)
    second = new_draft(user=maria, taxonomy=draft.taxonomy, text=SECOND)
    assert changes(second) == set()
    publish_version(user=maria, version=draft)
    second = publish_version(user=maria, version=second)
    assert second.parent == draft
    assert changes(second) == SECOND_FROM_FIRST


def test_a_draft_before_a_published_version_cannot_be_published(maria: User) -> None:
    first = load_document(user=maria, text=FIRST)
    publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=FIRST))
    with pytest.raises(TaxonomyConflict, match="Version 2 is already published"):
        publish_version(user=maria, version=first)


def test_versions_far_apart_are_compared_through_what_was_recorded_between(maria: User) -> None:
    first = published(maria, FIRST)
    second = publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND))
    third = publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=THIRD))
    with assert_queries(8):
        found = queries.compare_versions(first, third)
    assert {(change.old, change.new, change.kind) for change in found.changes} == {
        ("hang", "halt", "merged"),
        ("crash", "halt", "merged"),
        ("slow", None, "retired"),
        (None, "oom", "added"),
    }
    backwards = queries.compare_versions(third, first)
    assert {(change.old, change.new, change.kind) for change in backwards.changes} == {
        ("halt", "hang", "split"),
        ("halt", "crash", "split"),
        (None, "slow", "added"),
        ("oom", None, "retired"),
    }
    assert {change.kind for change in queries.compare_versions(second, second).changes} == {"kept"}


def test_a_published_tree_is_read_once_and_a_draft_every_time(maria: User) -> None:
    draft = load_document(user=maria, text=WHOLE)
    for _ in range(2):
        with assert_queries(3):
            queries.published_version(draft.pk)
    publish_version(user=maria, version=draft)
    with assert_queries(3):
        found = queries.published_version(draft.pk)
    with assert_queries(0):
        assert queries.published_version(draft.pk) is found
    leaf = found.by_key["symptom"].by_key["communication-setup-hang"]
    assert leaf.path == "Communication setup / Hang and timeout"
    assert found.by_key["symptom"].by_id[leaf.id] is leaf
    assert found.applies("symptom", {"kind": ["fault"]})


def test_writing_a_version_takes_as_many_queries_for_ten_categories_as_for_three_hundred(maria: User) -> None:
    def text(slug: str, n: int) -> str:
        listed = (f"- {{key: c{number}, name: Category {number}}}" for number in range(n))
        return dimension(*listed).replace("slug: s", f"slug: {slug}")

    with assert_queries(12):
        load_document(user=maria, text=text("small", 10))
    with assert_queries(12):
        load_document(user=maria, text=text("large", 300))


def refused(words: str):  # type: ignore[no-untyped-def]
    return pytest.raises(IntegrityError, match=words)


@pytest.mark.parametrize("state", ["published", "retired"])
def test_the_database_refuses_every_change_of_what_was_published(maria: User, state: str) -> None:
    first = published(maria, FIRST)
    version = publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND))
    if state == "retired":
        retire_version(user=maria, version=version)
    rows = TaxonomyVersion.objects.filter(pk=version.pk)
    dimensions = Dimension.objects.filter(version=version)
    categories = Category.objects.filter(dimension__version=version)
    changes = CategoryChange.objects.filter(version=version)
    draft = new_draft(user=maria, taxonomy=first.taxonomy, text=FIRST)
    attempts = [
        lambda: rows.update(note="x"),
        lambda: rows.update(state="draft", published_at=None),
        lambda: rows.update(state="retired", retired_at=timezone.now(), title="x"),
        lambda: rows.update(revision=9),
        lambda: rows.update(edited_by=None),
        lambda: rows.update(retired_at=timezone.now()),
        lambda: rows.update(retired_by=maria),
        lambda: rows.update(taxonomy=None),
        lambda: rows._raw_delete("default"),
        lambda: dimensions.update(title="x"),
        lambda: dimensions._raw_delete("default"),
        lambda: Dimension.objects.create(version=version, key="x", title="X", kind="text", position=9),
        lambda: Dimension.objects.filter(version=draft).update(version=version, key="y"),
        lambda: categories.filter(key="oom").update(name="x"),
        lambda: categories.filter(key="oom")._raw_delete("default"),
        lambda: Category.objects.create(dimension=dimensions.get(), key="x", name="X", position=9),
        lambda: changes.update(kind="kept"),
        lambda: changes._raw_delete("default"),
        lambda: CategoryChange.objects.create(version=version, kind="added", new=categories.get(key="slow")),
    ]
    for attempt in attempts:
        with refused(f"is {state} and cannot be changed"), transaction.atomic():
            attempt()
    assert queries.document(version) == load(SECOND)


def test_a_published_version_is_retired_once_with_who_and_when(maria: User) -> None:
    first = published(maria, FIRST)
    draft = new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND)
    with pytest.raises(TaxonomyConflict, match="is draft. Only a published version can be retired"):
        retire_version(user=maria, version=draft)
    retire_version(user=maria, version=first)
    first.refresh_from_db()
    assert (first.state, first.retired_by, first.retired_at is not None) == ("retired", maria, True)
    with pytest.raises(TaxonomyConflict, match="is retired"):
        retire_version(user=maria, version=first)
    rows = TaxonomyVersion.objects.filter(pk=first.pk)
    for back in ({"state": "published"}, {"state": "published", "retired_at": None}, {"retired_at": timezone.now()}):
        with refused("is retired"), transaction.atomic():
            rows.update(**back)


def test_the_database_gives_a_time_of_retirement_to_the_retired_alone(maria: User) -> None:
    draft = load_document(user=maria, text=FIRST)
    rows = TaxonomyVersion.objects.filter(pk=draft.pk)
    with refused("only_a_retired_version_has_a_time_of_retirement"), transaction.atomic():
        rows.update(retired_at=timezone.now())
    publish_version(user=maria, version=draft)
    with refused("only_a_retired_version_has_a_time_of_retirement"), transaction.atomic():
        rows.update(state="retired")


def test_a_draft_whose_parent_is_retired_goes_on_from_it(maria: User) -> None:
    first = published(maria, FIRST)
    second = publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND))
    third = new_draft(user=maria, taxonomy=first.taxonomy, text=THIRD)
    retire_version(user=maria, version=second)
    assert publish_version(user=maria, version=third).parent == second
    assert "stop → halt: renamed" in changes(third)


def test_each_write_of_a_draft_is_a_revision_with_who_and_when(maria: User) -> None:
    otto = User.objects.create_user("otto")
    draft = load_document(user=maria, text=FIRST)
    draft.taxonomy.maintainers.add(otto)
    assert (draft.revision, draft.edited_by, draft.edited_at is not None) == (1, maria, True)
    replace_draft(user=otto, version=draft, text=THIRD.replace(", was: [stop]", ""), expected=1)
    draft.refresh_from_db()
    assert (draft.revision, draft.edited_by, draft.created_by) == (2, otto, maria)
    replace_draft(user=maria, version=draft, text=FIRST)
    draft.refresh_from_db()
    assert (draft.revision, draft.edited_by) == (3, maria)


def test_who_read_an_older_revision_overwrites_nothing(maria: User) -> None:
    otto = User.objects.create_user("otto", first_name="Otto", last_name="O.")
    draft = load_document(user=maria, text=FIRST)
    draft.taxonomy.maintainers.add(otto)
    replace_draft(user=otto, version=draft, text=FIRST.replace("Slow", "Sluggish"), expected=1)
    with pytest.raises(
        StaleDraft, match="Otto O. \\(otto\\) saved version 1 after you opened it \\(revision 2; you have revision 1\\)"
    ) as caught:
        replace_draft(user=maria, version=draft, text=FIRST, expected=1)
    draft.refresh_from_db()
    assert caught.value.newer == {"revision": 2, "edited_by": "otto", "edited_at": draft.edited_at}
    assert (caught.value.status, caught.value.code) == (409, "stale")
    assert Category.objects.filter(name="Sluggish").exists()
    with pytest.raises(StaleDraft):
        discard_draft(user=maria, version=draft, expected=1)


def test_a_draft_starts_as_the_newest_published_version_without_its_was(maria: User) -> None:
    first = load_document(user=maria, text=FIRST)
    with pytest.raises(TaxonomyConflict, match="no published version to start from"):
        start_draft(user=maria, taxonomy=first.taxonomy)
    publish_version(user=maria, version=first)
    second = publish_version(user=maria, version=new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND))
    third = start_draft(user=maria, taxonomy=first.taxonomy)
    assert (third.number, third.parent, third.state, third.revision) == (3, second, "draft", 1)
    assert (third.created_by, third.edited_by) == (maria, maria)
    assert queries.document(third) == schema.without_was(load(SECOND))
    assert {change.kind for change in third.changes.all()} == {"kept"}
    assert start_draft(user=maria, taxonomy=first.taxonomy).number == 4


def test_a_discarded_draft_is_gone_and_its_number_is_not_used_again(maria: User) -> None:
    first = published(maria, FIRST)
    draft = new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND)
    discard_draft(user=maria, version=draft)
    assert not Category.objects.filter(key="stop").exists()
    for again in (
        lambda: discard_draft(user=maria, version=draft),
        lambda: replace_draft(user=maria, version=draft, text=FIRST),
    ):
        with pytest.raises(TaxonomyNotFound, match="Version 2 was discarded"):
            again()
    assert start_draft(user=maria, taxonomy=first.taxonomy).number == 3
    with pytest.raises(TaxonomyConflict, match="is published and can't be discarded"):
        discard_draft(user=maria, version=first)


def test_with_its_only_draft_a_taxonomy_goes_and_its_slug_is_free(maria: User) -> None:
    discard_draft(user=maria, version=load_document(user=maria, text=FIRST))
    assert not Taxonomy.objects.exists()
    assert load_document(user=maria, text=FIRST).number == 1


def test_a_parent_of_another_dimension_is_refused_by_the_database(maria: User) -> None:
    version = load_document(user=maria, text=WHOLE)
    fault = Category.objects.get(dimension__version=version, key="fault")
    with refused("a_parent_is_of_the_same_dimension"), transaction.atomic():
        Category.objects.filter(key="communication-setup-hang").update(parent=fault)
        with transaction.get_connection().cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def test_siblings_at_the_root_have_different_names_in_the_database(maria: User) -> None:
    version = load_document(user=maria, text=FIRST)
    with refused("siblings_have_different_names"), transaction.atomic():
        Category.objects.create(dimension=version.dimensions.get(), key="x", name="Hang", position=9)


def test_the_same_document_adds_nothing(maria: User) -> None:
    first, is_new = add_document(user=maria, text=FIRST)
    assert is_new
    assert add_document(user=maria, text=FIRST) == (first, False)
    publish_version(user=maria, version=first)
    second, is_new = add_document(user=maria, text=SECOND)
    assert (second.number, is_new) == (2, True)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def test_a_file_is_loaded_and_dumped_in_the_shell(maria: User, tmp_path: Path) -> None:
    path = tmp_path / "training faults.yaml"
    path.write_text(WHOLE)
    assert run("load_taxonomy", str(path), "--user", "maria", "--publish") == "training-faults version 1 (published)\n"
    assert json.loads(run("load_taxonomy", str(path), "--json")) == {
        "slug": "training-faults",
        "version": 1,
        "state": "published",
        "new": False,
    }
    path.write_text(WHOLE.replace("Why", "Why so"))
    assert run("load_taxonomy", str(path)) == "training-faults version 2 (draft)\n"
    assert run("dump_taxonomy", "training-faults", "--version", "1") == schema.dump(load(WHOLE))
    assert load(run("dump_taxonomy", "training-faults")).dimensions[3].title == "Why so"
    assert json.loads(run("dump_taxonomy", "training-faults", "--version", "1", "--json")) == schema.plain(load(WHOLE))
    said = run("dump_taxonomy", "training-faults", "--diff", "1")
    assert "version 1 to version 2\n" in said
    assert "- Title: Why → Why so\n" in said


def test_a_ready_made_taxonomy_is_loaded_by_name_even_where_nobody_is_yet() -> None:
    name = presets()[0].name
    assert run("load_taxonomy", name).startswith(presets()[0].document.slug)
    assert TaxonomyVersion.objects.get().created_by is None


def test_a_file_is_no_draft_of_others_who_had_its_id_first_unless_they_are_named(tmp_path: Path) -> None:
    eve, sam = User.objects.create_user("eve"), User.objects.create_user("sam", is_staff=True)
    path = tmp_path / "lab.yaml"
    path.write_text(WHOLE)
    load_document(user=eve, text=FIRST.replace(f"slug: {load(FIRST).slug}", f"slug: {load(WHOLE).slug}"))
    with pytest.raises(CommandError, match=r"its maintainers \(eve\) would read this file"):
        run("load_taxonomy", str(path))
    with pytest.raises(CommandError, match=r"its maintainers \(eve\) would read this file"):
        run("load_taxonomy", str(path), "--user", "sam")
    assert TaxonomyVersion.objects.count() == 1
    run("load_taxonomy", str(path), "--user", "eve")
    assert TaxonomyVersion.objects.count() == 2
    Taxonomy.objects.get().maintainers.add(sam)
    path.write_text(WHOLE.replace("Why", "Why so"))
    assert run("load_taxonomy", str(path)) == f"{load(WHOLE).slug} version 3 (draft)\n"


def test_the_shell_says_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("slug: s\ntitle: T\ndimensions: []\nnotes: x\n")
    for arguments, words in [
        (["load_taxonomy", str(path)], "Line 4, column 1: A taxonomy has no field “notes”"),
        (["load_taxonomy", "liu"], "neither a file nor a ready-made taxonomy"),
        (["load_taxonomy", presets()[0].name, "--user", "nobody"], "nobody"),
        (["dump_taxonomy", "nothing"], "taxonomy nothing not found"),
        (["dump_taxonomy", "nothing", "--diff", "1"], "taxonomy nothing not found"),
    ]:
        with pytest.raises(CommandError, match=words):
            run(*arguments)


@pytest.mark.django_db(transaction=True)
def test_nothing_slips_into_a_version_while_it_is_being_published(maria: User) -> None:
    version = load_document(user=maria, text=FIRST)
    dimension_id = version.dimensions.get().pk
    other = connection.copy()
    try:
        with transaction.atomic(), other.cursor() as cursor:
            publish_version(user=maria, version=version)
            cursor.execute("SET lock_timeout = '200ms'")
            with pytest.raises(OperationalError, match="lock timeout"):
                cursor.execute("UPDATE taxonomy_category SET name = 'x' WHERE dimension_id = %s", [dimension_id])
        with other.cursor() as cursor, refused("is published"):
            cursor.execute("UPDATE taxonomy_category SET name = 'x' WHERE dimension_id = %s", [dimension_id])
    finally:
        other.close()


@pytest.mark.django_db(transaction=True)
def test_of_two_who_write_a_draft_at_once_the_second_is_told(maria: User) -> None:
    draft = load_document(user=maria, text=FIRST)
    outcomes: list[object] = []

    def write() -> None:
        try:
            outcomes.append(replace_draft(user=maria, version=draft, text=FIRST, expected=1).revision)
        except StaleDraft as error:
            outcomes.append(error.newer["revision"])
        finally:
            connection.close()

    with transaction.atomic():
        replace_draft(user=maria, version=draft, text=FIRST.replace("Slow", "Sluggish"), expected=1)
        other = threading.Thread(target=write)
        other.start()
        wait_until_someone_waits_for_a_lock()
        assert outcomes == []
    other.join(timeout=30)
    assert outcomes == [2]
    draft.refresh_from_db()
    assert draft.revision == 2
    assert Category.objects.filter(name="Sluggish").count() == 1


def test_versions_of_two_branches_are_compared_through_what_both_came_from(maria: User) -> None:
    first = published(maria, FIRST)
    left = new_draft(user=maria, taxonomy=first.taxonomy, text=SECOND)
    right = new_draft(
        user=maria,
        taxonomy=first.taxonomy,
        text=dimension("- {key: stuck, name: Stuck, was: [hang]}", "- {key: slow, name: Slow}"),
    )
    with assert_queries(12):
        found = queries.compare_versions(left, right)
    assert found.is_followed
    assert {(change.old, change.new, change.kind) for change in found.changes} == {
        ("stop", "stuck", "renamed"),
        ("slow", "slow", "merged"),
        ("slower", "slow", "merged"),
        ("oom", None, "retired"),
    }


def test_versions_that_nothing_joins_are_compared_by_their_keys(maria: User) -> None:
    first = load_document(user=maria, text=FIRST)
    second = new_draft(user=maria, taxonomy=first.taxonomy, text=FIRST.replace("Hang", "Hangs"))
    found = queries.compare_versions(first, second)
    assert not found.is_followed
    assert {(change.old, change.kind) for change in found.changes} == {
        ("hang", "renamed"),
        ("crash", "kept"),
        ("slow", "kept"),
    }
