"""Who wrote an issue can't be told from what leaves a study, and the same person keeps one name."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.labels.pseudonyms import Pseudonyms

names = Pseudonyms("a key")


def test_a_person_has_one_name_whatever_the_case():
    assert names.name("Alice") == names.name("alice") != names.name("bob")


def test_another_study_names_a_person_otherwise():
    assert names.name("alice") != Pseudonyms("another key").name("alice")


def test_nobody_stays_nobody():
    assert names.name("") == ""


def test_an_app_can_be_told_from_a_person():
    assert names.name("dependabot[bot]").endswith("[bot]")


@pytest.mark.parametrize(
    "text",
    [
        "@alice please look",
        "cc @Alice, @alice-smith.",
        "(@alice)",
        "alice@example.org wrote",
        "Signed-off-by: Alice Smith <alice@example.org>",
        "  Co-authored-by: Alice <1+alice@users.noreply.github.com>",
        "see https://github.com/alice for more",
        "> @alice said",
        "**@alice**",
        "@alice's patch",
        "On Tue, Jan 2, 2024 at 3:04 PM Alice Smith ***@***.***> wrote:",
        "> On 2 Jan 2024, at 15:04, Alice O'Smith-Li <alice@example.org> wrote:",
        "On Tue, 2 Jan 2024 15:04:05 +0100, Alice Smith wrote:",
        "Author: Alice Smith <alice@example.org>",
        "_@alice_ and __@alice__",
        ".@alice, -@alice",
        "@alice_acme",
        "@alice@mastodon.example",
        "https://video.example/@alice",
        "@alice/@bob",
        "thanks @alice.Will do",
        "See https://github.com/alice.",
        "https://github.com/alice/ and https://github.com/alice, too",
    ],
)
def test_people_in_a_text_are_replaced(text):
    assert "alice" not in names.text(text).lower()


@pytest.mark.parametrize(
    "text",
    [
        "`@torch.no_grad()` is missing",
        "```python\n@dataclass\nclass A: ...\n```",
        "git@github.com:o/r.git",
        "https://github.com/deepspeedai/DeepSpeed/issues/1",
        "@types/node 1.2",
        "a matrix product a @ b",
        "pip install torch@2.1.0",
        "NCCL 2.18.3, step 5 @ 3.2 s/it",
        "@torch.compile breaks",
        "https://github.com/torch/torch.git and https://github.com/torch.x",
        "On Tuesday at 15:04 the run hung and NCCL wrote: timeout",
        "std::vector <int> and Map <K@V>",
    ],
)
def test_what_is_no_person_stays(text):
    assert names.text(text) == text


def test_someone_who_wrote_in_the_thread_is_replaced_in_code_too():
    for text in ("```\n@alice: try it\n```", "`@alice`", "@alice/x", "@alice.x", "`x.@alice.y`"):
        assert "alice" not in names.text(text, ["Alice"]), text
    assert "@dataclass" in names.text("```\n@dataclass\n```", ["Alice"])


def test_a_mention_and_the_author_have_the_same_name():
    assert names.text("@Bob") == f"@{names.name('bob')}"


@given(st.text(alphabet="@`ab~-.\n <>/:", max_size=60))
def test_any_text_can_be_pseudonymized(text):
    assert isinstance(names.text(text, ["a"]), str)


def test_a_long_text_takes_no_time_to_speak_of():
    for hostile in (
        "@" * 100_000,
        "a." * 50_000 + "@",
        "`" * 100_000,
        "A-by:" * 20_000,
        "x@" + "a-" * 50_000,
        "Ab " * 100_000,
        "On 1:11" * 9_000,
    ):
        started_at = time.process_time()
        found = names.text(f"@bob {hostile}")
        assert time.process_time() - started_at < 1
        assert found.startswith(f"@{names.name('bob')} ")
