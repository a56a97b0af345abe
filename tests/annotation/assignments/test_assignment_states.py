"""Assignments change their state in one module; no SQL elsewhere spells a state, and one module reads their kind."""

import re

import pytest

from annotation.models import Assignment, Item, Membership
from annotation.models.assignment_kinds import (
    CONSENSUS_RATERS,
    EXTRA_RATERS,
    OPENING_RATERS,
    RATERS,
    THIRD_RATERS,
    is_extra_sql,
    is_rater_sql,
)
from tests import builders as make
from tests.conftest import BASE_DIR

OWN = {
    "annotation/assignments/actions/states_and_leases.py",
    "annotation/models/labeling.py",
    "annotation/models/assignment_kinds.py",
    "annotation/package/recompute.py",
}
FILES = {
    str(path.relative_to(BASE_DIR)): path.read_text()
    for path in sorted((BASE_DIR / "annotation").rglob("*.py"))
    if "migrations" not in path.parts
}
SPELLED = re.compile(rf"state\b[^\n]{{0,30}}'({'|'.join(Assignment.State.values)})'", re.IGNORECASE)
SLOTLESS = re.compile(
    r"slot__isnull|\bslot=None|\bslot (is|==|!=) (not )?None|\bslot IS (NOT )?NULL|coalesce\(\w*\.?slot\b"
    r"|\b(Count|F|IsNull)\(\"slot\"\)|\[\"slot\"\] *[<>=!]|not \w+\.slot\b",
    re.IGNORECASE,
)
WRITTEN = re.compile(r"\.state = Assignment\.State|\"state\": Assignment\.State|update\([^)]*\bstate=Assignment\.State")


@pytest.mark.parametrize(
    ("word", "pattern"),
    [("state", SPELLED), ("state", WRITTEN), ("slot", SLOTLESS)],
    ids=["spells a state in SQL", "writes a state", "asks whether a slot is null"],
)
def test_no_other_module(word: str, pattern: re.Pattern[str]) -> None:
    assert pattern.search(
        FILES["annotation/assignments/actions/states_and_leases.py"]
        + " state = 'leased' row.state = Assignment.State.LEASED each.slot is None"
    )
    others = {name: text for name, text in FILES.items() if name not in OWN and word in text}
    assert [name for name, text in others.items() if pattern.search(text)] == []


@pytest.mark.django_db
def test_python_querysets_and_sql_read_the_same_kind() -> None:
    study = make.study(raters=("bob", "carol", "dave", "llm"))
    round_, kind = make.open_round(study, 1), Assignment.Kind
    for name in ("dave", "llm"):
        Assignment.objects.create(round=round_, item=Item.objects.get(), rater=make.member(study, name), position=1)
    # carol is a model rater that a round of an older release gave a slot
    Membership.objects.filter(user__username__in=("carol", "llm")).update(kind=Membership.Kind.MACHINE)
    rows = Assignment.objects.select_related("rater__user")
    kinds = {each.rater.user_name: each.kind for each in rows}
    assert kinds == {"bob": kind.RATER, "carol": kind.RATER, "dave": kind.THIRD, "llm": kind.MODEL}
    for condition, read in (
        (RATERS, {kind.RATER}),
        (EXTRA_RATERS, {kind.THIRD, kind.MODEL}),
        (THIRD_RATERS, {kind.THIRD}),
        (CONSENSUS_RATERS, {kind.RATER, kind.THIRD}),
    ):
        assert {each.kind for each in rows.filter(condition)} == read, condition
    assert {each.rater.user_name for each in rows.filter(OPENING_RATERS)} == {"bob", "carol", "llm"}
    for condition, sql in ((RATERS, is_rater_sql("a")), (EXTRA_RATERS, is_extra_sql("a"))):
        found = Assignment.objects.raw(f"SELECT a.* FROM annotation_assignment a WHERE {sql}")
        assert {each.pk for each in found} == {each.pk for each in rows.filter(condition)}
