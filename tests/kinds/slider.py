"""Questions that a whole number from 0 to 100 answers, on a slider: a kind that exists in tests alone; pure."""

from .base import QuestionLike, Values, WrongValue, register
from .number import Number


class Slider(Number):
    name = "slider"
    words = "0 to 100"
    described = "a whole number from 0 to 100"
    synonyms = ("percentage",)
    attributes = {"type": "range", "min": "0", "max": "100", "step": "1"}

    def read(self, question: QuestionLike, given: object) -> Values | None:
        values = super().read(question, given)
        if values and values[0] not in range(101):
            raise WrongValue("Answer with a whole number from 0 to 100.")
        return values


SLIDER = register(Slider())
