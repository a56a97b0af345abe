"""Words for the forms of sheets and the roles of columns, for page and shell."""

from annotation.imports.sheets.columns import OWN_ROLES, ROLES
from annotation.imports.sheets.mapping import BY_DIMENSION, BY_RATER, LONG, NAMED_IN, ColumnMapping

FORM_WORDS = {
    BY_DIMENSION: "one column per dimension",
    BY_RATER: "one column per rater",
    LONG: "one value per row (long)",
}
ROLE_WORDS = {name: role.words for name, role in {**ROLES, **OWN_ROLES}.items()}


def meaning_of(column: ColumnMapping) -> str:
    """What a column holds, in words."""
    found = ROLE_WORDS[column.role]
    if column.role in ("answer", "attribute"):
        found += f" “{column.dimension or column.name}”"
    if column.role == "answer" and column.rater.startswith(NAMED_IN):
        found += f", by the rater named in “{column.rater.removeprefix(NAMED_IN)}”"
    elif column.role == "answer" and column.rater:
        found += f", by {column.rater}"
    return found
