"""Lists of categories: what a person has in a spreadsheet, read as the tree of a dimension."""

import contextlib
import time

import pytest

from taxonomy.category_lists import FIELD, read_categories
from taxonomy.errors import Invalid

HANG = {"key": "hang", "name": "Hang"}
BELOW = {"categories": [{"key": "stall", "name": "Stall"}]}
CHAIN = "name,parent\nc0,\n" + "\n".join(f"c{number},c{number - 1}" for number in range(1, 5000))
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
        (CHAIN, "Row 32: “c30” is more than 30 levels deep"),
        (" \n", "one category on each line"),
        ("Hang\nhang", "Row 2: “hang” is there already"),
        ("name\tparent\nA\tB\nB\tA", "would be its own parent"),
        ("name,parent\nA,Nowhere", "Row 2: no row has the name of the parent “Nowhere”"),
        ("name,definition\n,text", "Row 2 has no name"),
        (f"name,definition\nA,{'a' * 140_000}", "A line is longer than 100,000 characters"),
        ("a" * 200_000, "A line is longer than 100,000 characters"),
        ('name,definition\nA,"' + f"{'a' * 90_000}\n" * 400, "Close every quotation mark"),
        ('name,definition\nA,"text\nB,text', "Close every quotation mark"),
    ],
)
def test_what_is_wrong_names_the_row(text, said):
    with pytest.raises(Invalid) as caught:
        read_categories(text)
    assert said in " ".join(caught.value.fields[FIELD])


@pytest.mark.parametrize(
    "text",
    [
        "name,parent\n" + "\n".join(f"c{number},c{(number + 1) % 6000}" for number in range(6000)),
        "\n".join("?" * (number % 50 + 1) + "!" * (number // 50) for number in range(6000)),
        "\n".join("A" + "?" * (number % 50) + "!" * (number // 50) for number in range(6000)),
    ],
)
def test_a_hostile_list_takes_no_longer_than_its_length_asks(text):
    began = time.process_time()
    with contextlib.suppress(Invalid):
        read_categories(text)
    assert time.process_time() - began < 1
