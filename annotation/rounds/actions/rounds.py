"""Rounds: created, and moved from draft to open to resolving to closed."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from django.db import transaction
from django.db.models import Exists, OuterRef, Sum
from django.db.models.functions import Coalesce, Now
from django.utils import timezone

from annotation.assignments.actions import states_and_leases as assignment_states
from annotation.assignments.actions.finishing import start_resolving
from annotation.assignments.actions.third_raters import withdraw_third_raters
from annotation.assignments.planning import raters_planned, slots_short
from annotation.assignments.queries import n_free_aside, n_set_aside, raters_by_name
from annotation.calibration.actions.training import (
    Known,
    give_training,
    gold_of_round,
    passed_gate,
    read_all_gold,
    read_minimum,
    seen_warnings,
)
from annotation.calibration.calibration import short_of
from annotation.calibration.queries.training import seen_answers
from annotation.choosing.actions.batches import (
    ASSIGNMENTS_JOB_FROM,
    GIVEN,
    TAKEN,
    RoundOpening,
    earlier_row,
    is_large,
    place_items,
    require_whole,
    start_job,
    take_issues,
)
from annotation.choosing.actions.items import named_items
from annotation.choosing.actions.screening_rounds import screen_by_round, screening_version
from annotation.choosing.queries.samples import SampleLine, has_screening, sample_lines, standing_counts, unused_issues
from annotation.core.access import OWNER, Seat, get_round, items_by_identifier, row_number
from annotation.core.audit import record
from annotation.core.database_planner import tell_planner
from annotation.core.errors import Conflict, Invalid, WrongState
from annotation.core.locks import hold_round, hold_study, require_no_open_queue, require_no_plan, require_prepared
from annotation.core.member_lists import members_named
from annotation.core.numbers import next_round_number
from annotation.labels.answers import digest
from annotation.labels.queries.changed_items import changed_since
from annotation.labels.queries.read_before import labeled_in_source, readers_before
from annotation.labels.queries.verdicts import has_open_disagreements, n_open_proposals
from annotation.labels.screening import IN, OPEN, OUT, STANDINGS, UNSCREENED, in_words, read_reasons, standings_taken
from annotation.models import (
    Assignment,
    AuditEvent,
    BulkJob,
    InboxLine,
    Item,
    Membership,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    Study,
)
from annotation.models.assignment_kinds import RATERS
from annotation.rounds.actions.due_dates import read_due
from annotation.rounds.queries import lacking_registration
from shared.names import folded
from shared.wording import plural, series
from taxonomy.models import TaxonomyVersion
from taxonomy.queries import published_version

KIND = "Use screening, pilot or main."
RATERS_PER_ITEM = "Enter a whole number from 1 to 100."
DOUBLE_SHARE = "Enter a share from 0 to 1."
SHARE = "Enter a share above 0, up to 1."
N_ITEMS = "Enter a whole number from 1."
SCREENING = f"Send a list of {', '.join(STANDINGS)}."


@dataclass(frozen=True)
class NewRound:
    """What a new round is to be.

    `raters` are user names or rater codes, and so are the keys of `quotas`: how many items each of them takes at most.
    A machine is given every item beside the raters per item, who are people. Without `taxonomy_version` the newest
    published one is taken. A screening round asks from a taxonomy of its own: it takes no version, but `reasons`,
    without which those of before stay.

    Its items are `issues`, or the next unused ones of `sample`: `n_items`, or a `share` of the sample. Once a screening
    round was opened, a coding round takes only items that are screened in. `screening` lists what it takes instead, of
    in, unscreened, open (a screening round asked, and has no agreed result) and out. The audit log keeps that choice.

    Training items come first and are not part of the number of items: those of `known` (by item what is right: labels
    or parts, and why), or the first `n_training` items of the closed `training_round` with what was agreed there. With
    them, and in a pilot with `issues=[]`, no other items have to be named. `gold_minimum` is what raters have to reach
    on training items before they get others (`training.read_minimum`).
    """

    kind: str = Round.Kind.MAIN
    taxonomy_version: int | None = None
    raters: Sequence[str] = ()
    quotas: Mapping[str, int | None] | None = None
    raters_per_item: int = 2
    mode: str = Round.Mode.PLANNED
    double_share: float = 1.0
    seed: int = 1
    issues: Sequence[str] | None = None
    sample: int | str | None = None
    n_items: int | None = None
    share: float | None = None
    screening: Sequence[str] | None = None
    reasons: Sequence[str] | None = None
    known: object = None
    training_round: int | None = None
    n_training: int | None = None
    gold_minimum: object = None
    due_on: date | str | None = None

    @property
    def request_digest(self) -> str:
        """What tells two requests with the same key apart."""
        asked: list[object] = [
            self.kind,
            self.taxonomy_version,
            self.raters,
            self.quotas,
            self.raters_per_item,
            self.mode,
        ]
        asked += [self.double_share, self.seed, self.issues, self.sample, self.n_items]
        asked += [self.share, self.reasons, self.known, self.training_round, self.n_training]
        asked += [each for each in (self.gold_minimum, self.screening) if each is not None]
        return digest([*asked, str(self.due_on)] if self.due_on else asked)


@transaction.atomic
def create_round(*, seat: Seat, asked: NewRound, idempotency_key: str = "") -> Round:
    """Makes a draft round over named issues, or over the next unused ones of a sample. Raises Invalid with the fields.

    A job takes many issues of a sample (`bulk_jobs.job_of`). The same request with the same key gives the round that
    it made before. Raises Conflict while a job prepares something in the study.
    """
    seat.require(OWNER)
    study = hold_study(seat)
    if (before := earlier_row(Round, seat, idempotency_key, asked.request_digest)) is not None:
        return before
    require_prepared(study)
    fields: dict[str, list[str]] = {}
    if asked.kind not in (Round.Kind.SCREENING, Round.Kind.PILOT, Round.Kind.MAIN):
        fields["kind"] = [KIND]
    if not 1 <= asked.raters_per_item <= 100:
        fields["raters_per_item"] = [RATERS_PER_ITEM]
    if not 0 <= asked.double_share <= 1:
        fields["double_share"] = [DOUBLE_SHARE]
    if not -(2**63) <= asked.seed < 2**63:
        fields["seed"] = ["Enter a whole number."]
    is_screening = asked.kind == Round.Kind.SCREENING
    why = _screening_words(is_screening, asked.taxonomy_version, asked.reasons, fields)
    standings = _standings(study, asked.screening, fields, is_screening=is_screening)
    version = None if is_screening else _published_version(study, asked.taxonomy_version, fields)
    members = raters_by_name(study, asked.raters, fields)
    people = [member for member in members if not member.is_machine]
    if not fields and asked.raters_per_item > len(people):
        fields["raters_per_item"] = [
            f"{plural(asked.raters_per_item, 'rater')} per item need at least as many raters. {len(people)} named."
        ]
    most = _quotas_named(study, asked.quotas, members, fields)
    has_training = asked.known is not None or asked.training_round is not None
    may_be_empty = has_training or (asked.kind == Round.Kind.PILOT and asked.issues == [])
    items: list[int] = []
    drawn_from = None
    if asked.issues or asked.sample is not None or not may_be_empty:
        items, drawn_from = _items(seat, study, asked, fields, standings)
    n_all = len(items)
    line = None if drawn_from is None else sample_lines(study, [drawn_from])[0]
    if line is not None and not fields:
        n_all = _n_wanted(line, asked, fields, standings)
    training = _training(seat, study, version, asked, fields)
    minimum = _minimum(study, version, asked.gold_minimum, fields)
    due = read_due(asked.due_on, fields)
    training_ids = {item.pk for item, _ in training}
    if drawn_from is not None and not fields:
        n_all = _n_beside(drawn_from, n_all, asked.n_items, training, fields, standings)
    if fields:
        raise Invalid("Round not created.", fields=fields)
    if is_screening:
        version = screening_version(seat=seat, study=study, reasons=why)
    assert version is not None
    number = next_round_number(study)
    round_ = Round.objects.create(
        study=study,
        number=number,
        kind=asked.kind,
        taxonomy_version=version,
        raters_per_item=asked.raters_per_item,
        double_share=asked.double_share,
        mode=asked.mode,
        seed=asked.seed,
        sample=drawn_from,
        gold_minimum=minimum,
        due_on=due,
        created_by=seat.user,
        idempotency_key=idempotency_key,
        request_digest=asked.request_digest,
    )
    RoundRater.objects.bulk_create(
        [RoundRater(round=round_, rater=member, quota=most.get(member.pk)) for member in members]
    )
    if drawn_from is None:
        items = [pk for pk in items if pk not in training_ids]
        n_all = len(items)
    planned = raters_planned(n_all, asked.raters_per_item, asked.double_share, asked.seed)
    if asked.mode == Round.Mode.PLANNED and (short := _short(planned, [most.get(each.pk) for each in people])):
        raise Invalid("Round not created.", fields={"quotas": [short]})
    RoundItem.objects.bulk_create(
        RoundItem(round=round_, item=item, position=position, n_raters=len(members), known=right)
        for position, (item, right) in enumerate(training, start=1)
    )
    if drawn_from is None:
        place_items(round_, items, planned, len(training))
        tell_planner(n_all, TAKEN)
    elif is_large(n_all):
        job = {"standings": standings}
        start_job(study=study, user=seat.user, kind=BulkJob.Kind.ROUND, n_total=n_all, round=round_, asked=job)
    else:
        _take_all_issues(seat, round_, planned, len(training), standings)
        tell_planner(n_all, TAKEN)
    said: dict[str, object] = {"screened_out": line.n_out} if line is not None and line.n_out else {}
    if line is not None and line.has_screening and standings and (passed := line.passed_over(standings)):
        said["passed_over"] = passed
    if asked.screening is not None:
        held = Item.objects.filter(round_items__round=round_)
        said |= {"screening": list(standings or ()), "took": standing_counts(held)}
    said |= {"training": len(training)} if training else {}
    record(study=study, user=seat.user, verb="round made", round=number, items=n_all, kind=asked.kind, **said)
    return round_


def warnings_of(seat: Seat, round_: Round) -> list[str]:
    """What to consider before a new round is opened, in sentences. It does not depend on any answer."""
    if round_.kind == Round.Kind.RELABEL:
        return []
    told = [*seen_warnings(round_), *([elsewhere] if (elsewhere := labeled_in_source(seat, round_)) else [])]
    taxonomy = "round__taxonomy_version__taxonomy"
    earlier = RoundItem.objects.filter(
        item=OuterRef("item"), round__number__lt=round_.number, **{taxonomy: OuterRef(taxonomy)}
    ).exclude(round__state__in=[Round.State.DRAFT, Round.State.UNDONE])
    n = RoundItem.objects.filter(Exists(earlier), round=round_, known__isnull=True).count()
    if not n:
        return told
    items = "1 item was" if n == 1 else f"{n:,} items were"
    readers = readers_before(round_)
    return [
        *told,
        f"{items} also in an earlier round. {f'{readers.warning} ' if readers is not None else ''}While this round is "
        "open, labels of the same items in other rounds are hidden from its raters. The methods paragraph names who "
        "could read labels of how many items, and counts the items that the same people labeled before.",
    ]


def screening_warnings(round_: Round) -> list[str]:
    """How the items of a new coding round stand to screening, and what it passed over; empty without screening.

    Three queries, or one.
    """
    if round_.kind == Round.Kind.SCREENING or not has_screening(round_.study):
        return []
    found = []
    took = standing_counts(Item.objects.filter(round_items__round=round_, round_items__known__isnull=True))
    if others := {each: n for each, n in took.items() if each != IN}:
        found.append(f"This round includes issues that are not screened in: {in_words(others)}.")
    if round_.sample is not None:
        left = sample_lines(round_.study, [round_.sample])[0].passed_over((IN,))
        if left:
            found.append(f"This round omits issues of the sample that are not screened in: {in_words(left)}.")
    return found


def _take_all_issues(
    seat: Seat, round_: Round, planned: Sequence[int], n_training: int, standings: Sequence[str]
) -> None:
    cursor: dict[str, int] = {}
    while cursor.get("taken", 0) < len(planned):
        take_issues(seat, round_, planned, cursor, n_training, standings)


def _training(
    seat: Seat,
    study: Study,
    version: TaxonomyVersion | None,
    asked: NewRound,
    fields: dict[str, list[str]],
) -> list[tuple[Item, Known]]:
    """The training items of a new round with what is known of them; what is wrong goes into `fields`."""
    if asked.known is None and asked.training_round is None and asked.n_training is None:
        return []
    if version is None:
        fields.setdefault(
            "known", ["A round has calibration items only under a published version, and never for screening."]
        )
        return []
    if asked.training_round is not None or asked.n_training is not None:
        if asked.known is not None:
            fields["known"] = ["Send either known, or training_round with n_training."]
            return []
        return gold_of_round(seat, version, asked.training_round, asked.n_training, fields)
    read = read_all_gold(version, asked.known, fields)
    wrong: dict[str, list[str]] = {}
    items = named_items(seat, study, list(read), wrong, (IN, UNSCREENED, OPEN)) if read else []
    if wrong:
        fields["known"] = [*fields.get("known", []), *wrong["issues"]]
        return []
    by_item = {item.pk: read[name] for name, item in items_by_identifier(study, read).items()}
    return [(item, by_item[item.pk]) for item in items if item.pk in by_item]


def is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _quotas_named(
    study: Study, quotas: object, members: Sequence[Membership], fields: dict[str, list[str]]
) -> dict[int, int | None]:
    """How many items each rater takes at most, by the membership's id; what is wrong goes into `fields`."""
    if quotas is None:
        return {}
    if not isinstance(quotas, Mapping):
        fields["quotas"] = ["Send an object: a rater's user name or code, and a whole number or null."]
        return {}
    by_name = members_named(study)
    found: dict[int, int | None] = {}
    for name, quota in quotas.items():
        member = by_name.get(folded(str(name)))
        if member is None or member not in members:
            fields.setdefault("quotas", []).append(f"“{name}” is not a rater of this round. Name them in raters, too.")
        elif member.is_machine:
            fields.setdefault("quotas", []).append(f"“{name}” is a model rater, which labels every item.")
        elif quota is not None and not is_whole(quota, 0, 2**31 - 1):
            fields.setdefault("quotas", []).append(f"“{name}”: enter a whole number from 0, or null for no limit.")
        else:
            found[member.pk] = quota
    return found


