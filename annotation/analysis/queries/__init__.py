"""Queries of analysis: questions about the agreed labels of a study, and their answers."""

from annotation.analysis.queries.answers import AnalysisResult, PartSelection
from annotation.analysis.queries.kinds import KINDS, answer, plain_answer
from annotation.analysis.queries.questions import COMMON, AnalysisQuestion, Words

__all__ = [
    "COMMON",
    "KINDS",
    "AnalysisQuestion",
    "AnalysisResult",
    "PartSelection",
    "Words",
    "answer",
    "plain_answer",
]
