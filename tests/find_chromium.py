"""Finds the Chromium that the browser tests drive, or has apt install one where that is allowed."""

import os
import shutil
import subprocess

SHELL = "chromium-headless-shell"
"""Chromium without what only a window needs: it takes half of the computing time."""
NAMES = (SHELL, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a Chromium: CHROMIUM, else the system's."""
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), None)


def _install(name: str, *, update: bool = False) -> None:
    print(f"Installing {name} for the browser tests …", flush=True)
    commands = [["install", "-y", "--no-install-recommends", name]]
    for command in [["update"], *commands] if update else commands:
        done = subprocess.run(["apt-get", *command], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"apt-get {' '.join(command)} failed: {done.stderr.strip()}")
            return


if __name__ == "__main__":
    if not os.environ.get("CHROMIUM") and os.geteuid() == 0 and shutil.which("apt-get"):
        if not chromium():
            _install("chromium", update=True)
        if not shutil.which(SHELL):  # not every system has it, and the tests do without
            _install(SHELL)
    if not chromium():
        print(
            "No Chromium was found, so the browser tests will NOT run. Install one (Debian: apt-get install chromium) "
            "or set CHROMIUM to its path."
        )
