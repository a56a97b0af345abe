"""The HTTP side of a local GitHub: routes, paging, conditional requests, limits, and faults on demand."""

import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.github import shapes
from tests.github.world import Repository, World, stamp

HTML = b"<html><body><h1>Unicorn!</h1></body></html>"
FAULTS = ("close", "cut", "truncated", "html", "html_502", "status_500", "secondary", "secondary_silent", "forbidden")


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


@dataclass
class Asked:
    """A request as it came in."""

    path: str
    query: dict[str, str]
    token: str | None
    status: int = 0


class GitHub:
    """A GitHub at `url` for as long as the block lasts. Without `tokens` any token is good, and none is needed."""

    def __init__(self, port: int = 0) -> None:
        self.world = World()
        self._http = _Server(("127.0.0.1", port), _handler(self))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self.reset()

    def reset(self) -> World:
        """An empty world without faults, limits and memory of requests."""
        self.world = World()
        self.tokens: set[str] = set()
        self.limits: dict[str | None, Limit] = {}
        self.faults: list[Fault] = []
        self.asked: list[Asked] = []
        self.before_answer: Callable[[Asked], None] | None = None
        return self.world

    def fault(self, kind: str, path: str = "", *, skip: int = 0, times: int = 1) -> None:
        assert kind in FAULTS, kind
        self.faults.append(Fault(kind, path, skip, times))

    def limit(self, token: str | None = None) -> Limit:
        return self.limits.setdefault(token, Limit())

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

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to report."""


@dataclass
class _Reply:
    status: int
    value: Any
    headers: dict[str, str] = field(default_factory=dict)


def _handler(github: GitHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: `github.asked` remembers."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            token = (self.headers.get("Authorization") or "").partition(" ")[2] or None
            asked = Asked(parts.path, dict(parse_qsl(parts.query)), token)
            github.asked.append(asked)
            if github.before_answer:
                github.before_answer(asked)
            reply = self._reply(asked)
            asked.status = reply.status
            self._send(reply, asked, github.due_fault(parts.path))

        def _reply(self, asked: Asked) -> _Reply:
            if asked.token is not None and github.tokens and asked.token not in github.tokens:
                return _Reply(401, _message("Bad credentials"))
            limit = github.limit(asked.token)
            if limit.remaining <= 0 and time.time() < limit.reset_at:
                return _Reply(403, _message("API rate limit exceeded for this address."))
            if limit.remaining <= 0:
                limit.remaining, limit.reset_at = limit.total, int(time.time()) + 3600
            reply = _route(github, asked)
            etag = f'W/"{hashlib.sha256(json.dumps(reply.value).encode()).hexdigest()}"'
            if reply.status == 200:
                reply.headers["ETag"] = etag
                if self.headers.get("If-None-Match") == etag:
                    return _Reply(304, None, {"ETag": etag})
            limit.remaining -= 1
            return reply

        def _send(self, reply: _Reply, asked: Asked, fault: str | None) -> None:
            if fault == "close":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            body = b"" if reply.value is None else json.dumps(reply.value).encode()
            kind = "application/json; charset=utf-8"
            if fault in {"html", "html_502"}:
                body, kind, reply.status = HTML, "text/html", 200 if fault == "html" else 502
            elif fault == "status_500":
                body, reply.status = json.dumps(_message("Server Error")).encode(), 500
            elif fault == "truncated":
                body = body[: len(body) // 2]
            elif fault in {"secondary", "secondary_silent"}:
                reply.status, body = 403, json.dumps(_message("You have exceeded a secondary rate limit.")).encode()
                if fault == "secondary":
                    reply.headers["Retry-After"] = "60"
            elif fault == "forbidden":
                reply.status, body = 403, json.dumps(_message("Resource protected by organization SAML.")).encode()
            limit = github.limit(asked.token)
            self.send_response(reply.status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-RateLimit-Limit", str(limit.total))
            self.send_header("X-RateLimit-Remaining", str(max(0, limit.remaining)))
            self.send_header("X-RateLimit-Used", str(limit.total - max(0, limit.remaining)))
            self.send_header("X-RateLimit-Reset", str(limit.reset_at))
            self.send_header("X-RateLimit-Resource", "core")
            for name, text in reply.headers.items():
                self.send_header(name, text)
            self.end_headers()
            if fault == "cut":
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.wfile.write(body)

    return Handler


def _message(text: str) -> dict[str, str]:
    return {"message": text, "documentation_url": "https://docs.github.com/rest"}


def _not_found() -> _Reply:
    return _Reply(404, _message("Not Found"))


def _route(github: GitHub, asked: Asked) -> _Reply:
    if asked.path == "/rate_limit":
        limit = github.limit(asked.token)
        core = {"limit": limit.total, "remaining": limit.remaining, "reset": limit.reset_at, "used": 0}
        return _Reply(200, {"resources": {"core": core}, "rate": core})
    found = re.fullmatch(r"/repos/([^/]+/[^/]+)(/.*)?", asked.path)
    if found:
        repository = github.world.named(found[1])
        moved = github.world.moved.get(found[1].lower())
        if repository is None and moved is not None:
            to = f"{github.url}/repositories/{moved.id}{found[2] or ''}"
            return _Reply(301, {"url": to} | _message("Moved Permanently"), {"Location": to})
    else:
        found = re.fullmatch(r"/repositories/(\d+)(/.*)?", asked.path)
        repository = found and next((r for r in github.world.repositories if r.id == int(found[1])), None)
    if not found or not repository or (repository.private and asked.token not in github.tokens):
        return _not_found()
    return _in_repository(github, repository, found[2] or "", asked)


def _in_repository(github: GitHub, repository: Repository, rest: str, asked: Asked) -> _Reply:
    api = github.url
    if not rest:
        return _Reply(200, shapes.repository(api, repository))
    if rest.startswith("/issues") and not repository.has_issues:
        return _Reply(410, _message("Issues are disabled for this repo"))
    issues = list(repository.issues.values())
    if rest == "/issues":
        wanted = asked.query.get("state", "open")
        labels = set(filter(None, asked.query.get("labels", "").split(",")))
        rows = [row for row in issues if wanted in {"all", row.state} and labels <= set(row.labels)]
        return _page(github, repository, rest, asked, rows, lambda row: shapes.issue(api, row))
    if rest == "/issues/comments":
        comments = [comment for row in issues for comment in row.comments]
        return _page(github, repository, rest, asked, comments, lambda row: shapes.comment(api, row))
    one = re.fullmatch(r"/issues/(\d+)(/comments)?", rest)
    issue = one and repository.issues.get(int(one[1]))
    if not one or not issue:
        return _not_found()
    if one[2]:
        return _page(github, repository, rest, asked, issue.comments, lambda row: shapes.comment(api, row))
    return _Reply(200, shapes.issue(api, issue))


def _page(
    github: GitHub, repository: Repository, rest: str, asked: Asked, rows: list[Any], shape: Callable[[Any], Any]
) -> _Reply:
    """A page of a listing; `since` includes its own second."""
    query = asked.query
    since = query.get("since", "")
    rows = [row for row in rows if (stamp(row.updated_at) or "") >= since]
    key = query.get("sort", "created")
    descending = query.get("direction", "desc") == "desc"
    if not rest.endswith("/comments") or "sort" in query:
        rows = sorted(rows, key=lambda row: (getattr(row, f"{key}_at"), row.id), reverse=descending)
    size = min(100, int(query.get("per_page", "30")))
    page = max(1, int(query.get("page", "1")))
    last = max(1, -(-len(rows) // size))
    links = []
    for name, number in (("prev", page - 1), ("next", page + 1), ("last", last), ("first", 1)):
        if (name in {"next", "last"} and page < last) or (name in {"prev", "first"} and page > 1):
            address = f"{github.url}/repositories/{repository.id}{rest}?{urlencode(query | {'page': str(number)})}"
            links.append(f'<{address}>; rel="{name}"')
    shown = rows[(page - 1) * size : page * size]
    return _Reply(200, [shape(row) for row in shown], {"Link": ", ".join(links)} if links else {})
