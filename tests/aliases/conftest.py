"""Fixtures of the tests of aliases."""

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.aliases.make import AliasWorker, Owner, fresh
from tests.cast import Person


@pytest.fixture
def worker(database: Database, settings: Settings) -> AliasWorker:
    """The worker and the mailbox of the test."""
    return AliasWorker(database, settings)


@pytest.fixture
def domain() -> str:
    """A domain that only this test uses."""
    return fresh()


@pytest.fixture
def owner(database: Database, alice: Person) -> Owner:
    """Alice as an owner of names."""
    return Owner.of(database, alice)
