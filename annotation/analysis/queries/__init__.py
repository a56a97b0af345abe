"""Queries of analysis: questions about the agreed labels of a study, and their answers."""

from annotation.analysis.queries.answers import Answer, Selection
from annotation.analysis.queries.kinds import KINDS, answer, plain_answer
from annotation.analysis.queries.questions import COMMON, Question, Words

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
