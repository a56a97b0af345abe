"""My work, studies, their people, samples, items and rounds."""

from django.http import Http404, HttpRequest, HttpResponse


def home(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def studies(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def new_study(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def study(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def study_settings(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def members(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def samples(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def items(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def item(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def audit(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def rounds(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def new_round(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def round_page(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def open_round(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def start_resolving(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404


def close_round(request: HttpRequest, **place: object) -> HttpResponse:
    raise Http404
