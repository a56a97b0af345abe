"""Configuration of the Django app `taxonomy`."""

from django.apps import AppConfig


class TaxonomyConfig(AppConfig):
    name = "taxonomy"
