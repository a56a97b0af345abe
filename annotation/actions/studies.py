"""Making studies, adding members, taking issues in as items."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime

from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import User
from annotation.access import OWNER, RATER, Seat
from annotation.agreement import COEFFICIENTS
from annotation.errors import Conflict, Invalid, NotFound
from annotation.models import AuditEvent, Item, Membership, Round, Study
from ingest.models import Issue
from taxonomy.models import Taxonomy

SLUG = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*\Z")
NOT_SLUGS = frozenset({"new"})
LONGEST_TITLE, LONGEST_GUIDELINES = 200, 100_000


def record(*, study: Study, user: User | None, verb: str, **detail: object) -> None:
    """Appends a line to the study's audit."""
    AuditEvent.objects.create(study=study, user=user, verb=verb, detail=detail)


@transaction.atomic
def create_study(
    *,
    user: User,
    slug: str,
    title: str,
    taxonomy: str,
    primary: Mapping[str, object] | None = None,
    guidelines: str = "",
    resolve_when: str = Study.ResolveWhen.ROUND,
) -> Study:
    """Makes a study that `user` owns. Raises Invalid with the fields, Conflict where the slug is taken."""
    fields: dict[str, list[str]] = {}
    if not SLUG.match(slug or "") or len(slug) > 80:
        fields["slug"] = ["Use up to 80 small letters and digits, with single hyphens between words."]
    elif slug in NOT_SLUGS:
        fields["slug"] = [f"“{slug}” is an address of Concord's own; choose another."]
    fields |= _wrong_words({"title": title, "guidelines": guidelines, "resolve_when": resolve_when})
    found = Taxonomy.objects.readable_by(user).filter(slug=taxonomy).first()
    if found is None:
        fields["taxonomy"] = [f"There is no taxonomy “{taxonomy}” that you may use; load one first."]
    if fields:
        raise Invalid("The study could not be made.", fields=fields)
    assert found is not None
    checked = check_primary({} if primary is None else primary, found, timezone.now())
    if Study.objects.filter(slug=slug).exists():
        raise Conflict(f"There is a study “{slug}” already; choose another slug.", fields={"slug": ["Taken."]})
    try:
        with transaction.atomic():
            study = Study.objects.create(
                slug=slug,
                title=title.strip(),
                taxonomy=found,
                primary=checked,
                guidelines=guidelines,
                resolve_when=resolve_when,
                created_by=user,
            )
    except IntegrityError as error:
        raise Conflict(f"There is a study “{slug}” already; choose another slug.") from error
    Membership.objects.create(study=study, user=user, roles=[OWNER])
    record(study=study, user=user, verb="study created", title=study.title, taxonomy=found.slug)
    return study


def _wrong_words(words: Mapping[str, object]) -> dict[str, list[str]]:
    """What is wrong with a study's title, guidelines and resolve_when, those of them that are given."""
    fields: dict[str, list[str]] = {}
    title, guidelines = words.get("title", "-"), words.get("guidelines", "")
    if not isinstance(title, str) or not title.strip():
        fields["title"] = ["Give the study a title."]
    elif len(title.strip()) > LONGEST_TITLE:
        fields["title"] = [f"This has {len(title.strip())} characters; {LONGEST_TITLE} are the most."]
    if not isinstance(guidelines, str) or len(guidelines) > LONGEST_GUIDELINES:
        fields["guidelines"] = [f"Write text of at most {LONGEST_GUIDELINES} characters."]
    if words.get("resolve_when", Study.ResolveWhen.ROUND) not in Study.ResolveWhen.values:
        fields["resolve_when"] = ["Write round or item."]
    if not isinstance(words.get("pseudonymise", True), bool):
        fields["pseudonymise"] = ["Write true or false."]
    return fields


def check_primary(primary: object, taxonomy: Taxonomy, now: datetime) -> dict[str, dict[str, object]]:
    """The primary coefficient and threshold per dimension, with the day they were fixed. Raises Invalid."""
    if not isinstance(primary, Mapping):
        raise Invalid(
            "The primary coefficients could not be read.", fields={"primary": ["Write a mapping by dimension."]}
        )
    newest = taxonomy.versions.order_by("-number").first()
    keys = set(newest.dimensions.values_list("key", flat=True)) if newest else set()
    fields: dict[str, list[str]] = {}
    checked: dict[str, dict[str, object]] = {}
    for key, entry in primary.items():
        path = f"primary.{key}"
        if key not in keys:
            fields[path] = [f"The taxonomy {taxonomy.slug} has no dimension “{key}”."]
            continue
        entry = entry if isinstance(entry, Mapping) else {}
        coefficient, threshold = entry.get("coefficient"), entry.get("threshold")
        if coefficient not in COEFFICIENTS:
            fields[path] = [f"Choose one of {', '.join(COEFFICIENTS)}."]
        elif threshold is not None and (
            isinstance(threshold, bool) or not isinstance(threshold, int | float) or not -1 <= threshold <= 1
        ):
            fields[path] = ["The threshold is a number from -1 to 1."]
        else:
            checked[key] = {"coefficient": coefficient, "threshold": threshold, "fixed_at": now.isoformat()}
    if fields:
        raise Invalid("The primary coefficients could not be taken.", fields=fields)
    return checked


