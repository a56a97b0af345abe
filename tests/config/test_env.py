"""Settings from the environment: sensible ones are read, nonsense is refused in a sentence."""

import re
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import env

BASE_DIR = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("given", "read"), [("1", True), ("Yes", True), ("off", False), ("", False), (None, False)])
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, given: str | None, read: bool) -> None:
    monkeypatch.delenv("HTTPS", raising=False)
    if given is not None:
        monkeypatch.setenv("HTTPS", given)
    assert env.flag("HTTPS") is read


@pytest.mark.parametrize("given", ["maybe", "2", "-"])
def test_a_flag_that_is_neither_yes_nor_no_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("HTTPS", given)
    with pytest.raises(ImproperlyConfigured, match="HTTPS is .*; write 1 for yes or 0 for no"):
        env.flag("HTTPS")


@pytest.mark.parametrize("given", ["0", "65536", "80a", "8 0", "-", "--1", "1.5", "²"])
def test_a_port_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("PORT", given)
    with pytest.raises(ImproperlyConfigured, match="PORT is .*; enter a whole number from 1 to 65535"):
        env.whole_number("PORT", 8000, least=1, most=65535)


def test_words_are_separated_by_commas_or_blanks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKENS", " a, b  c,")
    assert env.words("GITHUB_TOKENS") == ["a", "b", "c"]


def test_a_folder_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DATA_DIR", "my data")
    assert env.folder("DATA_DIR", Path("/x")) == tmp_path / "my data"


def test_a_database_address_is_taken_apart() -> None:
    found = env.database("postgresql://bob:p%40ss@db.example:5433/concord?sslmode=require")
    assert (found["USER"], found["PASSWORD"], found["HOST"], found["PORT"]) == ("bob", "p@ss", "db.example", "5433")
    assert found["NAME"] == "concord"
    assert found["OPTIONS"] == {"sslmode": "require"}


def test_a_database_address_may_name_a_socket_folder() -> None:
    found = env.database("postgresql://concord@/concord?host=/tmp/concord-1")
    assert (found["HOST"], found["PORT"], found["OPTIONS"]) == ("/tmp/concord-1", "", {})


@pytest.mark.parametrize("given", ["mysql://x/y", "postgresql://host", "concord", "postgresql://h:port/x"])
def test_a_database_address_of_another_kind_is_refused(given: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL must read postgresql://"):
        env.database(given)


def test_every_setting_stands_in_the_example_with_a_sentence() -> None:
    read = re.findall(r'env\.\w+\("([A-Z_]+)"', (BASE_DIR / "config" / "settings.py").read_text())
    together = re.findall(r"(?:text|provider|all_or_none)\(([^)]*)\)", (BASE_DIR / "config" / "env.py").read_text())
    read += re.findall(r'"([A-Z0-9]+_[A-Z0-9_]+)"', "".join(together))
    files = (BASE_DIR / "docker-compose.yml", BASE_DIR / "deploy" / "compose.domain.yml")
    composed = re.findall(r"\$\{([A-Z_]+)", "".join(file.read_text() for file in files))
    composed += ["COMPOSE_FILE"]  # which docker compose reads itself
    told = re.findall(r"^#([A-Z0-9_]+)=", (BASE_DIR / ".env.example").read_text(), re.MULTILINE)
    assert set(read) | set(composed) == set(told)
