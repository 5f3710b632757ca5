"""People whose keys hold the scopes of the portfolio."""

import pytest

from builders.identity.records import Preset
from tests.cast import Person
from tests.conftest import MakePerson


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)


@pytest.fixture
async def bob(people: MakePerson) -> Person:
    return await people("bob", Preset.DOMAINER_FULL)


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    return await people("charlie", Preset.DOMAINER_FULL)
