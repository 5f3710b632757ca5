"""Fixtures: agents with a key of Alice, and names that can be claimed."""

from pathlib import Path

import pytest

from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.process.settings import Settings
from tests.cast import Person
from tests.mcp_server.make import Agent
from tests.plans.make import Domains
from tests.worker import Worker


@pytest.fixture
def agent(service: Service, alice: Person) -> Agent:
    """Return an agent with Alice's live key."""
    return Agent(service, alice.key)


@pytest.fixture
async def domain(database: Database, tmp_path: Path, assets: Path) -> str:
    """Return a live domain, whose names cost 12 USD a year."""
    return await Domains(database, folder=tmp_path, assets=assets)()


@pytest.fixture
def worker(database: Database, settings: Settings) -> Worker:
    """Return a worker that dispatches events and runs jobs."""
    return Worker(database, settings)
