"""`manage.py agreement`: the agreement of a study as tables, with --json as over REST."""

import json
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agreement import COEFFICIENTS, FREE_TEXT, bound, decimals, interval_words
from annotation.agreement_report.queries.across_rounds import CHOICES, WEIGHTS, visible_rounds
from annotation.agreement_report.queries.coefficients import agreement_and_raters, coefficients_to_print
from annotation.agreement_report.queries.headline import WORD, headline_set
from annotation.agreement_report.queries.model_raters import with_machines
from annotation.agreement_report.queries.more_items import width_of, with_units_needed
from annotation.agreement_report.queries.options import ask
from annotation.core.access import get_round, get_whole_study
from annotation.labels.queries.version_mapping import target_version
from annotation.labels.registration import DEFAULT, has_coefficients, is_registered, primary_of
from annotation.methods import checklist_as_markdown, latex, whole_markdown
from annotation.methods.facts import round_numbers
from annotation.methods.queries.methods import methods, methods_as_document
from annotation.studies.actions.primary import newest_dimensions
from shared.commands import ConcordCommand
from shared.errors import ConcordError
from shared.wording import plural

SLICING = ("dimension", "metric", "weights", "repository", "stratum", "raters")


def _round(given: str) -> int | str:
    return WORD if given == WORD else int(given)


def _more(coefficient: Mapping[str, Any]) -> str:
    plan = coefficient.get("planned")
    if plan is None:
        return ""
    if plan["undefined"]:
        return f"  {plan['undefined']}"
    return f"  {plan['more_units']} more units for a width of {plan['width']:g}"


