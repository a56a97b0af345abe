"""`manage.py uploads`: lists uploaded repositories that are open to everyone, closes, opens and renames them."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.core.serializers.json import DjangoJSONEncoder

from ingest import queries
from ingest.actions.visibility import change_visibility, rename_upload
from ingest.identifiers import parse_repository
from ingest.models import Repository
from shared.commands import ConcordCommand
from shared.errors import ConcordError


def _called(name: str) -> Repository:
    found = Repository.objects.called(*parse_repository(name)).first()
    if found is None:
        raise CommandError(f"{name} is not stored here.")
    return found


def _change(name: str, *, private: bool) -> Repository:
    return change_visibility(repository=_called(name), user=None, private=private)


class Command(ConcordCommand):
    help = "List the repositories that came from uploaded files and that everyone who signs in can read."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--close", action="extend", nargs="+", default=[], metavar="OWNER/NAME", help="Make these private."
        )
        parser.add_argument(
            "--open", action="extend", nargs="+", default=[], metavar="OWNER/NAME", help="Open these to everyone."
        )
        parser.add_argument(
            "--rename",
            action="extend",
            nargs="+",
            default=[],
            metavar="OWNER/NAME",
            help="Add “-uploaded” to the names of these, so that other issues can be stored under their names.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object alone.")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            closed = [_change(name, private=True) for name in options["close"]]
            opened = [_change(name, private=False) for name in options["open"]]
            renamed = [(name, rename_upload(repository=_called(name))) for name in options["rename"]]
        except ConcordError as error:
            raise CommandError(error.message) from error
        uploads = queries.open_uploads()
        if options["json"]:
            self.stdout.write(json.dumps({"open": [vars(each) for each in uploads]}, cls=DjangoJSONEncoder))
            return
        for each in (*closed, *opened):
            self.stdout.write(f"{each.full_name} is now {'private' if each.private else 'open to everyone'}.")
        for before, now in renamed:
            self.stdout.write(f"{before} is now {now.full_name}.")
        self.stdout.write(
            "Uploaded and open to everyone who signs in:" if uploads else "No uploaded repository is open."
        )
        for line in queries.open_uploads_as_lines(uploads):
            self.stdout.write(line)
