"""Studies that the tests of a module begin with: built once, copied for each test, and rolled back after it."""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction

from tests import prepared

if TYPE_CHECKING:
    from annotation.models import Study


@pytest.fixture(scope="module")
def built_study(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[bytes]:
    """What `build_study()` of the module makes, in a transaction that lasts as long as the module's tests."""
    with django_db_blocker.unblock(), transaction.atomic():
        built = request.module.build_study()
        connection.check_constraints()
        yield pickle.dumps(built)
        transaction.set_rollback(True)


@pytest.fixture
def study(built_study: bytes, db: None) -> "Study":
    """The study of `build_study()`, as it was built; what a test does to it is rolled back.

    Not for modules whose tests commit (`transaction=True`, a live server, a worker): they would wait for its rows.
    """
    found: Study = pickle.loads(built_study)
    return found


@pytest.fixture(autouse=True)
def nothing_built(request: pytest.FixtureRequest) -> None:
    """Whoever does not ask for the study of the module finds an empty database, as ever."""
    is_apart = hasattr(request.module, "build_study") and "built_study" not in request.fixturenames
    if is_apart and request.node.get_closest_marker("django_db"):
        request.getfixturevalue("db")
        prepared.empty_within(connection)
