"""`manage.py import_study`: imports a study file of another server as a whole."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.access import get_user
from accounts.permissions import shell_command
from annotation.transfer.actions.study_import import bring_study, report_of
from shared.commands import ConcordCommand
from shared.errors import ConcordError
from shared.wording import plural


class Command(ConcordCommand):
    help = "Import a full export that `export STUDY --what study` wrote on another server, all or nothing."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="PATH")
        parser.add_argument("--owner", required=True, metavar="USER", help="owner of the study on this server")
        parser.add_argument("--slug", default="", help="its ID on this server, otherwise the one it had")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, path: str, owner: str, slug: str, as_json: bool, **options: Any) -> None:
        try:
            with shell_command(), Path(path).open("rb") as file:
                stored, sha256 = bring_study(user=get_user(owner), file=file, slug=slug)
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror or error}.") from error
        except ConcordError as error:
            raise CommandError(error.message) from error
        report = report_of(stored, sha256)
        if as_json:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
            return
        n_answers, n_items = report["rows"]["annotation"], report["rows"]["item"]
        held = f"{plural(n_answers, 'submission')} for {plural(n_items, 'item')}"
        self.stdout.write(f"{report['study']}: {held}, owned by {owner}")
        self.stdout.write(f"new on this server: {report['new_issues']} of {plural(report['issues'], 'issue')}")
        for each in report["taxonomies"]:
            came = (
                "imported"
                if each["is_new"]
                else "already here"
                if each["is_own"]
                else "already here, others maintain it"
            )
            self.stdout.write(f"taxonomy {each['here']}: {came}")
