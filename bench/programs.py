"""Programs that run beside a benchmark: PostgreSQL's own, and Concord's commands with what they take."""

import os
import subprocess
import sys

from bench.ground import timed
from config import embedded


def postgres_tool(name: str, *arguments: object) -> None:
    """Runs pg_dump, pg_restore … as they come with Concord. Raises CalledProcessError."""
    subprocess.run([str(embedded.postgres_program(name)), *map(str, arguments)], check=True)


def command(*arguments: object, **environment: object) -> tuple[float, float]:
    """The seconds that a command took, start of Python included, and the most memory that its process had, in MB."""
    env = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    given = [sys.executable, "manage.py", *map(str, arguments)]
    with timed() as seconds:
        process = subprocess.Popen(given, env=env, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
    assert status == 0
    return seconds(), used.ru_maxrss / 1024
