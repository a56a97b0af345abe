"""`manage.py token`: creates an API token and prints it once."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from accounts.access import get_user
from accounts.actions import make_token
from accounts.models import ApiToken
from shared.commands import ConcordCommand
from shared.errors import ConcordError


class Command(ConcordCommand):
    help = "Create an API token for a person and print it alone, once."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("user", metavar="USER")
        parser.add_argument("--scope", choices=ApiToken.Scope.values, default=ApiToken.Scope.READ)
        parser.add_argument("--name", default="made in the shell", help="what the token is for")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON alone")

    def handle(self, *args: Any, user: str, scope: str, name: str, as_json: bool, **options: Any) -> None:
        try:
            token, plaintext = make_token(user=get_user(user), name=name, scope=scope)
        except ConcordError as error:
            raise CommandError(error.message) from error
        if as_json:
            answer = {"user": token.user.username, "scope": token.scope, "name": token.name, "token": plaintext}
            self.stdout.write(json.dumps(answer))
        else:
            self.stdout.write(plaintext)
