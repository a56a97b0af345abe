"""The app of people and tokens."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"
