"""One file of settings: what Concord, its command, a shell and docker compose read in it is the same."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from dotenv import dotenv_values

from config import env

ROOT = Path(__file__).resolve().parents[2]
FILE = """\
# a remark, and an empty line

DATABASE_URL='postgresql://concord:p%26w@db.example.org/concord?sslmode=prefer&connect_timeout=3'
ALLOWED_HOSTS='a.example.org b.example.org'
EMAIL_FROM='Concord <concord@example.org>'
SECRET_KEY='$HOME `id` $(id) #; | (a) ~ "double" &&'
OIDC_NAME="Bob's university"
SITE_URL=https://a.example.org
REDIS_URL=redis://:word@127.0.0.1:6379/0
S3_REGION=
"""
VALUES = {
    "DATABASE_URL": "postgresql://concord:p%26w@db.example.org/concord?sslmode=prefer&connect_timeout=3",
    "ALLOWED_HOSTS": "a.example.org b.example.org",
    "EMAIL_FROM": "Concord <concord@example.org>",
    "SECRET_KEY": '$HOME `id` $(id) #; | (a) ~ "double" &&',
    "OIDC_NAME": "Bob's university",
    "SITE_URL": "https://a.example.org",
    "REDIS_URL": "redis://:word@127.0.0.1:6379/0",
    "S3_REGION": "",
}
SHOW = f"import json, os; print(json.dumps({{name: os.environ.get(name) for name in {list(VALUES)}}}))"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "concord.env"
    path.write_text(FILE)
    return path


def without_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in VALUES}


def read_by_concord(path: Path, **more: str) -> dict[str, str]:
    code = f"from config import env; env.read_file(); {SHOW}"
    environment = without_settings() | {"SETTINGS_FILE": str(path)} | more
    return json.loads(subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=environment))


def read_by_shell(path: Path, shell: str) -> dict[str, str]:
    script = f'set -eu; set -a; . "$1"; set +a; exec "{sys.executable}" -c "$2"'
    command = [shell, "-c", script, shell, str(path), SHOW]
    return json.loads(subprocess.check_output(command, env=without_settings()))


def test_concord_shells_and_a_reader_of_env_files_find_the_same_values(file: Path) -> None:
    assert read_by_concord(file) == VALUES
    assert read_by_shell(file, "/bin/sh") == read_by_shell(file, "/bin/bash") == VALUES
    assert dotenv_values(file) == VALUES  # as docker compose reads `.env`


def test_every_line_of_the_example_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "all.env"
    lines = [line[1:] for line in (ROOT / ".env.example").read_text().splitlines() if re.match(r"#[A-Z0-9_]+=", line)]
    path.write_text("\n".join(lines))
    assert len(lines) > 30 and read_by_concord(path)["EMAIL_FROM"] == "Concord <concord@example.org>"
    assert dotenv_values(path)["EMAIL_FROM"] == "Concord <concord@example.org>"


def test_what_the_environment_says_already_stays(file: Path) -> None:
    assert read_by_concord(file, SITE_URL="http://localhost:8099")["SITE_URL"] == "http://localhost:8099"


@pytest.mark.parametrize(
    "line",
    [
        "DATABASE_URL=postgresql://concord@/concord?a=1&b=2",
        "ALLOWED_HOSTS=a.example.org b.example.org",
        "EMAIL_FROM=Concord <concord@example.org>",
        "SECRET_KEY=a$b",
        'SECRET_KEY="a$b"',
        "SECRET_KEY=a#b",
        "OIDC_NAME=Bob's university",
        "SECRET_KEY='a'b",
        "SECRET_KEY=~/key",
        "SECRET_KEY='open",
        "just words",
        "SECRET_KEY='a\\b'",
        "SITE_URL = https://a.example.org",
    ],
)
def test_a_line_that_programs_would_read_in_different_ways_is_rejected(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "settings"
    path.write_text(f"PORT=8000\n{line}\n")
    monkeypatch.setenv("SETTINGS_FILE", str(path))
    with pytest.raises(ImproperlyConfigured, match=r"^Line 2 of .*/settings is not clear: .* single quotes"):
        env.read_file()


def test_a_file_that_is_not_there_ends_every_command_with_a_sentence(tmp_path: Path) -> None:
    environment = without_settings() | {"SETTINGS_FILE": str(tmp_path / "none"), "DATA_DIR": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "manage.py", "backup", str(tmp_path)],
        cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1 and not (tmp_path / "data").exists()
    assert done.stderr.strip() == f"The settings in {tmp_path / 'none'} cannot be read: No such file or directory."


def test_the_command_of_the_guide_and_its_units_read_the_file(file: Path, tmp_path: Path) -> None:
    """The command as it is shipped, with another place of the program, and as root without another user."""
    told = (ROOT / "deploy/concord").read_text()
    program = "/srv/concord/app/.venv/bin/python /srv/concord/app/manage.py"
    assert program in told
    shows = tmp_path / "shows.py"
    shows.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom config import env; env.read_file()\n{SHOW}\n"
    )
    script = tmp_path / "concord"
    script.write_text(told.replace(program, f"{sys.executable} {shows}").replace("runuser -u concord --", "env"))
    environment = without_settings() | {"SETTINGS_FILE": str(file)}
    assert json.loads(subprocess.check_output(["/bin/sh", str(script)], env=environment)) == VALUES
    for unit in (ROOT / "deploy/systemd").glob("*.service"):
        assert "\nEnvironment=SETTINGS_FILE=/etc/concord/concord.env\n" in unit.read_text()
