"""The person who sends the files of the corpus."""

import pytest

from builders.identity.records import Preset
from tests.cast import Person
from tests.conftest import MakePerson


@pytest.fixture
async def alice(people: MakePerson) -> Person:
    return await people("alice", Preset.DOMAINER_FULL)