def _short(planned: Sequence[int], capacities: Sequence[int | None]) -> str:
    """What to say when quotas can't hold all slots; empty when they can."""
    n = slots_short(planned, capacities)
    if not n:
        return ""
    slots = "1 slot" if n == 1 else f"{n} slots"
    return f"The quotas are {slots} short of {sum(planned)}. Raise one, add a rater, or choose fewer items."


def quotas_short(round_: Round) -> str:
    """What to say when the quotas of a planned round can't hold all its slots; empty when they can."""
    if round_.mode == Round.Mode.POOL:
        return ""
    n_items = RoundItem.objects.counting().filter(round=round_).count()
    planned = raters_planned(n_items, round_.raters_per_item, round_.double_share, round_.seed)
    people = RoundRater.objects.filter(round=round_, rater__kind=Membership.Kind.PERSON)
    return _short(planned, list(people.order_by("pk").values_list("quota", flat=True)))


def _screening_words(
    is_screening: bool, version: int | None, reasons: Sequence[str] | None, fields: dict[str, list[str]]
) -> Sequence[str] | None:
    """The reasons that a screening round is to offer, None for those of before; what is wrong goes into `fields`."""
    if is_screening and version is not None:
        fields["taxonomy_version"] = ["A screening round uses its own taxonomy. Omit this field."]
    if reasons is None:
        return None
    if not is_screening:
        fields["reasons"] = ["Only a screening round has reasons. Omit this field."]
        return None
    return read_reasons(reasons, fields)


