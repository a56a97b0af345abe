"""Configuration of the Django app `ingest`."""

from django.apps import AppConfig


class IngestConfig(AppConfig):
    name = "ingest"
