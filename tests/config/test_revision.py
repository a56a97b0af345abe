"""The commit that a package names: of a checkout, an archive, an image, and never of another project."""

import io
import runpy
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from config import revision

ROOT = Path(revision.__file__).resolve().parents[1]


def git(folder: Path, *words: str) -> str:
    as_someone = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *as_someone, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository of its own with the module and its attributes in one commit."""
    folder = tmp_path / "checkout"
    (folder / "config").mkdir(parents=True)
    shutil.copy(ROOT / "config" / "revision.py", folder / "config")
    shutil.copy(ROOT / ".gitattributes", folder)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "One")
    return folder


def test_a_checkout_names_its_commit_and_its_changes(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert revision.commit("", checkout) == f"commit {head}"
    (checkout / "own.txt").write_text("not of the code")
    assert revision.commit("", checkout) == f"commit {head}"
    (checkout / "config" / "revision.py").write_text("changed = True\n")
    assert revision.commit("", checkout) == f"commit {head}, with local changes"


def test_a_folder_within_another_checkout_and_one_without_git_are_not_known(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert revision.commit("", checkout / "config") == "commit unknown"
    monkeypatch.setenv("PATH", "/nowhere")
    assert revision.commit("", checkout) == "commit unknown"


def test_an_image_names_the_commit_of_its_build(checkout: Path) -> None:
    assert revision.commit("0123456789" * 4, checkout / "config") == "commit " + "0123456789" * 4
    assert revision.commit("main", checkout / "config") == "commit unknown"


def test_an_archive_names_the_commit_that_it_was_packed_from(checkout: Path, tmp_path: Path) -> None:
    packed = subprocess.run(["git", "-C", str(checkout), "archive", "HEAD"], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    module = runpy.run_path(str(tmp_path / "unpacked" / "config" / "revision.py"))
    assert module["commit"]("") == f"commit {git(checkout, 'rev-parse', 'HEAD')}"
