"""`manage.py restore`: a verified backup into an empty Concord."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.backups.restore import restore_backup
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Restore a backup into an empty database, verify each table and file, and migrate it to this version."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH")
        parser.add_argument(
            "--replace", action="store_true", help="back up what is there to DATA_DIR/backups, then replace it"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, path: str, replace: bool, as_json: bool, **options: Any) -> None:
        def say(sentence: str) -> None:
            if not as_json:
                self.stdout.write(sentence)
                self.stdout.flush()

        try:
            done = restore_backup(Path(path), replace=replace, say=say)
        except ConcordError as error:
            raise CommandError(error.message) from error
        if as_json:
            self.stdout.write(json.dumps(done.as_json(), ensure_ascii=False))
            return
        for name in done.manifest.missing:
            say(f"Was not there any more when the backup was made: {name}")
        files = f"{done.n_files:,} file{'' if done.n_files == 1 else 's'}"
        say(
            f"Restored in {done.seconds:.1f} s and verified: {len(done.manifest.tables)} tables with {done.n_rows:,} "
            f"rows and {files} are what they were at {done.manifest.made_at}."
        )
