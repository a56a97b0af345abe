"""Holds on jobs: seen while a block lasts, and gone when it ends."""

import pytest

from shared.job_holds import JobLockKind, are_held, hold_job


@pytest.mark.django_db
def test_a_hold_is_gone_as_soon_as_its_block_ends() -> None:
    for pk in range(100):
        with hold_job(JobLockKind.EXPORT, pk):
            assert pk in are_held(JobLockKind.EXPORT)
        assert pk not in are_held(JobLockKind.EXPORT), "the server noticed only later that the connection was closed"
