"""Forms and refusals: what an action refuses stands beside the fields it is about, or in a message of the page."""

from collections.abc import Iterator
from contextlib import contextmanager

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.views.decorators.http import require_http_methods

from shared.errors import ConcordError

form_page = require_http_methods(["GET", "HEAD", "POST"])
"""Marks a view that shows a form and takes it."""

Errors = type[ConcordError] | tuple[type[ConcordError], ...]


def explain(form: forms.Form, error: ConcordError, **fields: str) -> None:
    """Puts what an action refused beside the fields it is about; `fields` maps its names to the form's."""
    form.refused_status = error.status  # type: ignore[attr-defined]
    for path, sentences in error.fields.items():
        name = fields.get(path.replace(".", "_"), path.rpartition(".")[2])
        for sentence in sentences:
            if name in form.fields:
                form.add_error(name, sentence)
            else:
                form.add_error(None, f"{path}: {sentence}")
    if not any(error.fields.values()):
        form.add_error(None, error.message)


@contextmanager
def explaining(
    form: forms.Form, *, caught: Errors = ConcordError, passing: Errors = (), **fields: str
) -> Iterator[None]:
    """Explains in the form what the block refuses, and goes on behind it; raises `passing` errors."""
    try:
        yield
    except passing:
        raise
    except caught as error:
        explain(form, error, **fields)


def is_sent_as_shown(request: HttpRequest, name: str) -> bool:
    """Whether a field of a page is as the page showed it: then nothing is changed, whatever is stored since then."""
    shown = request.POST.get(f"initial-{name}")
    return shown is not None and shown == request.POST.get(name, "")


@contextmanager
def in_messages(request: HttpRequest, *, passing: Errors = ()) -> Iterator[None]:
    """Says what the block refuses in a message of the next page, and goes on behind it; raises `passing` errors."""
    try:
        yield
    except passing:
        raise
    except ConcordError as error:
        messages.error(request, error.message)


def status_of(*given: forms.Form) -> int:
    """That of what an action refused, else 422 where a form that was sent has errors."""
    refused = next((form.refused_status for form in given if hasattr(form, "refused_status")), 0)
    return refused or (422 if any(form.is_bound and form.errors for form in given) else 200)
