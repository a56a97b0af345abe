"""Making studies, adding members, taking issues in as items."""

from collections.abc import Iterable, Mapping

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from accounts.allowances import require_study_creator
from accounts.models import User
from accounts.naming import wrong_in
from annotation.access import OWNER, RATER, Seat, require_at_work
from annotation.actions import machines
from annotation.actions.primary import check_primary
from annotation.actions.study_ids import not_available, require_available, wrong_in_study_id
from annotation.errors import Conflict, Invalid, NotFound
from annotation.models import AuditEvent, Item, Membership, Round, Study
from annotation.queries.studies import labelling_has_begun
from annotation.ruling import newest_annotation
from ingest.models import Issue
from taxonomy.models import Taxonomy

LONGEST_TITLE, LONGEST_GUIDELINES = 200, 100_000
SWITCHES = ("pseudonymise", "names_shown", "third_rater", "majority")


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
    """Creates a study that `user` owns.

    Raises Forbidden for whom STUDY_CREATORS leaves out, Invalid with the fields, Conflict where the ID is taken.
    """
    require_study_creator(user)
    fields: dict[str, list[str]] = {}
    if sentence := wrong_in_study_id(slug):
        fields["slug"] = [sentence]
    fields |= wrong_words({"title": title, "guidelines": guidelines, "resolve_when": resolve_when})
    found = Taxonomy.objects.readable_by(user).filter(slug=taxonomy).first()
    if found is None:
        fields["taxonomy"] = [f"There is no taxonomy “{taxonomy}” that you may use; load one first."]
    if fields:
        raise Invalid("The study could not be made.", fields=fields)
    assert found is not None
    checked = check_primary({} if primary is None else primary, found, timezone.now())
    require_available(slug, user)
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
        raise not_available() from error
    Membership.objects.create(study=study, user=user, roles=[OWNER])
    record(study=study, user=user, verb="study created", title=study.title, taxonomy=found.slug)
    return study


def wrong_words(words: Mapping[str, object]) -> dict[str, list[str]]:
    """What is wrong with a study's title, guidelines, resolve_when, applies and switches, those that are given."""
    fields: dict[str, list[str]] = {}
    title, guidelines = words.get("title", "-"), words.get("guidelines", "")
    if not isinstance(title, str) or not title.strip():
        fields["title"] = ["Give the study a title."]
    elif len(title.strip()) > LONGEST_TITLE:
        fields["title"] = [f"This has {len(title.strip())} characters; {LONGEST_TITLE} are the most."]
    elif wrong := wrong_in(title.strip()):
        fields["title"] = [wrong]
    if not isinstance(guidelines, str) or len(guidelines) > LONGEST_GUIDELINES:
        fields["guidelines"] = [f"Write text of at most {LONGEST_GUIDELINES} characters."]
    if words.get("resolve_when", Study.ResolveWhen.ROUND) not in Study.ResolveWhen.values:
        fields["resolve_when"] = ["Write round or item."]
    if words.get("applies", Study.Applies.BOTH) not in Study.Applies.values:
        fields["applies"] = ["Write both or either."]
    for name in SWITCHES:
        if not isinstance(words.get(name, True), bool):
            fields[name] = ["Write true or false."]
    return fields


@transaction.atomic
def change_study(*, seat: Seat, changes: Mapping[str, object]) -> Study:
    """Changes title, guidelines, resolve_when, applies, the switches (pseudonymise … majority) or primary.

    Primary only before the first round opens. A rule that is turned on is not applied to rounds that are being resolved
    already, unless the owner asks for it.
    """
    changes = dict(changes)
    seat.require(OWNER)
    study = Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    require_at_work(study)
    unknown = set(changes) - {"title", "guidelines", "resolve_when", "applies", "primary", *SWITCHES}
    if unknown:
        raise Invalid(
            "Some of this can't be changed.", fields={name: ["This can't be changed."] for name in sorted(unknown)}
        )
    if fields := wrong_words(changes):
        raise Invalid("The study could not be changed.", fields=fields)
    if "primary" in changes:
        if labelling_has_begun(study):
            raise Conflict("Labelling has begun, so the primary coefficients stay as they were fixed.")
        changes["primary"] = check_primary(changes["primary"], study.taxonomy, timezone.now())
    if not study.has_rules and (changes.get("third_rater") or changes.get("majority")):
        resolving = study.rounds.filter(state=Round.State.RESOLVING)
        resolving.filter(ruled_at=None).update(ruled_at=timezone.now())
        resolving.update(ruled_until=newest_annotation())
    for name, value in changes.items():
        setattr(study, name, value.strip() if isinstance(value, str) else value)
    study.save(update_fields=list(changes))
    record(study=study, user=seat.user, verb="study changed", fields=sorted(changes))
    seat.study = study
    return study


@transaction.atomic
def add_member(
    *,
    seat: Seat,
    username: str,
    roles: Iterable[str],
    kind: str | None = None,
    machine: Mapping[str, object] | None = None,
) -> Membership:
    """Gives a user roles in the study (a set: what is given replaces what was). Raises Invalid, Conflict.

    A new member is a person unless `kind` says machine; `machine` holds its name, version and prompt. After the first
    answer both stay as they are: another model, or another prompt, is another rater.
    """
    seat.require(OWNER)
    wanted = sorted(set(roles), key=list(Membership.Role.values).index) if are_roles(roles) else []
    fields: dict[str, list[str]] = {}
    member = User.objects.filter(username__iexact=str(username or "")).first()
    if member is None:
        fields["user"] = [f"There is no user “{username}”; make one with `manage.py add_user`."]
    if not wanted:
        fields["roles"] = [f"Give at least one of {', '.join(Membership.Role.values)}."]
    if kind not in (None, *Membership.Kind.values):
        fields["kind"] = ["Write person or machine."]
    Study.objects.select_for_update(no_key=True).get(pk=seat.study.pk)
    membership = place_of(seat.study, member) if member else None
    is_machine = (kind or (membership.kind if membership else "")) == Membership.Kind.MACHINE
    described = machines.described(machine, is_machine, fields)
    if fields:
        raise Invalid("The member could not be added.", fields=fields)
    assert member is not None
    if membership is None:
        membership = Membership(study=seat.study, user=member, roles=[])
    elif membership.user is None:
        come_back(membership, member)
    elif OWNER in membership.roles and OWNER not in wanted and not has_another_owner(membership):
        raise Conflict("A study needs an owner; make somebody else owner first.")
    membership.roles = wanted
    machines.set_description(membership, kind, described)
    if RATER in wanted and not membership.code:
        membership.code = next_code(seat.study)
    membership.save()
    said = {"machine": described} if described else {}
    record(study=seat.study, user=seat.user, verb="member set", member=str(username), roles=wanted, **said)
    return membership


def place_of(study: Study, user: User) -> Membership | None:
    """Somebody's membership, also the one that they left."""
    return Membership.objects.filter(Q(user=user) | Q(former_user=user), study=study).first()


def come_back(membership: Membership, user: User) -> None:
    """Whoever left is who they were, with their code; their answers stay theirs, and they are blind where they were."""
    membership.user, membership.former_user, membership.left_at, membership.name = user, None, None, ""


def are_roles(roles: object) -> bool:
    return isinstance(roles, list | tuple | set) and all(role in Membership.Role.values for role in roles)


def has_another_owner(membership: Membership) -> bool:
    """Whether the study has an owner besides this member; who left or closed their account is none."""
    others = Membership.objects.filter(study=membership.study, roles__contains=[OWNER], user__is_active=True)
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
