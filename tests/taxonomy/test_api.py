"""Taxonomies over REST: who gets what, and with which status."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from accounts.actions import make_token
from accounts.models import User
from shared.rate_limits import UNAVAILABLE_IDS
from taxonomy import schema
from taxonomy.api import BESIDE
from taxonomy.checking import load
from taxonomy.models import Taxonomy, TaxonomyVersion
from tests.asserts import assert_queries
from tests.taxonomy.test_documents import WHOLE
from tests.taxonomy.test_versions import FIRST, SECOND, THIRD

pytestmark = pytest.mark.django_db

ROOT = "/api/v1/taxonomies/"


class Caller:
    """A script with a token of one person."""

    def __init__(self, name: str, scope: str = "manage", *, staff: bool = False) -> None:
        user = User.objects.filter(username=name).first() or User.objects.create_user(name, is_staff=staff)
        self.headers = {"Authorization": f"Bearer {make_token(user=user, name='test', scope=scope)[1]}"}
        self.client = Client()

    def get(self, path: str = "") -> tuple[int, dict]:  # type: ignore[type-arg]
        answer = self.client.get(ROOT + path, headers=self.headers)
        return answer.status_code, answer.json()

    def send(  # type: ignore[type-arg]
        self, path: str = "", text: str | bytes = "", kind: str = "application/yaml", method: str = "POST"
    ) -> tuple[int, dict]:
        answer = self.client.generic(method, ROOT + path, text, content_type=kind, headers=self.headers)
        return answer.status_code, answer.json()

    def put(self, path: str, text: str) -> tuple[int, dict]:  # type: ignore[type-arg]
        return self.send(path, text, method="PUT")


@pytest.fixture
def maria() -> Caller:
    return Caller("maria")


@pytest.fixture
def otto() -> Caller:
    return Caller("otto")


def test_a_document_becomes_a_draft_and_comes_back_whole(maria: Caller) -> None:
    status, answer = maria.send(text=WHOLE)
    assert status == 201
    said = {name: answer.pop(name) for name in BESIDE}
    assert answer == schema.plain(load(WHOLE))
    assert said.pop("created_at") <= said.pop("edited_at")
    assert {name: value for name, value in said.items() if value is not None} == {
        "number": 1,
        "state": "draft",
        "revision": 1,
        "created_by": "maria",
        "edited_by": "maria",
    }
    status, answer = maria.get("training-faults/versions/1/")
    assert (status, answer["dimensions"][1]["categories"][0]["was"]) == (200, ["comm-setup"])


@pytest.mark.parametrize(
    "kind", ["application/yaml", "application/x-yaml", "text/yaml", "text/plain", "text/yaml; charset=utf-8"]
)
def test_yaml_is_taken_under_each_of_its_names(maria: Caller, kind: str) -> None:
    assert maria.send(text=WHOLE, kind=kind)[0] == 201


def test_json_and_an_uploaded_file_are_taken_too(maria: Caller) -> None:
    assert maria.send(text=json.dumps(schema.plain(load(WHOLE))), kind="application/json")[0] == 201
    file = SimpleUploadedFile("first.yaml", FIRST.encode())
    answer = maria.client.post(ROOT, {"file": file}, headers=maria.headers)
    assert (answer.status_code, answer.json()["slug"]) == (201, "s")


@pytest.mark.parametrize(
    ("text", "kind", "status", "code"),
    [
        ("slug: [", "application/yaml", 400, "unreadable_document"),
        ("", "application/yaml", 400, "unreadable"),
        ("\n", "application/json", 400, "unreadable_document"),
        ('{"slug":', "application/json", 400, "unreadable_document"),
        (b"\xff\xfe\x00", "text/yaml", 400, "unreadable_document"),
        ("x" * 2_000_001, "text/yaml", 400, "unreadable_document"),
        ("[]", "application/json", 422, "invalid_document"),
        (WHOLE, "application/x-www-form-urlencoded", 415, "unsupported_media_type"),
        ("", "multipart/form-data; boundary=x", 400, "unreadable"),
    ],
)
def test_what_cannot_be_read_is_400_and_what_is_not_valid_422(
    maria: Caller, text: str, kind: str, status: int, code: str
) -> None:
    found, answer = maria.send(text=text, kind=kind)
    assert (found, answer["code"]) == (status, code), answer
    assert set(answer) == {"code", "message", "fields"}
    assert not Taxonomy.objects.exists()


def test_an_invalid_document_names_each_field_with_line_and_column(maria: Caller) -> None:
    text = WHOLE.replace("kind: text", "kind: txt").replace("{key: fault, name: Fault}", "{key: how-to, name: Fault}")
    status, answer = maria.send(text=text)
    assert status == 422
    assert answer["fields"] == {
        "dimensions[0].categories[1].key": [
            "Line 9, column 52: Another category in this dimension has the key “how-to” (line 9). Choose another."
        ],
        "dimensions[1].applies_when.is[0]": ["Line 13, column 42: “fault” is not a category of “kind”."],
        "dimensions[3].kind": [
            "Line 31, column 11: “txt” is not a kind of dimension. Kinds are single, multi, boolean, "
            "ordinal, number and text. Did you mean “text”?"
        ],
    }


def test_a_slug_that_is_taken_is_409_for_anyone(maria: Caller, otto: Caller) -> None:
    assert maria.send(text=FIRST)[0] == 201
    for caller in (maria, otto):
        status, answer = caller.send(text=FIRST)
        assert (status, answer["code"]) == (409, "slug_taken")
    said = [otto.send(text=FIRST)[0] for _ in range(UNAVAILABLE_IDS.n_most)]
    assert said == [409] * (UNAVAILABLE_IDS.n_most - 1) + [429]
    assert otto.send(text=FIRST.replace("slug: s", "slug: free"))[0] == 429


def test_a_draft_is_replaced_published_once_and_then_frozen(maria: Caller) -> None:
    maria.send(text=FIRST)
    status, answer = maria.put("s/versions/1/", SECOND)
    assert (status, answer["dimensions"][0]["categories"][0]["key"]) == (200, "stop")
    status, answer = maria.send("s/versions/1/publish/")
    assert (status, answer["state"], answer["published_at"][:2]) == (200, "published", "20")
    assert maria.send("s/versions/1/publish/")[0] == 409
    assert maria.put("s/versions/1/", FIRST)[0] == 409


def test_an_answer_can_be_sent_back_as_the_next_version(maria: Caller) -> None:
    answer = maria.send(text=FIRST)[1]
    status, again = maria.send("s/versions/", json.dumps(answer), kind="application/json")
    assert (status, again["number"]) == (201, 2)
    assert maria.send("s/versions/", WHOLE)[0] == 422


def test_the_difference_of_two_versions_is_told(maria: Caller) -> None:
    maria.send(text=FIRST)
    maria.send("s/versions/1/publish/")
    maria.send("s/versions/", SECOND)
    maria.send("s/versions/2/publish/")
    maria.send("s/versions/", THIRD)
    status, answer = maria.get("s/versions/1/diff/2/")
    assert status == 200
    assert (answer["slug"], answer["from"], answer["to"]) == ("s", 1, 2)
    assert answer["counts"] == {"merged": 2, "split": 2, "added": 1}
    assert answer["changes"][0] == {
        "kind": "merged",
        "also": ["renamed"],
        "dimension": "d",
        "old": "hang",
        "new": "stop",
        "old_path": ["Hang"],
        "new_path": ["Stop"],
        "fields": ["key", "name"],
        "differences": {"key": {"old": "hang", "new": "stop"}, "name": {"old": "Hang", "new": "Stop"}},
    }
    assert maria.get("s/versions/1/diff/3/")[1]["counts"] == {"merged": 2, "added": 1, "retired": 1}
    assert maria.get("s/versions/2/diff/2/")[1]["changes"] == []
    assert maria.get("s/versions/1/diff/9/")[0] == 404


def test_what_was_redefined_stands_in_the_difference_and_examples_alone_redefine_nothing(maria: Caller) -> None:
    maria.send(text=FIRST.replace("name: Hang", "name: Hang, definition: It stands., examples: [x]"))
    maria.send("s/versions/1/publish/")
    text = FIRST.replace("name: Hang", "name: Hang, definition: It stands still., examples: [x]").replace(
        "name: Crash", "name: Crash, examples: [y, z]"
    )
    maria.send("s/versions/", text.replace("title: D\n", "title: Symptom\n"))
    answer = maria.get("s/versions/1/diff/2/")[1]
    assert answer["counts"] == {"redefined": 1, "kept": 2}
    assert [(change["new"], change["kind"], change["differences"]) for change in answer["changes"]] == [
        ("hang", "redefined", {"definition": {"old": "It stands.", "new": "It stands still."}}),
        ("crash", "kept", {"examples": {"old": [], "new": ["y", "z"]}}),
    ]
    assert [(each["number"], each["state"], each["edited_by"]) for each in answer["versions"]] == [
        (1, "published", "maria"),
        (2, "draft", "maria"),
    ]
    (dimension,) = answer["dimensions"]
    assert dimension["differences"] == {"title": {"old": "D", "new": "Symptom"}}
    back = maria.get("s/versions/2/diff/1/")[1]
    assert back["changes"][0]["differences"] == {"definition": {"old": "It stands still.", "new": "It stands."}}


def test_the_difference_comes_as_markdown_too(maria: Caller) -> None:
    maria.send(text=FIRST)
    maria.send("s/versions/1/publish/")
    maria.send("s/versions/", SECOND)
    answer = maria.client.get(ROOT + "s/versions/1/diff/2/?format=md", headers=maria.headers)
    assert (answer.status_code, answer["Content-Type"]) == (200, "text/markdown; charset=utf-8")
    assert "| merged, renamed | Hang (`hang`); Crash (`crash`) | Stop (`stop`) |" in answer.content.decode()
    assert maria.get("s/versions/1/diff/2/?format=pdf")[0] == 422


def test_a_write_names_the_revision_it_read_and_a_stale_one_is_told_what_is_newer(maria: Caller) -> None:
    maria.send(text=FIRST)
    otto = Caller("otto", staff=True)

    def write(caller: Caller, method: str, path: str, text: str, revision: str):  # type: ignore[no-untyped-def]
        headers = caller.headers | {"If-Match": revision}
        return caller.client.generic(method, ROOT + path, text, content_type="application/yaml", headers=headers)

    page = "s/versions/1/"
    assert maria.client.get(ROOT + page, headers=maria.headers)["ETag"] == '"1"'
    answer = write(otto, "PUT", page, FIRST, '"1"')
    assert (answer.status_code, answer["ETag"], answer.json()["edited_by"]) == (200, '"2"', "otto")
    for method, path in [("PUT", page), ("DELETE", page), ("POST", page + "publish/")]:
        for revision in ('"1"', 'W/"1"', "1"):
            answer = write(maria, method, path, SECOND.replace(", was:", " #"), revision)
            body = answer.json()
            assert (answer.status_code, body["code"], answer["ETag"]) == (409, "stale", '"2"')
            assert set(body) == {"code", "message", "fields", "newer"}
            assert (body["newer"]["revision"], body["newer"]["edited_by"]) == (2, "otto")
            assert body["newer"]["edited_at"].startswith("20")
    assert write(maria, "PUT", page, FIRST, "*")["ETag"] == '"3"'
    answer = write(maria, "POST", page + "publish/", "", '"3"')
    assert (answer.status_code, answer.has_header("ETag")) == (200, False)


@pytest.mark.parametrize("named", ["", " ", "nonsense", '""'])
def test_an_if_match_that_names_no_revision_is_answered_as_the_description_says(maria: Caller, named: str) -> None:
    maria.send(text=FIRST)
    described = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    version = ROOT + "{slug}/versions/{number}/"
    for method, path, pattern in [
        ("PUT", "s/versions/1/", version),
        ("DELETE", "s/versions/1/", version),
        ("POST", "s/versions/1/publish/", version + "publish/"),
    ]:
        headers = maria.headers | {"If-Match": named}
        answer = maria.client.generic(method, ROOT + path, FIRST, content_type="application/yaml", headers=headers)
        assert (answer.status_code, list(answer.json()["fields"])) == (422, ["If-Match"])
        assert "422" in described[pattern][method.lower()]["responses"]


def test_a_draft_is_started_and_discarded_and_a_published_version_retired(maria: Caller) -> None:
    maria.send(text=FIRST)
    assert maria.send("s/drafts/")[1]["code"] == "nothing_published"
    maria.send("s/versions/1/publish/")
    status, answer = maria.send("s/drafts/")
    assert (status, answer["number"], answer["state"], answer["revision"]) == (201, 2, "draft", 1)
    for expected in (204, 404):
        gone = maria.client.delete(ROOT + "s/versions/2/", headers=maria.headers)
        assert gone.status_code == expected
    assert maria.send("s/drafts/")[1]["number"] == 3
    assert maria.send("s/versions/1/", method="DELETE")[1]["code"] == "no_draft"
    assert maria.send("s/versions/3/retire/")[1]["code"] == "not_published"
    status, answer = maria.send("s/versions/1/retire/")
    assert (status, answer["state"], answer["retired_by"], answer["retired_at"][:2]) == (200, "retired", "maria", "20")
    assert maria.send("s/versions/1/retire/")[0] == 409


def test_who_only_reads_starts_discards_and_retires_nothing(maria: Caller, otto: Caller) -> None:
    maria.send(text=FIRST)
    maria.send("s/versions/1/publish/")
    maria.send("s/drafts/")
    for method, path in [("POST", "s/drafts/"), ("POST", "s/versions/1/retire/"), ("DELETE", "s/versions/1/")]:
        assert otto.send(path, method=method)[0] == 403
        assert Client().generic(method, ROOT + path).status_code == 401
        assert maria.send(path.replace("s/", "none/", 1), method=method)[0] == 404
        assert Caller("maria", "read").send(path, method=method)[1]["code"] == "scope_too_small"
    assert otto.send("s/versions/2/", method="DELETE")[0] == otto.send("s/versions/2/retire/")[0] == 404
    assert TaxonomyVersion.objects.count() == 2


def test_a_draft_is_hidden_from_others_and_a_published_version_is_only_read_by_them(
    maria: Caller, otto: Caller
) -> None:
    maria.send(text=FIRST)
    assert otto.get()[1]["results"] == []
    for path in ("s/", "s/versions/1/"):
        assert otto.get(path)[0] == 404
    assert otto.put("s/versions/1/", SECOND)[0] == 404
    assert otto.send("s/versions/1/publish/")[0] == 404
    maria.send("s/versions/1/publish/")
    maria.send("s/versions/", SECOND)
    assert [version["number"] for version in otto.get("s/")[1]["versions"]] == [1]
    assert [version["number"] for version in maria.get("s/")[1]["versions"]] == [2, 1]
    assert otto.get("s/versions/1/")[0] == 200
    assert otto.get("s/versions/2/")[0] == otto.get("s/versions/1/diff/2/")[0] == 404
    assert otto.send("s/versions/1/publish/")[0] == otto.send("s/versions/", THIRD)[0] == 403
    assert TaxonomyVersion.objects.count() == 2


def test_staff_see_and_change_every_taxonomy(maria: Caller) -> None:
    maria.send(text=FIRST)
    assert Caller("stefan", staff=True).put("s/versions/1/", SECOND)[0] == 200


@pytest.mark.parametrize("scope", ["read", "rate"])
def test_a_token_below_manage_reads_only(maria: Caller, scope: str) -> None:
    maria.send(text=FIRST)
    small = Caller("maria", scope)
    assert small.get("s/versions/1/")[0] == 200
    for path, method in [
        ("", "POST"),
        ("s/versions/", "POST"),
        ("s/versions/1/", "PUT"),
        ("s/versions/1/publish/", "POST"),
    ]:
        status, answer = small.send(path, SECOND, method=method)
        assert (status, answer["code"]) == (403, "scope_too_small")


@pytest.mark.parametrize("path", ["", "s/", "s/versions/1/", "s/versions/1/diff/1/"])
def test_nobody_anonymous_reads_anything(maria: Caller, path: str) -> None:
    maria.send(text=FIRST)
    maria.send("s/versions/1/publish/")
    assert Client().get(ROOT + path).status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "nonsense/",
        "s/versions/0/",
        "s/versions/99999999999999999999/",
        "s/versions/x/",
        "s/diff/",
        "s'/",
        "s/versions/1/diff/x/",
    ],
)
def test_nonsense_is_not_found(maria: Caller, path: str) -> None:
    maria.send(text=FIRST)
    assert maria.get(path)[0] == 404


def test_the_list_takes_as_many_queries_for_one_taxonomy_as_for_many(maria: Caller) -> None:
    def listed() -> int:
        with assert_queries(5):  # the token, when it was used, taxonomies, versions, maintainers
            return len(maria.get()[1]["results"])

    maria.send(text=FIRST)
    User.objects.get(username="maria").tokens.update(last_used_at=None)
    assert listed() == 1
    for number in range(12):
        maria.send(text=FIRST.replace("slug: s", f"slug: s{number}"))
    User.objects.get(username="maria").tokens.update(last_used_at=None)
    assert listed() == 13
