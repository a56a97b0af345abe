"""Prints a version of a taxonomy as its YAML or JSON document."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from taxonomy import schema
from taxonomy.queries import document, version_of


class Command(BaseCommand):
    help = "Print a taxonomy as YAML: its newest version, draft or not, or the one named."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Lets `--version` name a taxonomy's version instead of Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG")
        parser.add_argument("--version", dest="number", type=int, metavar="N", help="the version's number")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print the document as JSON alone")

    def handle(self, *args: Any, slug: str, number: int | None, as_json: bool, **options: Any) -> None:
        found = version_of(slug, number)
        if found is None:
            which = "taxonomy" if number is None else f"version {number} of a taxonomy"
            raise CommandError(f"There is no {which} {slug}.")
        if as_json:
            self.stdout.write(json.dumps(schema.plain(document(found)), ensure_ascii=False, indent=2))
        else:
            self.stdout.write(schema.dump(document(found)), ending="")
