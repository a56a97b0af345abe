"""Makes up repositories, for trying out, for demonstrations and for measuring."""

from tests.github.world import File, PullRequest, Repository, World

SYMPTOMS = ["hangs at the barrier", "runs out of memory", "gives a wrong loss", "crashes while saving", "is slow"]
PLACES = ["two nodes", "pipeline parallelism", "a sharded optimizer", "mixed precision", "elastic training"]


def made_up(
    world: World, full_name: str = "example/trainer", n_issues: int = 250, *, n_comments: int | None = None
) -> Repository:
    """A repository with `n_issues` issues and pull requests (every seventh), with `n_comments` each (default 0 to 3).

    Every second one is closed; of the issues closed as completed one in three by a pull request, one by a commit.
    """
    repository = world.repository(full_name)
    pulls: list[PullRequest] = []
    for n in range(n_issues):
        symptom, place = SYMPTOMS[n % len(SYMPTOMS)], PLACES[(n // 5) % len(PLACES)]
        issue = repository.issue(
            f"Training {symptom} with {place}",
            f"Made up, number {n + 1}.\n\n```text\nRank {n % 8}: step {n * 10}: timed out after 1800 s\n```\n",
            labels=["bug"] if n % 3 else ["question"],
            user=["bob", "dana", None][n % 3],
            is_pull_request=n % 7 == 6,
        )
        for k in range(n % 4 if n_comments is None else n_comments):
            issue.comment(f"Seen here, too ({k + 1}).", user=["carol", "erin"][k % 2])
        if isinstance(issue, PullRequest):
            issue.files = [File(f"src/part_{n % 5}.py", n % 40 + 1, n % 9), File("tests/test_part.py", 5)]
            if n % 2 == 0:
                pulls.append(issue)
        if n % 2:
            if n % 4 != 1 or isinstance(issue, PullRequest):
                issue.close("completed" if n % 4 == 1 else "not_planned")
            elif n % 3 == 0 and pulls:
                issue.close_by(pulls[-1])
            elif n % 3 == 1:
                issue.close_by(repository.commit(f"Fix #{issue.number}", files=[File("src/barrier.py", 2, 2)]))
            else:
                issue.close()
    return repository
