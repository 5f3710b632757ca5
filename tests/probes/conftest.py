from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from typing import Any

import psycopg
import pytest
from pydantic import SecretStr

from builders.app import create_app, lifespan
from builders.kit.process.settings import Settings
from builders.probes import service as probes
from tests.cast import Client
from tests.kit.db.proxy import DatabaseProxy

MakeAsker = Callable[..., Awaitable[Client]]
Limited = Callable[[str], AbstractContextManager[None]]
LIMITS = {name: getattr(probes, name) for name in ("DATABASE_S", "OUTBOX_S", "WRITE_S")}
LONG_S = 60  # a busy machine takes seconds to connect, and to answer


@pytest.fixture
async def relay(conninfo: str) -> AsyncIterator[DatabaseProxy]:
    async with DatabaseProxy(conninfo) as running:
        yield running


@pytest.fixture
async def asker(settings: Settings) -> AsyncIterator[MakeAsker]:
    """Return a function that makes clients of services with other settings."""
    async with AsyncExitStack() as stack:

        async def make(*, pool_timeout_s: float = LONG_S, **urls: str) -> Client:
            secret = {name: SecretStr(url) for name, url in urls.items()}
            app = create_app(settings.model_copy(update={"pool_timeout_s": pool_timeout_s, **secret}))
            await stack.enter_async_context(lifespan(app.api))
            return await stack.enter_async_context(Client(app))

        yield make


@pytest.fixture(autouse=True)
async def _no_pending_events(conn: psycopg.AsyncConnection[Any]) -> None:
    """Delete pending events of other tests."""
    await conn.execute("TRUNCATE kit_outbox_pending")


@pytest.fixture(autouse=True)
def limited(monkeypatch: pytest.MonkeyPatch) -> Limited:
    """Let checks take long, so that no result depends on load; return the block in which one has its limit."""
    for name in LIMITS:
        monkeypatch.setattr(probes, name, LONG_S)

    @contextmanager
    def limit(name: str) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(probes, name, LIMITS[name])
            yield

    return limit
