"""Lists of categories: what a person has in a spreadsheet, read as the tree of a dimension."""

import pytest

from taxonomy.category_lists import FIELD, read_categories
from taxonomy.errors import Invalid

HANG = {"key": "hang", "name": "Hang"}
BELOW = {"categories": [{"key": "stall", "name": "Stall"}]}
CLASHING = [
    {"key": "category-1", "name": "挂起"},
    {"key": "a-and-b", "name": "A & b"},
    {"key": "a-and-b-2", "name": "A and b!"},
]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hang\n\nNot, at all\n", [HANG, {"key": "not-at-all", "name": "Not, at all"}]),
        ("Hang\tIt stops.\nStall\t\tHang", [HANG | {"definition": "It stops.", **BELOW}]),
        (
            '\ufeffparent;name;definition\r\n;Hang;"It; stops"\r\nhang;Stall;',
            [HANG | {"definition": "It; stops", **BELOW}],
        ),
        ('Category,Description\nHang,"Two\nlines"', [HANG | {"definition": "Two lines"}]),
        ("挂起\nA & b\nA and b!", CLASHING),
    ],
)
def test_a_list_becomes_a_tree(text, found):
    assert read_categories(text) == found


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n", "one category on each line"),
        ("Hang\nhang", "Row 2: “hang” is there already"),
        ("name\tparent\nA\tB\nB\tA", "would be its own parent"),
        ("name,parent\nA,Nowhere", "Row 2: no row has the name of the parent “Nowhere”"),
        ("name,definition\n,text", "Row 2 has no name"),
    ],
)
def test_what_is_wrong_names_the_row(text, said):
    with pytest.raises(Invalid) as caught:
        read_categories(text)
    assert said in " ".join(caught.value.fields[FIELD])
