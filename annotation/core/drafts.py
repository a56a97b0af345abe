"""Drafts of a study's taxonomy, and what tells of them: for maintainers and staff."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from annotation.core.access import Seat
from annotation.models import ProposalOutcome
from taxonomy.models import TaxonomyVersion


def tells_of_draft(seat: Seat) -> Q:
    """That an entry tells which category of a draft a proposal became, where this person does not read the draft."""
    answered = [f"proposal {ProposalOutcome.Outcome.ACCEPTED}", f"proposal {ProposalOutcome.Outcome.MAPPED}"]
    return Q(~named_version(seat, KeyTextTransform("version", OuterRef("detail"))), verb__in=answered)


def named_version(seat: Seat, number: Any) -> Exists:
    """Whether this person reads the version of the study's taxonomy with a number, which is text or whole."""
    versions = TaxonomyVersion.objects.readable_by(seat.user).filter(taxonomy=seat.study.taxonomy_id)
    return Exists(versions.annotate(shown=Cast("number", TextField())).filter(shown=Cast(number, TextField())))
