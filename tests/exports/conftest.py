from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import psycopg
import pytest

from builders.app import create_app, lifespan
from builders.identity.records import Preset
from builders.kit.process.settings import Settings
from tests.cast import Person, make_person


@pytest.fixture
async def make_limited(
    settings: Settings, sweeper: psycopg.Connection
) -> AsyncIterator[Callable[[], Awaitable[Person]]]:
    """Return a function that makes a person of a service with the default limits."""
    sweeper.execute("DELETE FROM kit_quotas")
    async with AsyncExitStack() as stack:

        async def make() -> Person:
            app = create_app(settings.model_copy(update={"limits": 1}))
            await stack.enter_async_context(lifespan(app.api))
            made = await make_person(app, name="ada", preset=Preset.DEVELOPER_FULL)
            return await stack.enter_async_context(made)

        yield make
