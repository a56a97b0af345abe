"""Drafts of a study's taxonomy, and what tells of them: for maintainers and staff."""

from typing import Any

from django.db.models import Exists, OuterRef, Q, TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast

from accounts.models import User
from annotation.models import Analysis, AuditEvent, Plan, ProposalOutcome, Study
from taxonomy.models import Taxonomy, TaxonomyVersion

_ANSWERED = [f"proposal {ProposalOutcome.Outcome.ACCEPTED}", f"proposal {ProposalOutcome.Outcome.MAPPED}"]


def tells_of_draft(model: type[Any], study: Study, user: User | None) -> Q:
    """That a row of a study names a category of a draft, and this person (or nobody) does not read its drafts.

    These are lines of the audit log about answers to proposals and about downloads, answers about proposals, analyses,
    and previews of migrations that were not run. A draft that was discarded stays one, and a category is of the draft
    until a published version of that number has it. Downloads, analyses and previews from before it was published stay
    hidden: they can name any category.
    """
    if user is not None and user.is_staff:
        return Q(pk__in=[])
    if model is AuditEvent:
        number = KeyTextTransform("version", OuterRef("detail"))
        category = _category(
            KeyTextTransform("dimension", OuterRef("detail")), KeyTextTransform("category", OuterRef("detail"))
        )
        asks = Q(verb=AuditEvent.DOWNLOADED, detail__has_key="version")
        return (Q(verb__in=_ANSWERED) & _is_unread(study, user, number, category)) | (
            asks & _is_unread(study, user, number, Q(published_at__lte=OuterRef("at")))
        )
    if model is ProposalOutcome:
        category = _category(OuterRef("proposal__dimension__key"), OuterRef("category_key"))
        category &= Q(dimensions__categories__name=OuterRef("category_name"))
        return Q(version_number__isnull=False) & _is_unread(study, user, OuterRef("version_number"), category)
    if model is Analysis:
        first, last = (
            _is_unread(
                study,
                user,
                KeyTextTransform(place, KeyTransform("version", OuterRef("question"))),
                Q(published_at__lte=OuterRef("created_at")),
            )
            for place in (0, -1)
        )
        return Q(question__version__0__isnull=False) & (first | last)
    if model is Plan:
        made_after = Q(published_at__lte=OuterRef("created_at"))
        of_draft = _is_unread(study, user, OuterRef("to_version__number"), made_after)
        return Q(state=Plan.State.PREVIEWED) & ~Q(recheck=[]) & of_draft
    return Q(pk__in=[])


def _category(dimension: Any, key: Any) -> Q:
    """Of a version: that it has this category."""
    return Q(dimensions__key=dimension, dimensions__categories__key=key)


def _is_unread(study: Study, user: User | None, number: Any, tells: Q) -> Q:
    """That no version of this number is published of which `tells` is true, and this person does not read drafts."""
    versions = TaxonomyVersion.objects.filter(tells, taxonomy=study.taxonomy_id, published_at__isnull=False)
    shown = versions.annotate(shown=Cast("number", TextField())).filter(shown=Cast(number, TextField()))
    if user is None:
        return Q(~Exists(shown))
    return Q(~Exists(shown), ~Exists(Taxonomy.objects.filter(pk=study.taxonomy_id, maintainers=user.pk)))
