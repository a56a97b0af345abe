"""`manage.py export`: labels, ratings, resolutions or issues of a study into a file."""

import hashlib
import json
import os
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.errors import ConcordError
from annotation.access import get_whole_study
from annotation.exports import COLUMNS, FORMATS, rows, write


class Command(BaseCommand):
    help = "Write agreed labels, ratings, resolutions or issues of a study to a file, whole or not at all."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Lets `--version` name a taxonomy's version instead of Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="its slug")
        parser.add_argument("--what", choices=list(COLUMNS), default="labels")
        parser.add_argument("--format", choices=FORMATS, help="else by the file's ending, else csv")
        parser.add_argument("--out", required=True, metavar="PATH")
        parser.add_argument(
            "--version", type=int, metavar="N", help="labels or ratings in terms of this version of the taxonomy"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(
        self,
        *args: Any,
        study: str,
        what: str,
        format: str | None,
        out: str,
        as_json: bool,
        version: int | None = None,
        **options: Any,
    ) -> None:
        path = Path(out)
        ending = path.suffix.lstrip(".").lower()
        format = format or (ending if ending in FORMATS else "csv")
        try:
            n_rows, sha256 = self._write(study, what, format, path, version)
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror or error}.") from error
        except ConcordError as error:
            details = [sentence for each in error.fields.values() for sentence in each]
            raise CommandError(" ".join([error.message, *details])) from error
        if as_json:
            report = {"study": study, "what": what, "format": format, "path": str(path), "rows": n_rows}
            self.stdout.write(json.dumps({**report, "sha256": sha256}, ensure_ascii=False))
        else:
            self.stdout.write(f"{path}: {n_rows} row{'' if n_rows == 1 else 's'}, SHA-256 {sha256}")

    def _write(self, study: str, what: str, format: str, path: Path, version: int | None) -> tuple[int, str]:
        """Into a file beside it, which then takes its name."""
        seat = get_whole_study(study)
        counted = Counted(rows.flat(seat, rows.of_kind(what, seat, version=version)))
        digest = hashlib.sha256()
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                for chunk in write(what, format, counted):
                    digest.update(chunk)
                    file.write(chunk)
                file.flush()
                os.fsync(file.fileno())
            mask = os.umask(0)
            os.umask(mask)
            Path(temporary).chmod(0o666 & ~mask)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return counted.n, digest.hexdigest()


class Counted:
    """Rows that are counted while they pass."""

    def __init__(self, found: Iterable[dict[str, Any]]) -> None:
        self.found = found
        self.n = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for row in self.found:
            self.n += 1
            yield row
