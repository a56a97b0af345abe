"""Descriptions of model raters: name, version, and prompt, fixed from the first answer on."""

from collections.abc import Mapping

from django.db.models import Q

from annotation.core.errors import Conflict
from annotation.models import Annotation, Assignment, Membership, Round
from annotation.models.assignment_kinds import RATERS

LONGEST = {"name": 100, "version": 100, "prompt": 100_000}


def read_description(machine: object, is_machine: bool, fields: dict[str, list[str]]) -> dict[str, str]:
    """Name, version and prompt as far as they are given; what is wrong goes into `fields`."""
    if machine is None:
        return {}
    if not isinstance(machine, Mapping) or set(machine) - set(LONGEST):
        fields["machine"] = ["Enter name, version and prompt."]
        return {}
    if not is_machine and any(machine.values()):
        fields["machine"] = ["Only model raters have these fields. Use kind machine."]
    found = {}
    for name, longest in LONGEST.items():
        value = machine.get(name)
        if value is None:
            continue
        if not isinstance(value, str) or len(value) > longest:
            fields[f"machine.{name}"] = [f"Enter at most {longest:,} characters."]
        else:
            found[name] = value.strip()
    return found if is_machine else {}


def set_description(membership: Membership, kind: str | None, described: Mapping[str, str]) -> None:
    """Sets kind and description of a member without storing them. Raises Conflict once the member has answered."""
    changes = {f"machine_{name}": value for name, value in described.items()} | ({"kind": kind} if kind else {})
    changed = {name for name, value in changes.items() if getattr(membership, name) != value}
    given = Assignment.objects.filter(rater=membership) if membership.pk else Assignment.objects.none()
    if not membership.is_machine:
        given = given.filter(RATERS)  # that a third rater was asked or answered tells that others differ
    if "kind" in changed and (_may_have_items(membership) or given.exists()):
        raise Conflict(
            f"{membership} has items in a round of this study, or can be assigned some there, so the kind of "
            f"{membership} stays {membership.kind}. Add a separate rater.",
            code="rater_has_items",
        )
    if changed and _may_be_in_a_queue(membership):
        raise Conflict(
            f"{membership} has submitted labels, or can have some in a relabeling round, so its identity can't be "
            "changed. Add another model, version or prompt as a separate rater.",
            code="rater_has_answered",
        )
    if changed and Annotation.objects.filter(assignment__in=given).exists():
        raise Conflict(
            f"{membership} has already submitted labels, so its identity can't be changed. Add another model, "
            "version or prompt as a separate rater.",
            code="rater_has_answered",
        )
    for name, value in changes.items():
        setattr(membership, name, value)


def _may_be_in_a_queue(membership: Membership) -> bool:
    """Whether a relabeling round can hold items for this model: which, and whether, can be hidden from who asks."""
    queues = Round.objects.filter(study=membership.study_id, kind=Round.Kind.RELABEL, opened_at__isnull=False)
    since = Q(closed_at__isnull=True) | Q(closed_at__gte=membership.created_at)
    return bool(membership.pk and membership.is_machine) and queues.filter(since).exists()


def _may_have_items(membership: Membership) -> bool:
    """Whether a round can have given this rater items since they joined, whether or not one did.

    Who is a third rater, or in a relabeling queue, follows from labels that can be hidden from the owner who asks.
    """
    rounds = Round.objects.filter(study=membership.study_id, opened_at__isnull=False)
    since = Q(closed_at__isnull=True) | Q(closed_at__gte=membership.created_at)
    return bool(membership.pk and membership.code) and rounds.filter(since).exists()
