"""`manage.py import_ratings`: a spreadsheet of ratings becomes a study, or rounds of one."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from accounts.access import get_user
from accounts.models import User
from accounts.permissions import shell_command
from annotation.core.access import OWNER
from annotation.imports.actions.ratings import ImportReport, import_plan, plan_import
from annotation.imports.sheets.missing_values import MARKS
from annotation.imports.sheets.plans import SheetOptions, SheetPlan
from annotation.imports.sheets.questions import BLANKS, DUPLICATES
from annotation.imports.sheets.words import FORM_WORDS, meaning_of
from annotation.models import Membership
from shared.commands import ConcordCommand
from shared.errors import ConcordError, NotFound
from shared.wording import plural

ANSWERS = {
    "map": "--map FIELD=COLUMN (DIMENSION@RATER=COLUMN for the labels of one rater)",
    "duplicates": "--duplicates reject|first|last",
    "blank": "--blank none|empty",
    "missing": "--missing=A,B,… (values that mean no rating) or --not-missing=A,B,…",
    "decimal": "--decimal point|comma",
}


class Command(ConcordCommand):
    help = (
        "Import ratings from a CSV, XLSX or Parquet file: item, rater, dimension, value (round, part, "
        "seconds, memo), or one column per dimension with --dimensions. Also reads Label Studio and doccano "
        "exports. Invalid rows are reported; valid rows are imported."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", metavar="FILE")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument(
            "--create", action="store_true", help="create the study, with its taxonomy from the values found"
        )
        parser.add_argument("--owner", metavar="USER", help="owner of the new study, or the user to run as")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="FIELD=COLUMN",
            help="which column has item, rater, round, part … or a dimension, or an attribute",
        )
        parser.add_argument("--dimensions", default="", metavar="A,B,…", help="columns that contain one dimension each")
        parser.add_argument("--attributes", default="", metavar="A,B,…", help="columns with attributes of the item")
        parser.add_argument("--final", default="final", metavar="NAME", help="the rater whose rows are final labels")
        parser.add_argument(
            "--several", default="", metavar="A,B,…", help="dimensions of a new study that take several values"
        )
        for kind in ("ordinal", "number"):
            parser.add_argument(
                f"--{kind}",
                default="",
                metavar="A,B,…",
                help=f"dimensions of a new study whose values are whole numbers: {kind}",
            )
        parser.add_argument("--guess", action="store_true", help="read all sheets of a workbook as the page would")
        parser.add_argument(
            "--duplicates",
            default="",
            choices=("", *DUPLICATES),
            help="labels that one rater assigned twice, differently",
        )
        parser.add_argument(
            "--blank",
            default="",
            choices=("", *BLANKS),
            help="a blank of a dimension that takes several values, in a row with other labels: no rating, or the "
            "empty set",
        )
        parser.add_argument(
            "--missing",
            default="",
            metavar="A,B,…",
            help="values that mean no rating, such as --missing=n/a,- (a category of that name is a category)",
        )
        parser.add_argument(
            "--not-missing",
            default="",
            metavar="A,B,…",
            help="values that are labels, although they look like a missing value",
        )
        parser.add_argument(
            "--decimal", default="", choices=("", *MARKS), help="the decimal mark of numbers with a comma"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print each column's meaning and the first rows, and store nothing"
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON object alone")

    def handle(self, *args: Any, path: str, study: str, as_json: bool, **options: Any) -> None:
        is_dry = options["dry_run"]
        try:
            with shell_command(), Path(path).open("rb") as file:
                create = options["create"]
                user = self._user(study, options["owner"], create=create)
                name = Path(path).name
                plan = plan_import(
                    user=user,
                    study=study,
                    file=file,
                    name=name,
                    options=self._options(options),
                    create=create,
                    shows=is_dry,
                )
                if (is_dry and not as_json) or (options["guess"] and not as_json):
                    self._show(plan)
                if is_dry and plan.questions and as_json:
                    self.stdout.write(json.dumps({"dry_run": True, **plan.as_document()}, ensure_ascii=False))
                    raise SystemExit(1)
                report = import_plan(
                    user=user, study=study, plan=plan, name=name, create=create, adds_accounts=True, dry_run=is_dry
                )
        except OSError as error:
            raise CommandError(f"{path} can't be read: {error.strerror or error}.") from error
        except ConcordError as error:
            raise CommandError(_sentences(error)) from error
        if as_json:
            more = {"dry_run": True, **plan.as_document()} if is_dry else {}
            self.stdout.write(json.dumps(more | report.as_document(), ensure_ascii=False))
            return
        self._tell(report)
        if is_dry:
            self.stdout.write("Nothing was saved.")

    def _options(self, options: dict[str, Any]) -> SheetOptions:
        return SheetOptions(
            mapping=self._mapping(options["map"]),
            dimensions=options["dimensions"].split(","),
            attributes=options["attributes"].split(","),
            several=[name.strip() for name in options["several"].split(",") if name.strip()],
            final=options["final"],
            guess=options["guess"],
            duplicates=options["duplicates"],
            ordinal=[name.strip() for name in options["ordinal"].split(",") if name.strip()],
            number=[name.strip() for name in options["number"].split(",") if name.strip()],
            blank=options["blank"],
            missing=options["missing"].split(","),
            not_missing=options["not_missing"].split(","),
            decimal=options["decimal"],
        )

    def _user(self, study: str, owner: str | None, *, create: bool) -> User:
        if owner:
            return get_user(owner)
        if create:
            raise CommandError("Name the owner of the new study: --owner USER.")
        found = Membership.objects.filter(study__slug=study, roles__contains=[OWNER], user__isnull=False)
        member = found.select_related("user").first()
        if member is None or member.user is None:
            raise NotFound(f"Study “{study}” not found. Create it from this sheet with --create --owner USER.")
        return member.user

    def _mapping(self, pairs: list[str]) -> dict[str, str]:
        for pair in pairs:
            if "=" not in pair:
                raise CommandError(f"“{pair}” is not FIELD=COLUMN, such as item=issue_url.")
        return dict(pair.split("=", 1) for pair in pairs)

    def _show(self, plan: SheetPlan) -> None:
        """What each column is read as, and the first rows."""
        for sheet, title in zip(plan.mapping.sheets, plan.titles, strict=True):
            whose = f", rater {sheet.rater}" if sheet.rater else ""
            when = f", round {sheet.round}" if sheet.round else ""
            form = FORM_WORDS[sheet.form] if sheet.is_used else "not read"
            self.stdout.write(f"{title or 'The sheet'}: {form}{whose}{when}")
            for column in sheet.columns if sheet.is_used else ():
                self.stdout.write(f"  {column.name or '(no name)'}: {meaning_of(column)}")
        for offer in plan.offers:
            self.stdout.write(f"{offer.text} --ordinal or --number makes it one; read as: {offer.chosen}.")
        self.stdout.write("The first rows:")
        for row in plan.first:
            said = "; ".join(f"{name}: {text}" for name, text in row.values if text)
            place = ", ".join(
                text
                for text in (row.item, row.rater and f"rater {row.rater}", row.round and f"round {row.round}")
                if text
            )
            self.stdout.write(f"  {row.where}: {place}: {said or 'no label'}")

    def _tell(self, report: ImportReport) -> None:
        self.stdout.write(
            f"{report.study}: {plural(report.n_rows, 'row')} of {plural(report.n_items, 'item')} and "
            f"{plural(report.n_raters, 'rater')}, {plural(report.n_ratings, 'new rating')}, "
            f"{report.n_ratings_unchanged:,} already stored, {plural(report.n_resolutions, 'resolution')} "
            f"({report.n_left_blank:,} more without a value), "
            f"{report.n_unchanged:,} submissions and resolutions unchanged, {report.n_refused:,} rejected."
        )
        if report.n_rows_without_label:
            self.stdout.write(f"  {plural(report.n_rows_without_label, 'more row')} without a label")
        if report.n_attributes:
            self.stdout.write(f"  {plural(report.n_attributes, 'attribute')} of items")
        if report.unblinded:
            self.stdout.write(f"  marked as unblinded: {', '.join(report.unblinded)}")
        for round_ in report.rounds:
            label = f" ({round_.label})" if round_.label not in ("", str(round_.number)) else ""
            newest = "; the newest round" if round_.is_newest else ""
            n = plural(round_.n_items, "item")
            self.stdout.write(f"  round {round_.number}{label}: {n}, {round_.state}{newest}")
        for refusal in report.refusals:
            where = f"{refusal.sheet}, row {refusal.line}" if refusal.sheet else f"line {refusal.line}"
            self.stdout.write(f"  {where}: {refusal.reason}")


def _sentences(error: ConcordError) -> str:
    """The message with its details; for open questions with the options that answer them."""
    sentences = [error.message]
    for name, details in error.fields.items():
        sentences += [each for each in details if each not in error.message]
        if error.code == "questions":
            sentences[-1] += f" Answer with {ANSWERS[name]}."
    return " ".join(sentences)
