"""Other empty databases and data folders beside those of the tests, to restore into."""

import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg2
from django.conf import settings
from django.db import connection
from django.test import override_settings

from config import embedded
from taxonomy.queries import forget_trees


@contextmanager
def empty_database(name: str = "", template: str = "template0") -> Iterator[str]:
    """The name of a new database on the server of the tests; it holds nothing, or what another one does."""
    name = name or f"other_{uuid.uuid4().hex[:12]}"
    with closing(psycopg2.connect(embedded.database_url(settings.DATA_DIR))) as side:
        side.autocommit = True
        side.cursor().execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield name
        finally:
            side.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def working_on(database: str, data_dir: Path) -> Iterator[None]:
    """Django works on another database, data folder and database of Valkey, until the block is left."""
    data_dir.mkdir(exist_ok=True)
    storages = {**settings.STORAGES}
    storages["default"] = {**storages["default"], "OPTIONS": {"location": data_dir / "files"}}
    redis_url = f"{settings.REDIS_URL.replace('redis+socket://', 'unix://')}?db=3"
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = database
    forget_trees()
    try:
        with override_settings(DATA_DIR=data_dir, STORAGES=storages, REDIS_URL=redis_url):
            yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before
        forget_trees()
