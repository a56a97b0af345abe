"""`manage.py password_link`: creates a link with which a user sets a new password."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management import CommandError
from django.urls import reverse

from accounts.access import get_user
from accounts.actions import confirm_from_shell, make_password_link
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Print a password link for USER. It works once, within 24 hours."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user")
        parser.add_argument("--site", default="", help="URL of this server, if not SITE_URL")

        parser.add_argument(
            "--confirm", action="store_true", help="create no link; confirm that USER used the earlier ones"
        )

    def handle(self, *args: Any, user: str, site: str, confirm: bool, **options: Any) -> None:
        try:
            if confirm:
                self.stdout.write(f"{confirm_from_shell(user=get_user(user))} confirmed")
                return
            _, plaintext = make_password_link(user=get_user(user))
        except ConcordError as error:
            raise CommandError(error.message) from error
        self.stdout.write((site.rstrip("/") or settings.SITE_URL) + reverse("new_password", args=[plaintext]))
