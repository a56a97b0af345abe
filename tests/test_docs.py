"""The guides hold what they say: their commands and code run, their links lead somewhere, what they name exists."""

import json
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands, load_command_class
from pytest_django.live_server_helper import LiveServer
from ruamel.yaml import YAML

from accounts.actions import make_token
from accounts.models import User
from annotation.overview.actions.demo import load_demo
from taxonomy.actions import load_document, publish_version
from tests.citations import wrong_in_citation
from tests.conftest import environment_of_servers
from tests.github import GitHub, made_up

ROOT = Path(__file__).resolve().parent.parent
WHERE = ("*.md", "docs/*.md", "docs/decisions/*.md", "agreement/*.md", "annotation/**/*.md")
PAGES = sorted(page for pattern in WHERE for page in ROOT.glob(pattern))
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
FENCE = re.compile(r"^```(\w*)(?: (skip))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What stands before a guide's commands: an HTTP error ends the script, and GitHub's own command line is not here.
PRELUDE = """
set -euo pipefail
curl() { command curl --fail-with-body "$@"; }
gh() {
  echo '[{"number": 901, "title": "Hangs", "body": "", "state": "OPEN", "stateReason": "", "author": {"login": "bob"},'
  echo ' "labels": [{"name": "bug"}], "comments": [], "createdAt": "2024-05-01T10:00:00Z", "closedAt": null,'
  echo ' "updatedAt": "2024-05-01T10:00:00Z", "url": "https://github.com/deepspeedai/DeepSpeed/issues/901"}]'
}
"""


@dataclass(frozen=True)
class Block:
    """A fenced block: in which language, the line it begins in, what stands before it on the page."""

    language: str
    is_skipped: bool
    text: str
    line: int
    before: str


def blocks(name: str) -> list[Block]:
    page = (ROOT / name).read_text(encoding="utf-8")
    return [
        Block(
            language=found[1],
            is_skipped=bool(found[2]),
            text=found[3],
            line=page.count("\n", 0, found.start()) + 2,
            before=page[: found.start()],
        )
        for found in FENCE.finditer(page)
    ]


def of_language(*languages: str) -> list[Any]:
    """All blocks in these languages, as parameters of a test."""
    return [
        pytest.param(block, id=f"{name}:{block.line}")
        for name in NAMES
        for block in blocks(name)
        if block.language in languages and not block.is_skipped
    ]


WITH_A_WORKER = ("docs/scripts.md",)
"""Guides that wait for what a worker does."""


def runs(name: str) -> bool:
    return any(block.language in ("sh", "python") and not block.is_skipped for block in blocks(name))


def as_script(name: str, folder: Path) -> str:
    """One script of all that a page runs, in its order; its CSV blocks are the files that the page names before."""
    lines = [PRELUDE]
    for block in blocks(name):
        lines.append(f"echo {name}, line {block.line}, after $SECONDS s: >&2")
        if block.language == "csv":
            [*_, file] = re.findall(r"[\w-]+\.csv", block.before) or ["rows.csv"]
            (folder / file).write_text(block.text, encoding="utf-8")
        elif block.language == "python" and not block.is_skipped:
            code = folder / f"line-{block.line}.py"
            code.write_text(block.text, encoding="utf-8")
            lines.append(f"PYTHONPATH=. .venv/bin/python {code.name}")
        elif block.language == "sh" and not block.is_skipped:
            lines.append(block.text)
    return "\n".join(lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like the checkout, and takes what the commands write."""
    for entry in ROOT.iterdir():
        if entry.name not in (".data", ".git", ".venv"):
            (tmp_path / entry.name).symlink_to(entry)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    if (settings := Path(sys.prefix) / "pyvenv.cfg").exists():
        (tmp_path / ".venv" / "pyvenv.cfg").symlink_to(settings)
        (tmp_path / ".venv" / "lib").symlink_to(Path(sys.prefix) / "lib")
    return tmp_path


@pytest.fixture
def environment(live_server: LiveServer, github: GitHub) -> dict[str, str]:
    """A server with the demo study, a GitHub with a repository of the name that the guides use, and a token."""
    load_demo()
    made_up(github.world, "deepspeedai/DeepSpeed", 30)
    _, token = make_token(user=User.objects.get(username="demo-olga"), name="guides", scope="manage")
    return {
        **environment_of_servers(),
        "GITHUB_API_URL": github.url,
        "CONCORD": live_server.url,
        "BASE": f"{live_server.url}/api/v1",
        "TOKEN": token,
    }


@pytest.mark.process
@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(960)
@pytest.mark.parametrize("name", [name for name in NAMES if runs(name)])
def test_the_commands_and_the_code_of_a_guide_run(
    name: str, folder: Path, environment: dict[str, str], request: pytest.FixtureRequest
) -> None:
    script = as_script(name, folder)
    if name in WITH_A_WORKER:
        request.getfixturevalue("live_worker")
    if "curl" in script.removeprefix(PRELUDE) and not shutil.which("curl"):
        pytest.skip(f"{name} uses curl, which is not installed.")
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, f"{done.stderr[-3000:]}\n{done.stdout[-2000:]}"


@pytest.mark.django_db
@pytest.mark.parametrize("block", of_language("yaml", "yml"))
def test_a_taxonomy_in_a_guide_can_be_loaded_and_published(block: Block) -> None:
    assert publish_version(user=None, version=load_document(user=None, text=block.text)).number == 1


@pytest.mark.parametrize("block", of_language("json"))
def test_json_in_a_guide_can_be_read(block: Block) -> None:
    json.loads(block.text)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_file_and_a_heading(name: str) -> None:
    text = FENCE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(((?:\\.|[^()\s\\])+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        page = (ROOT / name).parent / path if path else ROOT / name
        assert page.exists(), f"{name} links to {target}, which is not there"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{name} links to {target}, and there is no such heading"


@pytest.mark.parametrize("name", NAMES)
def test_every_make_target_that_is_named_exists(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for part in code_of(name):
        for target in re.findall(r"(?:^|[`\s])make ([a-z][\w-]*)", part):
            assert target in targets, f"{name} names `make {target}`"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_of_manage_py_that_is_named_exists(name: str) -> None:
    commands = get_commands()
    for part in code_of(name):
        for command, rest in re.findall(r"manage\.py ([a-z]\w*)((?:\\\n|[^\n#|>;&])*)", part):
            assert command in commands, f"{name} names `manage.py {command}`"
            app = commands[command]
            loaded = load_command_class(app, command) if isinstance(app, str) else app
            parser = loaded.create_parser("manage.py", command)
            assert isinstance(parser, ArgumentParser)
            known = {option for action in parser._actions for option in action.option_strings}
            for option in re.findall(r"--[a-z][\w-]*", rest):
                assert option in known, f"{name} names `manage.py {command} {option}`"


FOR_ENGINEERS = [name for name in NAMES if name in ("ARCHITECTURE.md", "CONTRIBUTING.md") or "decisions/0" in name]


@pytest.fixture(scope="module")
def places() -> list[str]:
    """Every file of the repository, with a slash before its path."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [f"/{path}" for path in tracked.splitlines()]


def not_there(text: str, places: list[str]) -> set[str]:
    """Files and folders that a text names in backticks by the end of their path, and that do not exist."""
    parts = re.findall(r"`([^`\s]+)`", FENCE.sub("", text))
    files = {part for part in parts if re.fullmatch(r"(?:[\w-]+/)*[\w-]+\.(?:py|js|css|html|json|md|txt)", part)}
    folders = {part for part in parts if re.fullmatch(r"(?:[\w-]+/)+", part)}
    missing = {part for part in files if not any(place.endswith(f"/{part}") for place in places)}
    return missing | {part for part in folders if not any(f"/{part}" in place for place in places)}


@pytest.mark.parametrize("name", FOR_ENGINEERS)
def test_every_file_that_a_page_for_engineers_names_exists(name: str, places: list[str]) -> None:
    assert not_there((ROOT / name).read_text(encoding="utf-8"), places) == set()


def test_every_file_that_a_package_names_at_its_head_exists(places: list[str]) -> None:
    heads = [place for place in places if place.endswith("/__init__.py") and not place.startswith("/tests/")]
    missing = {place: not_there((ROOT / place[1:]).read_text(encoding="utf-8"), places) for place in heads}
    assert {place: names for place, names in missing.items() if names} == {}
    assert not_there("`annotation/labels/nothing.py` and `agreement/nowhere/`", places)


def test_architecture_is_short_and_a_decision_is_one_page() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_bytes()) <= 12_000
    for page in sorted(ROOT.glob("docs/decisions/0*.md")):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Alternatives", "Consequence"]
        assert text.startswith("# ") and re.search(r"^\d{4}-\d\d-\d\d$", text, re.MULTILINE), page.name
        assert text.count("\n") <= 25 and f"({page.name})" in (page.parent / "README.md").read_text(encoding="utf-8")


def code_of(name: str) -> list[str]:
    """Fenced blocks and inline code of a page."""
    text = (ROOT / name).read_text(encoding="utf-8")
    fenced = [found[3] for found in FENCE.finditer(text)]
    return [*fenced, *re.findall(r"`([^`]+)`", FENCE.sub("", text))]


def test_the_citation_is_valid_and_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert wrong_in_citation(text) == []
    assert "$.authors: [] should be non-empty" in wrong_in_citation(re.sub(r"authors:\n.*\n", "authors: []\n", text))
    citation = YAML(typ="safe").load(text)
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version and citation["version"] == version[1]
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()


def test_every_setting_is_in_the_example_of_an_environment() -> None:
    read = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "config").glob("*.py"))
    named = set(re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', read))
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    assert named and [name for name in sorted(named) if not re.search(rf"\b{name}=", example)] == []
