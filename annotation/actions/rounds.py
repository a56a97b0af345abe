"""Making rounds, and moving them from draft to open to resolving to closed."""

import math
from collections import Counter
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, F
from django.utils import timezone

from annotation.access import OWNER, RATER, Seat, get_round, row_number
from annotation.actions.studies import items_for, record
from annotation.assigning import plan, raters_planned
from annotation.errors import Conflict, Invalid, WrongState
from annotation.models import (
    Assignment,
    Item,
    Membership,
    Plan,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    Study,
)
from annotation.queries.choosing import n_passed_over, unused_of
from annotation.queries.planner import tell_planner
from annotation.queries.verdicts import has_open_disagreements, n_open_proposals
from ingest.identifiers import parse_identifier
from ingest.models import Issue
from taxonomy.models import TaxonomyVersion


@transaction.atomic
def create_round(
    *,
    seat: Seat,
    kind: str = Round.Kind.MAIN,
    taxonomy_version: int | None = None,
    raters: Sequence[str] = (),
    raters_per_item: int = 2,
    mode: str = Round.Mode.PLANNED,
    double_share: float = 1.0,
    seed: int = 1,
    issues: Sequence[str] | None = None,
    sample: int | str | None = None,
    n_items: int | None = None,
    share: float | None = None,
) -> Round:
    """Makes a draft round over named issues, or over the next unused ones of a sample. Raises Invalid with the fields.

    `raters` are user names or rater codes; without `taxonomy_version` the newest published one is taken.
    """
    seat.require(OWNER)
    study = Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    fields: dict[str, list[str]] = {}
    if kind not in (Round.Kind.PILOT, Round.Kind.MAIN):
        fields["kind"] = ["Write pilot or main."]
    if mode not in Round.Mode.values:
        fields["mode"] = ["Write planned or pool."]
    if not _is_whole(raters_per_item, 1, 100):
        fields["raters_per_item"] = ["Write a whole number from 1 to 100."]
    if isinstance(double_share, bool) or not isinstance(double_share, int | float) or not 0 <= double_share <= 1:
        fields["double_share"] = ["Write a share from 0 to 1."]
    if not _is_whole(seed, -(2**63), 2**63 - 1):
        fields["seed"] = ["Write a whole number."]
    version = _published_version(study, taxonomy_version, fields)
    members = raters_named(study, raters, fields)
    if not fields and raters_per_item > len(members):
        fields["raters_per_item"] = [f"{raters_per_item} raters per item need as many raters; {len(members)} named."]
    items, drawn_from = _items(seat, study, issues, sample, n_items, share, fields)
    if fields:
        raise Invalid("The round could not be made.", fields=fields)
    assert version is not None
    number = (study.rounds.order_by("-number").values_list("number", flat=True).first() or 0) + 1
    round_ = Round.objects.create(
        study=study,
        number=number,
        kind=kind,
        taxonomy_version=version,
        raters_per_item=raters_per_item,
        double_share=double_share,
        mode=mode,
        seed=seed,
        sample=drawn_from,
        created_by=seat.user,
    )
    RoundRater.objects.bulk_create([RoundRater(round=round_, rater=member) for member in members])
    planned = raters_planned(len(items), raters_per_item, double_share, seed)
    RoundItem.objects.bulk_create(
        [
            RoundItem(round=round_, item=item, position=position, n_raters=n)
            for position, (item, n) in enumerate(zip(items, planned, strict=True), start=1)
        ],
        batch_size=5000,
    )
    passed_over = n_passed_over(drawn_from) if drawn_from else 0
    said = {"screened_out": passed_over} if passed_over else {}
    record(study=study, user=seat.user, verb="round made", round=number, items=len(items), kind=kind, **said)
    return round_


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _published_version(study: Study, number: int | None, fields: dict[str, list[str]]) -> TaxonomyVersion | None:
    versions = study.taxonomy.versions.filter(state=TaxonomyVersion.State.PUBLISHED)
    if number is not None:
        versions = versions.filter(number=number) if _is_whole(number, 1, 2**31 - 1) else versions.none()
    version = versions.order_by("-number").first()
    if version is None:
        wanted = f"version {number}" if number is not None else "version"
        fields["taxonomy_version"] = [f"“{study.taxonomy.slug}” has no published {wanted}; publish one first."]
    return version


