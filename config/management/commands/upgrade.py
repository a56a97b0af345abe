"""`manage.py upgrade`: migrations, after a backup of what they change."""

from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError

from config.backups.upgrade import upgrade
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Bring the tables up to this version; a database with data is backed up to DATA_DIR/backups first."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            upgrade(self.stdout.write)
        except ConcordError as error:
            raise CommandError(error.message) from error
        except OperationalError as error:
            raise CommandError(f"The database does not answer; check DATABASE_URL. It says: {error}".strip()) from error
