"""The HTTP side of a local GitHub: requests in, limits, conditional requests, and faults on demand."""

import gzip
import hashlib
import json
import secrets
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from tests.github import routes, shapes
from tests.github.routes import Reply, message
from tests.github.world import World, stamp_of

if TYPE_CHECKING:
    from tests.github.openapi import Recorder

HTML = b"<html><body><h1>Unicorn!</h1></body></html>"
FAULTS = (
    *("close", "cut", "truncated", "html", "html_502", "status_500", "secondary", "secondary_silent", "forbidden"),
    # These at /graphql alone.
    *("timeout", "partial", "rate_limited", "rate_limit", "resources", "secondary_200", "no_graphql"),
)
ENTERPRISE_PATH = "/api/v3"
GRAPHQL_PATHS = ("/graphql", "/api/graphql")
SECONDARY = (
    "You have exceeded a secondary rate limit. Please wait a few minutes before you try again. If you reach out to "
    "GitHub Support for help, please include the request ID"
)


@dataclass
class Fault:
    """What goes wrong at the next requests whose path matches, after `skip` of them, `times` times."""

    kind: str
    path: str
    skip: int
    times: int


@dataclass
class Limit:
    """What a token (or an address without one) may still ask."""

    remaining: int = 5000
    total: int = 5000
    reset_at: int = field(default_factory=lambda: int(time.time()) + 3600)

    def shape(self) -> dict[str, int]:
        """As /rate_limit tells it."""
        left = max(0, self.remaining)
        return {"limit": self.total, "used": self.total - left, "remaining": left, "reset": self.reset_at}


@dataclass
class Asked:
    """A request as it came in; `question` and `variables` are those of a GraphQL query."""

    path: str
    query: dict[str, str]
    token: str | None
    client_port: int
    status: int = 0
    question: str = ""
    variables: dict[str, Any] = field(default_factory=dict)
    n_points: int = 0
    n_bytes: int = 0

    @property
    def is_graphql(self) -> bool:
        return self.path in GRAPHQL_PATHS


