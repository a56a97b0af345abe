"""Site links: URLs for e-mail and messages, which begin with SITE_URL whatever host a request named."""

from django.conf import settings


def absolute(path: str) -> str:
    """The address of a page of this site, for an e-mail or for somebody else's browser."""
    return f"{settings.SITE_URL.rstrip('/')}{path}"
