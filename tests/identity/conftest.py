from collections.abc import AsyncIterator

import pytest
from pydantic import SecretStr

from builders.app import create_app, lifespan
from builders.kit.settings import Settings
from tests.cast import Client


@pytest.fixture
async def stranded(settings: Settings) -> AsyncIterator[Client]:
    """Asks a service whose database is nowhere."""
    nowhere = {"database_url": SecretStr("host=/nowhere"), "pool_timeout_s": 0.1}
    app = create_app(settings.model_copy(update=nowhere))
    async with lifespan(app.api), Client(app) as client:
        yield client
