"""The app of how issues come in."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "ingest"