def _standings(
    study: Study, given: Sequence[str] | None, fields: dict[str, list[str]], *, is_screening: bool
) -> tuple[str, ...]:
    """How issues may stand to screening that a coding round takes; empty for a screening round.

    What is wrong goes into `fields`.
    """
    if is_screening:
        if given is not None:
            fields["screening"] = ["A screening round includes unscreened issues. Omit this field."]
        return ()
    if given is None:
        return standings_taken(has_screening(study))
    if not given:
        fields["screening"] = [SCREENING]
        return standings_taken(has_screening(study))
    if OUT in given and study.screened_out == Study.ScreenedOut.EXCLUDE:
        fields["screening"] = [
            "Issues that are screened out would not count, because this study excludes them. Screen them in "
            "first, or change the setting “screened_out” to keep."
        ]
    return tuple(each for each in STANDINGS if each in given)


def _published_version(study: Study, number: int | None, fields: dict[str, list[str]]) -> TaxonomyVersion | None:
    versions = study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED)
    if number is not None:
        versions = versions.filter(number=number) if 1 <= number < 2**31 else versions.none()
    version = versions.order_by("-number").first()
    if version is None:
        wanted = f"version {number}" if number is not None else "version"
        fields["taxonomy_version"] = [f"“{study.taxonomy.slug}” has no published {wanted}. Publish one first."]
    return version


