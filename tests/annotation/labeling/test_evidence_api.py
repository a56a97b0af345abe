"""Evidence over REST: given with an answer, read by key, by who may read the ratings, and blind like them."""

import csv
import io
import json

import pytest
from django.test import Client

from accounts.actions import make_token
from annotation.members.actions import members
from annotation.models import Round
from tests import builders as make

pytestmark = pytest.mark.django_db

QUOTE = {"dimension": "symptom", "category": "hang", "where": "body", "quote": "hangs after", "before": "Training "}


@pytest.fixture
def round_() -> Round:
    return make.open_round(make.study(), 2)


def get(name: str, rest: str = "") -> tuple[int, dict[str, object]]:
    _, token = make_token(user=make.user(name), name="test", scope="read")
    answer = Client().get(f"/api/v1/studies/study/evidence/{rest}", HTTP_AUTHORIZATION=f"Bearer {token}")
    return answer.status_code, answer.json()


def quotes(name: str, rest: str = "") -> list[tuple[str, str]]:
    status, answer = get(name, rest)
    assert status == 200
    rows = answer["results"]
    assert isinstance(rows, list)
    return [(row["rater"], row["item"]) for row in rows]


def give(round_: Round) -> None:
    for name in ("bob", "carol"):
        make.submit(round_, name, 1, {"symptom": ["hang"]}, evidence=[QUOTE])


def test_a_row_says_where_the_quote_stands_in_which_snapshot(round_: Round) -> None:
    give(round_)
    _, answer = get("bob")
    item = make.assignment(round_, "bob", 1).item
    assert item.snapshot is not None
    assert answer == {
        "results": [
            {
                "item": "acme/rocket#1",
                "part": 1,
                "round": 1,
                "rater": "R1",
                "dimension": "symptom",
                "category": "hang",
                "where": "body",
                "comment": None,
                "start": 11,
                "end": 24,
                "quote": "hangs after",
                "snapshot": item.snapshot.sha256,
                "revision": "blind",
            }
        ],
        "next": None,
    }


def test_the_ladder(round_: Round) -> None:
    give(round_)
    both = [("R1", "acme/rocket#1"), ("R2", "acme/rocket#1")]
    assert quotes("olga") == quotes("ada") == both
    assert quotes("rea") == []
    assert quotes("bob") == both[:1]
    assert get("mallory")[0] == 404
    assert Client().get("/api/v1/studies/study/evidence/").status_code == 401
    assert get("olga", "?round=7")[0] == get("olga", "?format=xls")[0] == 422
    assert get("olga", "?cursor=nonsense")[0] == 400


def test_whoever_rates_in_an_open_round_sees_only_their_own_quotes_of_it_whatever_their_role(round_: Round) -> None:
    study = round_.study
    members.add_member(seat=make.owner_seat(study), username="bob", roles=["rater", "adjudicator"])
    give(round_)
    assert quotes("bob") == [("R1", "acme/rocket#1")]
    for name in ("bob", "carol"):
        make.submit(round_, name, 2, {"symptom": ["slow"]})
    assert quotes("bob") == [("R1", "acme/rocket#1"), ("R2", "acme/rocket#1")]


def test_it_is_narrowed_paged_by_key_and_written_as_a_file(round_: Round) -> None:
    give(round_)
    assert quotes("olga", "?rater=R2") == [("R2", "acme/rocket#1")]
    assert get("olga", "?dimension=nothing")[0] == 422 and len(quotes("olga", "?round=1&dimension=symptom")) == 2
    _, page = get("olga", "?page_size=1")
    following = str(page["next"]).partition("evidence/")[2]
    assert quotes("olga", following) == [("R2", "acme/rocket#1")] and get("olga", following)[1]["next"] is None
    _, token = make_token(user=make.user("olga"), name="files", scope="read")
    for format in ("csv", "jsonl"):
        address = f"/api/v1/studies/study/evidence/?format={format}"
        answer = Client().get(address, HTTP_AUTHORIZATION=f"Bearer {token}")
        text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
        rows = list(csv.DictReader(io.StringIO(text))) if format == "csv" else list(map(json.loads, text.splitlines()))
        assert [(row["rater"], row["quote"]) for row in rows] == [("R1", "hangs after"), ("R2", "hangs after")]


def test_a_revision_takes_the_place_of_the_one_before_it(round_: Round) -> None:
    give(round_)
    make.submit(round_, "bob", 1, {"symptom": ["hang"]}, evidence=[QUOTE | {"quote": "Training"}])
    _, answer = get("olga", "?rater=R1")
    rows = answer["results"]
    assert isinstance(rows, list) and [row["quote"] for row in rows] == ["Training"]
