"""Fixtures of the tests of `bld`."""

from pathlib import Path

import pytest

from builders.kit.db.connections import Database
from tests.cast import Person
from tests.clients.python.cli.make import Bld
from tests.plans.make import Domains


@pytest.fixture
def bld(alice: Person, tmp_path: Path) -> Bld:
    """Return `bld` with the live key of Alice."""
    return Bld(alice.service, tmp_path, alice.key)


@pytest.fixture
def stranger(bob: Person, tmp_path: Path) -> Bld:
    """Return `bld` with the live key of Bob."""
    return Bld(bob.service, tmp_path, bob.key)


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live domain, at 12 USD a year."""
    return await Domains(database, folder=tmp_path, assets=assets)()