def _items(
    seat: Seat,
    study: Study,
    asked: NewRound,
    fields: dict[str, list[str]],
    standings: Sequence[str],
) -> tuple[list[int], Sample | None]:
    """The named items (ids) that the round is to hold, or the sample to take them from; faults go into `fields`."""
    if (asked.issues is None) == (asked.sample is None):
        fields["issues"] = ["Send either issues, or a sample with n_items or share."]
        return [], None
    if asked.issues is not None:
        return [each.pk for each in named_items(seat, study, asked.issues, fields, standings)], None
    given = row_number(asked.sample)
    found = None if given is None else study.samples.defer("frame").filter(pk=given).first()
    if found is None:
        fields["sample"] = ["Sample not found in this study. Draw one first."]
        return [], None
    require_whole(found)
    if asked.share is not None and not 0 < asked.share <= 1:
        fields["share"] = [SHARE]
    elif asked.n_items is not None and not 1 <= asked.n_items < 2**31:
        fields["n_items"] = [N_ITEMS]
    elif asked.n_items is not None and asked.share is not None:
        fields["n_items"] = ["Send either n_items or share."]
    return [], found


def _n_wanted(
    line: SampleLine,
    asked: NewRound,
    fields: dict[str, list[str]],
    standings: Sequence[str],
) -> int:
    """How many unused issues of a sample a round takes; what is wrong goes into `fields`."""
    n_items, share = asked.n_items, asked.share
    n_unused = line.n_to_code(standings) if standings else line.n_to_screen
    size = line.sample.size
    wanted = n_items if n_items is not None else math.floor(size * share + 0.5) if share else n_unused
    others = in_words(line.passed_over(standings)) if standings and line.has_screening else ""
    if others and (not n_unused or (n_items is not None and n_unused < n_items)):
        field = "n_items" if n_unused else "sample"
        that = " or ".join(STANDINGS[each] for each in standings)
        fields[field] = [
            f"Only {n_unused:,} unused issues of this sample are {that}. The others are {others}. Screen them "
            "first, or choose what else to include under “screening”."
        ]
    elif not n_unused or not wanted:
        fields["sample"] = [NOTHING_LEFT]
    elif n_items is not None and n_unused < n_items:
        fields["n_items"] = [f"Only {plural(n_unused, 'issue of this sample is', 'issues of this sample are')} unused."]
    return min(wanted, n_unused)


