"""Backups: all of a Concord in one file, made while people work, and restored as a whole or not at all.

1. `backup.py` waits until no migration runs, opens a REPEATABLE READ transaction, and exports its snapshot. Names of
   files, rows and checksums of tables, and the dump (`postgres.py`) come from that snapshot. No table is known by name.
2. `archive.py` writes files, dump, and a manifest with every SHA-256 into an unnamed file, which takes its name when it
   is on the disk. A table's checksum is the sum of the hashes of its rows, so their order does not matter.
3. `restore.py` checks the whole archive first. `maintenance_lock.py` lets `up` pause. The database is asked who else is
   connected.
4. Files come first (`stored_files.py`), because without rows they have no effect and a second attempt finds them.
5. `postgres.py` sends one transaction to `psql`: drop, restore the dump, compare with the manifest, set a mark. Killed
   anywhere before, the commit never comes.
6. Redis is emptied, migrations run, and the mark is removed. A restore that finds the mark of its own backup continues
   here.

`upgrade.py` makes such a backup before the first migration.
"""
