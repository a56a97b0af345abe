"""A bucket that accepts connections and never answers: a request waits once, and probes and labeling not at all."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config

from accounts import bucket
from accounts.bucket import Bucket
from accounts.errors import StorageAway
from config import env
from tests.site import Site

KEYS = {"S3_BUCKET": "concord", "S3_REGION": "us-east-1", "S3_ACCESS_KEY": "some", "S3_SECRET_KEY": "body"}
FILE = """
from accounts.actions import make_token
from annotation.models import Export
from tests import builders as make
study, olga = make.study(), make.user("olga")
made = dict(file="exports/x.csv", n_bytes=1, sha256="0" * 64, state="done", what="labels", format="csv")
export = Export.objects.create(study=study, number=1, created_by=olga, n_expected=0, **made)
print(make_token(user=olga, name="files", scope="manage")[1], export.public_id)
"""
BUSY = 3
"""How many times longer than promised an answer may take on a machine that has much else to do."""


class Silent:
    """A server that accepts, and never answers."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=200)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.taken: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self.taken.append(self._server.accept()[0])

    def close(self) -> None:
        self._server.close()
        for each in self.taken:
            each.close()


@pytest.fixture(scope="module")
def silent() -> Iterator[Silent]:
    made = Silent()
    yield made
    made.close()


@pytest.fixture
def storage(silent: Silent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bucket:
    """The bucket as a web process asks it, with a tenth of its patience."""
    for name, value in (KEYS | {"S3_ENDPOINT": silent.url}).items():
        monkeypatch.setenv(name, value)
    watch = bucket._Absence()
    watch.is_on_watch = True
    monkeypatch.setattr(bucket, "absence", watch)
    impatient = Bucket.limits_of_requests.merge(Config(read_timeout=0.5))
    monkeypatch.setattr(Bucket, "limits_of_requests", impatient)
    options: Any = env.files(tmp_path)["OPTIONS"]
    return Bucket(**options)


def test_a_request_asks_a_silent_bucket_once_and_the_next_ones_not_at_all(
    storage: Bucket, silent: Silent, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(silent.taken)
    for _ in range(5):
        with pytest.raises(StorageAway):
            storage.open("x")
    assert len(silent.taken) - before == 1
    monkeypatch.setattr(bucket, "AWAY_SECONDS", 0)
    with ThreadPoolExecutor(8) as crowd:
        asked = [crowd.submit(storage.exists, "x") for _ in range(8)]
    assert {type(each.exception()) for each in asked} == {StorageAway}
    assert 1 <= len(silent.taken) - before - 1 < 8, "one tries again, and the others don't wait"


def test_in_a_request_nobody_waits_longer_than_was_promised() -> None:
    limits: Any = Bucket.limits_of_requests
    assert (limits.connect_timeout, limits.read_timeout, limits.retries) == (3, 10, {"total_max_attempts": 1})


@pytest.mark.process
@pytest.mark.timeout(300)
def test_twenty_downloads_and_a_monitor_leave_the_site_open(silent: Silent, tmp_path: Path) -> None:
    site = Site(tmp_path / "data", **KEYS, S3_ENDPOINT=silent.url, METRICS_TOKEN="0123456789abcdef")
    try:
        token, export = site.run(FILE).split()

        def got(path: str, token: str = token) -> tuple[int, str, float]:
            began = time.monotonic()
            with closing(http.client.HTTPConnection("127.0.0.1", site.port, timeout=90)) as link:
                link.request("GET", path, headers={"Authorization": f"Bearer {token}"})
                answer = link.getresponse()
                return answer.status, answer.read().decode(errors="replace"), time.monotonic() - began

        with ThreadPoolExecutor(40) as crowd:
            downloads = [crowd.submit(got, f"/api/v1/exports/{export}/download/") for _ in range(20)]
            probes = [crowd.submit(got, path, "0123456789abcdef") for path in ("/readyz", "/metrics") * 5]
            pages = [crowd.submit(got, "/api/v1/studies/") for _ in range(5)]
            found = [each.result() for each in downloads]
            probed = [each.result() for each in probes]
            listed = [each.result() for each in pages]
        assert {status for status, _, _ in found} == {503}, found
        assert all("try again" in said.lower() for _, said, _ in found)
        assert max(seconds for _, _, seconds in found) < 13 * BUSY
        assert [status for status, _, _ in listed] == [200] * 5
        assert max(seconds for _, _, seconds in listed) < 13 * BUSY
        assert [status for status, _, _ in probed] == [503, 200] * 5
        assert max(seconds for _, _, seconds in probed) < 3 * BUSY
        assert json.loads(probed[0][1])["storage"] == "can't be written"
        longest = [max(seconds for _, _, seconds in each) for each in (found, listed, probed)]
        print("longest download, page and probe in seconds:", longest)
    except BaseException:
        print((site.data_dir / "logs/web.log").read_text()[-6000:])
        raise
    finally:
        site.stop()
