"""Settings, doors and servers: what holds the apps together."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
