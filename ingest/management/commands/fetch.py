"""`manage.py fetch`: issues of a repository or a file, in the foreground."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from accounts.access import get_user
from accounts.permissions import shell_command
from ingest.actions.fetches import estimate_asked, labels_in, run_now, start_asked
from ingest.actions.uploads import take_file
from ingest.errors import FetchError
from ingest.models import FetchRun
from ingest.queries import run_as_document
from shared.commands import ConcordCommand
from shared.errors import ConcordError

REFUSALS_SHOWN = 20
FILE_BYTES_MAX = 1 << 50
OF_GITHUB: dict[str, Any] = {
    "state": "all",
    "labels": "",
    "since": "",
    "what": "issues",
    "numbers": "",
    "estimate": False,
}
OF_FILES: dict[str, Any] = {"repository": None, "map": [], "sheet": "", "number_rows": False, "private": False}


class Command(ConcordCommand):
    help = "Fetch the issues of a repository from GitHub, or import them from a file. Returns when it is done."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("repository_name", nargs="?", metavar="OWNER/NAME")
        parser.add_argument("--state", choices=["open", "closed", "all"], default="all")
        parser.add_argument(
            "--labels",
            default="",
            help="Names separated by commas, one that contains a comma in double quotes. Finds issues that have "
            "all of them.",
        )
        parser.add_argument(
            "--since", default="", help="Only what changed since then (UTC); last: since the last complete fetch."
        )
        parser.add_argument("--what", choices=["issues", "presence", "closing_changes"], default="issues")
        parser.add_argument("--numbers", default="", help="For --what: stored issues, separated by commas.")
        parser.add_argument(
            "--file", metavar="PATH", help="JSON, JSON Lines, what gh issue list --json … printed; CSV, XLSX."
        )
        parser.add_argument("--repository", metavar="OWNER/NAME", help="For rows that don't say where they are from.")
        parser.add_argument(
            "--map",
            action="extend",
            nargs="+",
            default=[],
            metavar="FIELD=COLUMN",
            help="Of CSV and XLSX: which column has number, title, …; guessed where none is named.",
        )
        parser.add_argument("--sheet", default="", metavar="NAME", help="Of a workbook; otherwise the first one.")
        parser.add_argument(
            "--number-rows",
            action="store_true",
            help="Of CSV and XLSX without numbers: row 1 becomes issue 1. Give --repository a name of your own.",
        )
        parser.add_argument(
            "--private",
            action="store_true",
            help="Of a file: only --user, staff and the studies that use its issues see them.",
        )
        parser.add_argument(
            "--estimate",
            action="store_true",
            help="Only show how many requests it takes, how long under GitHub's limit, and what a token would change.",
        )
        parser.add_argument("--user", metavar="NAME", help="Run as this user (otherwise as nobody).")
        parser.add_argument("--json", action="store_true", help="Print one JSON object alone.")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["repository_name"]) == bool(options["file"]):
            raise CommandError("Give either OWNER/NAME or --file PATH.")
        of_no_use = OF_GITHUB if options["file"] else OF_FILES
        if idle := [f"--{name.replace('_', '-')}" for name, left_out in of_no_use.items() if options[name] != left_out]:
            place = "a file" if options["file"] else "a repository at GitHub"
            raise CommandError(f"{', '.join(idle)} can't be used for {place}.")
        try:
            with shell_command():
                if self._shows_estimate(options):
                    return
                run = run_now(run=self._start(options), on_wait=self._tell)
        except ConcordError as error:
            details = [sentence for sentences in error.fields.values() for sentence in sentences]
            raise CommandError(" ".join(dict.fromkeys([error.message, *details]))) from error
        if options["json"]:
            self.stdout.write(json.dumps(run_as_document(run), cls=DjangoJSONEncoder))
        else:
            self._report(run)
        if run.state != FetchRun.State.DONE:
            if options["json"]:
                sys.exit(1)
            raise CommandError(run.error or f"The fetch is {run.state}.")

    def _shows_estimate(self, options: dict[str, Any]) -> bool:
        """Shows the estimate where it is asked for, and where the limit without a token may stop the fetch for hours.

        Whether that is all.
        """
        if options["file"] or (settings.GITHUB_TOKENS and not options["estimate"]):
            return False
        try:
            found = estimate_asked(**_asked(options))
        except FetchError:
            if options["estimate"]:
                raise
            return False  # the run says what is wrong, and waits where that helps
        if not options["estimate"]:
            self.stderr.write(found.sentence)
        elif options["json"]:
            self.stdout.write(json.dumps(found.as_document()))
        else:
            self.stdout.write(found.sentence)
        return bool(options["estimate"])

    def _start(self, options: dict[str, Any]) -> FetchRun:
        if not options["file"]:
            return start_asked(**_asked(options), send=False)
        user = get_user(options["user"]) if options["user"] else None
        path = Path(options["file"])
        try:
            with path.open("rb") as file:
                return take_file(
                    user=user,
                    file=File(file, name=path.name),
                    repository=options["repository"],
                    private=options["private"],
                    columns=_columns(options["map"]),
                    sheet=options["sheet"],
                    number_rows=options["number_rows"],
                    bytes_max=FILE_BYTES_MAX,
                    send=False,
                )
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror}.") from error

    def _tell(self, run: FetchRun) -> None:
        until = f" until {run.waiting_until:%Y-%m-%d %H:%M:%S} UTC" if run.waiting_until else ""
        self.stderr.write(f"{run.state}{until}: {run.error}" if run.error else f"{run.state}{until}")

    def _report(self, run: FetchRun) -> None:
        pull_requests = f"; {run.n_pull_requests} pull requests excluded" if run.n_pull_requests else ""
        self.stdout.write(
            f"{run.title}: {run.n_seen} rows, {run.n_new} new, {run.n_changed} changed, {run.n_unchanged} "
            f"unchanged, {run.n_refused} rejected{pull_requests}; {run.n_comments} comments, {run.n_requests} "
            "requests."
        )
        for refusal in run.refusals.all()[:REFUSALS_SHOWN]:
            where = f"line {refusal.line}: " if refusal.line else ""
            self.stdout.write(f"  {where}{refusal.reason} {refusal.row[:100]}")
        if run.n_refused > REFUSALS_SHOWN:
            self.stdout.write(f"  … and {run.n_refused - REFUSALS_SHOWN} more")
        if run.n_contradictions:
            self.stdout.write(
                f"  {run.n_contradictions} value{'' if run.n_contradictions == 1 else 's'} in the file contradict "
                "stored ones, which were kept. A row replaces them if it has a later time of last change (updated_at):"
            )
        for each in run.contradictions.all()[:REFUSALS_SHOWN]:
            self.stdout.write(f"    {each}")


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """What `start_asked` and `estimate_asked` take."""
    return {
        "user": get_user(options["user"]) if options["user"] else None,
        "repository": options["repository_name"],
        "what": options["what"],
        "numbers": _numbers(options["numbers"]),
        "state": options["state"],
        "labels": labels_in(options["labels"]),
        "since": options["since"],
    }


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise CommandError("Give numbers separated by commas, as 1,2,3.") from None


def _columns(pairs: list[str]) -> dict[str, str]:
    if wrong := [pair for pair in pairs if "=" not in pair]:
        raise CommandError(f"“{wrong[0]}” is not FIELD=COLUMN.")
    return dict(pair.split("=", 1) for pair in pairs)
