"""A local GitHub that is there before any worker starts, and short ways to fetch from it."""

import io
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.github import GitHub, World

if TYPE_CHECKING:
    from ingest.models import FetchRun

_server = GitHub().start()
os.environ["GITHUB_API_URL"] = _server.url  # a worker started later reads it


@pytest.fixture
def github(settings: Any) -> Iterator[GitHub]:
    """An empty local GitHub, at which the settings point."""
    settings.GITHUB_API_URL = _server.url
    settings.GITHUB_TOKENS = []
    _server.reset()
    yield _server
    _server.reset()


@pytest.fixture
def world(github: GitHub) -> World:
    return github.world


@pytest.fixture
def fetch(db: None, github: GitHub) -> Callable[..., "FetchRun"]:
    """Fetches a repository and works as far as it goes."""
    from ingest import sync
    from ingest.actions import start_fetch

    def fetch(repository: str = "o/r", *, user: Any = None, **asked: Any) -> "FetchRun":
        run = start_fetch(user=user, repository=repository, send=False, **asked)
        sync.work(run.pk)
        run.refresh_from_db()
        return run

    return fetch


@pytest.fixture
def take(db: None, settings: Any, tmp_path: Any) -> Callable[..., "FetchRun"]:
    """Takes in a file: bytes, or rows written as JSON Lines."""
    from django.core.files.base import File

    from ingest import sync
    from ingest.actions import start_file_fetch

    def take(content: Any, *, user: Any = None, **asked: Any) -> "FetchRun":
        if not isinstance(content, bytes):
            content = "\n".join(json.dumps(row) for row in content).encode()
        file = File(io.BytesIO(content), name="issues.jsonl")
        file.size = len(content)
        run = start_file_fetch(user=user, file=file, send=False, **asked)
        sync.work(run.pk)
        run.refresh_from_db()
        return run

    return take
