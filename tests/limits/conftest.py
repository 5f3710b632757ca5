from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest

from builders.app import Service, create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from tests.cast import Person, make_person

MakeService = Callable[..., Awaitable[Service]]


@pytest.fixture
async def start(settings: Settings, sweeper: psycopg.Connection) -> AsyncIterator[MakeService]:
    """Return a function that starts services with limits and other settings on the common database."""
    sweeper.execute("DELETE FROM kit_quotas")
    async with AsyncExitStack() as stack:

        async def make(*, limits: float = 1, **changed: Any) -> Service:
            update = {"limits": limits, **changed}
            app = create_app(settings.model_copy(update=update))
            await stack.enter_async_context(lifespan(app.api))
            return app

        yield make


@pytest.fixture
async def limited(start: MakeService) -> Service:
    """Return a service with a tenth of the default quotas, behind a trusted proxy."""
    return await start(limits=0.1, trusted_proxies=("127.0.0.1",))


@pytest.fixture
async def ada(limited: Service) -> AsyncIterator[Person]:
    """Return a person with keys of the limited service."""
    async with await make_person(limited, name="ada", preset=Preset.DEVELOPER_FULL) as person:
        yield person


@pytest.fixture
async def eve(limited: Service) -> AsyncIterator[Person]:
    """Return another person at the same service and address."""
    async with await make_person(limited, name="eve", preset=Preset.DOMAINER_FULL) as person:
        yield person
