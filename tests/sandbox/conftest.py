"""What the tests of the sandbox stand on: a catalog with a domain of the test's own."""

from pathlib import Path

import pytest

from builders.kit.db import Database
from tests.sandbox.make import Domains


@pytest.fixture
def domains(database: Database, tmp_path: Path, assets: Path) -> Domains:
    """Makes catalog domains."""
    return Domains(database, folder=tmp_path, assets=assets)


@pytest.fixture
async def domain(domains: Domains) -> str:
    """A live domain."""
    return await domains()
