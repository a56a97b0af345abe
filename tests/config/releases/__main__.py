"""Stores data of this release beside: `python -m tests.config.releases`, in an empty Concord of its own."""

import json
import lzma
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent


def main() -> None:
    data_dir = Path(tempfile.mkdtemp(prefix="concord-release-"))
    os.environ.update({"DATA_DIR": str(data_dir), "DJANGO_SETTINGS_MODULE": "config.settings"})
    for name in ("DATABASE_URL", "REDIS_URL"):
        os.environ.pop(name, None)
    from config import embedded

    with embedded.servers(data_dir):
        import django
        from django.conf import settings
        from django.core.management import call_command

        django.setup()
        call_command("migrate", verbosity=0)
        from tests.config.releases.fill import fill
        from tests.config.releases.said import said

        fill()
        what = ["--schema=public", "--no-owner", "--no-privileges", "--restrict-key=concord"]
        where = f"--dbname={embedded.database_url(data_dir)}"
        dump = subprocess.run([embedded.postgres_program("pg_dump"), *what, where], check=True, stdout=subprocess.PIPE)
        told = json.dumps(said(), ensure_ascii=False, indent=1).encode()
    shutil.rmtree(data_dir)
    for ending, text in (("sql", dump.stdout), ("json", told)):
        (FOLDER / f"{settings.CONCORD_VERSION}.{ending}.xz").write_bytes(lzma.compress(text, preset=9))


if __name__ == "__main__":
    main()
