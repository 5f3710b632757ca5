from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from tests.invoices.stripe_server import StripeServer, serving
from tests.worker import Worker


@pytest.fixture
async def worker(conn: Conn, database: Database, settings: Settings) -> Worker:
    """Return a worker without the events and jobs of other tests."""
    await conn.execute("DELETE FROM procrastinate_jobs WHERE status = 'todo'")
    await conn.execute("DELETE FROM kit_outbox_pending")
    return Worker(database, settings)


@pytest.fixture
async def stripe(service: Service) -> AsyncIterator[StripeServer]:
    """Return a fake Stripe server, and configure the service to use it."""
    async with serving(service) as server:
        yield server
