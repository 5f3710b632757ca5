"""Alice owns a portfolio with one domain; exchange rates of a few days are loaded."""

import pytest

from builders.identity.records import Preset
from builders.kit.db.connections import Database
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.finance.make import Book, add_domain
from tests.portfolio.ledger.make import add_rates


@pytest.fixture
async def dana(people: MakePerson) -> Person:
    """Holds a key without the scopes of the portfolio."""
    return await people("dana", Preset.DEVELOPER_FULL)


@pytest.fixture
async def book(alice: Person, database: Database) -> Book:
    """The finance of harbour.com, which Alice registered and that expires in 2027."""
    await add_rates(database)
    return await add_domain(alice, "harbour.com", expires_at="2027-02-28T00:00:00Z")
