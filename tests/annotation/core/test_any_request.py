"""Whatever is sent to the API gets one of the answers that its OpenAPI document names, and never a 500.

Schemathesis makes requests out of the document, fitting and unfitting ones. Most words of most of them stand for
nothing, so three of four get ids and names of a study in which everything happens; each is taken back before the next.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import schemathesis
from django import conf
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler
from django.db import close_old_connections, transaction
from django.test import Client
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.schemas import APIOperation

from accounts.actions import make_token
from annotation.models import Assignment
from ingest.models import FetchRun, Issue
from tests import builders as make
from tests.annotation import permission_study

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(600)]

CHECKED = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance")
WHO = ("ida", "ida", "ida", "bob", "ada", "mallory", None)
"""An owner mostly; a rater, the adjudicator, the owner of another study, nobody."""


class Site:
    """The application with a study in it, what stands there, and who asks."""

    def __init__(self) -> None:
        study = permission_study.make_permission_study()
        known = permission_study.ids()
        names = {name for name in WHO if name}
        self.tokens = {name: make_token(user=make.user(name), name="t", scope="manage")[1] for name in names}
        self.application = WSGIHandler()
        load_all_checks()
        self.checks = [CHECKS.get_one(name) for name in CHECKED]
        self.schema = schemathesis.openapi.from_wsgi("/api/v1/schema/?format=json", self.application)
        snapshot = Issue.objects.select_related("current_snapshot").first().current_snapshot
        waiting = Assignment.objects.filter(state__in=Assignment.UNFINISHED, rater__user__username="bob").first()
        home = Issue.objects.select_related("repository").first().repository
        run = FetchRun.objects.create(repository=home, kind="github", state="done", created_by=make.user("ida"))
        self.places: Mapping[str, Any] = {
            "slug": ["study"], "owner": ["acme"], "name": ["rocket"], "host": ["github.com"], "code": ["R1", "R3"],
            "number": [1, 2, 3], "plan_id": [known["plan"]], "run_id": [run.pk], "sha256": [snapshot.sha256],
            "old": [1], "new": [2],
        }  # fmt: skip
        self.ids = {
            "exports": known["export"], "samples": known["sample"],
            "proposals": known["proposal 5"], "selections": "liu-2023",
        }  # fmt: skip
        self.words: Mapping[str, Any] = {
            "item": ["acme/rocket#1", "acme/rocket#2", "acme/rocket#4"], "round": [1, 2, 3], "dimension": ["symptom"],
            "dimensions": ["symptom,repository"], "rows": ["symptom"], "columns": ["repository"], "by": ["repository"],
            "measure": ["comments"], "mark": ["only"], "version": [1, 2], "within": ["symptom"], "user": ["dan", "bob"],
            "rater": ["R1"], "raters": [["bob", "carol"]], "issues": [["acme/rocket#12"]], "roles": [["rater"]],
            "assignment": [waiting.public_id if waiting else "1"], "labels": [{"symptom": ["crash"]}], "to": [2],
            "values": [["crash"]], "taxonomy": ["symptoms"], "taxonomy_version": [1], "sample": [str(known["sample"])],
            "items": [["acme/rocket#1"]], "repository": ["acme/rocket"], "part": [1], "what": ["labels"],
            "slug": ["another"], "primary": [{"symptom": {"coefficient": "cohen_kappa", "threshold": 0.8}}],
        }  # fmt: skip
        assert study.slug == "study"

    def made_known(self, case: Any, choose: Any) -> None:
        """Puts what there is in the place of most of what was made up."""
        area = case.path.removeprefix("/api/v1/").split("/")
        places = dict(self.places)
        if area[0] == "taxonomies":
            places |= {"slug": ["symptoms"], "number": [1, 2]}
        elif area[0] == "selections":
            places |= {"slug": [self.ids["selections"]]}
        for word in area:
            if word in self.ids:
                places |= {"id": [self.ids[word]]}
        self._put(case.path_parameters, places, choose)
        self._put(case.query, self.words, choose)
        self._put(case.body, self.words, choose)

    def _put(self, given: Any, known: Mapping[str, Any], choose: Any) -> None:
        if isinstance(given, dict):
            for name in given:
                if name in known and choose(st.integers(0, 4)):
                    given[name] = choose(st.sampled_from(known[name]))

    def headers(self, who: str | None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens[who]}"} if who else {}


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """The test's transaction outlives each request, as with Django's own client; GitHub does not answer."""
    monkeypatch.setattr(conf.settings, "GITHUB_API_URL", "http://127.0.0.1:9")
    signals.request_started.disconnect(close_old_connections)
    signals.request_finished.disconnect(close_old_connections)
    yield Site()
    signals.request_started.connect(close_old_connections)
    signals.request_finished.connect(close_old_connections)


def wrong_answers(site: Site, operation: APIOperation, mode: GenerationMode, n: int) -> list[str]:
    """What is wrong with the answers of an operation to `n` requests that fit its description, or that do not."""
    found: list[str] = []

    @settings(
        max_examples=n, database=None, deadline=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(operation.as_strategy(generation_mode=mode), st.data(), st.integers(0, 3), st.sampled_from(WHO))
    def ask(case: Any, data: Any, known: int, who: str | None) -> None:
        if known:
            site.made_known(case, data.draw)
        found.extend(_wrong_with(site, case, who))

    try:
        ask()
    except Unsatisfiable:  # nothing unfitting can be sent where nothing is asked for
        assert mode is GenerationMode.NEGATIVE
    return found


def _wrong_with(site: Site, case: Any, who: str | None) -> list[str]:
    before = transaction.savepoint()
    try:
        answer = case.call(headers=site.headers(who))
        try:
            case.validate_response(answer, checks=site.checks)
        except BaseExceptionGroup as errors:
            told = f"{case.as_curl_command()[:600]}\n  as {who}: {answer.status_code} {answer.content[:300]!r}"
            return [f"{case.operation.label}: {str(error)[:400]}\n  {told}" for error in errors.exceptions]
    finally:
        transaction.savepoint_rollback(before)
        transaction.savepoint_commit(
            before
        )  # ends it: one within the other, thousands fill PostgreSQL's table of locks
    return []


def all_wrong(site: Site, n: int) -> list[str]:
    operations = [found.ok() for found in site.schema.get_all_operations()]
    modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
    return [each for one in operations for mode in modes for each in wrong_answers(site, one, mode, n)]


@pytest.mark.slow
def test_every_answer_to_a_few_requests_stands_in_the_description(site: Site) -> None:
    assert not (wrong := all_wrong(site, 1)), "\n\n".join(wrong)


ODD_BODIES = {
    b"": 422, b"{": 400, b"null": 400, b"[]": 400, b'{"text": NaN}': 400, b'{"text": 1e999}': 400, b"\xff\xfe": 400,
    b"[" * 100_000: 400, b'{"a":' * 60 + b"1" + b"}" * 60: 400,
    b'{"text": "\\u0000"}': 422, b'{"text": "\\ud800"}': 422,
}  # fmt: skip


def test_bodies_that_can_not_be_read_or_stored_are_refused_in_the_one_shape() -> None:
    make.open_round(make.study(), 1)
    client = Client(raise_request_exception=False)
    token = {"Authorization": f"Bearer {make_token(user=make.user('olga'), name='t', scope='manage')[1]}"}
    place = "/api/v1/studies/study/"
    for body, status in ODD_BODIES.items():
        answer = client.post(f"{place}remarks/", body, content_type="application/json", headers=token)
        assert (answer.status_code, set(answer.json())) == (status, {"code", "message", "fields"}), body[:40]
    for kind in ("text/plain", "nonsense", "multipart/form-data; boundary=x", "application/xml"):
        assert client.post(f"{place}remarks/", b"x", content_type=kind, headers=token).status_code == 415, kind
    for method in ("put", "delete", "patch", "trace"):
        answer = getattr(client, method)(f"{place}remarks/", headers=token)
        assert answer.status_code == 405 and "GET" in answer["Allow"], method
    for number in ("9" * 12, "9" * 30, "9" * 5000):
        assert client.get(f"{place}rounds/{number}/", headers=token).status_code == 404
        assert client.get(f"{place}samples/{number}/", headers=token).status_code == 404
        assert client.get(f"{place}labels/?round={number}", headers=token).status_code == 422
    assert client.get(f"{place}labels/?round={'0' * 20}{'9' * 20}", headers=token).status_code == 422
    assert client.get(f"{place}rounds/1/raters/%00/", headers=token).status_code == 404
    many = client.post(
        f"{place}remarks/", b"[" + b"{}," * 600_000 + b"{}]", content_type="application/json", headers=token
    )
    assert many.status_code == 422 and "more than 1,000,000 values" in many.json()["message"]
    big = b'{"text": "' + b"x" * 11_000_000 + b'"}'
    assert client.post(f"{place}remarks/", big, content_type="application/json", headers=token).status_code == 413


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_every_answer_to_many_requests_stands_in_the_description(site: Site) -> None:
    assert not (wrong := all_wrong(site, 100)), "\n\n".join(wrong)
