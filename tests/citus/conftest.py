"""Tests on a real cluster. Without one they are not collected; `test_named.py` says so."""

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from builders.kit.db.connections import Database
from tests.citus import cluster
from tests.cli.conftest import command, plain_environment
from tests.forwarding.conftest import lookups, recipients
from tests.plans.conftest import receiver
from tests.plans.make import Domains

__all__ = ["command", "lookups", "plain_environment", "receiver", "recipients"]

collect_ignore_glob = [] if cluster.URL else ["test_[!n]*.py"]


@pytest.fixture(scope="session")
def url() -> str:
    """Return the address of the coordinator."""
    assert cluster.URL is not None
    return cluster.URL


@pytest.fixture
def empty(url: str) -> Iterator[str]:
    """Return a database of all nodes without tables."""
    with cluster.empty_database(url) as conninfo:
        yield conninfo


@pytest.fixture
def admin(conninfo: str) -> Iterator[psycopg.Connection]:
    """Return a connection to the distributed database."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        yield conn


@pytest.fixture
def domains(database: Database, tmp_path: Path, assets: Path) -> Domains:
    """Return a loader of catalog domains."""
    return Domains(database, folder=tmp_path, assets=assets)