class GitHub:
    """A GitHub at `url` for as long as the block lasts. Without `tokens` any token is good, and REST needs none.

    `asked` remembers the requests, `before_answer` may change the world between two of them, `recorder` sees each
    answer before it goes out (and before a fault spoils it). `has_issue_types` is false at an older GitHub Enterprise.
    """

    def __init__(self, port: int = 0) -> None:
        self.world = World()
        self.recorder: Recorder | None = None
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.reset()

    def reset(self) -> World:
        """An empty world without faults, limits and memory of requests."""
        self.world = World()
        self.tokens: set[str] = set()
        self.limits: dict[tuple[str | None, str], Limit] = {}
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self.hourly = 5000
        self.has_issue_types = True
        self.before_answer: Callable[[Asked], None] | None = None
        if self.recorder:
            self.recorder.wrong = []
        return self.world

    def fault(self, kind: str, path: str = "", *, skip: int = 0, times: int = 1) -> None:
        assert kind in FAULTS, kind
        self.faults.append(Fault(kind, path, skip, times))

    def limit(self, token: str | None = None, resource: str = "core") -> Limit:
        """What is left of the hour: `core` for REST, `graphql` has points of its own."""
        return self.limits.setdefault((token, resource), Limit(self.hourly, self.hourly))

    def may_read_private(self, token: str | None) -> bool:
        return token in self.tokens

    @property
    def n_requests(self) -> int:
        return len(self.asked)

    def start(self) -> "GitHub":
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()

    def __enter__(self) -> "GitHub":
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()

    def due_fault(self, path: str) -> str | None:
        for fault in self.faults:
            if fault.times > 0 and fault.path in path:
                if fault.skip > 0:
                    fault.skip -= 1
                    return None
                fault.times -= 1
                return fault.kind
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports what went wrong; a client that went away is nothing to report."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _handler(github: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "github.com", ""

        def setup(self) -> None:
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: `github.asked` remembers."""

        def do_GET(self) -> None:
            self._take("")

        def do_POST(self) -> None:
            self._take(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())

        def _take(self, body: str) -> None:
            parts = urlsplit(self.path)
            token = (self.headers.get("Authorization") or "").partition(" ")[2] or None
            asked = Asked(
                parts.path.removeprefix(ENTERPRISE_PATH),
                dict(parse_qsl(parts.query, keep_blank_values=True)),
                token,
                self.client_address[1],
            )
            if asked.is_graphql and self.command == "POST":
                _read_question(asked, body)
            github.asked.append(asked)
            if github.before_answer:
                github.before_answer(asked)
            fault = github.due_fault(parts.path)
            try:
                reply = _answer(github, asked, self.command, self.headers.get("If-None-Match"))
                if github.recorder:
                    github.recorder.take(asked, reply)
            except Exception as error:
                traceback.print_exc()
                reply = Reply(500, message(f"A fault of the local GitHub: {error!r}", 500))
            _spoil(reply, fault)
            asked.status = reply.status
            self._send(reply, asked, fault)

        def _send(self, reply: Reply, asked: Asked, fault: str | None) -> None:
            if fault == "close":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            body = reply.body
            if fault == "truncated":
                body = body[: len(body) // 2]
            if body and "gzip" in (self.headers.get("Accept-Encoding") or ""):
                body = gzip.compress(body, 1)
                reply.headers["Content-Encoding"] = "gzip"
            asked.n_bytes = len(body)
            self.send_response(reply.status)
            for name, text in (_headers(github, asked) | reply.headers).items():
                self.send_header(name, text)
            if reply.status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if fault == "cut":
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(body)

    return Handler


def _read_question(asked: Asked, body: str) -> None:
    try:
        value = json.loads(body)
        asked.question, asked.variables = str(value["query"]), dict(value.get("variables") or {})
    except (ValueError, KeyError, TypeError):
        asked.question = ""


def _answer(github: GitHub, asked: Asked, method: str, if_none_match: str | None) -> Reply:
    if asked.token is not None and github.tokens and asked.token not in github.tokens:
        return Reply(401, message("Bad credentials", 401))
    if asked.is_graphql:
        return _graphql(github, asked) if method == "POST" else Reply(404, message("Not Found", 404))
    if method != "GET":
        return Reply(404, message("Not Found", 404))
    limit = _renewed(github.limit(asked.token))
    if limit.remaining <= 0:
        return Reply(403, message("API rate limit exceeded for this address.", 403, routes.LIMITS_PAGE))
    reply = routes.answer(github, asked)
    if asked.path == "/rate_limit":
        return reply
    if reply.status == 200:
        reply.headers["ETag"] = f'W/"{hashlib.sha256(reply.body).hexdigest()}"'
        if if_none_match == reply.headers["ETag"]:
            limit.remaining -= asked.token is None  # free of charge for those who sign in
            return Reply(304, None, {"ETag": reply.headers["ETag"]})
    limit.remaining -= 1
    return reply


def _renewed(limit: Limit) -> Limit:
    if limit.remaining <= 0 and time.time() >= limit.reset_at:
        limit.remaining, limit.reset_at = limit.total, int(time.time()) + 3600
    return limit


def _graphql(github: GitHub, asked: Asked) -> Reply:
    if asked.token is None:
        return Reply(401, message("This endpoint requires you to be authenticated.", 401))
    from tests.github import descriptions  # here, so that `python -m` can run it, and what follows where it is missing

    if not descriptions.are_here():
        return Reply(503, message(descriptions.MISSING, 503))
    from tests.github import graphql
    from tests.github.resolvers import Context

    limit = _renewed(github.limit(asked.token, "graphql"))
    if limit.remaining <= 0:
        return _errors("RATE_LIMITED", f"API rate limit exceeded for user ID {shapes.account_number(asked.token)}.")
    if not asked.question:
        return Reply(400, message("Problems parsing JSON", 400))
    if not github.has_issue_types and "issueType" in asked.question:
        text = "Field 'issueType' doesn't exist on type 'Issue'"
        return Reply(200, {"errors": [{"message": text, "extensions": {"code": "undefinedField"}}]})
    query = graphql.read(asked.question)
    if query.document is None:
        return Reply(200, {"errors": list(query.errors)})
    price = graphql.price(query.document, asked.variables)
    if price.n_nodes > graphql.NODES_MAX:
        text = f"This query requests up to {price.n_nodes:,} possible nodes which exceeds the maximum limit of 500,000."
        return _errors("MAX_NODE_LIMIT_EXCEEDED", text)
    asked.n_points = price.n_points
    limit.remaining -= price.n_points
    spent = limit.shape() | {"cost": price.n_points, "nodeCount": price.n_nodes, "resetAt": stamp_of(limit.reset_at)}
    context = Context(github.world, github.may_read_private(asked.token), spent)
    return Reply(200, graphql.answer(query.document, asked.variables, context))


def _errors(kind: str, text: str, status: int = 200) -> Reply:
    return Reply(status, {"errors": [{"type": kind, "message": text}]})


def _spoil(reply: Reply, fault: str | None) -> None:
    """The answer that a fault puts in the place of the right one."""
    if fault in {"html", "html_502"}:
        reply.become(200 if fault == "html" else 502, HTML)
        reply.headers["Content-Type"] = "text/html"
    elif fault == "status_500":
        reply.become(500, message("Server Error", 500))
    elif fault in {"secondary", "secondary_silent"}:
        reply.become(403, message(SECONDARY, 403, routes.SECONDARY_PAGE))
        if fault == "secondary":
            reply.headers["Retry-After"] = "60"
    elif fault == "secondary_200":
        reply.become(200, {"errors": [{"type": "RATE_LIMITED", "message": SECONDARY}]})
        reply.headers["Retry-After"] = "60"
    elif fault == "forbidden":
        reply.become(403, message("Resource protected by organization SAML.", 403))
    elif fault == "no_graphql":
        reply.become(404, message("Not Found", 404))
    elif fault == "timeout":
        text = "Something went wrong while executing your query. This may be the result of a timeout, or it could be a"
        text += " GitHub bug. Please include `0000:00000:0000000` when reporting this issue."
        reply.become(502, {"data": None, "errors": [{"message": text}]})
    elif fault == "rate_limited":
        reply.become(200, {"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}]})
    elif fault == "rate_limit":
        text = "API rate limit already exceeded for user ID 1."
        reply.become(200, {"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": text}]})
    elif fault == "resources":
        reply.become(
            200, _without_last(reply.value, "RESOURCE_LIMITS_EXCEEDED", "Resource limits for this query exceeded.")
        )
    elif fault == "partial":
        text = "Something went wrong while executing your query."
        reply.become(200, _without_last(reply.value, None, text))


def _without_last(value: Any, kind: str | None, text: str) -> Any:
    """The same answer with the last node of its first list missing, and an error that says so."""
    value = json.loads(json.dumps(value))
    path: list[Any] = []
    here = value.get("data") if isinstance(value, dict) else None
    while isinstance(here, dict):
        if isinstance(here.get("nodes"), list) and here["nodes"]:
            path += ["nodes", len(here["nodes"]) - 1]
            here["nodes"][-1] = None
            break
        word, here = next(((k, each) for k, each in here.items() if isinstance(each, dict)), ("", None))
        path.append(word)
    error = {"type": kind} if kind else {}
    return value | {"errors": [error | {"path": path, "message": text}]}


def _headers(github: GitHub, asked: Asked) -> dict[str, str]:
    resource = "graphql" if asked.is_graphql else "core"
    limit = github.limit(asked.token, resource).shape()
    words = {"limit": "Limit", "remaining": "Remaining", "used": "Used", "reset": "Reset"}
    return {
        "Content-Type": "application/json; charset=utf-8",
        "Cache-Control": f"{'private' if asked.token else 'public'}, max-age=60, s-maxage=60",
        "Vary": "Accept, Authorization, Cookie, X-GitHub-OTP, Accept-Encoding, Accept, X-Requested-With",
        "X-GitHub-Media-Type": "github.v4; format=json" if asked.is_graphql else "github.v3; format=json",
        "X-GitHub-Request-Id": ":".join(secrets.token_hex(n).upper() for n in (2, 3, 4, 4, 4)),
        **{f"X-RateLimit-{word}": str(limit[key]) for key, word in words.items()},
        "X-RateLimit-Resource": resource,
    }
