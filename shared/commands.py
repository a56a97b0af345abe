"""Commands of `manage.py`: what others wrote does not control the terminal on which they print it."""

import re
from typing import Any

from django.core.management.base import BaseCommand, OutputWrapper

from shared.terminals import escaped


class _Output(OutputWrapper):
    """What a command writes: as it is into a file or another program, with control characters escaped for people."""

    def write(self, msg="", style_func=None, ending=None):  # type: ignore[no-untyped-def]
        if self.isatty():
            msg = "".join(part if part in ("\n", "\t") else escaped(part) for part in re.split("([\n\t])", msg))
        super().write(msg, style_func, ending)


class ConcordCommand(BaseCommand):
    """A command whose output, and whose errors, may contain texts from GitHub and from files."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        out: Any = self.stdout
        errors: Any = self.stderr
        self.stdout, self.stderr = _Output(out._out), _Output(errors._out)
        self.stderr.style_func = errors.style_func
