"""Runs the benchmarks on servers of their own in a temporary folder and prints one table in Markdown.

`python -m bench [--sizes 1000,50000] [KIND …]`, of the kinds below.
"""

import argparse
import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

KINDS = (
    "fetch",
    "search",
    "github",
    "labeling",
    "agreement",
    "many",
    "analysis",
    "plans",
    "export",
    "whole",
    "backup",
    "large",
    "duplicates",
    "idle",
)


@contextmanager
def own_servers() -> Iterator[Path]:
    """An empty database with durable commits, and a Valkey, for as long as the benchmarks run."""
    folder = Path(tempfile.mkdtemp(prefix="concord-bench-"))
    os.environ.update(
        {
            "DATA_DIR": str(folder),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "THROTTLE": "100000000/min",
            "ALLOWED_HOSTS": "testserver",
        }
    )
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    from config import embedded

    with embedded.servers(folder):
        import django
        from django.core.management import call_command

        from config import preload

        with preload.frozen():  # as web processes are that answer the same requests
            django.setup()
            preload.load_pages()
        call_command("migrate", verbosity=0)
        yield folder
    shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=[], metavar="KIND", help=f"of {', '.join(KINDS)}; all of them")
    parser.add_argument("--sizes", default="1000,50000", help="numbers of items, separated by commas")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    given = parser.parse_args()
    rows = []
    with own_servers() as folder:
        for size in (int(text) for text in given.sizes.split(",")):
            for kind in given.kinds or KINDS:
                print(f"{kind} at {size:,} items …", file=sys.stderr, flush=True)
                rows += importlib.import_module(f"bench.{kind}").measure(size, folder)
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores\n")
    print("| what | items | measured | reference | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    for row in rows:
        print(f"| {row['what']} | {row['items']:,} | {row['measured']} | {row['reference']} | {row['ratio']} |")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
