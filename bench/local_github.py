"""`python -m bench.local_github 1000`: a local GitHub in a process of its own, with as many issues."""

import sys
import threading
from contextlib import suppress

from tests.github import GitHub, Repository, graphql

PLENTY = 10_000_000
NAMES = ("bench/listed", "bench/asked")


def serve(size: int) -> None:
    """A local GitHub with two repositories: `size` issues, 0.7 as many pull requests, and 4.4 comments to an issue."""
    with GitHub() as server:
        server.hourly = PLENTY
        for name in NAMES:
            n_pulls, n_comments = furnish(server.world.repository(name), size)
        graphql.schema()
        print(server.url, n_pulls, n_comments, flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def furnish(repository: Repository, size: int) -> tuple[int, int]:
    """Fills a repository; how many pull requests and comments it has."""
    n_pulls, n_comments = size * 7 // 10, 0
    for number in range(size):
        issue = repository.issue(f"Training hangs, number {number}", "Two nodes wait. " * 90, labels=["bug"])
        for k in range(5 if number % 5 < 2 else 4):
            issue.comment(f"Seen here, too ({k}).", user=f"user{k}")
            n_comments += 1
        if number < n_pulls:
            change = repository.pull_request(f"Mend number {number}")
            if number % 2:
                change.merge()
                issue.close_by(change)
    return n_pulls, n_comments


if __name__ == "__main__":
    serve(int(sys.argv[1]))
