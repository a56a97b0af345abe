"""Preloading: the whole application is imported before a process forks."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

PAGES = (
    "celery.canvas",
    "celery.contrib.django.task",
    "celery.events",
    "encodings.unicode_escape",
    "kombu.mixins",
    "kombu.transport.redis",
    "numpy.ma",
    "numpy.random",
)
MODULES = (
    "celery.bin.beat",
    "celery.bin.celery",
    "celery.bin.worker",
    "config.clock",
    "config.gunicorn",
    "config.wsgi",
)


def load() -> None:
    """Import what web, worker and beat need, with all tasks and all addresses. Connects to nothing."""
    from config.celery import app

    app.loader.import_default_modules()
    for module in MODULES:
        import_module(module)


def load_pages() -> None:
    """Import what the first requests would import: views, templates, what the settings name, what sends messages."""
    from celery import current_app
    from django.conf import settings
    from django.contrib.auth import get_backends
    from django.contrib.auth.hashers import get_hashers
    from django.core.cache import caches
    from django.template import engines
    from django.urls import get_resolver
    from django.utils import formats
    from django.utils.module_loading import import_string

    get_resolver().reverse_dict  # noqa: B018 - reads all of it
    for engine in engines.all():
        engine.engine.template_loaders  # type: ignore[attr-defined]  # noqa: B018 - imports them
        engine.engine.template_context_processors  # type: ignore[attr-defined]  # noqa: B018
    get_backends()
    get_hashers()
    caches.create_connection("default")
    backends: dict[str, Any] = settings.STORAGES
    for storage in backends.values():  # each process makes its own, with the time limits of its kind
        import_string(storage["BACKEND"])
    for name in (settings.SESSION_ENGINE, *PAGES):
        import_module(name)
    for name in (settings.MESSAGE_STORAGE, settings.SESSION_SERIALIZER):
        import_string(name)
    formats.get_format("DATE_FORMAT")
    current_app.amqp.producer_pool  # noqa: B018 - as above
    current_app.Task  # noqa: B018


@contextmanager
def frozen() -> Iterator[None]:
    """Keep the garbage collector away from what is loaded inside the block.

    Loading takes a fifth less time, and forks go on sharing what the collector does not write to.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
