"""README: its steps are followed in a fresh clone, and its pictures and links exist."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

BASE_DIR = Path(__file__).resolve().parent.parent
README = (BASE_DIR / "README.md").read_text()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`make run` in a clone of what is committed; its packages are those of this checkout."""
    clone = tmp_path_factory.mktemp("readme") / "a clone"
    subprocess.run(["git", "clone", "-q", BASE_DIR, clone], check=True)
    (clone / ".venv").symlink_to(BASE_DIR / ".venv")
    os.utime(clone / "requirements.lock", (0, 0))  # older than what is installed
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    hidden = {"DATABASE_URL", "REDIS_URL", "DATA_DIR", "DJANGO_SETTINGS_MODULE"}
    settings = {name: value for name, value in os.environ.items() if name not in hidden} | {"PORT": str(port)}
    command = re.search(r"^make run\b", README, re.MULTILINE)
    assert command
    process = subprocess.Popen(
        command[0].split(), cwd=clone, env=settings, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        site = f"http://127.0.0.1:{port}"
        _wait_for(f"{site}/readyz")
        yield site
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert (clone / ".data").is_dir(), "All data stay in the folder .data"


def _wait_for(url: str, seconds: float = 240) -> None:
    ends_at = time.monotonic() + seconds
    while time.monotonic() < ends_at:
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.RequestException:
            pass
        time.sleep(1)
    raise AssertionError(f"{url} did not answer within {seconds:.0f} s.")


class Visitor:
    """A browser's session on the site, without a browser."""

    def __init__(self, site: str) -> None:
        self.site, self.session = site, requests.Session()

    def page(self, path: str) -> str:
        answer = self.session.get(self.site + path, timeout=30)
        assert answer.ok, (path, answer.status_code)
        return " ".join(answer.text.split())

    def become(self, person: str) -> None:
        """Presses the button of the first page, or the one of the banner."""
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.page("/"))
        assert token
        form = {"csrfmiddlewaretoken": token[1], "person": person}
        answer = self.session.post(f"{self.site}/demo/sign-in/", form, headers={"Referer": self.site}, timeout=30)
        assert answer.ok, answer.status_code


@pytest.mark.process
@pytest.mark.timeout(400)
def test_the_steps_of_the_readme_lead_where_it_says(site: str) -> None:
    visitor = Visitor(site)
    first = visitor.page("/")
    assert re.findall(r"\*(Try as \w+)\*", README) == ["Try as rater"] and ">Try as rater</button>" in first
    for person, name in (("demo-alice", "Alice"), ("demo-bob", "Bob")):
        visitor.become(person)
        page = visitor.page("/studies/demo/")
        assert name in README and "6 items wait for you in round 2" in page and ">Label round 2</a>" in page
    visitor.become("demo-ada")
    assert "moves to resolving" in README and "moves to resolving automatically" in visitor.page("/studies/demo/")
    assert "Start resolving" in visitor.page("/studies/demo/rounds/1/resolve/") or "agreed" in visitor.page(
        "/studies/demo/rounds/1/resolve/"
    )
    visitor.become("demo-olga")
    assert "95% CI" in visitor.page("/studies/demo/agreement/")
    assert "Agreed labels" in visitor.page("/studies/demo/exports/")


def test_pictures_and_guides_of_the_readme_exist() -> None:
    named = re.findall(r"\]\(([^)#:]+)\)", README)
    assert "docs/pictures/concord.png" in named
    assert not [path for path in named if not (BASE_DIR / path).exists()]
