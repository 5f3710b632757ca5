"""People whose keys hold the scopes of the portfolio, and a receiver of webhooks."""

from collections.abc import AsyncIterator

import pytest

from builders.app import Service
from builders.identity.records import Preset
from tests.cast import Person
from tests.conftest import MakePerson
from tests.kit.outbound.receivers import Receiver
from tests.webhooks.reaching import (
    reachable,
    sending_threads,  # noqa: F401 - a fixture
)


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    return await people("bob", Preset.DOMAINER_FULL)


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    return await people("charlie", Preset.DOMAINER_FULL)


@pytest.fixture
async def receiver(service: Service) -> AsyncIterator[Receiver]:
    """A receiver on loopback that the service may call; it responds 200 unless a test changes that."""
    async with reachable(service) as receiver:
        yield receiver
