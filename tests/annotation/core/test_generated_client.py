"""A client that a generator makes of the OpenAPI document does the work of a rater and reads what came of it."""

import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django.live_server_helper import LiveServer

from accounts.actions import make_token
from annotation.models import Annotation
from tests import builders as make

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of a client's package, made by openapi-python-client."""
    document, name = tmp_path / "schema.yml", "concord_client"
    call_command("spectacular", file=str(document), validate=True)
    tool = Path(sys.executable).parent / "openapi-python-client"
    made = subprocess.run(
        [tool, "generate", "--path", document, "--meta", "none", "--output-path", tmp_path / name],
        capture_output=True, text=True, check=True, cwd=tmp_path, env={"PATH": str(tool.parent)},
    )  # fmt: skip
    assert "ERROR" not in made.stdout, made.stdout
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


def test_a_generated_client_labels_pages_and_reads_agreement(package: str, live_server: LiveServer) -> None:
    round_ = make.open_round(make.study(), 1)

    def client(name: str) -> Any:
        token = make_token(user=make.user(name), name="client", scope="manage")[1]
        return import_module(package).AuthenticatedClient(base_url=live_server.url, token=token)

    def call(operation: str) -> Any:
        return import_module(f"{package}.api.studies.{operation}").sync

    for name, key in (("bob", "crash"), ("carol", "hang")):
        given = {"assignment": make.assignment(round_, name, 1).public_id, "labels": {"symptom": [key]}}
        body = import_module(f"{package}.models").AnnotationBody.from_dict(given)
        assert call("studies_annotations_create")("study", client=client(name), body=body).round_ == 1
    assert Annotation.objects.count() == 2
    olga = client("olga")
    first = call("studies_ratings_retrieve")("study", client=olga, page_size=1)
    assert [(row.rater, row.values) for row in first.results] == [("R1", ["crash"]), ("R2", ["hang"])]
    assert first.next_ is None
    (entry,) = call("studies_agreement_list")("study", client=olga)
    found = {each.name: each.value for each in entry.coefficients}
    assert entry.units == 1 and found["percent_agreement"] == 0
