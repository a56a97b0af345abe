"""The ready-made taxonomies: the names of their studies and no others, fit to be labelled with, offered on one page."""

import csv
import json
import re
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from annotation.labeling.prompts import LONGEST_LIST, RESERVED
from annotation.models import Rating
from taxonomy.models import TaxonomyVersion
from taxonomy.ready_made import Preset, preset, presets
from taxonomy.schema import CategorySpec, DimensionSpec, key_of
from tests import builders as make
from tests.published import LIU
from tests.taxonomy.names_in_presets import NAMES

each_preset = pytest.mark.parametrize("name", sorted(NAMES))

JOINT_LABELS = {
    "fix batch size/data partition": ["fix batch size or data partition"],
    "fix data partition/batch size": ["fix batch size or data partition"],
    "fix batch size/data partition/learning rate": ["fix batch size or data partition", "fix learning rate"],
    "fix memory/core setting": ["fix memory or core setting"],
    "fix build/install configuration": ["fix build or install configuration"],
    "save single-device model/weights only": ["save single-device model or weights only"],
    "fix dependency installatiovn/version": ["fix dependency installation", "fix dependency version"],
}
"""Fix patterns of the data whose stroke does not stand between two whole patterns."""
SPELLINGS = {
    "hang & timeout": "hang and timeout",
    "unexpected intermediate results": "unexpected intermediate result",
    "unexpected parallelization & device": "unexpected parallelization",
    "scope / context issue": "scope or context issue",
    "compile model error (other)": "compile model error",
    "elastic": "elastic and fault tolerance",
    "fix dependency versions": "fix dependency version",
    "framework version": "fix framework version",
    "fix framework verion": "fix framework version",
    "fix batch size": "fix batch size or data partition",
    "fix model structure": "fix model construction",
    "change model structure": "fix model construction",
    "fix device assignemnt": "fix device assignment",
    "fix behaviour logic": "fix behavior logic",
    "fix tensor dtype": "fix data type",
    "fix tensor intialization api usage": "fix tensor initialization api usage",
    "fix logger config": "fix logger configuration",
}
"""Spellings that are another label's: typing errors, short forms, and what the preset's note says is folded."""


def walk(found: Preset) -> Iterator[tuple[DimensionSpec, CategorySpec, tuple[CategorySpec, ...]]]:
    for dimension in found.document.dimensions:
        for category, above in dimension.walk():
            yield dimension, category, above


def outline(found: Preset) -> str:
    """The names as `names_in_presets` has them."""
    lines = []
    for dimension in found.document.dimensions:
        lines.append(f"{dimension.key} {dimension.kind}")
        for category, above in dimension.walk():
            lines.append("  " * (len(above) + 1) + category.name + ("" if category.selectable else " *"))
    return "\n".join(lines)


@each_preset
def test_a_preset_has_just_the_names_of_its_source(name: str) -> None:
    assert outline(preset(name)) == NAMES[name].strip("\n")


def test_every_preset_is_held_against_a_source_and_is_named_as_its_file() -> None:
    assert {each.name for each in presets()} == set(NAMES)
    assert all(each.name == each.document.slug for each in presets())


@each_preset
def test_what_can_be_chosen_is_defined_and_every_question_is_put(name: str) -> None:
    undefined = [category.key for _, category, _ in walk(preset(name)) if not category.definition]
    assert undefined == []
    assert [dimension.key for dimension in preset(name).document.dimensions if not dimension.help] == []


@each_preset
def test_no_two_categories_of_a_dimension_are_defined_alike(name: str) -> None:
    seen: dict[tuple[str, str], str] = {}
    for dimension, category, _ in walk(preset(name)):
        said = (dimension.key, " ".join(category.definition.casefold().split()))
        assert said not in seen, f"{category.key} and {seen[said]} have one definition"
        seen[said] = category.key


