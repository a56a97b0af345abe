"""What becomes of categories from one version to the next, written as tables."""

import pytest

from shared.errors import Invalid
from taxonomy import comparison
from taxonomy.comparison import compare, compare_dimensions, compose, invert, sources
from taxonomy.schema import AppliesWhen, CategorySpec, DimensionSpec, Document


def taxonomy(*lines: str) -> Document:
    """A document from lines such as `  hang = Hang < old-key other : definition`; two blanks are one level."""
    roots: list[tuple[int, dict]] = []  # type: ignore[type-arg]
    top: list[dict] = []  # type: ignore[type-arg]
    for line in lines:
        level = (len(line) - len(line.lstrip())) // 2
        text, _, definition = line.strip().partition(" : ")
        text, _, was = text.partition(" < ")
        key, _, name = text.partition(" = ")
        made = {"key": key, "name": name or key, "definition": definition, "was": tuple(was.split()), "below": []}
        roots = [each for each in roots if each[0] < level]
        (roots[-1][1]["below"] if roots else top).append(made)
        roots.append((level, made))

    def spec(made: dict) -> CategorySpec:  # type: ignore[type-arg]
        below = tuple(spec(each) for each in made.pop("below"))
        return CategorySpec(**made, categories=below)

    dimension = DimensionSpec(key="d", title="D", kind="single", categories=tuple(spec(each) for each in top))
    return Document(slug="s", title="S", dimensions=(dimension,))


def told(old: Document, new: Document) -> set[str]:
    return {
        f"{change.old or '-'} → {change.new or '-'}: {' '.join((change.kind, *change.also))}"
        for change in compare(old, new)
    }


CASES = {
    "nothing": (["a", "b"], ["a", "b"], {"a → a: kept", "b → b: kept"}),
    "another order": (["a", "b"], ["b", "a"], {"a → a: kept", "b → b: kept"}),
    "another name": (["a = Hang"], ["a = Hangs"], {"a → a: renamed"}),
    "another key": (["a = A"], ["b = A < a"], {"a → b: renamed"}),
    "another definition": (["a : x"], ["a : y"], {"a → a: redefined"}),
    "name and definition": (["a = A : x"], ["a = B : y"], {"a → a: renamed redefined"}),
    "another parent": (["p", "  a", "q"], ["p", "q", "  a"], {"p → p: kept", "q → q: kept", "a → a: moved"}),
    "a parent with another key": (["p", "  a"], ["r < p", "  a"], {"p → r: renamed", "a → a: kept"}),
    "added": (["a"], ["a", "b"], {"a → a: kept", "- → b: added"}),
    "retired": (["a", "b"], ["a"], {"a → a: kept", "b → -: retired"}),
    "merged under a new key": (["a", "b"], ["c < a b"], {"a → c: merged renamed", "b → c: merged renamed"}),
    "merged into one that stays": (["a", "b"], ["a < a b"], {"a → a: merged", "b → a: merged renamed"}),
    "merged into one that is not named": (["a", "b"], ["a < b"], {"a → a: merged", "b → a: merged renamed"}),
    "split": (["a"], ["b < a", "c < a"], {"a → b: split renamed", "a → c: split renamed"}),
    "split off": (["a"], ["a", "b < a"], {"a → a: split", "a → b: split renamed"}),
    "exchanged": (["a", "b"], ["a < b", "b < a"], {"b → a: renamed", "a → b: renamed"}),
    "merged and split at once": (
        ["a", "b"],
        ["x < a b", "y < b"],
        {"a → x: merged renamed", "b → x: split renamed", "b → y: split renamed"},
    ),
    "a remainder of the version before": (["a < z"], ["a < z"], {"a → a: kept"}),
    "a remainder names one that is there again": (["a < b", "b"], ["a < b", "b"], {"a → a: kept", "b → b: kept"}),
}


@pytest.mark.parametrize(("old", "new", "expected"), CASES.values(), ids=CASES.keys())
def test_each_change_is_told_once_by_its_kind(old: list[str], new: list[str], expected: set[str]) -> None:
    assert told(taxonomy(*old), taxonomy(*new)) == expected


