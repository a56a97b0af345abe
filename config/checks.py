"""Checks of an installation, for `manage.py check --deploy`."""

from typing import Any

from django.conf import settings
from django.core import checks

from accounts.file_modes import openings


@checks.register(checks.Tags.security, deploy=True)
def stored_files_are_private(app_configs: Any, **_: Any) -> list[checks.CheckMessage]:
    """A warning where other users of this machine can read or list what is stored."""
    found = openings(settings.DATA_DIR)
    if not found:
        return []
    hint = (
        "The web server closes these files at each start if it owns them. To close files of another user, run as root: "
        + "; ".join(found.commands(settings.DATA_DIR))
    )
    return [checks.Warning(found.sentence(), hint=hint, id="concord.W001")]