def raters_named(study: Study, raters: object, fields: dict[str, list[str]], field: str = "raters") -> list[Membership]:
    """The members who can sign in and rate, by user names or codes; what is wrong goes into `fields` under `field`."""
    if not isinstance(raters, list | tuple) or not raters:
        fields[field] = ["Name at least one rater."]
        return []
    members = Membership.objects.select_related("user").filter(study=study)
    by_name = {member.code.lower(): member for member in members if member.code}
    by_name |= {member.user.username.lower(): member for member in members if member.user}
    found: list[Membership] = []
    for name in raters:
        member = by_name.get(str(name).lower())
        if member is None or not member.has_role(RATER) or member.user is None:
            fields.setdefault(field, []).append(f"“{name}” is no rater of this study; add them as a member first.")
        elif member not in found:
            found.append(member)
    return found


def _items(
    seat: Seat,
    study: Study,
    issues: Sequence[str] | None,
    sample: int | str | None,
    n_items: int | None,
    share: float | None,
    fields: dict[str, list[str]],
) -> tuple[list[Item], Sample | None]:
    """The items that the round is to hold, from names or from a sample; what is wrong goes into `fields`."""
    if (issues is None) == (sample is None):
        fields["issues"] = ["Give either issues, or a sample with n_items or share."]
        return [], None
    if issues is not None:
        return _named_items(seat, study, issues, fields), None
    given = row_number(sample)
    found = None if given is None else study.samples.defer("frame").filter(pk=given).first()
    if found is None:
        fields["sample"] = ["The study has no such sample; draw one first."]
        return [], None
    if share is not None and (isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1):
        fields["share"] = ["Write a share above 0, up to 1."]
        return [], None
    if n_items is not None and not _is_whole(n_items, 1, 2**31 - 1):
        fields["n_items"] = ["Write a whole number from 1."]
        return [], None
    if n_items is not None and share is not None:
        fields["n_items"] = ["Give either n_items or share."]
        return [], None
    unused = unused_of(found.pk).order_by("position")
    wanted = n_items if n_items is not None else math.floor(found.size * share + 0.5) if share else None
    drawn = list(unused.select_related("issue__repository")[:wanted])
    if not drawn:
        fields["sample"] = ["Every issue of this sample is in a round already or screened out; draw another sample."]
    elif n_items is not None and len(drawn) < n_items:
        fields["n_items"] = [f"Only {len(drawn)} issues of this sample are left unused."]
    return ([] if fields else items_for(study, [row.issue for row in drawn])), found


def _named_items(seat: Seat, study: Study, names: object, fields: dict[str, list[str]]) -> list[Item]:
    if not isinstance(names, list | tuple) or not names:
        fields["issues"] = ["Name at least one issue, as owner/name#number."]
        return []
    known = {item.identifier: item for item in Item.objects.filter(study=study, identifier__in=[str(n) for n in names])}
    wanted: list[Item | Issue] = []
    for name in dict.fromkeys(str(name) for name in names):
        if name in known:
            if known[name].screening == Item.Screening.OUT:
                reason = known[name].screening_reason
                fields.setdefault("issues", []).append(f"“{name}” is screened out ({reason}); screen it in first.")
            wanted.append(known[name])
            continue
        try:
            identified = parse_identifier(name)
        except Invalid as error:
            fields.setdefault("issues", []).append(error.message)
            continue
        issues = Issue.objects.visible_to(seat.user).select_related("repository")
        issue = issues.identified(*identified).first()
        if issue is None:
            fields.setdefault("issues", []).append(f"“{name}” is not stored; fetch it first (owner/name#number).")
        else:
            wanted.append(issue)
    if fields:
        return []
    made = {item.issue_id: item for item in items_for(study, [each for each in wanted if isinstance(each, Issue)])}
    items = [made[each.pk] if isinstance(each, Issue) else each for each in wanted]
    return list(dict.fromkeys(items))


@transaction.atomic
def open_round(*, seat: Seat, number: int) -> Round:
    """Opens a draft round; when it returns every planned assignment exists. Raises WrongState.

    It is also the wrong state where the round's taxonomy version was retired since the round was made.

    After so many new rows the planner is told at once, or the first submits would sort the whole round for the next.
    """
    seat.require(OWNER)
    Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    round_ = _locked(seat, number, Round.State.DRAFT, "opened")
    if Plan.objects.filter(study=seat.study, state__in=Plan.AT_WORK).exists():
        raise Conflict("A plan is moving the study to another version; wait until it is done.", code="plan_at_work")
    version = round_.taxonomy_version
    if version.state == TaxonomyVersion.State.RETIRED:
        raise WrongState(
            f"Version {version.number} of {version.taxonomy.slug} was retired; make a round under a published version.",
            code="version_retired",
        )
    round_items = list(RoundItem.objects.filter(round=round_).order_by("position"))
    round_raters = list(RoundRater.objects.filter(round=round_).order_by("pk"))
    if round_.mode == Round.Mode.PLANNED:
        places = plan([each.n_raters for each in round_items], len(round_raters), round_.seed)
        Assignment.objects.bulk_create(
            [
                Assignment(
                    round=round_,
                    item_id=round_items[place.item].item_id,
                    rater_id=round_raters[place.rater].rater_id,
                    slot=place.slot,
                    position=place.position,
                )
                for place in places
            ],
            batch_size=5000,
        )
        n_assigned = Counter(place.rater for place in places)
        for index, round_rater in enumerate(round_raters):
            round_rater.n_assigned = n_assigned[index]
        RoundRater.objects.bulk_update(round_raters, ["n_assigned"])
    else:
        RoundItem.objects.filter(round=round_).update(n_free=F("n_raters"))
    round_.state, round_.opened_at = Round.State.OPEN, timezone.now()
    round_.save(update_fields=["state", "opened_at"])
    record(study=seat.study, user=seat.user, verb="round opened", round=number)
    tell_planner(len(round_items))
    return round_


