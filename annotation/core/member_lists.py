"""Members of a study: in the order of their codes, and by code or user name."""

from annotation.models import Membership, Study
from shared.names import folded


def members_of(study: Study) -> list[Membership]:
    """Everybody in the study: raters in the order of their codes, then the others by name; one query."""
    rows = Membership.objects.filter(study=study).select_related("user", "invited_user")
    return sorted(rows, key=lambda row: (row.code is None, *code_order(row.code), row.display_name.lower()))


def members_named(study: Study) -> dict[str, Membership]:
    """Members by user name and by rater code, as `folded`; one query.

    A code means its rater, also where someone else has it as a user name. Full names, which people choose, mean nobody.
    """
    members = list(Membership.objects.filter(study=study).select_related("user", "invited_user"))
    present = [each for each in members if each.user or each.is_invited]
    found = {folded(each.user_name): each for each in present if each.user_name}
    return found | {folded(each.code): each for each in members if each.code}


def member_named(study: Study, name: object) -> Membership | None:
    """The member whom a rater code or a user name means, as `members_named`; one query."""
    return members_named(study).get(folded(str(name)))


def code_order(code: str | None) -> tuple[int, str]:
    """Sorts R2 before R10."""
    return len(code or ""), code or ""
