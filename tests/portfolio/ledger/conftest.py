"""A portfolio, and exchange rates of a few days."""

import pytest

from builders.kit.db.connections import Database
from builders.kit.values import ids
from tests.portfolio.ledger.make import Books, add_rates


@pytest.fixture
async def books(database: Database) -> Books:
    """An empty portfolio with one domain."""
    await add_rates(database)
    return Books(database, account_id=ids.new(), domain_id=ids.new())
