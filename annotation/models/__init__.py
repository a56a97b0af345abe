"""Who labels what, where they differ, and what was agreed: the rows, and the rules that the database keeps."""

from annotation.models.labelling import Annotation, Assignment, Draft, Evidence, Proposal, Rating
from annotation.models.plans import Plan, ProposalOutcome
from annotation.models.resolving import InboxLine, PartMatch, Remark, Resolution, ResolutionValue
from annotation.models.results import Analysis, Export
from annotation.models.rounds import Round, RoundItem, RoundRater
from annotation.models.sheets import Spelling, Workbook
from annotation.models.studies import AuditEvent, Item, Membership, Sample, SampleIssue, Study

__all__ = [
    "Analysis",
    "Annotation",
    "Assignment",
    "AuditEvent",
    "Draft",
    "Evidence",
    "Export",
    "InboxLine",
    "Item",
    "Membership",
    "PartMatch",
    "Plan",
    "Proposal",
    "ProposalOutcome",
    "Rating",
    "Remark",
    "Resolution",
    "ResolutionValue",
    "Round",
    "RoundItem",
    "RoundRater",
    "Sample",
    "SampleIssue",
    "Spelling",
    "Study",
    "Workbook",
]
