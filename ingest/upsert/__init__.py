"""Stores a batch of issues: few statements whatever its size, one snapshot per content, the same twice without harm."""

from ingest.upsert.batches import Stored, store
from ingest.upsert.copying import copy
from ingest.upsert.known import known_records
from ingest.upsert.repositories import repository_named

__all__ = ["Stored", "copy", "known_records", "repository_named", "store"]
