"""`manage.py backup`: all of this Concord in one file, while people work."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.backups.backup import make_backup
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Write everything (database, stored files, the made-up secret key) to one file, while people work."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH", help="a file, or a folder in which it is named by the time")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, path: str, as_json: bool, **options: Any) -> None:
        try:
            made = make_backup(Path(path))
        except ConcordError as error:
            raise CommandError(error.message) from error
        if as_json:
            self.stdout.write(json.dumps(made.as_json(), ensure_ascii=False))
            return
        files = f"{made.n_files:,} file{'' if made.n_files == 1 else 's'}"
        self.stdout.write(
            f"{made.path}: {made.n_bytes / 1e6:.1f} MB in {made.seconds:.1f} s, {len(made.manifest.tables)} tables "
            f"with {made.n_rows:,} rows, {files}\nSHA-256 {made.sha256}"
        )
        for name in made.manifest.missing:
            self.stdout.write(f"Not there any more, though a row names it: {name}")
