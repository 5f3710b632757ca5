from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from tests.cast import Client
from tests.relay import Relay

MakeAsker = Callable[..., Awaitable[Client]]


@pytest.fixture
async def relay(conninfo: str) -> AsyncIterator[Relay]:
    async with Relay(conninfo) as running:
        yield running


@pytest.fixture
async def asker(settings: Settings) -> AsyncIterator[MakeAsker]:
    """Return a function that makes clients of services with other settings."""
    async with AsyncExitStack() as stack:

        async def make(*, pool_timeout_s: float = 0.2, **urls: str) -> Client:
            secret = {name: SecretStr(url) for name, url in urls.items()}
            app = create_app(settings.model_copy(update={"pool_timeout_s": pool_timeout_s, **secret}))
            await stack.enter_async_context(lifespan(app.api))
            return await stack.enter_async_context(Client(app))

        yield make


@pytest.fixture(autouse=True)
async def _no_pending_events(conn: psycopg.AsyncConnection[Any]) -> None:
    """Delete pending events of other tests."""
    await conn.execute("TRUNCATE kit_outbox_pending")
