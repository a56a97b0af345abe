"""Rights of an account, checked before an owner gets a link that sets its password."""

from typing import Any

from django.db.models import Q, QuerySet

from accounts.models import ApiToken, User
from annotation.models import Arrival, Deletion, Export, InvitationUse, Membership, Study, Workbook

BESIDE_STUDIES = ("accounts", "annotation")
"""Apps of which only these models count: the others of `accounts` open nothing, and those of `annotation` belong to a
study, and the account is in no other."""
OWNED = (ApiToken, Study, Workbook, Arrival, Export, Deletion)
WORDS = {
    "ApiToken": "API tokens",
    "Repository": "repositories",
    "Repository_readers": "repositories",
    "Upload": "uploads",
    "FetchRun": "fetches",
    "Taxonomy_maintainers": "taxonomies",
    "SocialAccount": "a sign-in by a provider",
    "Study": "studies",
    "Workbook": "imports",
    "Arrival": "imports of studies",
    "Export": "exports",
}


def was_created_by(user: User, study: Study) -> bool:
    """Whether the account was created by accepting an invitation to this very study."""
    return _created_accounts(study).filter(member__user=user).exists()


def members_created_by(study: Study) -> set[int]:
    """The members whose accounts were created by accepting an invitation to this very study."""
    return set(_created_accounts(study).exclude(member__user=None).values_list("member_id", flat=True))


def _created_accounts(study: Study) -> QuerySet[InvitationUse]:
    return InvitationUse.objects.filter(invitation__study=study, member__study=study, made_account=True)


def is_in_another_study(user: User, study: Study) -> bool:
    """Whether someone is, was or is asked to be a member of any other study."""
    theirs = Q(user=user) | Q(former_user=user) | Q(invited_user=user) | Q(formerly=user)
    return Membership.objects.filter(theirs).exclude(study=study).exists()


def owned_by(user: User) -> str:
    """A word for something that belongs to an account outside of the study that it came to; empty where nothing does.

    Every table that names users counts unless it is known to open nothing, so a new one counts, too. Two dozen queries.
    """
    for relation in User._meta.get_fields(include_hidden=True):
        field = getattr(relation, "field", None)
        if field is None or not (relation.auto_created and (relation.one_to_many or relation.one_to_one)):
            continue
        model: Any = relation.related_model
        if model._meta.app_label in BESIDE_STUDIES and model not in OWNED:
            continue
        rows = model._default_manager.filter(**{field.name: user})
        if model is ApiToken:
            rows = rows.filter(revoked_at=None)
        if rows.exists():
            name = model.__name__
            return WORDS.get(name, str(model._meta.verbose_name_plural))
    return ""
