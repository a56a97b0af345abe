"""Names that hide something, turn the text around them or pass for others are refused, by one rule everywhere."""

import pytest

from accounts import actions
from accounts.confirmation import Confirmation
from accounts.models import User
from annotation.imports.sheets.values import fold_value
from annotation.studies.actions.studies import change_study, create_study
from shared.errors import Conflict, Invalid
from shared.names import clean_name, wrong_in, wrong_in_user_name
from taxonomy.actions import load_document
from taxonomy.errors import InvalidDocument
from tests import builders as make

MISLEADING = {
    "right-to-left override": "Crash\u202egnaH",
    "isolate that is never closed": "Crash\u2067",
    "zero-width space": "Cra\u200bsh",
    "byte order mark": "\ufeffCrash",
    "soft hyphen": "Cra\u00adsh",
    "tag": "Crash\U000e0041",
    "word joiner": "Cra\u2060sh",
    "filler": "\u3164",
    "braille blank": "\u2800",
    "flood of marks": "Cra\u0301\u0302\u0303\u0304\u0305\u0306sh",
    "a joiner at its end": "Crash\u200d",
    "marks alone": "\u0301\u0302",
    "line separator": "Crash\u2028Hang",
    "new line": "Crash\nHang",
    "escape": "Crash\x1b[31m",
}
FINE = [
    "Crash", "Zoë", "Łódź", "王小明", "نرم\u200cافزار", "שָׁלוֹם", "👩\u200d💻 faults", "Hang & timeout <2 h>", "C++/CUDA",
    "ünï e\u0301",
]  # fmt: skip


@pytest.mark.parametrize("name", MISLEADING.values(), ids=MISLEADING.keys())
def test_a_name_that_misleads_is_wrong_everywhere(name: str) -> None:
    assert wrong_in(name)
    assert wrong_in_user_name(name)


@pytest.mark.parametrize("name", FINE)
def test_names_of_all_languages_are_fine(name: str) -> None:
    assert wrong_in(name) == ""


@pytest.mark.parametrize("name", ["аlice", "aliсe", "асе", "раураl", "οlga", "βοβ"])
def test_a_user_name_that_reads_like_another_is_refused(name: str) -> None:
    assert wrong_in_user_name(name)


def test_a_user_name_has_no_letter_that_the_database_takes_for_another() -> None:
    assert "İ" in wrong_in_user_name("İvan") and wrong_in_user_name("ivan") == wrong_in_user_name("ıvan") == ""


@pytest.mark.parametrize("name", ["alice", "мария", "ελένη", "josé", "王小明", "r1.bot+x@lab"])
def test_a_user_name_of_one_alphabet_is_fine(name: str) -> None:
    assert wrong_in_user_name(name) == ""


@pytest.mark.django_db
def test_user_names_are_one_whatever_their_normal_form() -> None:
    made, _ = actions.add_user(username="jos\u00e9")
    with pytest.raises(Conflict):
        actions.add_user(username="jose\u0301")
    wide, _ = actions.add_user(username="ｂｏｂ")
    assert (made.username, wide.username) == ("josé", "bob")


@pytest.mark.django_db
def test_people_studies_and_taxonomies_follow_the_rule() -> None:
    bad = MISLEADING["right-to-left override"]
    with pytest.raises(Invalid) as refused:
        actions.add_user(username="\u0430lice", full_name=bad)
    assert set(refused.value.fields) == {"username", "full_name"}
    user = User.objects.create_user("bob")
    with pytest.raises(Invalid, match="Choose another"):
        actions.rename_user(user=user, full_name=bad, email="", confirmation=Confirmation())
    study = make.study()
    for refuse in (
        lambda: create_study(user=study.created_by, slug="s2", title=bad, taxonomy="symptoms"),
        lambda: change_study(seat=make.owner_seat(study), changes={"title": bad}),
    ):
        with pytest.raises(Invalid) as refused:
            refuse()
        assert "U+202E (right-to-left override)" in refused.value.fields["title"][0]
    with pytest.raises(InvalidDocument) as wrong:
        load_document(
            user=user, text=make.SYMPTOMS.replace("name: Hang", f'name: "{bad}"').replace("symptoms", "other")
        )
    (problem,) = wrong.value.problems
    assert ("U+202E" in problem.sentence, problem.line) == (True, 10)


def test_a_sheet_is_read_without_what_cannot_be_seen() -> None:
    assert clean_name("\ufeff Hang\u200b \u00a0and\n timeout\u202e ") == "Hang and timeout"
    assert fold_value("cra\u200bsh") == fold_value(" CRASH\u00ad")
