"""Raters as scripts, each with a connection of its own: `python -m bench.raters PORT STUDY SECONDS TOKEN …`.

Prints the seconds of each submit that brought the next assignment along, as JSON.
"""

import http.client
import json
import sys
import threading
import time
from typing import Any


def label(port: int, study: str, seconds: float, tokens: list[str]) -> list[float]:
    """All of them label for so long, at once."""
    times: list[float] = []
    threads = [threading.Thread(target=_one, args=(port, study, seconds, token, times)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _one(port: int, study: str, seconds: float, token: str, times: list[float]) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def ask(method: str, path: str, body: Any = None, key: str = "") -> Any:
        own = headers | ({"Idempotency-Key": key} if key else {})
        line.request(method, f"/api/v1/studies/{study}/{path}", None if body is None else json.dumps(body), own)
        answer = line.getresponse()
        said = answer.read()
        assert answer.status in (200, 201, 204), said
        return json.loads(said) if said else None

    ends_at = time.perf_counter() + seconds
    following = ask("GET", "rounds/1/next/")
    while following is not None and time.perf_counter() < ends_at:
        body = {"assignment": following["assignment"], "labels": {"symptom": ["c1"]}}
        started = time.perf_counter()
        following = ask("POST", "annotations/?next=1", body, f"at-once-{following['assignment']}")["next"]
        times.append(time.perf_counter() - started)


if __name__ == "__main__":
    print(json.dumps(label(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), sys.argv[4:])))
