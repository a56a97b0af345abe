"""Files made by real workers: through the broker, and killed (-9) anywhere."""

import hashlib
import random
import time
from collections.abc import Iterator

import pytest
from django.core.files.storage import default_storage

from accounts.jobs import sweep_jobs
from annotation.exports.actions import request_export
from annotation.exports.jobs import EXPORTS
from annotation.models import Export, Study
from tests import builders as make
from tests.conftest import environment_of_servers
from tests.kill_harness import COMMIT, MOMENT, STATEMENT, Forks, KillPoint

pytestmark = [pytest.mark.process, pytest.mark.worker, pytest.mark.django_db(transaction=True)]
N_ITEMS = 12


@pytest.fixture
def study() -> Study:
    made = make.study()
    table = [f"{n} {'hang' if n % 2 else 'crash'} {'hang' if n % 3 else 'slow'}" for n in range(1, N_ITEMS + 1)]
    make.rate(make.open_round(made, N_ITEMS), "\n".join(["item bob carol", *table]))
    return made


def queued(study: Study, *, send: bool = True) -> Export:
    return request_export(seat=make.owner_seat(study), what="ratings", format="csv", send=send)


def wait_for(export: Export, state: str) -> Export:
    ends_at = time.monotonic() + 120
    while export.state != state:
        assert time.monotonic() < ends_at, f"still {export.state}: {export.error}"
        time.sleep(0.05)
        export.refresh_from_db()
    return export


def stored(export: Export) -> bytes:
    with export.file.open("rb") as file:
        return file.read()


def test_a_worker_makes_a_file(live_worker: object, study: Study) -> None:
    export = wait_for(queued(study), "done")
    assert export.n_rows == export.n_expected == 2 * N_ITEMS and stored(export).count(b"\n") == 2 * N_ITEMS + 1
    assert hashlib.sha256(stored(export)).hexdigest() == export.sha256


def test_the_clock_sends_a_file_whose_message_was_lost(live_worker: object, study: Study) -> None:
    export = queued(study, send=False)
    Export.objects.filter(pk=export.pk).update(worked_at=export.created_at.replace(year=2020))
    sweep_jobs.delay()
    wait_for(export, "done")


@pytest.fixture(scope="module")
def forks(django_db_setup: None) -> Iterator[Forks]:
    with Forks(environment_of_servers()) as forks:
        yield forks


def files() -> set[str]:
    """All files that exports have stored."""
    found: set[str] = set()
    folders = ["exports"]
    while folders:
        folder = folders.pop()
        if not default_storage.exists(folder):
            continue
        below, here = default_storage.listdir(folder)
        folders += [f"{folder}/{name}" for name in below]
        found |= {f"{folder}/{name}" for name in here}
    return found


def undisturbed_and_killed(forks: Forks, study: Study, seed: int) -> int:
    """Makes a file undisturbed and another with workers that are killed; how many were. Nothing else is left behind."""
    draw = random.Random(seed)
    export = queued(study, send=False)
    passed = forks.work("export", export.pk, count=True).passed
    export.refresh_from_db()
    assert export.state == "done"
    before, n_killed = files(), 0
    again = queued(study, send=False)
    places = (STATEMENT, COMMIT, *draw.choices((STATEMENT, COMMIT, MOMENT), k=EXPORTS.tries_most - 3), None)
    for place in places:
        n = draw.uniform(0, passed[place]) if place else 0.0
        kill_point = KillPoint(place, n if place == MOMENT else max(1, round(n))) if place else None
        EXPORTS.sweep(0)
        n_killed += forks.work("export", again.pk, kill_point=kill_point).killed
    again.refresh_from_db()
    assert (again.state, again.sha256, again.n_rows) == ("done", export.sha256, export.n_rows)
    assert stored(again) == stored(export) and files() - before == {again.file.name}
    return n_killed


def test_a_file_whose_workers_are_killed_has_the_bytes_of_an_undisturbed_one(forks: Forks, study: Study) -> None:
    assert undisturbed_and_killed(forks, study, seed=1) > 0


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 125))
def test_a_file_whose_workers_are_killed_anywhere_has_the_same_bytes(forks: Forks, study: Study, seed: int) -> None:
    undisturbed_and_killed(forks, study, seed)
