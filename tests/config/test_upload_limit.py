"""Files on each side of the limit, through Debian's Caddy with the proxy's file of compose, to a real Concord."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from accounts.actions import make_token
from tests import builders as make
from tests.config.test_deploy import caddy_before
from tests.config.test_reload import Service

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]
MEGABYTES_MAX = 11
BOUNDARY = "a-boundary"
ROW_BYTES = 1_000
"""As rows of issues are long: a file of empty lines takes a minute to be read where others use the machine."""


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    (tmp_path / "data").mkdir()
    settings = tmp_path / "concord.env"
    lines = f"TRUSTED_PROXIES=1\nALLOWED_HOSTS=127.0.0.1\nUPLOAD_MEGABYTES_MAX={MEGABYTES_MAX}\nFETCHERS=everyone\n"
    settings.write_text(lines)
    found = Service(tmp_path, settings)
    yield found
    found.stop()


def form_with_a_file(n_bytes: int) -> bytes:
    """A form whose file of issues has so many bytes."""
    head = b"repository,number,title,body\n"
    row = b"acme/rocket,1,It crashes,".ljust(ROW_BYTES - 1, b"x") + b"\n"
    n_rows, more = divmod(n_bytes - len(head), ROW_BYTES)
    file = head + row * (n_rows - 1) + row[:-1].ljust(ROW_BYTES + more - 1, b"x") + b"\n"
    assert len(file) == n_bytes
    parts = (
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="repository"\r\n\r\nacme/rocket\r\n'
        f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="issues.csv"\r\n\r\n'
    )
    return parts.encode() + file + f"\r\n--{BOUNDARY}--\r\n".encode()


def test_a_file_up_to_the_limit_is_taken_and_a_larger_one_is_refused_in_words(service: Service, tmp_path: Path) -> None:
    token = make_token(user=make.user("olga", staff=True), name="tests", scope="manage")[1]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    limit = MEGABYTES_MAX << 20
    (tmp_path / "caddy").mkdir()
    with caddy_before(service.port, tmp_path / "caddy") as port:
        found = {}
        for n_bytes in (limit, limit + 1, limit + (900 << 10)):
            with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("POST", "/api/v1/fetches/", form_with_a_file(n_bytes), headers)
                answer = connection.getresponse()
                found[n_bytes - limit] = answer.status, json.loads(answer.read())
    assert found[0][0] == 202, found[0]
    for more in (1, 900 << 10):
        status, said = found[more]
        assert (status, said["code"]) == (422, "too_large") and f"At most {limit:,} are allowed" in said["message"]
