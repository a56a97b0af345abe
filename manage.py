#!/usr/bin/env python
"""The shell's door into Concord."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config import shell

    shell.run(sys.argv)


if __name__ == "__main__":
    main()
