"""Snapshots, comments and threads can't be emptied."""

from importlib import import_module

from django.db import migrations

never_emptied = import_module("accounts.migrations.0007_never_emptied").never_emptied


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0007_never_emptied'),
        ('ingest', '0004_unrestricted_fetches'),
    ]

    operations = [
        never_emptied("ingest_snapshot", "ingest_comment", "ingest_snapshotcomment"),
    ]
