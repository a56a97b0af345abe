"""`python -m tests.github --port 9000`: a local GitHub with made-up issues, to try fetching without a network."""

import argparse
import threading
from contextlib import suppress

from tests.github import descriptions, graphql
from tests.github.making import made_up
from tests.github.server import GitHub

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--port", type=int, default=9000, help="0 takes a free one; the address is printed")
parser.add_argument("--repository", default="example/trainer")
parser.add_argument("--issues", type=int, default=250, help="issues and pull requests together")
parser.add_argument("--comments", type=int, default=None, help="comments of each; otherwise none to three")
parser.add_argument("--token", action="append", default=[], help="the tokens that are good (otherwise any)")
parser.add_argument("--limit", type=int, default=5000, help="requests, and points of GraphQL, an hour")
arguments = parser.parse_args()
with GitHub(arguments.port) as github:
    github.tokens = set(arguments.token)
    github.hourly = arguments.limit
    repository = made_up(github.world, arguments.repository, n_issues=arguments.issues, n_comments=arguments.comments)
    if descriptions.are_here():
        graphql.schema()
    else:
        print(f"GraphQL does not answer. {descriptions.MISSING}.", flush=True)
    print(f"GITHUB_API_URL={github.url} has {repository.full_name}; Ctrl-C ends it.", flush=True)
    with suppress(KeyboardInterrupt):
        threading.Event().wait()
