"""`manage.py dump_taxonomy`: a version as YAML or JSON, or the JSON Schema of documents."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError, CommandParser

from shared.commands import ConcordCommand
from taxonomy import schema
from taxonomy.queries import appendix_of, compare_versions, document, version_of


class Command(ConcordCommand):
    help = (
        "Print a taxonomy as YAML: its newest version, draft or not, or the one named. With --schema, print the JSON "
        "Schema of documents, for an editor."
    )
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Lets `--version` name a taxonomy's version instead of Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", metavar="SLUG", nargs="?", default="")
        parser.add_argument("--version", dest="number", type=int, metavar="N", help="the version's number")
        parser.add_argument(
            "--diff", dest="older", type=int, metavar="A", help="print what changed since version A, as Markdown"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print the document as JSON alone")
        parser.add_argument(
            "--schema", action="store_true", dest="is_schema", help="print the JSON Schema of documents"
        )

    def handle(self, *args: Any, slug: str, number: int | None, as_json: bool, is_schema: bool, **options: Any) -> None:
        if is_schema:
            self.stdout.write(schema.schema_text(), ending="")
            return
        if not slug:
            raise CommandError("Name a taxonomy by its ID, or use --schema.")
        found = version_of(slug, number)
        if found is None:
            which = "taxonomy" if number is None else f"version {number} of a taxonomy"
            raise CommandError(f"{which} {slug} not found.")
        older: int | None = options["older"]
        if older is not None:
            before = version_of(slug, older)
            if before is None:
                raise CommandError(f"Version {older} of taxonomy {slug} not found.")
            self.stdout.write(appendix_of(compare_versions(before, found)), ending="")
        elif as_json:
            self.stdout.write(json.dumps(schema.plain(document(found)), ensure_ascii=False, indent=2))
        else:
            self.stdout.write(schema.dump(document(found)), ending="")