@each_preset
def test_a_rule_that_says_where_something_goes_names_a_category_there_is(name: str) -> None:
    for dimension, category, above in walk(preset(name)):
        for rule in category.exclude:
            _, colon, target = rule.rpartition(": ")
            assert colon, f"{category.key} does not say where this goes: {rule}"
            if target[0].islower() and target not in {each.name for each, _ in dimension.walk()}:
                continue  # “that symptom”, “propose a category”: said in words
            root = above[0].key if above else category.key
            for goes_to in re.split(r" or (?=[A-Z])|, (?!under )", target):
                assert_named(dimension, root, goes_to, f"{dimension.key}/{category.key}: {rule}")


def assert_named(dimension: DimensionSpec, root: str, target: str, words: str) -> None:
    """“Name” or “Name, under Another”; a name that stands in several places says under which, or is near."""
    target, _, under = target.partition(", under ")
    found = [(each, above) for each, above in dimension.walk() if each.name == target]
    if under:
        ends = under.split(" or ")
        found = [(each, above) for each, above in found if any(one.name in ends for one in above)]
        assert len(found) == len(ends), words
    elif len(found) > 1:
        found = [(each, above) for each, above in found if above[0].key == root]
        assert len(found) == 1, words
    assert found, words


@each_preset
def test_shortcuts_mean_one_thing_wherever_one_is(name: str) -> None:
    found = preset(name)
    given = [category.shortcut for _, category, _ in walk(found) if category.shortcut]
    assert len(given) == len(set(given))
    taken = set(RESERVED)
    if any(dimension.kind == "boolean" for dimension in found.document.dimensions):
        taken |= {"y", "n"}
    assert not taken & set(given)
    assert all(letter.isascii() and letter.islower() for letter in given)
    for dimension in found.document.dimensions:
        choices = [category for category, _ in dimension.walk() if category.selectable]
        is_listed = len(choices) <= LONGEST_LIST
        assert all(bool(category.shortcut) == is_listed for category in choices), dimension.key


def test_a_partial_preset_says_so_first_and_says_totals_and_where_the_rest_is() -> None:
    assert {each.name for each in presets() if each.is_partial} == {"ma-2025", "yu-2025"}
    said = {
        "ma-2025": ["849 issues", "34 symptoms", "28 root causes", "6 fix patterns", "45.1 %", "arXiv 2512.20345"],
        "yu-2025": ["308 closed bug issues", "DeepSpeed 168", "Megatron-LM 9", "Colossal-AI 131", "48 %", "2506.10426"],
    }
    for name, words in said.items():
        note = " ".join(preset(name).document.note.split())
        for word in [*words, "Missing:", "to be read in the paper", "Definitions, include and exclude rules are not"]:
            assert word in note, (name, word)
    for name in ("chen-2023", "liu-2023"):
        assert "complete" in preset(name).document.note
        assert "not from the study: they are written for Concord" in " ".join(preset(name).document.note.split())


# The labels of Liu et al. as they were typed


def rows(file: str) -> list[dict[str, str]]:
    with (LIU / file).open(encoding="utf-8-sig", newline="") as stream:
        return [{column: " ".join(value.split()) for column, value in row.items()} for row in csv.DictReader(stream)]


def plain(label: str) -> str:
    """A typed label as a key, after the spellings that are another's."""
    return key_of(SPELLINGS.get(label.casefold(), label.casefold()))


def patterns(typed: str) -> set[str]:
    """The fix patterns of a cell, as keys."""
    joint = JOINT_LABELS.get(typed.casefold())
    found: set[str] = set()
    for part in joint or re.split(r" & | / ", typed):
        found |= {plain(one) for one in ([part] if joint else JOINT_LABELS.get(part.casefold(), [part]))}
    return found


def paths(dimension: str) -> dict[tuple[str, ...], CategorySpec]:
    """The categories of a dimension of the preset by the names above them and their own, as keys."""
    (found,) = [each for each in preset("liu-2023").document.dimensions if each.key == dimension]
    return {tuple(key_of(each.name) for each in (*above, category)): category for category, above in found.walk()}


