"""Upsert of issue batches: few statements for any size, one snapshot per content, safe to repeat.

1. Numbers and hashes go into a staging table by COPY (`copying.py`). One statement creates new issues and takes IDs for
   their snapshots, one finds those that may differ. Only these are locked, in one order (`batches.py`).
2. Contents go by COPY to their tables, because their IDs are known. Comments, which another run may bring, too, pass
   through a staging table (`contents.py`). Staging tables end with the transaction.
3. New and changed issues are queued for search. A changed one leaves the index at once (`ingest/search/indexing.py`).
"""

from ingest.upsert.batches import BatchResult, store
from ingest.upsert.changes import store_files
from ingest.upsert.copying import copy
from ingest.upsert.repositories import (
    forget_changes,
    forget_others,
    hold_issues,
    is_claimed,
    keep_former_name,
    rename,
    repository_by_name,
    step_aside,
)
from ingest.upsert.stored_records import known_records

__all__ = [
    "BatchResult",
    "copy",
    "forget_changes",
    "forget_others",
    "hold_issues",
    "is_claimed",
    "keep_former_name",
    "known_records",
    "rename",
    "repository_by_name",
    "step_aside",
    "store",
    "store_files",
]
