"""A PostgreSQL or a Valkey that accepts connections and never answers: who waits, what they read, and that it ends."""

import http.client
import json
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import psutil
import psycopg2
import pytest
import redis

from config import embedded
from tests.config.test_silent_bucket import KEYS, Silent
from tests.site import Site, wait_until

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]
FILE = """
from accounts.actions import make_token
from annotation.models import Export
from tests import builders as make
study, olga = make.study(), make.user("olga")
made = dict(file="exports/x.csv", n_bytes=1, sha256="0" * 64, state="done", what="labels", format="csv")
export = Export.objects.create(study=study, number=1, created_by=olga, n_expected=0, **made)
print(make_token(user=olga, name="files", scope="manage")[1], export.public_id)
"""
WORDS = "The database does not respond. Your saved work is safe."
METRICS = "0123456789abcdef"
BUSY = 3
"""How many times longer than promised an answer may take on a machine that has much else to do."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site whose bucket never answers."""
    bucket = Silent()
    made = Site(tmp_path_factory.mktemp("hangs") / "data", **KEYS, S3_ENDPOINT=bucket.url, METRICS_TOKEN=METRICS)
    try:
        yield made
    finally:
        made.stop()
        bucket.close()


@contextmanager
def stopped(processes: list[psutil.Process]) -> Iterator[None]:
    """These processes do nothing, and their sockets stay open."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.suspend()
    try:
        yield
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)


def postgres(site: Site) -> list[psutil.Process]:
    postmaster = site.postmaster()
    return [postmaster, *postmaster.children(recursive=True)]


def got(site: Site, path: str, timeout: float = 90, token: str = "") -> tuple[int, str, float]:
    """Status, body and seconds of an answer."""
    began = time.monotonic()
    with closing(http.client.HTTPConnection("127.0.0.1", site.port, timeout=timeout)) as link:
        link.request("GET", path, headers={"Authorization": f"Bearer {token or site._token}"})
        answer = link.getresponse()
        said = answer.read().decode(errors="replace")
    return answer.status, said, time.monotonic() - began


def test_with_a_silent_database_all_are_told_in_words_and_probes_and_files_answer_at_once(site: Site) -> None:
    paths = ["/api/v1/studies/", "/api/v1/taxonomies/"] * 8  # twice as many as there are threads
    assert {got(site, path)[0] for path in paths} == {200}
    with ThreadPoolExecutor(len(paths)) as crowd, stopped(postgres(site)):
        waiting = [crowd.submit(got, site, path) for path in paths]
        time.sleep(1)  # until all threads wait
        seen = []
        while not all(each.done() for each in waiting):
            for path, status, most in (("/healthz", 200, 1), ("/static/css/analysis.css", 200, 1), ("/readyz", 503, 3)):
                answer = got(site, path)
                assert answer[0] == status and answer[2] < most * BUSY, (path, answer)
                seen.append(answer[2])
            time.sleep(0.5)
        found = [each.result() for each in waiting]
        assert {status for status, _, _ in found} == {503} and all(WORDS in said for _, said, _ in found), found
        longest = max(seconds for _, _, seconds in found)
        assert longest < 30 * BUSY
        assert got(site, "/api/v1/studies/")[0] == 503
        assert json.loads(got(site, "/readyz")[1])["database"] == "does not answer"
        print(f"longest wait {longest:.1f} s, longest probe {max(seen):.2f} s")
    began = time.monotonic()
    wait_until(lambda: got(site, "/api/v1/studies/")[0] == 200, "the site answers again")
    with ThreadPoolExecutor(8) as crowd:
        wait_until(lambda: {each[0] for each in crowd.map(lambda p: got(site, p), paths)} == {200}, "all threads")
    print(f"all threads back after {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 10 * BUSY


def test_with_a_silent_redis_pages_and_jobs_are_taken_and_probes_say_so(site: Site) -> None:
    with stopped([site.valkey()]):
        for path in ("/api/v1/studies/", "/sign-in/"):
            status, said, seconds = got(site, path)
            assert status == 200 and seconds < 30, (path, said)
        status, run = site.ask("fetches/", {"repository": "nobody/nothing"})
        assert status == 202, run
        status, said, seconds = got(site, "/readyz")
        assert status == 503 and json.loads(said)["redis"] == "does not answer" and seconds < 3 * BUSY
    wait_until(lambda: got(site, "/readyz?need=redis")[0] == 200, "Redis answers again")


def test_with_a_full_redis_pages_answer_and_jobs_wait_until_there_is_room(site: Site) -> None:
    with closing(redis.Redis.from_url(embedded.redis_url(site.data_dir).replace("redis+socket", "unix"))) as queue:
        queue.config_set("maxmemory", "1")
        try:
            with pytest.raises(redis.exceptions.OutOfMemoryError):
                queue.rpush("anything", "x")
            for path in ("/api/v1/studies/", "/sign-in/"):
                status, said, seconds = got(site, path)
                assert status == 200 and seconds < 3 * BUSY, (path, status, said)
            status, said, _ = got(site, "/readyz")
            assert status == 503 and json.loads(said)["redis"] == "is full", said
            runs = [site.ask("fetches/", {"repository": f"nobody/full-{n}"}) for n in range(3)]
            assert {status for status, _ in runs} == {202}, runs
            time.sleep(3)
            assert {site.state(run["id"]) for _, run in runs} == {"queued"}
        finally:
            queue.config_set("maxmemory", "0")
    for _, run in runs:
        wait_until(lambda run_id=run["id"]: site.state(run_id) != "queued", "the fetch that waited is begun")


def test_a_page_does_not_wait_for_a_lock_that_lasts(site: Site) -> None:
    with closing(psycopg2.connect(embedded.database_url(site.data_dir))) as link:
        link.cursor().execute("LOCK TABLE annotation_study IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(0.1)")
        status, said, seconds = got(site, "/api/v1/studies/")
        assert status == 503 and "at the same time" in said and seconds < 30 * BUSY, (status, said)
        link.rollback()
    assert got(site, "/api/v1/studies/")[0] == 200


def test_a_connection_without_a_request_takes_no_thread(site: Site) -> None:
    import socket

    silent = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(40)]
    try:
        assert got(site, "/api/v1/studies/", timeout=4.5)[0] == 200
    finally:
        for each in silent:
            each.close()


def test_twenty_downloads_from_a_silent_bucket_and_a_monitor_leave_the_site_open(site: Site) -> None:
    token, export = site.run(FILE).split()
    with ThreadPoolExecutor(40) as crowd:
        downloads = [crowd.submit(got, site, f"/api/v1/exports/{export}/download/", token=token) for _ in range(20)]
        probes = [crowd.submit(got, site, path, token=METRICS) for path in ("/readyz", "/metrics") * 5]
        pages = [crowd.submit(got, site, "/api/v1/studies/") for _ in range(5)]
        found, probed, listed = ([each.result() for each in asked] for asked in (downloads, probes, pages))
    assert {status for status, _, _ in found} == {503}, found
    assert all("try again" in said.lower() for _, said, _ in found)
    assert [status for status, _, _ in listed] == [200] * 5
    assert [status for status, _, _ in probed] == [503, 200] * 5
    assert json.loads(probed[0][1])["storage"] == "can't be written"
    longest = [max(seconds for _, _, seconds in each) for each in (found, listed, probed)]
    print("longest download, page and probe in seconds:", longest)
    assert longest[0] < 13 * BUSY and longest[1] < 13 * BUSY and longest[2] < 3 * BUSY
