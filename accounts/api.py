"""Token authentication of the API: the caller, the scope of the token, and its rate limit."""

import time
from typing import Any

from django.http import HttpRequest
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.authentication import SessionAuthentication as DjangoSession
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from accounts.actions import touch_token
from accounts.models import ApiToken, User, digest
from accounts.queries import living_token
from shared.addresses import block, client_address
from shared.errors import Forbidden
from shared.rate_limits import counted_up
from shared.request_checks import require_described
from shared.row_files import CONTENT_TYPES

SCOPES = (ApiToken.Scope.READ, ApiToken.Scope.RATE, ApiToken.Scope.MANAGE)
PERIODS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def bears_token(request: HttpRequest | Request) -> bool:
    """Whether a request comes with a token, valid or not. Other kinds of Authorization, as of a proxy, are none."""
    return get_authorization_header(request).lower().split()[:1] == [b"bearer"]  # type: ignore[arg-type]


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`; anything wrong with the token is one and the same 401."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        if not bears_token(request):
            return None
        words = get_authorization_header(request).split()
        if len(words) != 2:
            raise AuthenticationFailed("Send the header as `Authorization: Bearer TOKEN`.")
        token = living_token(digest(words[1].decode("latin-1")))
        if token is None:
            raise AuthenticationFailed("This token is unknown, has expired or was revoked.")
        touch_token(token=token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="Concord"'


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Says in the OpenAPI description how a token is sent."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer"}


class SessionAuthentication(DjangoSession):
    """The browser's session, with its CSRF check."""


class SessionScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """Says in the OpenAPI description that the browser's session counts, too."""

    target_class = SessionAuthentication
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        from django.conf import settings

        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}


class TokenThrottle(BaseThrottle):
    """Counts the requests of a token, a person or an address in windows of fixed length; one or two calls to Redis.

    While Redis is away each process counts for itself.
    """

    def __init__(self) -> None:
        self.wait_seconds: float | None = None

    def allow_request(self, request: Request, view: Any) -> bool:
        n_allowed, period = rate(str(api_settings.DEFAULT_THROTTLE_RATES["token"]))
        now = time.time()
        window = int(now // period)
        key = f"throttle:{self._who(request)}:{window}"
        n_made = counted_up(key, period)
        self.wait_seconds = (window + 1) * period - now
        return n_made <= n_allowed

    def wait(self) -> float | None:
        return self.wait_seconds

    def _who(self, request: Request) -> str:
        if isinstance(request.auth, ApiToken):
            return f"token:{request.auth.pk}"
        if request.user is not None and request.user.is_authenticated:
            return f"user:{request.user.pk}"
        return f"address:{block(client_address(request))}"


def rate(text: str) -> tuple[int, int]:
    """`6000/min` → (6000, 60 seconds)."""
    number, _, period = text.partition("/")
    return int(number), PERIODS[period.strip()[:1].lower()]


def covers(held: str, needed: str) -> bool:
    """Whether a scope includes another: read ⊂ rate ⊂ manage."""
    return SCOPES.index(ApiToken.Scope(held)) >= SCOPES.index(ApiToken.Scope(needed))


def require_scope(request: Request, needed: str) -> None:
    """Raises Forbidden where a token is used whose scope is too small; people in a browser have every scope."""
    if isinstance(request.auth, ApiToken) and not covers(request.auth.scope, needed):
        raise Forbidden(
            f"This needs a token with scope {needed}. Yours has {request.auth.scope}.", code="scope_too_small"
        )


def scope(write: str, read: str = "read") -> type[BasePermission]:
    """A permission class: `read` is needed for GET, HEAD and OPTIONS, `write` for all else; nobody anonymous.

    Who may call learns which parameters and fields of the request the description does not name.
    """

    class NeedsScope(BasePermission):
        def has_permission(self, request: Request, view: Any) -> bool:
            if request.user is None or not request.user.is_authenticated:
                return False
            require_scope(request, read if request.method in SAFE_METHODS else write)
            require_described(request, view)
            return True

    NeedsScope.__name__ = NeedsScope.__qualname__ = f"Needs{read.title()}Or{write.title()}"
    return NeedsScope


ReadOrManage = scope("manage")
"""What an endpoint needs that names nothing else."""


def format_of(request: Request) -> str | None:
    """csv, jsonl or parquet by `?format=`, which wins over Accept; None for JSON."""
    given = request.query_params.get("format")
    if given in (None, "", "json"):
        accepted = request.headers.get("Accept", "").split(",")[0].split(";")[0].strip().lower()
        by_type = {kind.split(";")[0]: name for name, kind in CONTENT_TYPES.items()}
        return by_type.get(accepted) if given is None else None
    return given


class AnyAccept(BaseContentNegotiation):
    """Content negotiation that answers JSON unless `format_of` finds a file format."""

    def select_parser(self, request: Request, parsers: Any) -> Any:
        wanted = (request.content_type or "").split(";")[0].strip().lower()
        for parser in parsers:
            if parser.media_type in (wanted, "*/*"):
                return parser
        return None

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type
