"""Fakes of registrars, and what a worker gives to the work of runs."""

from datetime import timedelta

import pytest

from builders.kit.db.connections import Database
from builders.kit.jobs.time_slices import TimeSlice
from builders.portfolio.runs.work import PartTools
from tests.cast import Person
from tests.portfolio.registrars.conftest import (
    fakes,
    no_waits,
    outbound,
    reaching,
    worker,
)
from tests.portfolio.registrars.make import keyring_of

__all__ = ["fakes", "no_waits", "outbound", "reaching", "worker"]


@pytest.fixture
def tools(alice: Person, database: Database) -> PartTools:
    return PartTools(
        database=database,
        outbound=alice.service.api.state.outbound,
        keyring=keyring_of(alice),
        time_slice=TimeSlice(timedelta(hours=1)),
    )
