"""The app of what can be said about an issue."""

from django.apps import AppConfig


class TaxonomyConfig(AppConfig):
    name = "taxonomy"
