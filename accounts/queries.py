"""What is read about people and tokens."""

from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.compiled import Compiled
from accounts.models import ApiToken, User


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """A person's tokens that were not revoked, newest first; expired ones included."""
    return ApiToken.objects.filter(user=user, revoked_at=None).order_by("-created_at")


def living_token(digest: str) -> ApiToken | None:
    """The token with this digest, with its user, unless expired, revoked or of someone who may not sign in."""
    return _living_token.first(digest, timezone.now())


def _living(digest: str, now: datetime) -> QuerySet[ApiToken]:
    """One row at most: no two tokens have the same digest."""
    of_the_living = ApiToken.objects.select_related("user").filter(digest=digest, revoked_at=None, user__is_active=True)
    return of_the_living.filter(Q(expires_at=None) | Q(expires_at__gt=now)).order_by()


_living_token = Compiled(_living, str, datetime)
