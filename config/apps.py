"""The app that carries the commands of the whole house."""

from django.apps import AppConfig


class ConfigConfig(AppConfig):
    name = "config"
