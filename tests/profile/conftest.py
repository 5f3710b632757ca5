import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from builders.kit.values import ids
from tests.cast import Person
from tests.conftest import MakePerson
from tests.profile.make import ProfileWorker


@pytest.fixture
def worker(database: Database, settings: Settings) -> ProfileWorker:
    """Return a worker that dispatches events and runs jobs."""
    return ProfileWorker(database, settings)


@pytest.fixture
async def ursula(people: MakePerson) -> Person:
    """Return a person with an unverified address."""
    return await people("ursula", verified=False)


@pytest.fixture
def address() -> str:
    """Return an address that no account has."""
    return f"new-{ids.new().hex}@example.net"
