"""Short ways to fetch from the local GitHub, and to take in a file."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.github import GitHub

if TYPE_CHECKING:
    from ingest.models import FetchRun


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
