"""Identifiers of repositories and issues as people write them: `owner/name#number` or a URL."""

import re

from ingest.errors import Invalid

GITHUB_HOST = "github.com"
NUMBER_MAX = 2**31 - 1

_HOST = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::\d{1,5})?)"
_OWNER = r"(?P<owner>[A-Za-z0-9_][A-Za-z0-9_-]{0,99})"
_NAME = r"(?P<name>[A-Za-z0-9._-]{1,100}?)"
_ISSUE = re.compile(rf"(?:{_HOST}/)?{_OWNER}/{_NAME}#(?P<number>\d{{1,10}})")
_ISSUE_ADDRESS = re.compile(
    rf"https?://(?:www\.)?{_HOST}/{_OWNER}/{_NAME}/(?:issues|pull)/(?P<number>\d{{1,10}})(?:[/?#].*)?"
)
_REPOSITORY = re.compile(rf"(?:{_HOST}/)?{_OWNER}/{_NAME}(?:\.git)?/?")
_REPOSITORY_ADDRESS = re.compile(rf"(?:https?://(?:www\.)?|git@){_HOST}[/:]{_OWNER}/{_NAME}(?:\.git)?(?:[/?#].*)?")


Identified = tuple[str, str, str, int]
"""Host, owner, name and number of an issue."""


def parse_identifier(text: str) -> Identified:
    """Host, owner, name and number of `owner/name#1`, `host/owner/name#1` or an issue's address; raises Invalid."""
    text = text.strip()
    found = _ISSUE.fullmatch(text) or _ISSUE_ADDRESS.fullmatch(text)
    if found and found["name"] not in {".", ".."} and 1 <= int(found["number"]) <= NUMBER_MAX:
        return (found["host"] or GITHUB_HOST).lower(), found["owner"], found["name"], int(found["number"])
    raise Invalid(f"“{text[:200]}” is not an issue. Enter owner/name#number or its URL.", code="not_an_issue")


def parse_repository(text: str) -> tuple[str, str, str]:
    """Host, owner and name of `owner/name`, `host/owner/name` or an address on the host; raises Invalid."""
    text = text.strip()
    found = _REPOSITORY.fullmatch(text) or _REPOSITORY_ADDRESS.fullmatch(text)
    if found and found["name"] not in {".", ".."}:
        return (found["host"] or GITHUB_HOST).lower(), found["owner"], found["name"]
    raise Invalid(
        f"“{text[:200]}” is not a repository. Enter owner/name.",
        code="not_a_repository",
        fields={"repository": ["Enter it as owner/name, for example deepspeedai/DeepSpeed."]},
    )


def is_host(text: str) -> bool:
    """Whether this can be the host of a repository, as it is stored."""
    return text == text.lower() and re.fullmatch(_HOST, text) is not None


def is_owner(text: str) -> bool:
    """Whether this can be who a repository belongs to."""
    return re.fullmatch(_OWNER, text) is not None


def is_name(text: str) -> bool:
    """Whether this can be the name of a repository."""
    return text not in {".", ".."} and re.fullmatch(_NAME, text) is not None


def full_name(host: str, owner: str, name: str) -> str:
    """`owner/name`, or `host/owner/name` when the host is not github.com."""
    return f"{owner}/{name}" if host == GITHUB_HOST else f"{host}/{owner}/{name}"
