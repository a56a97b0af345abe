"""Options of agreement: words of a URL or command, checked, with the study's defaults."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.agreement_report.queries.across_rounds import AgreementQuery
from annotation.core import strata
from annotation.core.access import Seat
from annotation.core.errors import Invalid
from annotation.models import Study
from shared.storable_json import check_storable

MOST_NAMED = 20


def ask(seat: Seat, given: Mapping[str, str]) -> AgreementQuery:
    """What the words ask for in this study, without the items that this person still has to answer as a third rater.

    `applies` is the study's where it is not asked for; so are metric and weights where it fixed them. Raises Invalid,
    which names what there is in place of an unknown repository, stratum or rater. Cost: a query for each of these
    three that is asked for, and one more that says what there is.
    """
    check_storable(dict(given))
    asked = AgreementQuery.read(dict(given))
    study = seat.study
    fields: dict[str, list[str]] = {}
    part = replace(asked.slice, applies=given.get("applies") or study.applies, without=tuple(sorted(seat.withheld)))
    if name := given.get("repository") or "":
        if strata.has_repository(study, name):
            part = replace(part, repository=name)
        else:
            fields["repository"] = [_unknown(f"No item is from “{name[:100]}”", strata.repositories(study))]
    if stratum := given.get("stratum") or "":
        if stratum in (known := strata.strata(study)):
            part = replace(part, stratum=stratum)
        else:
            fields["stratum"] = [_unknown(f"No sample of this study has a stratum “{stratum[:100]}”", known)]
    codes: tuple[str, ...] = ()
    if words := given.get("raters") or "":
        people = strata.raters(study)
        wanted = {each.strip() for each in words.split(",")}
        if len(wanted) != 2 or len(words.split(",")) != 2:
            fields["raters"] = ["Name two raters, as R1,R2."]
        elif wanted - set(people):
            missing = ", ".join(f"“{each[:20]}”" for each in sorted(wanted - set(people)))
            fields["raters"] = [_unknown(f"No person rates here as {missing}", list(people))]
        else:
            codes = tuple(code for code in people if code in wanted)
            part = replace(part, raters=tuple(people[code].pk for code in codes))
    if fields:
        raise Invalid("Agreement request not valid.", fields=fields)
    keeps_out = study.screened_out == Study.ScreenedOut.KEEP
    return replace(
        asked, slice=part, raters=codes, fixed=study.primary, applies_there=study.applies, keeps_out=keeps_out
    )


def _unknown(sentence: str, known: Sequence[str]) -> str:
    if not known:
        return f"{sentence}; there are none."
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return f"{sentence}; there {'is' if len(known) == 1 else 'are'} {', '.join(known[:MOST_NAMED])}{more}."


MOST_RATERS = 40
"""Of more raters no pairs are offered: an address may still name one."""


def choices(seat: Seat) -> dict[str, list[str]]:
    """What the page offers to slice by, where there is a choice: repositories and strata by name, pairs of raters.

    Three queries; repositories may be ten minutes old.
    """
    study = seat.study
    found = {"repository": strata.repositories_lately(study), "stratum": strata.strata(study)}
    codes = list(strata.raters(study))
    codes = codes if len(codes) <= MOST_RATERS else []
    pairs = [f"{a},{b}" for place, a in enumerate(codes) for b in codes[place + 1 :]]
    found = {name: names for name, names in found.items() if len(names) > 1}
    return found | ({"raters": pairs} if len(pairs) > 1 else {})
