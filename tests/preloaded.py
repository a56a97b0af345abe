"""A process that has Concord loaded and forks into its programs: each a process of its own, that is there at once.

Loading Concord takes some two seconds of a processor, and a site of five processes that dies a hundred times would need
hours for nothing else.
"""

import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from config.supervisor import die_with_parent

BASE_DIR = Path(__file__).resolve().parents[1]
LOADED = (
    "config.urls",
    "config.wsgi",
    "config.celery",
    "config.gunicorn",
    "config.backups.restore",
    "celery.bin.worker",
)


class Preloaded:
    """Starts programs that have this environment, for as long as the block lasts; all end with it."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self._folder = folder
        command, pipe = [sys.executable, "-m", "tests.preloaded"], subprocess.PIPE
        self._process = subprocess.Popen(command, cwd=BASE_DIR, env=environment, stdin=pipe, stdout=pipe, text=True)

    def __enter__(self) -> "Preloaded":
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def start(self, module: str, *arguments: object, name: str = "") -> psutil.Process:
        """`python -m module arguments`; what it says goes to name.out and name.err of the folder."""
        said = self._folder / (name or module)
        for kind in ("out", "err"):
            said.with_suffix(f".{kind}").write_bytes(b"")
        return psutil.Process(int(self._asked(words=[module, *map(str, arguments)], said=str(said))))

    def run(self, module: str, *arguments: object) -> str:
        """What it prints. It has to end with 0."""
        process = self.start(module, *arguments)
        status = self._asked(ended=process.pid)
        assert status == 0, self.said(module, "err")[-3000:]
        return self.said(module, "out")

    def said(self, name: str, kind: str) -> str:
        return (self._folder / f"{name}.{kind}").read_text(errors="replace")

    def _asked(self, **question: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def _serve() -> None:
    import django

    django.setup()
    for module in LOADED:
        importlib.import_module(module)
    gc.freeze()
    ended: dict[int, int] = {}

    def take_leave(*_: object) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            ended[pid] = status

    signal.signal(signal.SIGCHLD, take_leave)
    for line in sys.stdin:
        asked = json.loads(line)
        if "ended" in asked:
            while asked["ended"] not in ended:
                time.sleep(0.01)
            answer = ended.pop(asked["ended"])
        else:
            answer = os.fork()
            if not answer:
                _become(asked["words"], asked["said"])
        print(answer, flush=True)


def _become(words: list[str], said: str) -> None:
    """Never returns: the program's end is that of the process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    die_with_parent(signal.SIGKILL)
    for number, path in enumerate((os.devnull, f"{said}.out", f"{said}.err")):
        os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
    sys.argv, code = words, 0
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(bool(end.code))
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve()
