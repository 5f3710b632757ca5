from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from builders.app import create_app, lifespan
from builders.kit.db.connections import Database
from builders.kit.process.issuers import OidcIssuer
from builders.kit.process.settings import Settings
from tests.cast import Client, Person
from tests.conftest import MakePerson
from tests.identity.issuer_tokens import link
from tests.identity.provider import Provider, running, signing_in, trusting
from tests.identity.sign_in_messages import Postbox
from tests.identity.token_forger import Forger

Trust = Callable[..., Awaitable[Client]]


@pytest.fixture
def people(people: MakePerson) -> MakePerson:
    """Return a function that creates people with both keys: the tests of this package count and list them."""

    async def make(*args: Any, **options: Any) -> Person:
        person = await people(*args, **options)
        await person.test.create_key()
        return person

    return make


@pytest.fixture
async def stranded(settings: Settings) -> AsyncIterator[Client]:
    """Return a client of a service without a database."""
    nowhere = {"database_url": SecretStr("host=/nowhere"), "pool_timeout_s": 0.1}
    app = create_app(settings.model_copy(update=nowhere))
    async with lifespan(app.api), Client(app) as client:
        yield client


@pytest.fixture
def postbox(database: Database, settings: Settings) -> Postbox:
    """Run the jobs and find the sent messages."""
    return Postbox(database, settings)


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    """Run an OpenID Connect provider."""
    async with running() as answering:
        yield answering


@pytest.fixture
async def trust(settings: Settings, provider: Provider) -> AsyncIterator[Trust]:
    """Start a service that trusts the provider, with options of the setting; return an anonymous client."""
    async with AsyncExitStack() as stack:

        async def start(**options: Any) -> Client:
            base_url = options.pop("base_url", settings.base_url)
            values = {
                "base_url": base_url,
                "oidc_issuers": (OidcIssuer.model_validate(trusting(provider, **options)),),
                "outbound_allow": (provider.host,),
                "key_cache_s": 0,
            }
            app = create_app(settings.model_copy(update=values))
            await stack.enter_async_context(lifespan(app.api))
            return await stack.enter_async_context(Client(app))

        yield start


@pytest.fixture
async def forger(alice: Person, database: Database, provider: Provider) -> Forger:
    """Let Alice's identity at the issuer open her account."""
    provider.signs = forger = provider.forger()
    await link(database, alice, provider, forger.claims["sub"])
    return forger


@pytest.fixture
async def browser(provider: Provider, trust: Trust, forger: Forger) -> Client:
    """A browser of a service at which people sign in through the issuer."""
    del forger
    return await trust(**signing_in(provider))
