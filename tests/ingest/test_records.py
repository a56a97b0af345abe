"""The hash of a content stays what it was: otherwise every issue would seem changed at the next fetch."""

import json
from datetime import UTC, datetime
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from ingest.records import CommentRecord, IssueRecord, digest, storable

WORDS = st.text(max_size=40).map(storable)
PART = st.one_of(WORDS, st.none(), st.integers(0, 2**63 - 1), st.lists(WORDS, max_size=3))


@given(st.lists(PART, max_size=8))
def test_a_content_is_hashed_as_json_without_blanks(parts):
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    assert digest(parts) == sha256(text.encode()).hexdigest()


def test_the_hash_of_an_issue_is_the_same_in_every_release():
    comment = CommentRecord("bob", 7, "Seen “here”,\ttoo.\x1f\x7f", datetime(2024, 5, 1, tzinfo=UTC), 11)
    issue = IssueRecord(
        host="github.com",
        owner="o",
        name="r",
        number=1,
        title="It hangs 🧨",
        body='a\\b "c"\r\n/',
        state="closed",
        state_reason="completed",
        github_labels=("b", "a"),
        author_id=5,
        comments=(comment,),
    )
    assert comment.sha256 == "0152d29046feb37f0166ad2409671819975422ef0df7925dd4988526e855be1a"
    assert issue.sha256 == "6c696a40e39ee2269073c6606946a9ac861dd24133f713beb8f74c1905ae7a68"
