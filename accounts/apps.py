"""Configuration of the Django app `accounts`."""

from typing import Any

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        from django.contrib.auth.signals import user_login_failed

        from accounts.audit import record_failure

        def failed(credentials: dict[str, Any], **_: Any) -> None:
            record_failure(str(credentials.get("username") or credentials.get("email") or ""))

        user_login_failed.connect(failed, weak=False, dispatch_uid="server audit")
