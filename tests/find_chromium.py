"""Finds the Chromium that the browser tests drive, or has apt install one where that is allowed."""

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The path of a Chromium: CHROMIUM, else the system's."""
    return os.environ.get("CHROMIUM") or next((path for path in map(shutil.which, NAMES) if path), None)


def _install() -> None:
    print("Installing Chromium for the browser tests …", flush=True)
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            print(f"{' '.join(command)} failed: {done.stderr.strip()}")
            return


if __name__ == "__main__":
    if not chromium() and os.geteuid() == 0 and shutil.which("apt-get"):
        _install()
    if not chromium():
        print(
            "No Chromium was found, so the browser tests will NOT run. Install one (Debian: apt-get install chromium) "
            "or set CHROMIUM to its path."
        )
