"""What the tests of aliases stand on."""

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.aliases.make import Office, Owner, fresh
from tests.cast import Person


@pytest.fixture
def office(database: Database, settings: Settings) -> Office:
    """Does the work, and has the mail."""
    return Office(database, settings)


@pytest.fixture
def domain() -> str:
    """A domain of the test's own."""
    return fresh()


@pytest.fixture
def owner(database: Database, alice: Person) -> Owner:
    """Alice, as she claims names."""
    return Owner.of(database, alice)
