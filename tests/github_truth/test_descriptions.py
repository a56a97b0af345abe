"""GitHub's descriptions come from a pinned package or not at all."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.github import descriptions
from tests.github.descriptions import Package

MEMBER = "package/generated/api.json"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A package that lies packed in the folder, as if put there by hand; npm is not there."""
    monkeypatch.setattr(descriptions, "FOLDER", tmp_path)
    monkeypatch.setenv("PATH", "/nowhere")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in (MEMBER, "package/../../../outside"):
            member = tarfile.TarInfo(name)
            member.size = 2
            archive.addfile(member, io.BytesIO(b"{}"))
    package = Package("@someone/something", "1.2.3", hashlib.sha512(packed.getvalue()).hexdigest(), MEMBER)
    package.packed.write_bytes(packed.getvalue())
    return package


def fetch(package: Package, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(descriptions, "OPENAPI", package)
    monkeypatch.setattr(descriptions, "GRAPHQL", package)
    return descriptions.fetch()


def test_the_one_file_that_is_wanted_is_unpacked(package: Package, monkeypatch: pytest.MonkeyPatch):
    assert fetch(package, monkeypatch) == ""
    assert descriptions.are_here()
    written = {path.relative_to(descriptions.FOLDER) for path in descriptions.FOLDER.rglob("*") if path.is_file()}
    assert written == {Path("1.2.3/api.json")}


def test_a_package_that_is_not_the_pinned_one_is_thrown_away(package: Package, monkeypatch: pytest.MonkeyPatch):
    package.packed.write_bytes(package.packed.read_bytes() + b"\x00")
    assert "is not the file that was pinned" in fetch(package, monkeypatch)
    assert not package.packed.exists()
    assert not descriptions.are_here()


def test_without_npm_it_is_said_how_to_get_it(package: Package, monkeypatch: pytest.MonkeyPatch):
    package.packed.unlink()
    assert "npm was not found (Debian, Ubuntu: apt-get install npm)." in fetch(package, monkeypatch)
