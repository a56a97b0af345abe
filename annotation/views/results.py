"""What came out: agreement and the agreed labels."""

from django.http import Http404, HttpRequest, HttpResponse


def agreement(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def exports(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def download(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404
