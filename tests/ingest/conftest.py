"""A short way to take in a file."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ingest.models import FetchRun


@pytest.fixture
def take(db: None, settings: Any, tmp_path: Any) -> Callable[..., "FetchRun"]:
    """Takes in a file (bytes, or rows written as JSON Lines), open unless asked otherwise, and makes it searchable."""
    from django.core.files.base import File

    from ingest import run_steps
    from ingest.actions.uploads import start_file_fetch
    from ingest.search import indexing

    def take(content: Any, *, user: Any = None, **asked: Any) -> "FetchRun":
        if not isinstance(content, bytes):
            content = "\n".join(json.dumps(row) for row in content).encode()
        file = File(io.BytesIO(content), name="issues.jsonl")
        file.size = len(content)
        run = start_file_fetch(user=user, file=file, send=False, **({"private": False} | asked))
        run_steps.work(run.pk)
        indexing.index()
        run.refresh_from_db()
        return run

    return take


@pytest.fixture(params=["token", "no token"])
def way(request: Any, github: Any, settings: Any) -> str:
    """A test runs twice: with a token, which GraphQL asks for, and without one."""
    if request.param == "token":
        github.tokens = {"t"}
        settings.GITHUB_TOKENS = ["t"]
    return str(request.param)
