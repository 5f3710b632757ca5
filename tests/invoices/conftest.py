from collections.abc import AsyncIterator
from email.message import EmailMessage

import pytest
from pydantic import SecretStr

from builders import worker as worker_process
from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.invoices.stripe_server import KEY, SECRET, StripeServer
from tests.profile.outbox import emails_to
from tests.webhooks.reaching import reachable


class Worker:
    """Dispatches events, runs jobs, and reads the emails that were sent."""

    def __init__(self, database: Database, settings: Settings) -> None:
        assert worker_process.JOBS  # all subscribers are declared
        self.database, self.settings = database, settings

    async def work(self) -> None:
        """Run until no event and no job is left."""
        published = 1
        while published:
            await queue.run_pending(self.database, self.settings)
            async with self.database.transaction() as conn:
                published = await dispatcher.dispatch(conn)

    async def list_emails(self, address: str) -> list[EmailMessage]:
        """Return the emails to an address, oldest first."""
        await self.work()
        return emails_to(address, self.settings.data_dir)


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
