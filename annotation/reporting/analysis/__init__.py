"""Questions to the agreed labels of a study, and their answers: what pages, REST, exports and packages tell."""

from annotation.reporting.analysis.answers import Answer, Selection, answer
from annotation.reporting.analysis.plain import plain_answer
from annotation.reporting.analysis.questions import ALSO, COMMON, NEEDED, Question, Words, read_question

__all__ = [
    "ALSO",
    "COMMON",
    "NEEDED",
    "Answer",
    "Question",
    "Selection",
    "Words",
    "answer",
    "plain_answer",
    "read_question",
]