def _n_beside(
    sample: Sample,
    n: int,
    n_asked: int | None,
    training: Sequence[tuple[Item, Known]],
    fields: dict[str, list[str]],
    standings: Sequence[str],
) -> int:
    """How many of the `n` issues wanted of a sample are left when these are training items; what is wrong to `fields`.

    Training items of the sample are no part of the number that was asked for.
    """
    if not training:
        return n
    unused = unused_issues(sample.pk, standings)
    n_left = unused.count() - unused.filter(issue__in=[item.issue_id for item, _ in training]).count()
    if n_asked is not None and n_left < n_asked:
        issues = plural(n_left, "issue of this sample is", "issues of this sample are")
        fields["n_items"] = [f"Only {issues} unused in addition to the calibration items."]
    return min(n, n_left)


def _minimum(
    study: Study, version: TaxonomyVersion | None, given: object, fields: dict[str, list[str]]
) -> Known | None:
    """The minimum of a new round on training items; what is wrong goes into `fields`."""
    if given is None:
        return None
    if version is None:
        fields.setdefault("gold_minimum", ["A screening round has no calibration items. Omit this field."])
        return None
    return read_minimum(published_version(version.pk), study.primary, given, fields)


NOTHING_LEFT = "Every issue of this sample is already in a round, being screened, or screened out. Draw another sample."


