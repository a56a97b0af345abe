"""Who labels what, where they differ, and what was agreed: the rows, and the rules that the database keeps."""

from annotation.models.labelling import Annotation, Assignment, Draft, Proposal, Rating
from annotation.models.plans import Plan, ProposalOutcome
from annotation.models.resolving import Resolution, ResolutionValue
from annotation.models.rounds import Round, RoundItem, RoundRater
from annotation.models.studies import AuditEvent, Item, Membership, Sample, SampleIssue, Study

__all__ = [
    "Annotation",
    "Assignment",
    "AuditEvent",
    "Draft",
    "Item",
    "Membership",
    "Plan",
    "Proposal",
    "ProposalOutcome",
    "Rating",
    "Resolution",
    "ResolutionValue",
    "Round",
    "RoundItem",
    "RoundRater",
    "Sample",
    "SampleIssue",
    "Study",
]
