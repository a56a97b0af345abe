"""Value rows: values as database columns, the same for answers, imports, and resolutions."""

from annotation.labels.consensus import PENDING, Values
from taxonomy.tree import TreeDimension


def value_columns(dimension: TreeDimension, values: Values, proposal_id: int | None = None) -> list[dict[str, object]]:
    """The value columns of each row of one dimension; no values (the empty set) are one row without a value."""
    if not values:
        return [{}]
    if not dimension.has_categories:
        return [{dimension.column: values[0]}]
    return [
        {"proposal_id": proposal_id} if value == PENDING else {"category_id": dimension.by_key[str(value)].id}
        for value in values
    ]
