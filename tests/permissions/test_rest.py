"""REST: everybody is answered as `rest.txt` says to GET and POST, as `methods.txt` says to PUT, PATCH and DELETE."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import resolve

from tests.permissions.site import (
    CHANGED_BY_STATE,
    METHODS,
    VISITORS,
    Site,
    built,
    cells_that_are_wrong_by_themselves,
    is_rest,
    routes,
    rows,
    unlike_the_table,
    walked,
)

pytestmark = [pytest.mark.django_db, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def site(django_db_setup: None, django_db_blocker: Any) -> Iterator[Site]:
    with built(django_db_blocker) as site:
        yield site


def test_every_address_has_its_row(site: Site) -> None:
    assert sorted({route for route, _ in routes() if is_rest(route)} ^ walked(site, "rest")) == []


def test_every_method_that_an_address_takes_has_its_row(site: Site) -> None:
    taken = {
        (method.upper(), route)
        for route, view in routes()
        if is_rest(route)
        for method in METHODS
        if hasattr(view.view_class, method)
    }
    told = set()
    for _, address, _ in rows("methods"):
        method, _, place = address.rpartition(" /")
        told.add((method, resolve(site.path(place).partition("?")[0]).route))
    assert sorted(taken ^ told) == []


@pytest.mark.slow
@pytest.mark.parametrize("table", ["rest", "methods"])
def test_everybody_is_answered_as_the_table_says(site: Site, table: str) -> None:
    assert not (wrong := unlike_the_table(site, table, CHANGED_BY_STATE)), wrong


@pytest.mark.soak
@pytest.mark.parametrize("table", ["rest", "methods"])
def test_everybody_is_answered_as_the_table_says_in_every_state(site: Site, table: str) -> None:
    assert not (wrong := unlike_the_table(site, table, VISITORS)), wrong


@pytest.mark.parametrize("table", ["rest", "methods"])
def test_no_cell_is_a_fault_and_outsiders_stay_outside(table: str) -> None:
    assert not (wrong := cells_that_are_wrong_by_themselves(table)), wrong


def test_what_an_address_takes_is_told_of_nothing_in_particular(site: Site) -> None:
    """OPTIONS answers alike for what is there and for what is not."""
    wrong = []
    for _, address, _ in rows("rest"):
        if "api/v1/studies/study/" in address:
            path = site.path(address)
            there, elsewhere = (
                site.answer("outsider", "options", each)
                for each in (path, path.replace("studies/study/", "studies/x/"))
            )
            if there != elsewhere:
                wrong.append(f"{path}: {there}, {elsewhere}")
    assert not wrong, "\n".join(wrong)
