"""Drafts of a study's taxonomy, and what tells of them: for maintainers and staff."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from accounts.models import User
from annotation.models import Analysis, AuditEvent, ProposalOutcome, Study
from taxonomy.models import Taxonomy, TaxonomyVersion

_ANSWERED = [f"proposal {ProposalOutcome.Outcome.ACCEPTED}", f"proposal {ProposalOutcome.Outcome.MAPPED}"]


def tells_of_draft(model: type[Any], study: Study, user: User | None) -> Q:
    """That a row of a study names a category of a draft, and this person (or nobody) does not read its drafts.

    These are lines of the audit log about answers to proposals and about downloads, answers about proposals, and
    analyses. A draft that was discarded stays one.
    """
    if user is not None and user.is_staff:
        return Q(pk__in=[])
    if model is AuditEvent:
        asks = Q(verb=AuditEvent.DOWNLOADED, detail__has_key="version")
        return (Q(verb__in=_ANSWERED) | asks) & _is_unread(study, user, KeyTextTransform("version", OuterRef("detail")))
    if model is ProposalOutcome:
        return Q(version_number__isnull=False) & _is_unread(study, user, OuterRef("version_number"))
    if model is Analysis:
        first, last = (
            _is_unread(study, user, KeyTextTransform(place, KeyTransform("version", OuterRef("question"))))
            for place in (0, -1)
        )
        return Q(question__version__0__isnull=False) & (first | last)
    return Q(pk__in=[])


def _is_unread(study: Study, user: User | None, number: Any) -> Q:
    versions = TaxonomyVersion.objects.filter(taxonomy=study.taxonomy_id, published_at__isnull=False)
    shown = versions.annotate(shown=Cast("number", TextField())).filter(shown=Cast(number, TextField()))
    if user is None:
        return Q(~Exists(shown))
    return Q(~Exists(shown), ~Exists(Taxonomy.objects.filter(pk=study.taxonomy_id, maintainers=user.pk)))
