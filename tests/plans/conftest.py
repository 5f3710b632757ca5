"""Fixtures: catalog domains, workers and failures."""

from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.domains.make import assign
from tests.kit.outbound.receivers import Receiver
from tests.plans.failures import FailingCompletion, FaultyProxy, ResumingWorker, fail_completion, open_proxy
from tests.plans.make import Domains, unique_domain
from tests.webhooks.reaching import reachable
from tests.worker import Worker


@pytest.fixture
def domains(database: Database, tmp_path: Path, assets: Path) -> Domains:
    """Return a loader of catalog domains."""
    return Domains(database, folder=tmp_path, assets=assets)


@pytest.fixture
async def domain(domains: Domains) -> str:
    """Return a live domain."""
    return await domains()


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    """Return a receiver on loopback that the service may call; it answers 200 by default."""
    async with reachable(service) as receiver:
        yield receiver


@pytest.fixture
def event_worker(database: Database, settings: Settings) -> Worker:
    """Return a worker that dispatches events and runs jobs."""
    return Worker(database, settings)


@pytest.fixture
async def proxy(conninfo: str) -> AsyncIterator[FaultyProxy]:
    """Return a proxy that can break its connections."""
    async with open_proxy(conninfo) as proxy:
        yield proxy


@pytest.fixture
async def proxied_database(proxy: FaultyProxy, settings: Settings) -> AsyncIterator[Database]:
    """Return a pool of one connection through the faulty proxy."""
    database = Database(proxy.conninfo, settings.model_copy(update={"pool_size": 1}))
    await database.open()
    yield database
    await database.close()


@pytest.fixture
def worker(database: Database, settings: Settings, conn: Conn) -> ResumingWorker:
    """Return a worker in this process that continues abandoned promotions."""
    return ResumingWorker(database, settings, conn)


@pytest.fixture
def failing(conn: Conn) -> FailingCompletion:
    """Return a context in which the completion of an account's promotion fails."""
    return partial(fail_completion, conn)


@pytest.fixture
async def own(service: Service, alice: Person) -> str:
    """Return a live account domain of Alice."""
    name = unique_domain("own")
    await assign(service, alice, name)
    return name
