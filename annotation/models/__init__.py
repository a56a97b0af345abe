"""Models of studies, and the constraints that the database keeps."""

from annotation.models.duplicates import LikelyDuplicate
from annotation.models.exports import Analysis, Export
from annotation.models.imports import Spelling, Workbook
from annotation.models.labeling import Annotation, Assignment, Draft, Evidence, Proposal, Rating
from annotation.models.plans import Plan, ProposalOutcome
from annotation.models.resolving import (
    InboxLine,
    Meeting,
    MeetingResolution,
    PartMatch,
    Remark,
    Resolution,
    ResolutionValue,
)
from annotation.models.rounds import BulkJob, Round, RoundItem, RoundRater
from annotation.models.studies import (
    AuditEvent,
    EarlierPin,
    Invitation,
    InvitationUse,
    Item,
    Membership,
    ReaderLink,
    Sample,
    SampleIssue,
    Study,
)
from annotation.models.transfer import Arrival, Deletion

__all__ = [
    "Analysis",
    "Annotation",
    "Arrival",
    "Assignment",
    "AuditEvent",
    "BulkJob",
    "Deletion",
    "Draft",
    "EarlierPin",
    "Evidence",
    "Export",
    "InboxLine",
    "Invitation",
    "InvitationUse",
    "Item",
    "LikelyDuplicate",
    "Meeting",
    "MeetingResolution",
    "Membership",
    "PartMatch",
    "Plan",
    "Proposal",
    "ProposalOutcome",
    "Rating",
    "ReaderLink",
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
