from collections.abc import AsyncIterator
from email.message import EmailMessage

import pytest
from pydantic import SecretStr

from builders import worker
from builders.app import Service
from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from tests.invoices.stripe_server import KEY, SECRET, StripeServer
from tests.profile.outbox import letters_to
from tests.webhooks.reaching import reachable


class Office:
    """Has the news told and the jobs done, and finds what was mailed."""

    def __init__(self, database: Database, settings: Settings) -> None:
        assert worker.JOBS  # all subscribers are declared
        self.database, self.settings = database, settings

    async def work(self) -> None:
        """Until there is no news and no job left."""
        told = 1
        while told:
            await queue.run_pending(self.database, self.settings)
            async with self.database.transaction() as conn:
                told = await dispatcher.dispatch(conn)

    async def letters(self, address: str) -> list[EmailMessage]:
        """What the address got so far, oldest first."""
        await self.work()
        return letters_to(address, self.settings.data_dir)


@pytest.fixture
async def office(conn: Conn, database: Database, settings: Settings) -> Office:
    """Does the work, and has the mail; what other tests left is not told here."""
    await conn.execute("DELETE FROM procrastinate_jobs WHERE status = 'todo'")
    await conn.execute("DELETE FROM kit_outbox_pending")
    return Office(database, settings)


@pytest.fixture
async def stripe(service: Service) -> AsyncIterator[StripeServer]:
    """Stripe as its documentation says it answers, and a service that is set up for it."""
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
