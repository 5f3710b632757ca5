"""What the tests of the sandbox stand on: a catalog with a domain of the test's own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.kit.outbound.receivers import Receiver
from tests.profile.make import Office
from tests.sandbox.cutter import Cutter, cutter
from tests.sandbox.make import Domains
from tests.webhooks.reaching import reachable


@pytest.fixture
def domains(database: Database, tmp_path: Path, assets: Path) -> Domains:
    """Makes catalog domains."""
    return Domains(database, folder=tmp_path, assets=assets)


@pytest.fixture
async def domain(domains: Domains) -> str:
    """A live domain."""
    return await domains()


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    """A receiver on loopback that the service may call; it says 200, unless told otherwise."""
    async with reachable(service) as receiver:
        yield receiver


@pytest.fixture
def office(database: Database, settings: Settings) -> Office:
    """Has the news told and the jobs done."""
    return Office(database, settings)


@pytest.fixture
async def cut(conninfo: str) -> AsyncIterator[Cutter]:
    """A wire that can be cut."""
    async with cutter(conninfo) as wire:
        yield wire


@pytest.fixture
async def frail(cut: Cutter, settings: Settings) -> AsyncIterator[Database]:
    """A pool of one connection over that wire."""
    database = Database(cut.conninfo, settings.model_copy(update={"pool_size": 1}))
    await database.open()
    yield database
    await database.close()
