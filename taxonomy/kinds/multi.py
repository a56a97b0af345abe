"""Multi questions: any number of categories, including none. Pure."""

from .base import register
from .categories import CategoryKind


class Multi(CategoryKind):
    name = variable = "multi"
    words = "any number of categories"
    described = "any of {categories}"
    synonyms = ("multiple", "multiple choice")
    is_set = True
    arrow_type = "list<string>"
    table_type = "list"

    def value_in(self, cell: str) -> frozenset[str]:
        return frozenset(each for each in cell.split(";") if each)


MULTI = register(Multi())
