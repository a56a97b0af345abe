"""GitHub's own descriptions of its interfaces, which the local GitHub is held against; `python -m` fetches them.

They come as the npm packages @octokit/openapi and @octokit/graphql-schema (MIT), pinned by version and SHA-512, into
a folder that git ignores. Without npm, put the two packed packages there by hand, or set GITHUB_DESCRIPTIONS to a
folder that has them.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(
    os.environ.get("GITHUB_DESCRIPTIONS") or Path(__file__).resolve().parent.parent.parent / ".github-descriptions"
)


class Package(NamedTuple):
    """A packed npm package, and the one file of it that is wanted."""

    name: str
    version: str
    sha512: str
    member: str

    @property
    def packed(self) -> Path:
        return FOLDER / f"{self.name.removeprefix('@').replace('/', '-')}-{self.version}.tgz"

    @property
    def path(self) -> Path:
        return FOLDER / self.version / Path(self.member).name


OPENAPI = Package(
    "@octokit/openapi",
    "23.0.2",
    "a55f0cecbf46636dc0c9b36f4e6a369f28e6a669edebedac444fedaabd192d07"
    "0f4b8967c3bbb979918d9b044d9010b70fb8195db171e401f32d455105718386",
    "package/generated/api.github.com.json",
)
GRAPHQL = Package(
    "@octokit/graphql-schema",
    "15.26.1",
    "4450c2d8ca5105de00c5246f51e04855e054ee88cdfd2c437c02d477b89560e4"
    "9e10ade065aa91d8c18ecac8f8661db18f6458e5f400513f8eaaaee1593ada30",
    "package/schema.graphql",
)
TYPES_OF_ISSUES = """
extend type Issue { issueType: IssueType }
type IssueType implements Node { id: ID! name: String! }
"""
MISSING = "GitHub's published descriptions are missing: `python -m tests.github.descriptions` fetches them (with npm)"


def are_here() -> bool:
    """Whether both descriptions can be read."""
    return OPENAPI.path.is_file() and GRAPHQL.path.is_file()


def graphql_schema() -> str:
    """The GraphQL schema, in its own language, with what GitHub answers and the published one does not list yet."""
    published = GRAPHQL.path.read_text(encoding="utf-8")
    return published if "type IssueType " in published else published + TYPES_OF_ISSUES


@cache
def openapi() -> dict[str, Any]:
    """The OpenAPI description; reading it takes a moment."""
    found: dict[str, Any] = json.loads(OPENAPI.path.read_bytes())
    return found


def fetch() -> str:
    """Gets what is missing; what went wrong, in words, or nothing."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for package in (OPENAPI, GRAPHQL):
        if not package.path.is_file() and (wrong := _fetch(package)):
            return wrong
    return ""


def _fetch(package: Package) -> str:
    if not package.packed.is_file():
        npm = shutil.which("npm")
        if not npm:
            return "npm was not found (Debian, Ubuntu: apt-get install npm)."
        print(f"Getting {package.name} {package.version} …", flush=True)
        command = [npm, "pack", f"{package.name}@{package.version}", "--silent", "--pack-destination", str(FOLDER)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0 or not package.packed.is_file():
            return f"{' '.join(command[1:3])} failed: {(done.stderr or done.stdout).strip()[-500:]}"
    found = hashlib.sha512(package.packed.read_bytes()).hexdigest()
    if found != package.sha512:
        package.packed.unlink()
        return f"{package.packed.name} is not the file that was pinned (its SHA-512 is {found}); it was removed."
    with tarfile.open(package.packed) as archive:
        member = archive.extractfile(package.member)
        assert member is not None, package.member
        package.path.parent.mkdir(exist_ok=True)
        part = package.path.with_suffix(".part")
        part.write_bytes(member.read())
    part.replace(package.path)
    package.packed.unlink()
    return ""


if __name__ == "__main__":
    if wrong := fetch():
        print(f"{wrong}\nSo the tests that hold the local GitHub against GitHub's published descriptions will NOT run.")
        sys.exit("--strict" in sys.argv)
