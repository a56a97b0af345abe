"""Members of a study in the order of their codes."""

from annotation.models import Membership, Study


def members_of(study: Study) -> list[Membership]:
    """Everybody in the study: raters in the order of their codes, then the others by name; one query."""
    rows = Membership.objects.filter(study=study).select_related("user")
    return sorted(rows, key=lambda row: (row.code is None, *code_order(row.code), row.display_name.lower()))


def code_order(code: str | None) -> tuple[int, str]:
    """Sorts R2 before R10."""
    return len(code or ""), code or ""