@transaction.atomic
def open_round(*, seat: Seat, number: int, reason: str = "", unregistered: bool = False) -> Round:
    """Opens a draft round; when it returns every planned assignment exists, or a job makes them. Raises WrongState.

    It is also the wrong state where the round's taxonomy version was retired since the round was made.

    With a main round is kept what the last pilot said of it and, where it said to wait, the `reason` to open it all the
    same. Raises Conflict without one.

    A coding round from before its issues were screened opens only if all are in; Conflict counts the others.

    A round that is older than a relabeling queue with an item of it does not open: Conflict. The queue would show its
    labels. Nor does one with items that an open queue can hold.

    The first round of a study whose dimensions have no registered coefficient opens only with `unregistered`.

    After so many new rows the planner is told at once, or the first submits would sort the whole round for the next.
    """
    seat.require(OWNER)
    study = hold_study(seat)
    require_prepared(study)
    round_ = _locked(seat, number, Round.State.DRAFT, "opened")
    require_no_plan(study)
    version = round_.taxonomy_version
    if version.state == TaxonomyVersion.State.RETIRED:
        raise WrongState(
            f"Version {version.number} of {version.taxonomy.slug} was retired. Create a round under a "
            "published version.",
            code="version_retired",
        )
    require_whole(round_)
    everybody = list(RoundRater.objects.filter(round=round_).select_related("rater").order_by("pk"))
    n_people = sum(not each.rater.is_machine for each in everybody)
    if round_.raters_per_item > n_people:
        raise Conflict(
            f"{round_.raters_per_item} raters per item need as many people. Round {number} has {n_people}. "
            "Create a new round.",
            code="raters_short",
        )
    if short := quotas_short(round_):
        raise Conflict(short, code="quotas_short")
    _require_items(round_, everybody)
    _require_screened(round_)
    _require_no_later_queue(round_)
    require_no_open_queue(round_, RoundItem.objects.filter(round=round_).values("item"), f"Open round {number}")
    without = require_registered(round_, unregistered)
    gate = passed_gate(seat=seat, round_=round_, reason=reason)
    n_items = RoundItem.objects.counting().filter(round=round_).count()
    n_total = assignments_planned(round_, n_items, everybody)
    if is_large(n_items) or n_total > ASSIGNMENTS_JOB_FROM:
        asked = {"gate": gate, "unregistered": without}
        start_job(study=study, user=seat.user, kind=BulkJob.Kind.OPENING, n_total=n_total, round=round_, asked=asked)
        return round_
    opening = RoundOpening.of(round_, everybody)
    opening.write(0, opening.n_total)
    finish_opening(seat=seat, opening=opening, gate=gate, unregistered=without)
    return round_


def _require_items(round_: Round, raters: Sequence[RoundRater]) -> None:
    """Raises Conflict for a round without items, and one of training items alone that a rater has all seen."""
    places = RoundItem.objects.filter(round=round_).order_by()
    if places.counting().exists():
        return
    items = list(places.values_list("item", flat=True))
    if not items:
        raise Conflict(f"Round {round_.number} has no items. Add calibration items first.", code="no_items")
    people = {each.rater_id: each.rater for each in raters if not each.rater.is_machine}
    seen = Counter(rater for _, rater in seen_answers(round_, list(people), items))
    if nothing := [str(people[pk]) for pk, n in seen.items() if n == len(items)]:
        raise Conflict(
            f"{series(nothing)} may know the gold answers of all calibration items of round {round_.number}. "
            "Assign them others.",
            code="gold_seen",
        )


