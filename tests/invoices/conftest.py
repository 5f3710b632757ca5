from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.process.settings import Settings
from tests.invoices.stripe_server import KEY, SECRET, StripeServer
from tests.webhooks.reaching import reachable
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
    state = service.api.state
    before = state.settings
    server = StripeServer()
    async with reachable(service) as receiver:
        server.url = receiver.url.rstrip("/")
        server.receiver, receiver.answer = receiver, server.answer
        update = {
            "stripe_key": SecretStr(KEY),
            "stripe_webhook_secret": SecretStr(SECRET),
            "stripe_api_base": server.url,
        }
        state.settings = before.model_copy(update=update)
        try:
            yield server
        finally:
            state.settings = before
