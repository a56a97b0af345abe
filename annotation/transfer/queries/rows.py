"""Tables of a study: how their rows are found, and in which order they are stored or deleted."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import ForeignKey, ManyToOneRel, Max, Model, QuerySet
from django.utils import timezone

from accounts.models import User
from annotation.assignments.queries import READ
from annotation.core.drafts import tells_of_draft
from annotation.models import (
    Analysis,
    Annotation,
    Arrival,
    Assignment,
    AuditEvent,
    Deletion,
    Draft,
    Evidence,
    Export,
    InboxLine,
    Item,
    Meeting,
    MeetingResolution,
    Membership,
    PartMatch,
    Plan,
    Proposal,
    ProposalOutcome,
    Rating,
    Remark,
    Resolution,
    ResolutionValue,
    Round,
    RoundItem,
    RoundRater,
    Sample,
    SampleIssue,
    Spelling,
    Study,
)
from taxonomy.models import Category, Dimension, TaxonomyVersion

TRAVELS: tuple[type[Model], ...] = (
    Membership,
    Sample,
    SampleIssue,
    Item,
    Round,
    RoundRater,
    RoundItem,
    Annotation,
    Assignment,
    Proposal,
    Rating,
    Evidence,
    PartMatch,
    Draft,
    Resolution,
    ResolutionValue,
    Meeting,
    MeetingResolution,
    Remark,
    InboxLine,
    ProposalOutcome,
    Plan,
    Spelling,
    Analysis,
    Export,
    AuditEvent,
)
"""What a whole export holds, in the order in which it is stored again: what a row names comes before it.

Annotations and assignments name each other; the database looks at that at the end of a transaction only.
"""
STAYS: Mapping[str, str] = {
    "bulkjob": "jobs that drew samples or prepared rounds; what they made is in the study",
    "likelyduplicate": "likely duplicates in samples, which a search finds again; what was screened is in the study",
    "workbook": "spreadsheets that were uploaded; what was imported from them is in the study",
    "earlierpin": "states that were pinned before; those that answers were given on are in the file",
    "readerlink": "links for reviewers: what opens them is a secret of this server",
    "invitation": "invitations: what opens them is a secret of this server",
    "invitationuse": "who came by them; the members that they became are in the study",
}
"""What a whole export leaves out, and why."""
REGISTERS: tuple[type[Model], ...] = (Arrival, Deletion)
"""Rows about studies that are no part of any."""
TELLS_NOTHING_NEW: tuple[type[Model], ...] = (Export, InboxLine, Draft)
"""Rows that come and go without anybody changing the study."""


STAYING_COLUMNS: Mapping[type[Model], frozenset[str]] = {
    Sample: frozenset({"idempotency_key", "request_digest"}),
    Round: frozenset({"ruled_until", "ruled_to", "rules_error", "idempotency_key", "request_digest"}),
    Annotation: frozenset({"request_digest"}),
    Plan: frozenset({"n_claims"}),
    Membership: frozenset(
        {
            "invited_user_id",
            "invited_by_id",
            "invited_at",
            "invitation_key",
            "declined_at",
            "n_invited",
            "away_until",
            "screening_keywords",
        }
    ),
}
"""Columns of travelling tables that no file has: they hold, or are made from, ids that mean something on this server
alone, or accounts that were invited and are no members."""
OF_TAXONOMIES: tuple[type[Model], ...] = (TaxonomyVersion, Dimension, Category)
NUMBERED = frozenset({*TRAVELS, *OF_TAXONOMIES} - {Membership, Sample})
"""Rows that a file calls by numbers of its own, from 1: how far apart their ids are tells what came between them.

Members and samples, which owners make, keep their ids: filters, migrations and lines of the audit log name them.
"""


@dataclass(frozen=True)
class StudyTable:
    """A table with rows of studies; `road` leads from a row to its study, as a filter has it."""

    model: type[Model]
    road: str

    @property
    def name(self) -> str:
        return self.model._meta.model_name or ""

    def rows(self, study: Study) -> QuerySet[Any]:
        """The study's rows, by id."""
        return self.model._default_manager.filter(**{self.road: study}).order_by("pk")