def _require_no_later_queue(round_: Round) -> None:
    """Raises Conflict where a relabeling queue with a higher number can hold an item of a round that labels.

    What was agreed in the rounds before a queue counts there and is shown with it, also while such a round is resolved.
    It can hold what was in a round before it: whether it does follows from labels, and raters see which drafts open.
    """
    if round_.kind == Round.Kind.SCREENING:
        return
    items = RoundItem.objects.filter(round=round_).values("item")
    before = RoundItem.objects.filter(item__in=items, round__study=round_.study_id)
    before = before.filter(round__opened_at__lt=Coalesce(OuterRef("opened_at"), Now()))
    before = before.exclude(round__kind=Round.Kind.SCREENING)
    queues = Round.objects.filter(study=round_.study_id, kind=Round.Kind.RELABEL, number__gt=round_.number)
    queue = queues.exclude(state=Round.State.UNDONE).filter(Exists(before)).order_by("number").first()
    if queue is not None:
        raise Conflict(
            f"Round {queue.number}, a relabeling queue that can have items of round {round_.number}, was created after "
            "it, so labels given now would count as earlier ones. Delete this draft and create the round again.",
            code="older_than_queue",
        )


def require_registered(round_: Round, is_meant: bool) -> list[str]:
    """The keys of dimensions that a study's first round opens with although no coefficient is registered for them.

    Raises Conflict unless that `is_meant`. Empty for later rounds and for screening.
    """
    found = lacking_registration(round_)
    if found and not is_meant:
        titles = series([each.title for each in found])
        raise Conflict(
            f"Round {round_.number} was not opened: no coefficient is registered for {titles}. Register them first, or "
            'open it anyway ("unregistered": true). After the first opening nothing can be registered beforehand.',
            code="unregistered",
        )
    return [each.key for each in found]


def _require_screened(round_: Round) -> None:
    """Raises Conflict where a coding round contains issues that are not screened in, and nobody chose to take such."""
    if round_.kind == Round.Kind.SCREENING or not has_screening(round_.study):
        return
    held = standing_counts(Item.objects.filter(round_items__in=RoundItem.objects.counting().filter(round=round_)))
    others = {each: n for each, n in held.items() if each != IN}
    made = AuditEvent.objects.filter(study=round_.study, verb="round made", detail__round=round_.number)
    if others and not made.filter(detail__has_key="screening").exists():
        raise Conflict(
            f"Round {round_.number} contains issues that are not screened in: {in_words(others)}. It was "
            "created before they were screened. Delete the draft and create the round again. It then "
            "includes what is screened in, or what you choose under “screening”."
        )


def assignments_planned(round_: Round, n_items: int, raters: Sequence[RoundRater]) -> int:
    """How many assignments, or slots of a pool, opening a round makes, training items excepted."""
    n_machines = sum(each.rater.is_machine for each in raters)
    if round_.mode == Round.Mode.POOL:
        return n_items * (1 + n_machines)
    return sum(raters_planned(n_items, round_.raters_per_item, round_.double_share, round_.seed)) + n_items * n_machines


def finish_opening(*, seat: Seat, opening: RoundOpening, gate: Known | None, unregistered: Sequence[str] = ()) -> None:
    """Opens a round whose assignments are stored: gives training items, notifies raters, analyzes what was written.

    Call it in a transaction that holds the round.
    """
    round_ = opening.round_
    opening.count()
    training = list(RoundItem.objects.filter(round=round_, known__isnull=False).order_by("position"))
    given = give_training(round_, training, opening.raters)
    _tell_round_opened(round_, opening.raters, given, seat.user.pk)
    round_.state, round_.opened_at, round_.gate = Round.State.OPEN, timezone.now(), gate
    round_.save(update_fields=["state", "opened_at", "gate"])
    said = {}
    if gate:
        against = short_of(gate)
        said = {"pilot": gate["round"], "advice": gate["advice"], "against": against}
        said |= {"reason": gate["reason"]} if against else {}
    said |= {"unregistered": list(unregistered)} if unregistered else {}
    record(study=seat.study, user=seat.user, verb="round opened", round=round_.number, **said)
    tell_planner(opening.n_total, GIVEN)


