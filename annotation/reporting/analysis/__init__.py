"""Questions to the agreed labels of a study, and their answers: what pages, REST, exports and packages tell."""

from annotation.reporting.analysis.answers import Answer, Selection
from annotation.reporting.analysis.kinds import KINDS, answer, plain_answer
from annotation.reporting.analysis.questions import COMMON, Question, Words

__all__ = [
    "COMMON",
    "KINDS",
    "Answer",
    "Question",
    "Selection",
    "Words",
    "answer",
    "plain_answer",
]
