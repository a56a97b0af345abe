"""Logs of all processes: text or JSON, with the request or task of each line, without secrets."""

import logging
import re
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from structlog.typing import EventDict, WrappedLogger

from shared.terminals import escaped

SECRETS = (
    (re.compile(r"\b(concord_|gh[pousr]_|github_pat_|sk-)[\w-]{6,}"), r"\1…"),
    (re.compile(r"(?i)\b(bearer|basic|token)\s+[\w.~+/=-]{8,}"), r"\1 …"),
    (re.compile(r"(://[^\s/:@]*):[^\s/@]+@"), r"\1:…@"),
    (
        re.compile(
            r"(?i)\b(\w*password|\w*secret|secret_key|sessionid|csrftoken|\w+_token|code_verifier)"
            r"(['\"]?\s*[=:]\s*)['\"]?[^\s'\",;&]+"
        ),
        r"\1\2…",
    ),
)
CONTENTS = re.compile(r"^(DETAIL|CONTEXT|LINE \d+|\s+\^).*$\n?", re.MULTILINE)
"""What PostgreSQL says of the row that broke a rule: it may hold what a person wrote."""
LONGEST = 8_000


def settings_of(level: str, form: str, ticks: Sequence[str]) -> dict[str, Any]:
    """What `logging.config` takes; `form` is `text` or `json`. gunicorn, Celery and Django log by it alike.

    `ticks` names the tasks of the clock, which are not told of where they went well.
    """
    renderer = structlog.processors.JSONRenderer() if form == "json" else _for_people()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "line": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": [structlog.contextvars.merge_contextvars, *_known()],
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    structlog.processors.format_exc_info,
                    without_secrets,
                    renderer,
                ],
            }
        },
        "filters": {"ticks": {"()": ClockTaskFilter, "ticks": list(ticks)}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["ticks"]}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "gunicorn.error": {"propagate": True, "handlers": []},
            "gunicorn.access": {
                "level": "CRITICAL",
                "propagate": True,
                "handlers": [],
            },  # it would tell what was searched for
            "django.request": {"level": "CRITICAL"},  # the line of the request says it
            "django.server": {"level": "WARNING", "propagate": True, "handlers": []},
            "celery.app.trace": {"level": "CRITICAL"},  # so does the line of the task
            "celery.worker.strategy": {"level": "WARNING"},
            "celery.beat": {"level": "WARNING"},
            **{name: {"level": "WARNING"} for name in ("github", "urllib3", "botocore", "boto3", "asyncio")},
        },
    }


def begin() -> None:
    """Has structlog's loggers write through those of the standard library."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.stdlib.filter_by_level,
            *_known(),
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def without_secrets(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """A processor: tokens, passwords and contents of rows are taken out of every value that is a text."""
    return {key: plain(value) if isinstance(value, str) else value for key, value in event.items()}


def plain(text: str) -> str:
    """A text as it may be logged, cut where it is very long."""
    text = CONTENTS.sub("", text)
    for pattern, instead in SECRETS:
        text = pattern.sub(instead, text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n…\n{text[-LONGEST // 2 :]}"


def _indented(text: str) -> str:
    """A traceback, in which no line begins as one of the log and nothing controls a terminal."""
    lines = re.split("\r?\n", text)
    return "\n".join(f"    {escaped(line.expandtabs())}" for line in lines)


def _known() -> list[Callable[..., Any]]:
    return [
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
    ]


def _for_people() -> Callable[[WrappedLogger, str, EventDict], str]:
    """`2026-11-22T13:00:00Z INFO  request  method=GET …`, then a traceback, indented."""

    def line(logger: WrappedLogger, name: str, event: EventDict) -> str:
        at, level = str(event.pop("at", ""))[:19] + "Z", str(event.pop("level", "")).upper()
        said, where = event.pop("event", ""), event.pop("logger", "")
        broke = event.pop("exception", None) or event.pop("stack", None)
        where = "" if str(where).startswith(("config.", "django_structlog.")) else f" [{where}]"
        pairs = " ".join(f"{key}={value}" for key, value in event.items() if value is not None)
        text = f"{at} {level:<7} {said}{where}{'  ' if pairs else ''}{pairs}"
        return escaped(text) + (f"\n{_indented(str(broke))}" if broke else "")

    return line


class ClockTaskFilter(logging.Filter):
    """Leaves out that the clock's own tasks went well: there are dozens of them a minute."""

    def __init__(self, ticks: Sequence[str] = ()) -> None:
        super().__init__()
        self._ticks = frozenset(ticks)

    def filter(self, record: logging.LogRecord) -> bool:
        said = record.msg
        if record.levelno > logging.INFO or not isinstance(said, dict):
            return True
        return said.get("event") != "task_succeeded" or said.get("task") not in self._ticks
