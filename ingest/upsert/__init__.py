"""Upsert of issue batches: few statements for any size, one snapshot per content, safe to repeat."""

from ingest.upsert.batches import Stored, store
from ingest.upsert.changes import store_files
from ingest.upsert.copying import copy
from ingest.upsert.repositories import keep_former_name, rename, repository_named
from ingest.upsert.stored_records import known_records

__all__ = ["Stored", "copy", "keep_former_name", "known_records", "rename", "repository_named", "store", "store_files"]
