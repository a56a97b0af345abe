"""Queries on accounts: users, tokens, sessions, and links, as pages and the API list them."""

from dataclasses import dataclass
from datetime import datetime

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.db.models import Exists, Q, QuerySet
from django.utils import timezone

from accounts.browsers import browser_named
from accounts.identities import is_present
from accounts.models import ApiToken, PasswordLink, ServerEvent, Session, User
from shared.compiled_queries import CompiledQuery
from shared.names import clean_name

LINES = 5
PERSON_ADDED, PASSWORD_CHANGED = "person added", "password changed"
ADDRESS_CHANGED = "e-mail address changed"
MADE_PRIVATE = "public account made private"
GENERATED = "generated"
"""In the log entry of a person who was added: their first password was printed, so others may have seen it."""


def tokens_of(user: User) -> QuerySet[ApiToken]:
    """A person's tokens that were not revoked, newest first; expired ones included."""
    return ApiToken.objects.filter(user=user, revoked_at=None).order_by("-created_at")


@dataclass(frozen=True)
class SessionLine:
    """A browser in which someone is signed in."""

    session: Session
    browser: str
    is_this: bool


def sessions_of(user: User, this: str | None, *, only_this: bool) -> list[SessionLine]:
    """Where a person is signed in, this browser first, then the last seen; with `only_this` no other browser."""
    rows = Session.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-seen_at", "-begun_at")
    rows = rows.filter(pk=this or "") if only_this else rows
    lines = [SessionLine(each, browser_named(each.browser), each.pk == this) for each in rows]
    return sorted(lines, key=lambda line: not line.is_this)


@dataclass(frozen=True)
class Connection:
    """An account at a provider by which someone signs in; not any more (`key` is empty) where its address changed."""

    pk: int
    key: str
    provider: str
    called: str
    at: datetime


def connections_of(user: User) -> list[Connection]:
    """Where else someone says who they are; also at providers that are not configured any more."""
    rows = SocialAccount.objects.filter(user=user).order_by("date_joined")
    names = settings.SIGN_IN_PROVIDERS
    found = []
    for each in rows:
        name, is_now = names.get(each.provider, each.provider), is_present(each.provider, each.uid)
        called = clean_name(each.extra_data["called"])  # earlier versions stored it as the provider sent it
        provider = name if is_now else f"{name} (at an earlier address)"
        found.append(Connection(each.pk, each.provider if is_now else "", provider, called, each.date_joined))
    return found


def ways_in_of(user: User) -> list[str]:
    """What opens the account in addition to its password, in words; one query."""
    found = [f"{each.called} at {each.provider}, connected {each.at:%-d %b %Y}" for each in connections_of(user)]
    return [*found, *([f"links sent to {user.email}"] if user.email else [])]


def password_links_of(user: User) -> QuerySet[PasswordLink]:
    """The newest links for a new password that someone else made for this person."""
    rows = PasswordLink.objects.select_related("made_by").filter(user=user, made_by__isnull=False)
    return rows.exclude(made_by=user).order_by("-created_at")[:LINES]


def has_first_password(user: User) -> bool:
    """Whether a person still has the password that was generated when they were added; one query."""
    changed = ServerEvent.objects.filter(user=user, verb=PASSWORD_CHANGED)
    added = ServerEvent.objects.filter(about=user, verb=PERSON_ADDED, detail__password=GENERATED)
    return added.filter(~Exists(changed)).exists()


def address_changed_since(user: User, since: datetime) -> bool:
    """Whether a person's e-mail address was changed since then; one query."""
    return ServerEvent.objects.filter(user=user, verb=ADDRESS_CHANGED, at__gte=since).exists()


def is_to_former_address(link: PasswordLink) -> bool:
    """Whether a link was sent by e-mail and the account's address was changed since; one query at most."""
    return link.by_email and address_changed_since(link.user, link.created_at)


def unconfirmed_links(user: User | None = None) -> QuerySet[PasswordLink]:
    """Links that a password was set by and nobody has confirmed since, of one person or of all, the newest first.

    Those that were sent to the person's own address are not among them.
    """
    is_own = Q(by_email=True, to_former_address=False)
    rows = PasswordLink.objects.filter(~is_own, used_at__isnull=False, confirmed_at=None)
    rows = rows if user is None else rows.filter(user=user)
    return rows.select_related("made_by", "user").order_by("-used_at")


def proves_person(account: SocialAccount) -> bool:
    """Whether signing in by this account at a provider proves more than a password that a link set.

    It was connected before every such link that is not confirmed.
    """
    return not unconfirmed_links(account.user).filter(used_at__lte=account.date_joined).exists()


def living_token(digest: str) -> ApiToken | None:
    """The token with this digest, with its user, unless expired, revoked or of someone who may not sign in."""
    return _living_token.first(digest, timezone.now())


def _living(digest: str, now: datetime) -> QuerySet[ApiToken]:
    """One row at most: no two tokens have the same digest."""
    of_the_living = ApiToken.objects.select_related("user").filter(digest=digest, revoked_at=None, user__is_active=True)
    return of_the_living.filter(Q(expires_at=None) | Q(expires_at__gt=now)).order_by()


_living_token = CompiledQuery(_living, str, datetime)
