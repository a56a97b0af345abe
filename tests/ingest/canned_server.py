"""A server that gives prepared answers, one after the other: for what no well-behaved GitHub says."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: str


@dataclass
class Canned:
    """`answers` are (status, value or text, headers), the last one given again and again; they wait for `go_on`."""

    url: str = ""
    answers: list[tuple[int, Any, dict[str, str]]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    go_on: threading.Event | None = None

    def say(self, status: int, value: Any = None, **headers: str) -> "Canned":
        """One more answer; a header's name is written with _ for -."""
        self.answers.append((status, value, {name.replace("_", "-"): text for name, text in headers.items()}))
        return self


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nothing to report."""


@contextmanager
def canned() -> Iterator[Canned]:
    """A server on a free port for as long as the block lasts."""
    found = Canned()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet: `asked` remembers."""

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            found.asked.append(Asked(self.command, self.path, dict(self.headers), body))
            if found.go_on:
                found.go_on.wait(10)
            status, value, headers = found.answers.pop(0) if len(found.answers) > 1 else found.answers[0]
            content = value.encode() if isinstance(value, str) else b"" if value is None else json.dumps(value).encode()
            self.send_response_only(status)
            self.send_header("Content-Length", str(len(content)))
            for name, text in headers.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

    server = _Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
