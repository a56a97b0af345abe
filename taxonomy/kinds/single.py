"""Single questions: one category. Pure."""

from .base import register
from .categories import CategoryKind


class Single(CategoryKind):
    name = variable = "single"
    words = "one category"
    described = "one of {categories}"
    synonyms = ("categorical", "choice", "nominal", "single choice")


SINGLE = register(Single())
