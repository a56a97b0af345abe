"""The room where differences are decided."""

from django.http import Http404, HttpRequest, HttpResponse


def queue(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def resolve_item(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404
