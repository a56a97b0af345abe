"""Configuration of the Django app `config`, which has the commands of the whole site."""

from django.apps import AppConfig

from config import celery  # noqa: F401 - tasks of all apps belong to this application


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401 - registers them