class Command(ConcordCommand):
    help = "Print the agreement of a study: per dimension all coefficients, or the reason why one is undefined."
    requires_system_checks: list[str] = []

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Lets `--version` name a taxonomy's version instead of Django's."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="ID of the study")
        parser.add_argument(
            "--round", type=_round, metavar="N", help="only this round, or `headline`; otherwise all together"
        )
        parser.add_argument("--dimension", metavar="KEY", help="only this dimension")
        for name, choices in CHOICES.items():
            default = None if name == "applies" else choices[0]
            parser.add_argument(
                f"--{name}", choices=choices, default=default, help=None if default else "otherwise as the study is set"
            )
        parser.add_argument(
            "--version", type=int, metavar="N", help="all mapped to this version; otherwise each round in its own"
        )
        parser.add_argument("--metric", help="the distance of Krippendorff's alpha, if not the default of the kind")
        parser.add_argument("--weights", choices=WEIGHTS, help="of weighted kappa and AC2, if other than fixed")
        parser.add_argument("--repository", metavar="OWNER/NAME", help="only items from there")
        parser.add_argument("--stratum", metavar="NAME", help="only items that a sample drew from it")
        parser.add_argument("--raters", metavar="R1,R2", help="only labels of these two raters")
        parser.add_argument(
            "--width", default="", metavar="W", help="how many more units narrow the 95%% CI to this width"
        )
        parser.add_argument(
            "--methods", action="store_true", help="print the methods paragraph and the checklist of all rounds instead"
        )
        parser.add_argument("--latex", action="store_true", help="print the table of all rounds as LaTeX instead")
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="print the list of the REST answer alone"
        )

    def handle(self, *args: Any, study: str, as_json: bool, **options: Any) -> None:
        if options["methods"] or options["latex"]:
            self._write(study, as_json=as_json, only_latex=not options["methods"])
            return
        words = {name: options[name] or "" for name in (*CHOICES, *SLICING)}
        try:
            seat = get_whole_study(study)
            number = options["round"] if isinstance(options["round"], int) else None
            headline = headline_set(seat)
            round_ = None if number is None else get_round(seat, number)
            rounds = visible_rounds(seat) if round_ is None else [round_]
            rounds = list(headline.rounds) if options["round"] == WORD else rounds
            asked = replace(ask(seat, words), version=target_version(seat, options["version"], round_))
            entries = agreement_and_raters(seat, rounds, asked, round_number=number, is_headline=headline.is_of(rounds))
            entries = with_units_needed(with_machines(seat, rounds, asked, entries), width_of(options["width"]))
        except ConcordError as error:
            details = [sentence for each in error.fields.values() for sentence in each]
            raise CommandError(" ".join([error.message, *details])) from error
        if as_json:
            self.stdout.write(json.dumps(entries, ensure_ascii=False))
            return
        if not entries:
            none = "no round of the headline is finished"
            why = none if options["round"] == WORD else "no round has been opened"
            self.stdout.write(f"No agreement to show yet: {why}.")
        has_sheets = any(each.label or each.is_from_sheet for each in rounds)
        kinds = {each.key: each.kind for each in newest_dimensions(seat.study.taxonomy)}
        for entry in entries:
            kind = kinds.get(entry["dimension"], "single")
            fixed = primary_of(seat.study.primary, entry["dimension"], kind)
            self._tell(entry, fixed, is_text=not has_coefficients(kind), has_sheets=has_sheets)

    def _write(self, study: str, *, as_json: bool, only_latex: bool) -> None:
        try:
            facts = methods(get_whole_study(study))
        except ConcordError as error:
            raise CommandError(error.message) from error
        if as_json:
            self.stdout.write(json.dumps(methods_as_document(facts), ensure_ascii=False))
            return
        told = latex(facts) if only_latex else f"{whole_markdown(facts)}\n{checklist_as_markdown(facts)}"
        self.stdout.write(told, ending="")

    def _tell(self, entry: Mapping[str, Any], fixed: Mapping[str, Any], *, is_text: bool, has_sheets: bool) -> None:
        where = "all rounds" if entry["round"] is None else f"round {entry['round']}"
        if entry["headline"]:
            several = round_numbers("round", entry["rounds"])
            where = f"{several if entry['round'] is None else where} (the headline)"
        if entry["version"] is not None:
            where += f" mapped to version {entry['version']}"
        # Of labels from a sheet nobody knows whether they are from before discussion.
        when = "" if has_sheets and entry["when"] == "before" else f"{entry['when']} discussion, "
        self.stdout.write(
            f"{entry['dimension']}: {where}, {when}{plural(entry['units'], 'unit')} by "
            f"{plural(entry['raters'], 'rater')}, {entry['left_out']:,} excluded"
        )
        primary = fixed.get("coefficient")
        if is_text:
            self.stdout.write(f"    {FREE_TEXT}")
        printed = () if is_text else coefficients_to_print(entry["coefficients"], entry["raters"], primary)
        for each in printed:
            mark = "*" if each["name"] == primary else " "
            title = f"  {mark} {COEFFICIENTS[each['name']].title:<33}"
            if each["value"] is None:
                self.stdout.write(f"{title} -      {each['undefined']}")
                continue
            error = "        -" if each["se"] is None else f"se {each['se']:.4f}"
            interval = interval_words(each["ci_low"], each["ci_high"], each["ci_method"], 3)
            interval = interval or each["ci_undefined"] or ""
            self.stdout.write(f"{title} {decimals(each['value'], 3):>6}  {error:<9}  {interval}{_more(each)}".rstrip())
        if fixed:
            threshold = fixed.get("threshold")
            source = "the default, not registered" if fixed is DEFAULT else "not registered"
            self.stdout.write(
                f"  * primary{'' if threshold is None else f', threshold {bound(threshold)}'}"
                f"{'' if is_registered(fixed) else f' ({source})'}"
            )
        for machine in entry["by_machine"]:
            called = " ".join(filter(None, ("machine", machine["name"], machine["version"])))
            for pair in machine["pairs"]:
                kappa = "undefined" if pair["cohen_kappa"] is None else decimals(pair["cohen_kappa"], 3)
                self.stdout.write(
                    f"  - {machine['machine']} ({called}) and {pair['rater']}: Cohen's kappa {kappa}, "
                    f"{plural(pair['n'], 'unit')}"
                )
        for each in entry["unmapped"]:
            n = plural(each["ratings"], "rating")
            self.stdout.write(f"  - {each['category']} (version {each['version']}), {n}: {each['reason']}")
        for warning in entry["warnings"]:
            self.stdout.write(f"  ! {warning}")
