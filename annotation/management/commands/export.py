"""`manage.py export`: exports data of a study into a file on this machine."""

import hashlib
import json
import os
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from annotation.core.access import Seat, get_whole_study
from annotation.core.download_log import record_download
from annotation.exports.queries.kinds import KINDS, read_export_request, write_file
from annotation.exports.queries.options import READERS, SHAPES
from annotation.exports.queries.requests import ExportRequest
from annotation.labels.queries.rows import REVISIONS
from shared.commands import ConcordCommand
from shared.errors import ConcordError
from shared.file_modes import mode_of_output


class Command(ConcordCommand):
    help = "Export labels, ratings or other study data to a file (atomic)."
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Lets `--version` name a taxonomy's version instead of Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="ID of the study")
        parser.add_argument("--what", choices=list(KINDS), default="labels")
        parser.add_argument("--format", help="otherwise by the file's extension, or the default of the kind")
        parser.add_argument("--out", required=True, metavar="PATH")
        parser.add_argument("--round", type=int, metavar="N")
        parser.add_argument("--dimension", metavar="KEY")
        parser.add_argument(
            "--version", type=int, metavar="N", help="labels or ratings mapped to this version of the taxonomy"
        )
        parser.add_argument("--raters", metavar="CODES", help="ratings of these alone, as R1,R2")
        parser.add_argument("--revision", choices=REVISIONS, help="ratings of this one alone")
        parser.add_argument("--shape", choices=SHAPES, help="labels or ratings as long or wide table")
        parser.add_argument(
            "--option", action="append", default=[], metavar="NAME=VALUE", help="another option of the kind"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, study: str, what: str, out: str, as_json: bool, **options: Any) -> None:
        path = Path(out)
        ending = path.suffix.lstrip(".").lower()
        format = options["format"] or (ending if ending in KINDS[what].formats else None)
        given = {name: options[name] for name in READERS if options.get(name) is not None}
        for each in options.get("option") or ():
            name, _, value = each.partition("=")
            given[name] = value
        try:
            seat = get_whole_study(study)
            asked = read_export_request(seat, what, format, given)
            n_rows, sha256 = self._write(seat, asked, path)
        except OSError as error:
            raise CommandError(f"{path} can't be written: {error.strerror or error}.") from error
        except ConcordError as error:
            details = [sentence for each in error.fields.values() for sentence in each]
            raise CommandError(" ".join([error.message, *details])) from error
        record_download(seat=seat, what=asked.what, format=asked.format, by="shell")
        if as_json:
            report = {"study": study, "what": what, "format": asked.format, "path": str(path), "rows": n_rows}
            self.stdout.write(json.dumps({**report, "sha256": sha256}, ensure_ascii=False))
        else:
            self.stdout.write(f"{path}: {n_rows} row{'' if n_rows == 1 else 's'}, SHA-256 {sha256}")

    def _write(self, seat: Seat, asked: ExportRequest, path: Path) -> tuple[int, str]:
        """Into a file beside it, which then takes its name."""
        n_written = 0

        def progress(n_rows: int | None = None, *, n_expected: int | None = None, step: str | None = None) -> None:
            nonlocal n_written
            n_written = n_written if n_rows is None else n_rows

        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w+b") as file:
                write_file(asked, seat, file, progress)
                file.flush()
                os.fsync(file.fileno())
                file.seek(0)
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            Path(temporary).chmod(mode_of_output(path, settings.DATA_DIR))
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        return n_written, sha256
