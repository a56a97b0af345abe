"""Beat, `celery -A config.clock beat`: sends the schedule of the settings, and loads nothing else."""

import os
from typing import Any

from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

from config.celery import Concord

app = Concord("clock", fixups=(), set_as_current=False)
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.imports = ()


@setup_logging.connect
def _log_as_all_do(**_: Any) -> None:
    """Nothing else sets Django's logging up here."""
    from django.conf import settings
    from django.utils.log import configure_logging

    configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
