"""`manage.py import_ratings`: a spreadsheet of ratings becomes a study, or rounds of one."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.access import get_user
from accounts.allowances import shell_command
from accounts.errors import ConcordError, NotFound
from accounts.models import User
from annotation.access import OWNER
from annotation.actions.imports import ImportReport, import_ratings
from annotation.models import Membership


class Command(BaseCommand):
    help = (
        "Take ratings from a CSV, XLSX or Parquet file: item, rater, dimension, value (round, part, seconds, memo), or "
        "one column per dimension with --dimensions; or what Label Studio and doccano export. Rows that can't be taken "
        "are listed; the others arrive."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="FILE")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--create", action="store_true", help="make the study, its taxonomy from the values found")
        parser.add_argument("--owner", metavar="USER", help="who owns the new study, or in whose name this is done")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="FIELD=COLUMN",
            help="which column holds item, rater, round, part … or a dimension, or an attribute",
        )
        parser.add_argument("--dimensions", default="", metavar="A,B,…", help="columns that hold one dimension each")
        parser.add_argument(
            "--attributes", default="", metavar="A,B,…", help="columns that say something of the item itself"
        )
        parser.add_argument(
            "--final", default="final", metavar="NAME", help="the rater whose rows are what was decided"
        )
        parser.add_argument(
            "--guess", action="store_true", help="read all sheets of a workbook as the page would guess them"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, path: str, study: str, as_json: bool, **options: Any) -> None:
        try:
            with shell_command(), Path(path).open("rb") as file:
                report = import_ratings(
                    user=self._user(study, options["owner"], create=options["create"]),
                    study=study,
                    file=file,
                    name=Path(path).name,
                    mapping=self._mapping(options["map"]),
                    dimensions=options["dimensions"].split(","),
                    attributes=options["attributes"].split(","),
                    final=options["final"],
                    create=options["create"],
                    guess=options["guess"],
                    adds_accounts=True,
                )
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror or error}.") from error
        except ConcordError as error:
            details = [sentence for each in error.fields.values() for sentence in each if sentence not in error.message]
            raise CommandError(" ".join([error.message, *details])) from error
        if as_json:
            self.stdout.write(json.dumps(report.as_document(), ensure_ascii=False))
        else:
            self._tell(report)

    def _user(self, study: str, owner: str | None, *, create: bool) -> User:
        if owner:
            return get_user(owner)
        if create:
            raise CommandError("Say who is to own the new study: --owner USER.")
        found = Membership.objects.filter(study__slug=study, roles__contains=[OWNER], user__isnull=False)
        member = found.select_related("user").first()
        if member is None or member.user is None:
            raise NotFound(f"There is no study “{study}”; make it from this sheet with --create --owner USER.")
        return member.user

    def _mapping(self, pairs: list[str]) -> dict[str, str]:
        for pair in pairs:
            if "=" not in pair:
                raise CommandError(f"“{pair}” is no FIELD=COLUMN, such as item=issue_url.")
        return dict(pair.split("=", 1) for pair in pairs)

    def _tell(self, report: ImportReport) -> None:
        self.stdout.write(
            f"{report.study}: {report.n_rows} rows, {report.n_ratings} ratings of {report.n_items} items by "
            f"{report.n_raters} raters, {report.n_resolutions} resolutions ({report.n_left_blank} more without a "
            f"value), {report.n_unchanged} unchanged, {report.n_refused} refused."
        )
        if report.n_attributes:
            self.stdout.write(f"  {report.n_attributes} attributes of items")
        if report.unblinded:
            self.stdout.write(f"  marked as unblinded: {', '.join(report.unblinded)}")
        for round_ in report.rounds:
            label = f" ({round_.label})" if round_.label not in ("", str(round_.number)) else ""
            self.stdout.write(f"  round {round_.number}{label}: {round_.n_items} items, {round_.state}")
        for refusal in report.refusals:
            where = f"{refusal.sheet}, row {refusal.line}" if refusal.sheet else f"line {refusal.line}"
            self.stdout.write(f"  {where}: {refusal.reason}")
