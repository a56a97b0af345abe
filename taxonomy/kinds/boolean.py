"""Boolean questions: yes or no. Pure."""

from .base import BOOLEAN, LONGEST_SHOWN, Kind, QuestionLike, Value, Values, WrongValue, register

TRUE, FALSE = frozenset({"true", "yes", "1"}), frozenset({"false", "no", "0"})


class Boolean(Kind):
    name = variable = "boolean"
    words = described = "yes or no"
    synonyms = ("binary", "bool", "yes/no")
    column = BOOLEAN
    widget = "boolean"
    arrow_type = "bool"
    table_type = "boolean"

    def read(self, question: QuestionLike, given: object) -> Values | None:
        if isinstance(given, bool):
            return (given,)
        raise WrongValue("Use true or false.")

    def parse(self, text: str) -> object:
        folded = text.casefold()
        return folded in TRUE if folded in TRUE | FALSE else text

    def read_cell(self, question: QuestionLike, text: str) -> Values:
        if isinstance(given := self.parse(text), bool):
            return (given,)
        raise WrongValue(f"“{text[:LONGEST_SHOWN]}” is neither true nor false.")

    def word(self, value: Value) -> str:
        return "Yes" if value else "No"


YES_OR_NO = register(Boolean())
