"""Which questions are asked under which answers, and what a typed name can mean."""

import pytest

from taxonomy.schema import AppliesWhen
from taxonomy.tree import TreeDimension, VersionTree, grown


def dimension(key: str, kind: str, condition: AppliesWhen | None = None, *paths: str) -> TreeDimension:
    """A dimension whose categories are given by their keys from the root: `training/hang`."""
    ids = {path: number for number, path in enumerate(paths, start=1)}
    rows = [
        (ids[path], ids.get(path.rpartition("/")[0]), path.rpartition("/")[2], path.rpartition("/")[2].title(), {})
        for path in paths
    ]
    return TreeDimension(1, key, key.title(), kind, True, condition, "", 0, grown(rows))


KIND = dimension("kind", "single", None, "fault", "fault/setup", "fault/setup/hang", "question")
TREE = VersionTree(
    1,
    "s",
    1,
    "S",
    "",
    (
        KIND,
        dimension("fixes", "multi", AppliesWhen("kind", ("fault",)), "code", "config"),
        dimension("lines", "number", AppliesWhen("fixes", ("code",))),
        dimension("distributed", "boolean", AppliesWhen("kind", ("setup", "question"))),
        dimension("why", "text", AppliesWhen("distributed", (False,))),
    ),
)


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({}, "kind"),
        ({"kind": None}, "kind"),
        ({"kind": []}, "kind"),
        ({"kind": ["fault"]}, "kind fixes"),
        ({"kind": {"hang"}}, "kind fixes distributed"),
        ({"kind": "hang"}, "kind fixes distributed"),
        ({"kind": ["question"]}, "kind distributed"),
        ({"kind": ["fault"], "fixes": []}, "kind fixes"),
        ({"kind": ["fault"], "fixes": ["config", "code"]}, "kind fixes lines"),
        ({"kind": ["question"], "fixes": ["code"]}, "kind distributed"),
        ({"kind": ["question"], "distributed": False}, "kind distributed why"),
        ({"kind": ["question"], "distributed": True}, "kind distributed"),
        ({"kind": ["fault"], "distributed": False}, "kind fixes"),
        ({"kind": ["nonsense"]}, "kind"),
        ({"kind": 3}, "kind"),
    ],
)
def test_a_dimension_is_asked_only_where_it_applies(answers: dict, asked: str) -> None:  # type: ignore[type-arg]
    assert [each.key for each in TREE.applicable(answers)] == asked.split()


def test_a_dimension_of_another_version_is_no_dimension() -> None:
    with pytest.raises(KeyError):
        TREE.applies("stage", {})


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("hang", ["hang"]),
        ("  HANG ", ["hang"]),
        ("Fault / Setup  / hang", ["hang"]),
        ("setup / hang", []),
        ("hung", []),
        ("", []),
    ],
)
def test_a_category_is_found_by_key_name_or_path(text: str, keys: list[str]) -> None:
    assert [category.key for category in KIND.find(text)] == keys


def test_an_ambiguous_name_is_found_with_all_it_can_mean() -> None:
    rows = [
        (1, None, "a", "A", {}),
        (2, 1, "a-others", "Others", {}),
        (3, None, "b", "B", {}),
        (4, 3, "x", "Others", {}),
    ]
    found = TreeDimension(1, "d", "D", "single", True, None, "", 0, grown(rows))  # type: ignore[arg-type]
    assert [category.path for category in found.find("others")] == ["A / Others", "B / Others"]
    assert [category.key for category in found.find("b / others")] == ["x"]


def test_a_category_stands_for_all_below_it() -> None:
    assert KIND.below("fault") == {"fault", "setup", "hang"}
    assert KIND.below("hang") == {"hang"}
    assert KIND.by_key["hang"].keys == ("fault", "setup", "hang")
    assert KIND.by_key["hang"].path == "Fault / Setup / Hang"
    assert (KIND.by_key["hang"].level, KIND.by_key["hang"].parent) == (3, "setup")
    assert KIND.by_key["fault"].has_children
    assert not KIND.by_key["hang"].has_children
