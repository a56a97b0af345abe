"""A local GitHub: real HTTP, its shapes, paging, limits and prices, and its faults on demand.

Tests have it as the fixtures `github` (the server) and `world` (what it has); by hand it runs as
`python -m tests.github --port 9000`.

* `world`: repositories, issues, pull requests, commits, comments, and how each changes there: `issue.close_by(pull)`,
  `delete()`, `transfer(to)`, `convert_to_discussion()`, `lock()`, `repository.rename("o/new")`, `rename_label(…)`;
  `private`, `has_issues` and `blocked` are set. `world.tick()` is its clock. `making.made_up` fills a repository.
* `routes` and `shapes`: REST. `openapi` holds every request and every answer of every test against GitHub's published
  description; a difference fails the test in which it first came up.
* `graphql`, `resolvers` and `connections`: GraphQL on graphql-core with GitHub's public schema, so that a field that
  GitHub does not have fails here, too. A field that it has and this one does not answer is 500 with a sentence.
* `server`: limits (`github.limit(token).remaining`, `github.limit(token, "graphql")`), conditional requests,
  `github.tokens` (those that are good; private repositories are theirs), `github.asked` (the requests), a hook
  `github.before_answer` to change the world between two requests, and faults:
  `github.fault("cut", "/issues", skip=2, times=1)`. The kinds stand in `server.FAULTS`; those of one GraphQL node,
  of its time and its limits are for `/graphql`.
* `descriptions`: gets GitHub's two descriptions. Tests that ask GraphQL are marked `github` and skip without them.
"""

from tests.github.making import made_up
from tests.github.server import GitHub
from tests.github.world import Comment, Commit, File, Issue, Mannequin, PullRequest, Repository, World

__all__ = [
    "Comment",
    "Commit",
    "File",
    "GitHub",
    "Issue",
    "Mannequin",
    "PullRequest",
    "Repository",
    "World",
    "made_up",
]
