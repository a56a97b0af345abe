"""Pages and files: everybody is answered as `pages.txt` says."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.permissions.site import (
    CHANGED_BY_STATE,
    VISITORS,
    Site,
    built,
    cells_that_are_wrong_by_themselves,
    is_rest,
    routes,
    unlike_the_table,
    walked,
)

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with built(django_db_blocker) as site:
        yield site


def test_every_page_of_the_site_has_its_row(site: Site) -> None:
    assert sorted({route for route, _ in routes() if not is_rest(route)} ^ walked(site, "pages")) == []


@pytest.mark.slow
def test_everybody_is_answered_as_the_table_says(site: Site) -> None:
    assert not (wrong := unlike_the_table(site, "pages", CHANGED_BY_STATE)), wrong


@pytest.mark.soak
def test_everybody_is_answered_as_the_table_says_in_every_state(site: Site) -> None:
    assert not (wrong := unlike_the_table(site, "pages", VISITORS)), wrong


def test_no_cell_is_a_fault_and_outsiders_stay_outside() -> None:
    assert not (wrong := cells_that_are_wrong_by_themselves("pages")), wrong