def test_every_symptom_of_the_data_of_liu_is_in_the_preset_and_no_other() -> None:
    faults = rows("final_faults.csv")
    assert len(faults) == 637
    there = paths("symptom")
    used = {
        tuple(plain(row[column]) for column in ("stage", "inner-category", "leaf category") if row[column])
        for row in faults
    }
    assert used == {path for path, category in there.items() if category.selectable}
    assert {path[0] for path in there} == {path[0] for path in used}
    assert len({path[0] for path in used}) == 4
    assert {row["distributed-specific"] for row in faults} == {"0", "1"}


def test_the_codebook_of_liu_says_the_same() -> None:
    book = json.loads((LIU / "codebook_faults_from_final.json").read_text(encoding="utf-8"))
    used = {
        tuple(plain(" ".join(label.split())) for label in (stage, inner, leaf) if label != "-")
        for stage, inners in book.items()
        for inner, leaves in inners.items()
        for leaf in leaves
    }
    assert used == {path for path, category in paths("symptom").items() if category.selectable}
    assert sum(n for inners in book.values() for leaves in inners.values() for n in leaves.values()) == 637


def test_every_fix_pattern_of_the_data_of_liu_is_in_the_preset_and_no_other() -> None:
    used = set().union(*(patterns(row["fix pattern"]) for row in rows("final_faults.csv")))
    assert used == {path[0] for path in paths("fix-pattern")}


def test_every_topic_of_the_data_of_liu_is_in_the_preset_and_no_other() -> None:
    questions = rows("final_howto_questions.csv")
    assert len(questions) == 494
    used = {tuple(plain(row[column]) for column in ("how-to topic", "sub-topic") if row[column]) for row in questions}
    assert used == {path for path, category in paths("howto-topic").items() if category.selectable}


# What one does with them


@pytest.mark.django_db
@each_preset
def test_each_is_loaded_by_name_in_the_shell(name: str) -> None:
    out = StringIO()
    call_command("load_taxonomy", name, "--publish", stdout=out)
    assert out.getvalue() == f"{name} version 1 (published)\n"
    assert TaxonomyVersion.objects.get().taxonomy.title == preset(name).document.title


def answers(found: Preset) -> dict[str, Any]:
    """The first answer to every question that is required, where it applies."""
    given: dict[str, Any] = {}
    for dimension in found.document.dimensions:
        when = dimension.applies_when
        if dimension.required and (not when or set(when.values) & set(given.get(when.dimension, []))):
            first = [category.key for category, _ in dimension.walk() if category.selectable][:1]
            given[dimension.key] = first if dimension.categories else True
    return given


@pytest.mark.django_db
@each_preset
def test_a_study_is_made_with_each_and_labeled(name: str) -> None:
    round_ = make.open_round(make.study(text=preset(name).text), 1)
    client = Client()
    client.force_login(make.user("bob"))
    page = client.get(f"/studies/study/rounds/{round_.number}/label/")
    assert page.status_code == 200
    for dimension in preset(name).document.dimensions:
        assert dimension.title in page.content.decode()
    given = answers(preset(name))
    make.submit(round_, "bob", 1, given)
    assert set(given) <= set(Rating.objects.values_list("dimension__key", flat=True))


@pytest.mark.django_db
def test_the_page_offers_each_with_its_counts_its_note_folded_and_whether_it_is_partial() -> None:
    client = Client()
    client.force_login(User.objects.create_user("maria"))
    page = client.get("/taxonomies/").content.decode()
    places = [page.index(each.document.title) for each in presets()]
    for each, start, end in zip(presets(), places, [*places[1:], len(page)], strict=True):
        row = page[start:end].partition("</li>")[0]
        assert f"{each.n_dimensions} dimensions, {each.n_categories} categories" in row
        assert ('<span class="tag">partial</span>' in row) is each.is_partial
        folded = row[row.index('<details class="fold"><summary>') : row.index("</details>")]
        assert "written for Concord" in folded
        assert ("what is missing" in folded) is each.is_partial
        assert folded.count("<p>") == len(each.document.note.split("\n\n")) > 1
