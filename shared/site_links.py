"""Site links: URLs for e-mail and messages, always on SITE_URL whatever host was named; paths to continue at."""

from django.conf import settings
from django.utils.http import url_has_allowed_host_and_scheme


def absolute(path: str) -> str:
    """The address of a page of this site, for an e-mail or for someone else's browser."""
    return f"{settings.SITE_URL.rstrip('/')}{path}"


def onward(address: str | None) -> str:
    """A path of this site to continue at; empty for everything else."""
    return address if address and url_has_allowed_host_and_scheme(address, None) and address[:1] == "/" else ""
