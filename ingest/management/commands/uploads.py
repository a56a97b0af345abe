"""`manage.py uploads`: lists uploaded repositories that are open to everyone, and makes them private."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.core.serializers.json import DjangoJSONEncoder

from ingest import queries
from ingest.actions.visibility import change_visibility
from ingest.identifiers import parse_repository
from ingest.models import Repository
from shared.errors import ConcordError


class Command(BaseCommand):
    help = "List the repositories that came from uploaded files and that everyone who signs in can read."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--close", action="extend", nargs="+", default=[], metavar="OWNER/NAME", help="Make these private."
        )
        parser.add_argument(
            "--open", action="extend", nargs="+", default=[], metavar="OWNER/NAME", help="Open these to everyone."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object alone.")

    def handle(self, *args: Any, **options: Any) -> None:
        changed = []
        for private, names in ((True, options["close"]), (False, options["open"])):
            for name in names:
                try:
                    found = Repository.objects.called(*parse_repository(name)).first()
                    if found is None:
                        raise CommandError(f"{name} is not stored here.")
                    changed.append(change_visibility(repository=found, user=None, private=private))
                except ConcordError as error:
                    raise CommandError(error.message) from error
        uploads = queries.open_uploads()
        if options["json"]:
            self.stdout.write(json.dumps({"open": [vars(each) for each in uploads]}, cls=DjangoJSONEncoder))
            return
        for each in changed:
            self.stdout.write(f"{each.full_name} is now {'private' if each.private else 'open to everyone'}.")
        self.stdout.write(
            "Uploaded and open to everyone who signs in:" if uploads else "No uploaded repository is open."
        )
        for line in queries.open_uploads_as_lines(uploads):
            self.stdout.write(line)
