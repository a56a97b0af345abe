"""Identities at providers of sign-in: an identifier means someone at one address alone."""

import hashlib
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

GITHUB = "https://github.com"
DIGITS = 16
"""Of the SHA-256 of an address, before an identifier and a colon."""


def identity(provider: str, identifier: str) -> str:
    """An identifier of a provider as it is stored: another server of the same kind gives out the same numbers."""
    return f"{_digest(_address(provider))}:{identifier}"


def is_present(provider: str, stored: str) -> bool:
    """Whether a stored identity is one at the address that the provider has now; no other signs anyone in."""
    return stored.startswith(identity(provider, ""))


def _address(provider: str) -> str:
    """Where a configured provider is, by the word in its addresses; empty where there is none now."""
    told: dict[str, Any] = settings.SOCIALACCOUNT_PROVIDERS
    if provider == "github":
        return str(told.get("github", {}).get("GITHUB_URL", GITHUB))
    apps = told.get("openid_connect", {}).get("APPS", ())
    return next((str(app["settings"]["server_url"]) for app in apps if app["provider_id"] == provider), "")


def _digest(address: str) -> str:
    parts = urlsplit(address)
    there = parts._replace(netloc=parts.netloc.lower(), path=parts.path.rstrip("/")).geturl()
    return hashlib.sha256(there.encode()).hexdigest()[:DIGITS]
