"""The room where raters live: one issue after another."""

from django.http import Http404, HttpRequest, HttpResponse


def label(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def label_one(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def keep_draft(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404
