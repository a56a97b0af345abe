"""The tests' own instruments: a worker that works, a browser that shows pages."""

import time

import pytest
from django.core.cache import cache
from playwright.sync_api import Page


@pytest.mark.slow
@pytest.mark.worker
@pytest.mark.django_db(transaction=True)
def test_a_task_that_is_sent_is_taken_by_the_worker(live_worker: object) -> None:
    from config.celery import app

    before = app.control.inspect(timeout=5, limit=1).stats()
    assert before
    app.send_task("accounts.jobs.sweep_jobs")
    (name,) = before
    ends_at = time.monotonic() + 120
    while time.monotonic() < ends_at:
        total = app.control.inspect(timeout=5, limit=1).stats()[name]["total"]
        if total.get("accounts.jobs.sweep_jobs", 0) >= 1:
            return
    pytest.fail("the worker did not take the task")


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_a_visitor_is_shown_the_sign_in_page(live_server: object, page: Page) -> None:
    page.goto(f"{live_server}/sign-in/")
    page.get_by_label("Password").wait_for()


@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.django_db
def test_every_test_begins_with_an_empty_cache(turn: int) -> None:
    assert cache.get("left-over") is None
    cache.set("left-over", turn)
