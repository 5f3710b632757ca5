"""People whose keys hold the scopes of the portfolio, and fakes of registrars."""

from collections.abc import AsyncIterator, Iterator

import pytest

from builders.demo.registrars.fake import FakeServer
from builders.identity.records import Preset
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.conftest import MakePerson


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    return await people("bob", Preset.DOMAINER_FULL)


@pytest.fixture(scope="module")
def fakes() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
async def outbound(fakes: FakeServer) -> AsyncIterator[Outbound]:
    """A client that may reach the fakes."""
    async with Outbound(Settings.model_validate({"outbound_allow": [fakes.address]})) as client:
        yield client