@transaction.atomic
def change_study(*, seat: Seat, changes: Mapping[str, object]) -> Study:
    """Changes title, guidelines, resolve_when, pseudonymise or primary; primary only before the first round opens."""
    changes = dict(changes)
    seat.require(OWNER)
    study = Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    unknown = set(changes) - {"title", "guidelines", "resolve_when", "primary", "pseudonymise"}
    if unknown:
        raise Invalid(
            "Some of this can't be changed.", fields={name: ["This can't be changed."] for name in sorted(unknown)}
        )
    if fields := _wrong_words(changes):
        raise Invalid("The study could not be changed.", fields=fields)
    if "primary" in changes:
        if study.rounds.exclude(state=Round.State.DRAFT).exists():
            raise Conflict("Labelling has begun, so the primary coefficients stay as they were fixed.")
        changes["primary"] = check_primary(changes["primary"], study.taxonomy, timezone.now())
    for name, value in changes.items():
        setattr(study, name, value.strip() if isinstance(value, str) else value)
    study.save(update_fields=list(changes))
    record(study=study, user=seat.user, verb="study changed", fields=sorted(changes))
    seat.study = study
    return study


@transaction.atomic
def add_member(*, seat: Seat, username: str, roles: Iterable[str], kind: str = Membership.Kind.PERSON) -> Membership:
    """Gives a user roles in the study (a set: what is given replaces what was). Raises Invalid, Conflict."""
    seat.require(OWNER)
    wanted = sorted(set(roles), key=list(Membership.Role.values).index) if _are_roles(roles) else []
    fields: dict[str, list[str]] = {}
    member = User.objects.filter(username__iexact=str(username or "")).first()
    if member is None:
        fields["user"] = [f"There is no user “{username}”; make one with `manage.py add_user`."]
    if not wanted:
        fields["roles"] = [f"Give at least one of {', '.join(Membership.Role.values)}."]
    if kind not in Membership.Kind.values:
        fields["kind"] = ["Write person or machine."]
    if fields:
        raise Invalid("The member could not be added.", fields=fields)
    Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    membership = Membership.objects.filter(study=seat.study, user=member).first()
    if membership is None:
        membership = Membership(study=seat.study, user=member, kind=kind, roles=[])
    elif OWNER in membership.roles and OWNER not in wanted and not _has_another_owner(membership):
        raise Conflict("A study needs an owner; make somebody else owner first.")
    membership.roles = wanted
    if RATER in wanted and not membership.code:
        membership.code = next_code(seat.study)
    membership.save()
    record(study=seat.study, user=seat.user, verb="member set", member=str(username), roles=wanted)
    return membership


def _are_roles(roles: object) -> bool:
    return isinstance(roles, list | tuple | set) and all(role in Membership.Role.values for role in roles)


def _has_another_owner(membership: Membership) -> bool:
    others = Membership.objects.filter(study=membership.study, roles__contains=[OWNER])
    return others.exclude(pk=membership.pk).exists()


def next_code(study: Study) -> str:
    """The first of R1, R2 … that nobody in the study has."""
    taken = set(Membership.objects.filter(study=study, code__isnull=False).values_list("code", flat=True))
    number = 1
    while f"R{number}" in taken:
        number += 1
    return f"R{number}"


def items_for(study: Study, issues: Iterable[Issue]) -> list[Item]:
    """The study's items of these issues (with their repositories), in order; made where they are missing.

    An issue that becomes an item is pinned to its current snapshot; what was an item before keeps its own.
    """
    wanted = list(issues)
    Item.objects.bulk_create(
        [
            Item(study=study, issue=issue, identifier=issue.identifier, snapshot_id=issue.current_snapshot_id)
            for issue in wanted
        ],
        ignore_conflicts=True,
        batch_size=5000,
    )
    by_issue = {item.issue_id: item for item in Item.objects.filter(study=study, issue__in=[i.pk for i in wanted])}
    missing = [issue.identifier for issue in wanted if issue.pk not in by_issue]
    if missing:
        by_name = {item.identifier: item for item in Item.objects.filter(study=study, identifier__in=missing)}
        linked = []
        for issue in wanted:
            if issue.pk not in by_issue:
                item = by_name.get(issue.identifier)
                if item is None or item.issue_id is not None:
                    raise NotFound(f"{issue.identifier} could not be made an item of the study.")
                item.issue, item.snapshot_id = issue, issue.current_snapshot_id
                linked.append(item)
                by_issue[issue.pk] = item
        Item.objects.bulk_update(linked, ["issue", "snapshot"])
    return [by_issue[issue.pk] for issue in wanted]
