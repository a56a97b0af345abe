"""Addresses: of clients, behind as many proxies as are trusted, and those that texts may link to."""

import re
from ipaddress import IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest
from django.utils.http import is_same_domain

PORT_MAX = 65_535
_WEB_ADDRESS = re.compile(
    r"https?://(?P<host>[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?(?![^/?#])", re.ASCII | re.IGNORECASE
)
_NAME = re.compile(r"(?:[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z]([a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)


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


def is_of_this_site(address: str) -> bool:
    """Whether a web address, in its plainest spelling, leads to SITE_URL."""
    found, own = _WEB_ADDRESS.match(address), _WEB_ADDRESS.match(settings.SITE_URL)
    return found is not None and own is not None and found[0].lower() == own[0].lower()


def may_be_linked(address: str) -> bool:
    """Whether a text may link to this: a web address of this site, or of a host that gets none of its cookies.

    Cookies know no port: another program gets them at a name by which this site is opened, one of ALLOWED_HOSTS. A
    browser reads such a name in many spellings, so hosts are linked in the plainest ones alone: names in Latin letters
    that end in a word, as github.com, and IPv4 addresses in four decimal numbers.
    """
    found = _WEB_ADDRESS.match(address)
    if not found or int(found["port"] or 0) > PORT_MAX:
        return False
    if is_of_this_site(address):
        return True
    host = found["host"].lower()
    if is_address(host):
        is_of_machine = is_loopback(host) or ip_address(host).is_unspecified
        return not (is_of_machine or host in settings.ALLOWED_HOSTS)
    is_ours = any(is_same_domain(host, each) for each in (*settings.ALLOWED_HOSTS, ".localhost"))
    return bool(_NAME.fullmatch(host)) and not is_ours