def test_every_category_of_both_versions_appears() -> None:
    old, new = taxonomy("a", "b", "  c", "d"), taxonomy("a", "e < b c", "f")
    changes = compare(old, new)
    assert {change.old for change in changes} - {None} == {"a", "b", "c", "d"}
    assert {change.new for change in changes} - {None} == {"a", "e", "f"}


def test_paths_are_names_from_the_root() -> None:
    (_, moved) = compare(taxonomy("p = Training", "  a = Hang"), taxonomy("a = Hang", "p = Training"))[::-1]
    assert moved.old_path == ("Training", "Hang")
    assert moved.new_path == ("Hang",)


def test_sources_can_be_followed_over_two_steps_and_back() -> None:
    first, second, third = taxonomy("a", "b"), taxonomy("c < a b"), taxonomy("e < c", "f")
    over_both = compose(sources(first, second), sources(second, third))
    assert over_both == {("d", "e"): ("a", "b"), ("d", "f"): ()}
    assert invert(over_both, first) == {("d", "a"): ("e",), ("d", "b"): ("e",)}
    backwards = compare(third, first, invert(over_both, first))
    assert {(change.old, change.new, change.kind) for change in backwards} == {
        ("e", "a", "split"),
        ("e", "b", "split"),
        ("f", None, "retired"),
    }


def test_a_merge_of_many_that_is_split_into_many_is_too_large_to_be_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "PAIRS_MAX", 6)
    first = taxonomy("a", "b", "c")
    merged = taxonomy("all = All < a b c")
    for names, is_followed in ("de", True), ("def", False):
        split = taxonomy(*(f"{name} = {name} < all" for name in names))
        two_steps = sources(first, merged), sources(merged, split)
        if is_followed:
            assert compose(*two_steps)["d", "e"] == ("a", "b", "c")
        else:
            with pytest.raises(Invalid, match="More than 6 pairs"):
                compose(*two_steps)


def test_a_dimension_that_goes_takes_its_categories_along() -> None:
    old = taxonomy("a", "b")
    new = Document(slug="s", title="S", dimensions=(DimensionSpec(key="t", title="T", kind="text"),))
    assert told(old, new) == {"a → -: retired", "b → -: retired"}
    assert [(change.kind, change.dimension) for change in compare_dimensions(old, new)] == [
        ("added", "t"),
        ("retired", "d"),
    ]


def test_a_dimension_tells_which_of_its_fields_changed() -> None:
    one = DimensionSpec(key="x", title="X", kind="text")
    other = DimensionSpec(key="x", title="Y", kind="text", required=False, applies_when=AppliesWhen("k", ("a",)))
    old, new = (Document(slug="s", title="S", dimensions=(each,)) for each in (one, other))
    (change,) = compare_dimensions(old, new)
    assert change == comparison.DimensionChange("changed", "x", ("title", "required", "applies_when"))


def test_examples_and_a_shortcut_alone_redefine_nothing_but_are_told() -> None:
    def with_(**fields: object) -> Document:
        spec = CategorySpec(key="a", name="A", **fields)  # type: ignore[arg-type]
        return Document(
            slug="s", title="S", dimensions=(DimensionSpec(key="d", title="D", kind="single", categories=(spec,)),)
        )

    (change,) = compare(with_(examples=("x",)), with_(examples=("y",), shortcut="a"))
    assert (change.kind, change.also, change.fields, change.is_seen) == ("kept", (), ("examples", "shortcut"), True)
    for field, value in [("definition", "x"), ("include", ("x",)), ("exclude", ("x",)), ("selectable", False)]:
        (change,) = compare(with_(), with_(**{field: value, "examples": ("y",)}))
        assert (change.kind, change.fields) == ("redefined", (field, "examples"))
    (change,) = compare(with_(), with_())
    assert (change.fields, change.is_seen) == ((), False)


def test_the_fields_that_differ_are_named_for_each_pair() -> None:
    changes = compare(taxonomy("a = A : x", "b = B : y"), taxonomy("c = C < a b : x"))
    assert [(change.old, change.fields) for change in changes] == [
        ("a", ("key", "name")),
        ("b", ("key", "name", "definition")),
    ]
