"""Tests in the order in which they are named: `pytest -p tests.mutants.ordering`, for the quickest to come first.

Else those that use a browser or a worker begin first, so that two processes end together.
"""

from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    named = list(items)
    yield
    places = {id(item): place for place, item in enumerate(named)}
    items.sort(key=lambda item: places[id(item)])
