"""The Celery application: tasks of all apps, and the clock that picks up runs which are due, stale or lost."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
app = Celery("concord")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    "pick up fetches that are due, stale or lost": {"task": "ingest.tasks.pick_up_runs", "schedule": 10.0},
}
