"""`python -m tests.github --port 9000`: a local GitHub with made-up issues, to try fetching without a network."""

import argparse
import threading
from contextlib import suppress

from tests.github.server import GitHub
from tests.github.world import made_up

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--port", type=int, default=9000)
parser.add_argument("--issues", type=int, default=250)
arguments = parser.parse_args()
with GitHub(arguments.port) as github:
    repository = made_up(github.world, n_issues=arguments.issues)
    print(f"GITHUB_API_URL={github.url} has {repository.full_name}; Ctrl-C ends it.", flush=True)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
