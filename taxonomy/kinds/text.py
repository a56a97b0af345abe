"""Text questions: a text in the rater's own words. Pure."""

from .base import LONGEST_TEXT, TEXT, Kind, QuestionLike, Values, WrongValue, register


class Text(Kind):
    name = variable = "text"
    words = "free text"
    described = "a text"
    synonyms = ("string",)
    column = TEXT
    has_coefficients = False
    widget = "text"
    arrow_type = "string"

    def read(self, question: QuestionLike, given: object) -> Values | None:
        if isinstance(given, str) and len(given) <= LONGEST_TEXT:
            return (given.strip(),) if given.strip() else None
        raise WrongValue(f"Enter text of at most {LONGEST_TEXT} characters.")

    def read_cell(self, question: QuestionLike, text: str) -> Values:
        if len(text) > LONGEST_TEXT:
            raise WrongValue(f"The text is longer than {LONGEST_TEXT} characters.")
        return (text,)


FREE_TEXT = register(Text())
