"""A worker that sends the invitations."""

import pytest

from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.worker import Worker


@pytest.fixture
def worker(database: Database, settings: Settings) -> Worker:
    return Worker(database, settings)
