"""Fixtures: Charlie, who can become a decider, and a clock that a test may move."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from builders.identity.records import Preset
from builders.kit.values import clock
from tests.cast import Person
from tests.conftest import MakePerson


@pytest.fixture(autouse=True)
def own_time() -> Iterator[None]:
    """Restore the clock after the test."""
    with clock.moved(timedelta()):
        yield


@pytest.fixture
async def charlie(people: MakePerson) -> Person:
    """Return a person whose key can join a team."""
    return await people("charlie", Preset.DOMAINER_FULL)


@pytest.fixture
async def erin(people: MakePerson) -> Person:
    """Return another such person."""
    return await people("erin", Preset.DOMAINER_FULL)