def _tell_round_opened(
    round_: Round, round_raters: Sequence[RoundRater], training: Mapping[int, int], by: int | None
) -> None:
    """Tells the raters, without the user `by` who opened the round. `training` are items by rater.

    How many of a pool's items will be theirs nobody knows.
    """
    is_pool = round_.mode == Round.Mode.POOL
    InboxLine.objects.bulk_create(
        [
            InboxLine(
                member_id=each.rater_id,
                kind=InboxLine.Kind.ROUND,
                round=round_,
                n_items=None if is_pool else each.n_assigned + training.get(each.rater_id, 0),
            )
            for each in round_raters
            if (each.n_assigned or training.get(each.rater_id) or is_pool) and (by is None or each.rater.user_id != by)
        ],
        ignore_conflicts=True,
    )


@transaction.atomic
def resolve_round(*, seat: Seat, number: int, withdraw: bool = False) -> Round:
    """Moves an open round to resolving by hand; unfinished assignments are withdrawn only if asked for."""
    seat.require(OWNER)
    round_ = _locked(seat, number, Round.State.OPEN, "moved to resolving")
    unfinished = Assignment.objects.filter(RATERS, round=round_, state__in=Assignment.UNFINISHED)
    free = RoundItem.objects.filter(round=round_, n_free__gt=0)
    n_out = unfinished.count() + (free.aggregate(n=Sum("n_free"))["n"] or 0)
    if n_out and not withdraw:
        if round_.pk in seat.sealed_round_ids:  # as if no item were screened out
            n_out += n_set_aside([round_.pk]).count() + n_free_aside([round_.pk])[round_.pk]
        out = plural(n_out, f"assignment of round {number} is", f"assignments of round {number} are")
        raise WrongState(
            f"{out} unfinished. Wait, or withdraw what is left.",
            fields={"withdraw": ["True withdraws unfinished assignments."]},
        )
    assignment_states.withdraw(unfinished)
    start_resolving(round_)
    record(study=seat.study, user=seat.user, verb="round moved to resolving", round=number, withdrawn=n_out)
    return round_


@transaction.atomic
def close_round(*, seat: Seat, number: int, leave_open: bool = False) -> Round:
    """Closes a resolving round; open disagreements and proposals stand in the way unless `leave_open`.

    The whole round is looked at before it is held, so that nobody waits for it; then only what changed since.
    """
    seat.require(OWNER)
    has_open, looked_at = False, timezone.now()
    seen = get_round(seat, number)
    if not leave_open and seen.state == Round.State.RESOLVING and not seat.withheld_in(seen):
        has_open = has_open_disagreements(seen)
    round_ = _locked(seat, number, Round.State.RESOLVING, "closed")
    if not leave_open:
        if seat.withheld_in(round_):  # What else is open there would tell this person what others answered.
            raise Conflict(
                f"You still have items to label in round {number}, as a third rater or in another round. "
                "Label them first, or close the round with them left open.",
                code="open_disagreements",
                fields={"leave_open": ["True closes the round anyway."]},
            )
        n_proposals = n_open_proposals(round_)
        if has_open or has_open_disagreements(round_, items=changed_since(round_, looked_at)):
            raise Conflict(
                f"Round {number} has open disagreements. Resolve them, or close it with them left open.",
                code="open_disagreements",
                fields={"leave_open": ["True closes the round anyway."]},
            )
        if n_proposals:
            raise Conflict(
                f"Round {number} has open proposals ({n_proposals}). Answer them, or close it with them left open.",
                code="open_proposals",
                fields={"leave_open": ["True closes the round anyway."]},
            )
    round_.state, round_.closed_at = Round.State.CLOSED, timezone.now()
    round_.save(update_fields=["state", "closed_at"])
    n_withdrawn = withdraw_third_raters(Assignment.objects.filter(round=round_))
    record(study=seat.study, user=seat.user, verb="round closed", round=number)
    if leave_open:  # a line of its own, because it tells that raters differed
        record(study=seat.study, user=seat.user, verb="left open", round=number)
    if n_withdrawn:  # a line of its own: that a round closed is shown to people who must not know who was asked there
        record(study=seat.study, user=seat.user, verb="third raters withdrawn", round=number, n=n_withdrawn)
    screen_by_round(seat=seat, round_=round_)
    return round_


def _locked(seat: Seat, number: int, state: str, verb: str) -> Round:
    round_ = hold_round(seat, number)
    if round_.state != state:
        raise WrongState(f"Round {number} is {round_.state}. Only a round that is {state} can be {verb}.")
    return round_
