"""Addresses: of clients, behind as many proxies as are trusted, and of links to this machine."""

import re
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from socket import inet_aton, inet_ntoa
from unicodedata import normalize
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.http import HttpRequest

_IGNORED = re.compile(r"[\t\n\r]")
_DOTS = str.maketrans("\u3002\uff0e\uff61", "...")
_SLASHES = re.compile(r"^(https?):/*", re.IGNORECASE)


def client_address(request: HttpRequest) -> str:
    """The address that the outermost trusted proxy saw; without proxies the one that connected.

    Whatever stands further left in X-Forwarded-For was written by the visitor and counts for nothing.
    """
    connected = str(request.META.get("REMOTE_ADDR", ""))
    seen = [each.strip() for each in request.headers.get("X-Forwarded-For", "").split(",")]
    n_proxies = settings.TRUSTED_PROXIES
    if n_proxies and len(seen) >= n_proxies and is_address(seen[-n_proxies]):
        return seen[-n_proxies]
    return connected


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def is_loopback(text: str) -> bool:
    """Whether it is this very machine; an IPv4 address may stand in an IPv6 one."""
    if not is_address(text):
        return False
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def is_from_here(request: HttpRequest) -> bool:
    """Whether someone at this machine sent it: the server listens here alone, and no proxy passed it on."""
    is_passed_on = bool({"X-Forwarded-For", "Forwarded"} & set(request.headers))
    return settings.LOOPBACK_ONLY and not is_passed_on and is_loopback(client_address(request))


def block(text: str) -> str:
    """The addresses that are one visitor's: an IPv4 address, or the first half of an IPv6 one."""
    if not is_address(text):
        return text
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> 64 << 64))
    return str(address)


def shorten_address(text: str) -> str:
    """Enough of an address to know one's own by: 203.0.113.…, 2001:db8:7:…"""
    if not is_address(text):
        return ""
    if is_loopback(text):
        return "this machine"
    address = ip_address(block(text))
    if isinstance(address, IPv6Address):
        return ":".join(f"{int(each, 16):x}" for each in address.exploded.split(":")[:3]) + ":…"
    return str(address).rpartition(".")[0] + ".…"


def gets_our_cookies(address: str) -> bool:
    """Whether a browser sends the cookies of this site to an address that is not of this site.

    Cookies know no port: another program of this machine gets them at a loopback name, and one of the site's host at
    another port. Names are read as browsers read them, in any spelling of an IPv4 address, and without the signs of
    other alphabets that browsers leave out.
    """
    spelled = _IGNORED.sub("", address).strip().replace("\\", "/")
    try:
        parts, own = urlsplit(_SLASHES.sub(r"\1://", spelled)), urlsplit(settings.SITE_URL)
        named = normalize("NFKC", unquote(parts.hostname or "")).translate(_DOTS).lower()
        host = "".join(filter(str.isascii, named)).strip(".")
    except ValueError:
        return True
    if parts.netloc.lower() == own.netloc.lower():
        return False
    if host in (own.hostname, "localhost", *settings.ALLOWED_HOSTS) or host.endswith(".localhost"):
        return True
    with suppress(OSError):
        host = inet_ntoa(inet_aton(host))
    return is_address(host) and (is_loopback(host) or ip_address(host).is_unspecified)
