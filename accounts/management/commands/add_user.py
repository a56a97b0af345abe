"""`manage.py add_user`: creates a user and prints the first password once."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.actions import add_user
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Add a person and print their first password, which is shown only once."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument("--email", default="")
        parser.add_argument("--staff", action="store_true", help="sees all studies")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON alone")

    def handle(self, *args: Any, name: str, email: str, staff: bool, as_json: bool, **options: Any) -> None:
        try:
            user, password = add_user(username=name, email=email, is_staff=staff)
        except ConcordError as error:
            sentences = [sentence for of_field in error.fields.values() for sentence in of_field]
            raise CommandError(" ".join([error.message, *sentences])) from error
        if as_json:
            answer = {"user": user.username, "email": user.email, "staff": user.is_staff, "password": password}
            self.stdout.write(json.dumps(answer))
        else:
            self.stdout.write(f"Added {user.username}. First password, shown only once: {password}")
