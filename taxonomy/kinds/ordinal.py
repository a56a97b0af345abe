"""Ordinal questions: one category of an ordered scale. Pure."""

from .base import register
from .categories import CategoryKind


class Ordinal(CategoryKind):
    name = variable = "ordinal"
    words = "one category of an ordered scale"
    described = "one of {levels} in an order"
    synonyms = ("likert", "scale")
    level = "ordinal"


ORDINAL = register(Ordinal())
