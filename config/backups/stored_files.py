"""Stored files of a backup: files that rows name, and a few of the data folder."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psycopg2.extensions
from django.apps import apps
from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, default_storage
from django.db import connection as django_connection
from django.db.migrations.loader import MigrationLoader
from django.db.models import FileField

from config import env
from config.backups.postgres import fetch_rows

PIECE = 1 << 20
KEPT = ("secret_key", "demo-sign-ins.json")
"""Of the data folder. The key signs sessions and what was sent out with a signature."""


def names(connection: Any) -> list[str]:
    """What rows name, as this connection sees them; tables may be older than the code."""
    found: set[str] = set()
    for table, column in _columns():
        table, column = (psycopg2.extensions.quote_ident(str(name), connection) for name in (table, column))
        rows = fetch_rows(connection, f"SELECT DISTINCT {column} FROM public.{table} WHERE {column} <> ''")  # noqa: S608
        found.update(name for (name,) in rows)
    return sorted(found)


def _columns() -> set[tuple[str, str | None]]:
    """Tables and columns that name files, by the migrations that were applied."""
    loader = MigrationLoader(django_connection)
    applied = {key for key in loader.applied_migrations if key in loader.graph.nodes}
    if applied >= set(loader.graph.nodes):
        models: Any = apps.get_models()
    else:
        models = loader.project_state(sorted(applied)).apps.get_models()
    return {
        (model._meta.db_table, field.column)
        for model in models
        if model._meta.managed
        for field in model._meta.local_fields
        if isinstance(field, FileField)
    }


def storage() -> Storage:
    return default_storage


def pieces_of(name: str) -> Iterator[bytes]:
    """The bytes of a stored file."""
    with storage().open(name) as file:
        while piece := file.read(PIECE):
            yield piece


def digest_of(name: str) -> str:
    """The SHA-256 of a stored file; empty where it is not there."""
    if not storage().exists(name):
        return ""
    digest = hashlib.sha256()
    for piece in pieces_of(name):
        digest.update(piece)
    return digest.hexdigest()


def put(name: str, content: IO[bytes], sha256: str) -> None:
    """Stores a file under this very name, unless it is there already. Raises OSError where it does not arrive whole."""
    if digest_of(name) == sha256:
        return
    storage().delete(name)
    stored = storage().save(name, File(content), max_length=1000)
    if stored != name or digest_of(name) != sha256:
        storage().delete(stored)
        raise OSError(f"the storage does not give {name} back as it was written")


def data_files() -> list[Path]:
    """Files of the data folder that belong into a backup: the secret key only where it was made up here."""
    left_out = {"secret_key"} if env.text("SECRET_KEY") else set()
    paths = [settings.DATA_DIR / name for name in KEPT if name not in left_out]
    return [path for path in paths if path.is_file()]


def put_data_file(name: str, content: bytes) -> bool:
    """Writes such a file into the data folder; False where it is not wanted here."""
    if name not in KEPT or (name == "secret_key" and env.text("SECRET_KEY")):
        return False
    path = settings.DATA_DIR / name
    draft = path.with_name(f"{name}.restored")
    draft.unlink(missing_ok=True)  # what lies there may be open to others
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    draft.replace(path)
    return True
