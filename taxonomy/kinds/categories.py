"""Category questions: the base of the kinds whose answers are categories. Pure."""

from .base import CATEGORY, LONGEST_SHOWN, Kind, QuestionLike, Values, WrongValue, nearest

WRONG_MAX = 20
"""So many wrong categories of one answer are named, each with the nearest one."""


class CategoryKind(Kind):
    column = CATEGORY
    widget = "categories"
    arrow_type = "dictionary"

    def read(self, question: QuestionLike, given: object) -> Values | None:
        keys = [given] if isinstance(given, str) and given else given or []
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise WrongValue("Send a list of category keys.")
        wrong: list[str] = []
        for key in dict.fromkeys(keys):
            if len(wrong) == WRONG_MAX:
                break
            category = question.by_key.get(key)
            if category is None:
                key = key[:LONGEST_SHOWN]
                wrong.append(f"“{key}” is not a category of “{question.title}”.{nearest(key, list(question.by_key))}")
            elif not category.selectable:
                wrong.append(f"“{category.name}” only groups others. Choose one of its subcategories.")
        if not self.is_set and len(set(keys)) > 1:
            wrong.append(f"“{question.title}” takes one category.")
        if wrong:
            raise WrongValue(*wrong)
        if self.is_set:
            return tuple(sorted(set(keys)))
        return (keys[0],) if keys else None
