"""An adapter that talks to the fake of its registrar."""

from collections.abc import AsyncIterator, Callable

import pytest

from builders.demo.registrars.fake import FakeRegistrar, FakeServer
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.portfolio.registrars.adapter import Adapter
from builders.portfolio.registrars.api_client import ApiClient
from builders.portfolio.registrars.providers import ADAPTERS

Connect = Callable[..., Adapter]


class NoPace:
    async def acquire(self) -> None:
        return


@pytest.fixture
async def connect(fakes: FakeServer, reaching: Settings) -> AsyncIterator[Connect]:
    """Return a function that connects an adapter to a fake."""
    async with Outbound(reaching) as outbound:

        def connected(fake: FakeRegistrar, credentials: dict[str, str] | None = None) -> Adapter:
            api = ApiClient(outbound=outbound, pace=NoPace(), base_url=fakes.add(fake))
            return ADAPTERS[fake.provider](api, credentials=credentials or fake.credentials)

        yield connected
