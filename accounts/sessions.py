"""Sessions in the database, each with its user, browser, and time of last use."""

from datetime import datetime, timedelta
from typing import Any, cast

from django.contrib.auth import SESSION_KEY, login
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit import SIGNED_IN, record
from accounts.known_browsers import remember
from accounts.models import Session, User
from shared.addresses import client_address, shorten_address
from shared.compiled_queries import CompiledQuery

SEEN_EVERY = timedelta(hours=1)
BROWSER, ADDRESS, PASSWORD_LINK = "browser", "address", "password_link"


_living_session = CompiledQuery(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now).order_by(), str, datetime
)


class SessionStore(DatabaseStore):
    """Django's store; its rows can be listed and ended by the person whose they are."""

    begun_at: datetime | None = None
    seen_at: datetime | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def _validate_session_key(self, key: str | None) -> bool:
        """Keys are letters and digits; a cookie can hold what PostgreSQL can't."""
        return super()._validate_session_key(key) and key is not None and key.isascii() and key.isalnum()  # type: ignore[misc]

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        made = cast(Session, super().create_model_instance(data))
        made.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        made.browser, made.address = data.get(BROWSER, ""), data.get(ADDRESS, "")
        made.seen_at = timezone.now()
        made.begun_at = self.begun_at or made.seen_at
        return made

    def _get_session_from_db(self) -> Session | None:
        row = _living_session.first(self.session_key, timezone.now())
        if row is None:
            self._session_key = None
        self.begun_at, self.seen_at = (row.begun_at, row.seen_at) if row else (None, None)
        return row


def sign_in(request: HttpRequest, user: User, *, is_independent: bool = False) -> None:
    """Signs someone in in this browser, and notes which it is and which link for a password the sign-in goes back to.

    Only one that needed no password goes back to none (`is_independent`).
    """
    link = None if is_independent else user.password_link_id
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    cast(SessionStore, request.session).begun_at = None
    request.session[BROWSER] = request.headers.get("User-Agent", "")[:300]
    request.session[ADDRESS] = shorten_address(client_address(request))
    request.session[PASSWORD_LINK] = link
    remember(request, user)
    record(verb=SIGNED_IN, user=user, address=request.session[ADDRESS])


def began_with(request: HttpRequest) -> int | None:
    """The ID of the link that this session's sign-in goes back to, None where it goes back to none."""
    user = request.user
    unknown = user.password_link_id if isinstance(user, User) else None
    found: int | None = request.session.get(PASSWORD_LINK, unknown)
    return found


def note_seen(request: HttpRequest) -> None:
    """Writes down that a session is in use, at most once an hour, and from where."""
    store = request.session
    if not isinstance(store, SessionStore) or store.seen_at is None or store.modified:
        return
    now = timezone.now()
    if now - store.seen_at < SEEN_EVERY:
        return
    address = shorten_address(client_address(request))
    Session.objects.filter(pk=store.session_key).update(seen_at=now, address=address)