def columns_of(model: type[Model]) -> list[Any]:
    """The columns of a table that travel."""
    staying = STAYING_COLUMNS.get(model, frozenset())
    return [each for each in model._meta.concrete_fields if each.column not in staying]


@cache
def tables() -> dict[str, StudyTable]:
    """Every table that holds rows of studies, by name; the road is the shortest over columns that are never empty.

    The last step may be: an upload names the study that it is for.
    """
    found: dict[type[Model], str] = {}
    waiting: deque[tuple[type[Model], str]] = deque([(Study, "")])
    while waiting:
        model, road = waiting.popleft()
        for relation in model._meta.get_fields(include_hidden=True):
            if not isinstance(relation, ManyToOneRel):
                continue
            field: Any = relation.field
            source: Any = relation.related_model
            if source in found or source in REGISTERS or source is Study:
                continue
            if field.null and model is not Study:
                continue
            found[source] = f"{field.name}__{road}" if road else field.name
            waiting.append((source, found[source]))
    return {table.name: table for table in (StudyTable(model, road) for model, road in found.items())}


def study_tables() -> list[StudyTable]:
    """The tables of a whole export, in the order in which they are stored again."""
    return [tables()[model._meta.model_name or ""] for model in TRAVELS]


def in_order_of_leaving() -> list[StudyTable]:
    """All tables of a study, in the order in which their rows can be taken away; assignments point to nothing then."""
    known = {each.name for each in study_tables()}
    order = [each for each in reversed(tables().values()) if each.name not in known]
    order += reversed(study_tables())
    order.sort(key=lambda each: each.model is Membership)
    places = {each.model: place for place, each in enumerate(order)}
    first, last = sorted((places[Annotation], places[Assignment]))
    order[first], order[last] = tables()["annotation"], tables()["assignment"]
    return order


def leaving(table: StudyTable, study: Study, user: User | None) -> QuerySet[Any]:
    """The rows of a table that a whole export for this person, or for the shell, holds.

    All, but for exports that are being made, and what names a category of a draft that the person does not read. The
    draft is not in the file either, and without it an answer to a proposal that names it counts as none.
    """
    rows = table.rows(study)
    if user is not None:
        rows = rows.exclude(tells_of_draft(table.model, study, user))
    return rows.exclude(state__in=Export.AT_WORK) if table.model is Export else rows


def counts(study: Study, user: User | None = None) -> dict[str, int]:
    """How many rows of each table a whole export of the present state would hold (`leaving`); a query for each."""
    return {table.name: leaving(table, study, user).order_by().count() for table in study_tables()}


def newest_change(study: Study) -> Any:
    """When the study changed last; exports, downloads, reading, drafts and inboxes are no change. A query a table.

    A time in the future, which only a file can have brought, says nothing: no export would be newer.
    """
    found, now = [], timezone.now()
    for table in study_tables():
        times = [each.name for each in columns_of(table.model) if getattr(each, "auto_now_add", False)]
        if not times or table.model in TELLS_NOTHING_NEW:
            continue
        rows = table.rows(study).filter(**{f"{times[0]}__lte": now}).order_by()
        if table.model is AuditEvent:
            rows = rows.exclude(verb__startswith="export ").exclude(verb__in=(AuditEvent.DOWNLOADED, READ))
        found.append(rows.aggregate(newest=Max(times[0]))["newest"])
    return max((each for each in found if each is not None), default=None)


def is_named(model: type[Model]) -> bool:
    """Whether a row of another table, or of the same one, names rows of this table."""
    return any(each.related_model is model for other in TRAVELS for each in columns_of(other))


def columns_of_people(model: type[Model]) -> list[str]:
    """The columns of a table that name a user."""
    return [each.column for each in columns_of(model) if isinstance(each, ForeignKey) and each.related_model is User]
