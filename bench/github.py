"""A repository from the local GitHub, with a token and without, beside Perceval and naive PyGithub: requests and time.

The local GitHub runs in a process of its own. Perceval lives in an environment of its own (`bench/perceval.lock`), made
at the first run in the ignored folder `bench/results/`.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from django.test import override_settings

from bench.ground import row, timed, user
from bench.local_github import NAMES
from ingest.actions.fetches import run_now, start_fetch

HERE = Path(__file__).resolve().parent
PEERS_UP_TO = 2000

NAIVE = """
import sys, github
api = github.Github(auth=github.Auth.Token(sys.argv[2]), base_url=sys.argv[1], seconds_between_requests=0)
for issue in api.get_repo(sys.argv[3]).get_issues(state="all"):
    if issue.pull_request is None:
        list(issue.get_comments())
"""


def measure(size: int, folder: Path) -> list[dict[str, Any]]:
    rows = []
    with _local_github(size) as (address, n_pulls, n_comments):
        floor = -(-(size + n_pulls + n_comments) // 100)
        said = f"{floor:,} pages: {size:,} issues, {n_pulls:,} pull requests, {n_comments:,} comments"
        ways = (("without a token", []), ("with a token, closing changes as well", ["concord"]))
        for (how, tokens), name in zip(ways, NAMES, strict=True):
            with override_settings(GITHUB_API_URL=address, GITHUB_TOKENS=tokens):
                for again in (False, True):
                    with timed() as taken:
                        run = run_now(
                            run=start_fetch(
                                user=user("owner"), repository=name, since="last" if again else None, send=False
                            )
                        )
                    assert run.state == "done", run.error
                    what = f"{'what changed' if again else 'a repository'} from GitHub {how}"
                    spent = f"{run.n_requests:,} requests, of these {run.n_unchanged_answers} free"
                    pace = "" if again else f", {run.n_seen / taken():,.0f} issues/s"
                    rows.append(row(what, size, f"{spent}, {taken():.1f} s{pace}", said, run.n_requests / floor))
        if size <= PEERS_UP_TO:
            name = NAMES[0]
            perceval = [
                str(_perceval()),
                "github",
                *name.split("/"),
                "--enterprise-url",
                address,
                "--category",
                "issue",
            ]
            peers = {
                "Perceval, issues alone": [*perceval, "--no-archive", "-t", "perceval", "-o", str(folder / "perceval")],
                "naive PyGithub": [sys.executable, "-c", NAIVE, address, "naive", name],
            }
            for what, command in peers.items():
                with timed() as taken:
                    subprocess.run(command, check=True, capture_output=True)
                n_requests = _spent(address, command[command.index("-t") + 1] if "-t" in command else "naive")
                rows.append(row(what, size, f"{n_requests:,} requests, {taken():.1f} s", said, n_requests / floor))
    return rows


def _spent(address: str, token: str) -> int:
    """What the local GitHub counts for a token."""
    answer = requests.get(f"{address}/rate_limit", headers={"Authorization": f"token {token}"}, timeout=60)
    return int(answer.json()["resources"]["core"]["used"])


def _perceval() -> Path:
    """The program, in its own environment."""
    place = HERE / "results" / "perceval"
    program = place / "bin" / "perceval"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        lock = ["--require-hashes", "--only-binary", ":all:", "-r", str(HERE / "perceval.lock")]
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *lock], check=True)
    return program


@contextmanager
def _local_github(size: int) -> Iterator[tuple[str, int, int]]:
    """Its address, and how many pull requests and comments beside the issues."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.local_github", str(size)], cwd=HERE.parent, stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address, n_pulls, n_comments = server.stdout.readline().split()
        yield address, int(n_pulls), int(n_comments)
    finally:
        server.terminate()
        server.wait()
