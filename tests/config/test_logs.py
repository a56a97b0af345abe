"""What is logged: one line a request, under a number, without anything that is nobody's business."""

import json
import logging
import logging.config
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from django.conf import settings as all_settings
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from annotation.models import Study
from config import logs
from tests import builders as make
from tests.asserts import assert_queries

BASE_DIR = Path(__file__).resolve().parents[2]
SECRET = "the secret words of an issue"


class Lines(logging.Handler):
    """What a process would have written to its log, as JSON."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(_formatter("json"))
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))

    def of(self, event: str) -> list[dict[str, Any]]:
        return [said for line in self.written if (said := json.loads(line))["event"] == event]


def _formatter(form: str) -> logging.Formatter:
    made = logs.settings_of("INFO", form, [])["formatters"]["line"]
    return structlog.stdlib.ProcessorFormatter(
        processors=made["processors"], foreign_pre_chain=made["foreign_pre_chain"]
    )


@pytest.fixture
def lines() -> Iterator[Lines]:
    handler = Lines()
    root = logging.getLogger()
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)


@pytest.mark.django_db
def test_a_request_leaves_one_line_that_tells_nothing_of_what_was_asked(lines: Lines) -> None:
    client = Client()
    client.force_login(make.user("bob"))
    answer = client.get("/issues/", {"search": SECRET, "token": "concord_abcdefghijkl"})
    [said] = lines.of("request")
    assert {name: said[name] for name in ("method", "view", "status", "user", "request_id")} == {
        "method": "GET", "view": "issues", "status": 200, "user": make.user("bob").pk,
        "request_id": answer["X-Request-ID"],
    }  # fmt: skip
    assert said["ms"] > 0 and "bob" not in "".join(lines.written).replace('"logger"', "")
    assert SECRET not in "".join(lines.written) and "concord_" not in "".join(lines.written)


@pytest.mark.django_db
def test_a_request_that_is_slow_is_marked(lines: Lines, settings: Settings) -> None:
    settings.SLOW_REQUEST_MS = 0
    Client().get("/sign-in/")
    [said] = lines.of("request")
    assert said["slow"] is True and said["level"] == "warning"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("n_proxies", "given", "is_taken"),
    [
        (1, "0f8fad5b-d9cb-469f", True),
        (0, "0f8fad5b-d9cb-469f", False),
        (1, "short", False),
        (1, "x" * 65, False),
        (1, "a line\nof its own", False),
        (1, "<script>alert(1)</script>", False),
    ],
)
def test_a_number_is_taken_from_a_trusted_proxy_where_it_is_clean(
    n_proxies: int, given: str, is_taken: bool, settings: Settings
) -> None:
    settings.TRUSTED_PROXIES = n_proxies
    with assert_queries(0):
        answer = Client().get("/healthz", headers={"X-Request-ID": given})
    assert (answer["X-Request-ID"] == given) is is_taken
    assert len(answer["X-Request-ID"]) in range(8, 65)


@pytest.mark.django_db
def test_what_breaks_is_logged_with_its_number_and_without_what_the_row_held(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: Any, **__: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE held (text text CHECK (text = ''))")
            cursor.execute("INSERT INTO held VALUES (%s)", [SECRET])

    monkeypatch.setattr("config.health.states", breaks)
    answer = Client(raise_request_exception=False).get("/readyz")
    number = answer["X-Request-ID"]
    assert answer.status_code == 500 and f"quote the reference <code>{number}</code>" in answer.content.decode()
    [said] = lines.of("broke")
    assert said["request_id"] == number and "IntegrityError" in said["exception"]
    assert SECRET not in "".join(lines.written)


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdefghijklmnop",
        "token ghp_abcdefghijklmnop refused",
        "github_pat_abcdefghijklmnop",
        "concord_abcdefghijklmnop",
        "postgresql://concord:abcdefghijklmnop@host/db",
        "password='abcdefghijklmnop' was wrong",
        """Error retrieving access token: b'{"id_token": "abcdefghijklmnop", "access_token":"abcdefghijklmnop"}'""",
        """b'{"error": "invalid_grant", "client_secret": "abcdefghijklmnop"}'""",
        "code_verifier=abcdefghijklmnop&grant_type=x",
        "duplicate key\nDETAIL:  Key (title)=(abcdefghijklmnop) already exists.",
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_are_taken_out_whoever_logs_them(text: str, form: str) -> None:
    record = logging.LogRecord("someone", logging.INFO, __file__, 1, text, None, None)
    written = _formatter(form).format(record)
    assert "abcdefghijklmnop" not in written and "someone" in written


FORGED = "x\n2026-11-28T00:00:00Z INFO    FORGED\r\x1b[31m\u2028\x9b\u202e\ud800"


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_text_of_others_writes_a_line_of_its_own_or_controls_a_terminal(form: str) -> None:
    try:
        raise ValueError(FORGED)
    except ValueError:
        broke = sys.exc_info()
    said: Any = {"event": FORGED, "name": FORGED, "address": [FORGED]}
    for given, raised in (("refused: %s", None), (said, None), ("broke", broke)):
        values = (FORGED,) if given == "refused: %s" else ()
        record = logging.LogRecord("x", logging.INFO, __file__, 1, given, values, raised)
        written = _formatter(form).format(record)
        _, *others = written.splitlines()
        assert "FORGED" in written and written.replace("\n", "").isprintable()
        assert bool(others) is (raised is not None and form == "text")
        assert all(line.startswith("    ") for line in others), "a traceback is indented"


@pytest.mark.django_db
def test_a_job_takes_the_number_of_its_request_along(settings: Settings) -> None:
    """As the message lies in Redis before a worker takes it."""
    from config.celery import app

    study: Study = make.study()
    make.rate(make.open_round(study, 1), "item bob carol\n1 crash crash")
    with structlog.contextvars.bound_contextvars(request_id="a-number", user="bob"), app.connection_for_write() as link:
        app.send_task("annotation.tasks.make_export", args=[1], queue="of this test", connection=link)
        message = link.SimpleQueue("of this test").get(timeout=5)
        message.ack()
    assert message.headers["__django_structlog__"] == {"request_id": "a-number"}


@pytest.mark.process
def test_a_worker_writes_json_and_names_what_it_works_on(tmp_path: Path) -> None:
    code = (
        "import django; django.setup();"
        "from config.celery import app; from annotation.jobs import make_export;"
        "from django_structlog.celery.steps import DjangoStructLogInitStep as S; step = S(None);"
        "from celery.signals import task_prerun, task_success;"
        "make_export.push_request(args=[7], kwargs={}, id='t', __django_structlog__={'request_id': 'a-number'});"
        "task_prerun.send(make_export, task_id='t', task=make_export);"
        "task_success.send(make_export, result=None)"
    )
    environment = os.environ | {"LOG_FORMAT": "json", "DATA_DIR": str(tmp_path), "DATABASE_URL": "postgresql://no/no"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, env=environment | {"REDIS_URL": "redis://no"},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    said = json.loads(done.stderr.splitlines()[-1])
    assert (said["event"], said["task"]) == ("task_succeeded", "annotation.tasks.make_export")
    assert (said["export_id"], said["request_id"]) == (7, "a-number")


def test_no_address_and_no_link_of_an_e_mail_is_logged_though_it_is_tried_again() -> None:
    """With a mail server that refuses the address, which it names in its answer."""
    code = (
        "import django; django.setup();"
        "from smtplib import SMTPRecipientsRefused; from unittest.mock import patch;"
        "from config.celery import app; from accounts import jobs;"
        "from django_structlog.celery.steps import DjangoStructLogInitStep as S; step = S(None);"
        "from celery.signals import task_prerun, task_retry;"
        "job = jobs.send_message; job.push_request(args=['frank@example.org', 'Invited', 'https://x/join/key']);"
        "refused = SMTPRecipientsRefused({'frank@example.org': (550, b'')});"
        "patch('accounts.jobs.send_mail', side_effect=refused).start(); task_prerun.send(job, task_id='t', task=job);"
        "error = None\n"
        "try: jobs._send('Invited', 'https://x/join/key', 'frank@example.org')\n"
        "except OSError as found: error = found\n"
        "task_retry.send(job, request=job.request, reason=error, einfo=None)"
    )
    environment = os.environ | {"LOG_FORMAT": "json", "DJANGO_SETTINGS_MODULE": "config.settings"}
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=BASE_DIR, env=environment, capture_output=True, text=True, check=True
    )
    said = ended.stdout + ended.stderr
    assert "task_retrying" in said and "SMTPRecipientsRefused" in said
    assert "frank" not in said and "join" not in said


def test_the_clocks_own_tasks_are_told_of_only_where_they_failed() -> None:
    quiet = logs.ClockTaskFilter([str(each["task"]) for each in all_settings.CELERY_BEAT_SCHEDULE.values()])

    def is_told(level: int, event: str, task: str) -> bool:
        said: Any = {"event": event, "task": task}
        return quiet.filter(logging.LogRecord("x", level, __file__, 1, said, None, None))

    assert not is_told(logging.INFO, "task_succeeded", "accounts.jobs.sweep_jobs")
    assert is_told(logging.ERROR, "task_failed", "accounts.jobs.sweep_jobs")
    assert is_told(logging.INFO, "task_succeeded", "ingest.tasks.fetch_run")
