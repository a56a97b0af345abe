"""`manage.py load_taxonomy`: a document becomes a new taxonomy or the next version of one."""

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.db import transaction

from accounts.access import get_user
from accounts.models import User
from accounts.permissions import is_public_account, shell_command
from shared.commands import ConcordCommand
from shared.errors import ConcordError
from shared.wording import series
from taxonomy.actions import add_document, publish_version
from taxonomy.errors import InvalidDocument
from taxonomy.models import Taxonomy
from taxonomy.parsing import BYTES_MAX
from taxonomy.ready_made import preset, presets


def _refuse_others(taxonomy: Taxonomy, person: User | None) -> None:
    """Raises CommandError where only others maintain a taxonomy: they would read the file."""
    maintainers = list(taxonomy.maintainers.order_by("username"))
    if maintainers and person not in maintainers:
        names = series([each.username for each in maintainers])
        raise CommandError(
            f"The taxonomy {taxonomy.slug} is here already, and its maintainers ({names}) would read this file as its "
            "next version. Add it with --user and the name of one of them, or give it another ID."
        )


def _default_maintainer() -> User | None:
    """The first account of staff, or else the oldest that not anyone can act as."""
    people = User.objects.filter(is_active=True).order_by("-is_staff", "pk").iterator()
    return next((person for person in people if not is_public_account(person)), None)


class Command(ConcordCommand):
    help = (
        "Load a taxonomy from a YAML or JSON file, or a ready-made one by its name. An existing taxonomy "
        "gets a new draft version, unless its newest version is identical."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("source", metavar="FILE|PRESET", help="a file, or a ready-made taxonomy such as liu-2023")
        parser.add_argument("--publish", action="store_true", help="publish the version at once")
        parser.add_argument(
            "--user",
            metavar="NAME",
            help="its maintainer (default: the first staff user, or the oldest account where nobody is staff)",
        )
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON alone")

    def handle(self, *args: Any, source: str, publish: bool, user: str | None, as_json: bool, **options: Any) -> None:
        try:
            person = get_user(user) if user else _default_maintainer()
            with shell_command(), transaction.atomic():
                version, is_new = add_document(user=person, text=self._text(source))
                if is_new:
                    _refuse_others(version.taxonomy, person)
                if publish and version.is_draft:
                    version = publish_version(user=person, version=version)
        except InvalidDocument as error:
            raise CommandError("\n".join([f"{source}:", *(str(problem) for problem in error.problems)])) from error
        except ConcordError as error:
            raise CommandError(error.message) from error
        slug = version.taxonomy.slug
        if is_new and person is not None and not user:
            self.stderr.write(f"{person.username} can read and change it.")
        if as_json:
            answer = {"slug": slug, "version": version.number, "state": version.state, "new": is_new}
            self.stdout.write(json.dumps(answer))
        elif is_new:
            self.stdout.write(f"{slug} version {version.number} ({version.state})")
        else:
            self.stdout.write(f"{slug} version {version.number} ({version.state}) is already identical.")

    def _text(self, source: str) -> str | bytes:
        path = Path(source)
        if path.is_file():
            with path.open("rb") as file:
                return file.read(BYTES_MAX + 1)
        if any(each.name == source for each in presets()):
            return preset(source).text
        names = ", ".join(each.name for each in presets())
        raise CommandError(f"{source} is neither a file nor a ready-made taxonomy. Ready-made ones: {names}.")
