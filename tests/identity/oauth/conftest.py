"""Fixtures: a service that may read the description of a program, and the program of Alice."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from builders.app import Service, create_app, lifespan
from builders.identity.oauth import tokens
from builders.identity.oauth.clients import ClientDocuments
from builders.identity.oauth.records import Access
from builders.kit.process.settings import Settings
from tests.cast import Client, Person
from tests.identity.oauth.program import Program, Publisher, browsing, publishing

Find = Callable[[str], Awaitable[Access | None]]


@pytest.fixture(scope="module")
async def publisher(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Publisher]:
    """Run the server of a program's description."""
    async with publishing(tmp_path_factory.mktemp("program")) as running:
        yield running


@pytest.fixture(scope="module")
async def reading(settings: Settings, publisher: Publisher) -> AsyncIterator[Service]:
    """Run a service that may read the description."""
    values = {
        "outbound_allow": (f"127.0.0.1:{publisher.receiver.port}",),
        "outbound_ca": publisher.ca,
        "key_cache_s": 0,
    }
    app = create_app(settings.model_copy(update=values))
    async with lifespan(app.api):
        yield app


@pytest.fixture
async def limited(settings: Settings, publisher: Publisher) -> AsyncIterator[Service]:
    """Run a service with rate limits."""
    values = {
        "outbound_allow": (f"127.0.0.1:{publisher.receiver.port}",),
        "outbound_ca": publisher.ca,
        "limits": 1.0,
    }
    app = create_app(settings.model_copy(update=values))
    async with lifespan(app.api):
        yield app


@pytest.fixture(autouse=True)
def _forgotten(reading: Service, publisher: Publisher) -> None:
    """Let each test begin with a description that nobody has read."""
    publisher.reset()
    reading.api.state.client_documents = ClientDocuments(reading.api.state.outbound)


@pytest.fixture
async def window(reading: Service, alice: Person) -> AsyncIterator[Client]:
    """Return Alice's browser."""
    async with browsing(reading, alice) as browser:
        yield browser


@pytest.fixture
async def program(reading: Service, publisher: Publisher, window: Client) -> AsyncIterator[Program]:
    """Return the program that Alice uses."""
    made = Program(reading, publisher, window)
    async with made.client:
        yield made


@pytest.fixture
def find(reading: Service) -> Find:
    """Return a function that finds the connection of an access token that works."""

    async def find_access(token: str) -> Access | None:
        found = await tokens.find_access(reading.api.state.database, text=token)
        return None if found is None or found.is_ended else found

    return find_access
