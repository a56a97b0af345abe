"""For a worker that is started with `--include tests.stuck_jobs`: exports that hang."""

import contextlib
import itertools
import time
from typing import Any

from celery.exceptions import SoftTimeLimitExceeded

from annotation.exports import jobs as export_jobs

write_file = export_jobs.write_file


def hang(asked: Any, *given: Any) -> None:
    match asked.options.get("stuck"):
        case "sleeps":
            time.sleep(1000)
        case "swallows the soft limit":
            while True:
                with contextlib.suppress(SoftTimeLimitExceeded):
                    time.sleep(1000)
        case "computes in C":  # in which no signal is looked at
            sum(itertools.repeat(0, 10**13))
    write_file(asked, *given)


export_jobs.write_file = hang  # type: ignore[assignment]