@transaction.atomic
def resolve_round(*, seat: Seat, number: int, withdraw: bool = False) -> Round:
    """Moves an open round to resolving by hand; unfinished assignments are withdrawn only if asked for."""
    seat.require(OWNER)
    round_ = _locked(seat, number, Round.State.OPEN, "moved to resolving")
    unfinished = Assignment.objects.filter(round=round_, state__in=Assignment.UNFINISHED)
    n_out = unfinished.count() + sum(
        RoundItem.objects.filter(round=round_, n_free__gt=0).values_list("n_free", flat=True)
    )
    if n_out and not withdraw:
        raise WrongState(
            f"{n_out} assignments of round {number} are not done yet. Wait for them, or withdraw them.",
            fields={"withdraw": ["True withdraws what is not done."]},
        )
    n_withdrawn = unfinished.update(state=Assignment.State.WITHDRAWN, lease_until=None)
    _start_resolving(round_)
    record(study=seat.study, user=seat.user, verb="round moved to resolving", round=number, withdrawn=n_withdrawn)
    return round_


def finish_if_done(round_id: int) -> bool:
    """Moves an open round to resolving when its last assignment is in; call it after the commit of a submit.

    Two last submits at the same moment both see the other's row, because each looks after its own commit.
    """
    with transaction.atomic():
        if not _all_is_in(round_id):
            return False
        round_ = Round.objects.select_for_update().get(pk=round_id)
        if not _all_is_in(round_id):
            return False
        _start_resolving(round_)
        return True


def _all_is_in(round_id: int) -> bool:
    """Whether a round is open with nothing left to do; one query, so that a slot just taken is not missed."""
    unfinished = Assignment.objects.filter(round=round_id, state__in=Assignment.UNFINISHED)
    free = RoundItem.objects.filter(round=round_id, n_free__gt=0)
    return Round.objects.filter(~Exists(unfinished), ~Exists(free), pk=round_id, state=Round.State.OPEN).exists()


def _start_resolving(round_: Round) -> None:
    round_.state, round_.resolving_at = Round.State.RESOLVING, timezone.now()
    round_.save(update_fields=["state", "resolving_at"])
    RoundItem.objects.filter(round=round_, n_free__gt=0).update(n_free=0)


@transaction.atomic
def close_round(*, seat: Seat, number: int, leave_open: bool = False) -> Round:
    """Closes a resolving round; open disagreements and proposals stand in the way unless `leave_open`."""
    seat.require(OWNER)
    round_ = _locked(seat, number, Round.State.RESOLVING, "closed")
    if not leave_open:
        n_proposals = n_open_proposals(round_)
        if has_open_disagreements(round_):
            raise Conflict(
                f"Round {number} has open disagreements. Resolve them, or close it with them left open.",
                code="open_disagreements",
                fields={"leave_open": ["True closes the round all the same."]},
            )
        if n_proposals:
            raise Conflict(
                f"Round {number} has open proposals ({n_proposals}). Settle them, or close it with them left open.",
                code="open_proposals",
                fields={"leave_open": ["True closes the round all the same."]},
            )
    round_.state, round_.closed_at = Round.State.CLOSED, timezone.now()
    round_.save(update_fields=["state", "closed_at"])
    record(study=seat.study, user=seat.user, verb="round closed", round=number, leave_open=leave_open)
    return round_


def _locked(seat: Seat, number: int, state: str, verb: str) -> Round:
    found = get_round(seat, number)
    round_ = Round.objects.select_for_update(of=("self",)).select_related("taxonomy_version__taxonomy").get(pk=found.pk)
    round_.study = seat.study
    if round_.state != state:
        raise WrongState(f"Round {number} is {round_.state}; only a round that is {state} can be {verb}.")
    return round_
