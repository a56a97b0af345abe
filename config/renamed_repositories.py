"""Renamed repositories: redirects from a repository's former URL."""

from django.http import HttpRequest
from django.urls import Resolver404, resolve

from ingest.errors import Moved
from ingest.identifiers import GITHUB_HOST


def address_of(request: HttpRequest, error: Moved) -> str:
    """The address of the same thing under the present name; empty where the address asked for names no repository."""
    try:
        words = resolve(request.path_info).kwargs
    except Resolver404:
        return ""
    if not {"owner", "name"} <= words.keys():
        return ""
    host, owner, name = error.name
    asked = "/".join(filter(None, (words.get("host", ""), words["owner"], words["name"])))
    present = f"{owner}/{name}" if host == GITHUB_HOST else f"{host}/{owner}/{name}"
    path = request.path.replace(f"/{asked}/", f"/{present}/", 1)
    query = request.META.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path


def status_of(request: HttpRequest) -> int:
    """301, or 307 where the same is to be sent again with its content."""
    return 301 if request.method in {"GET", "HEAD"} else 307
