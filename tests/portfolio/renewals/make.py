"""Renewals of the tests."""

from datetime import datetime, timedelta
from typing import Any

from builders.kit.values import clock
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.ledger import entries as ledger_entries
from builders.portfolio.ledger.records import EntryKind
from tests.cast import Client, Person
from tests.portfolio.ledger.make import add_rates, entry
from tests.portfolio.parking.make import add_domains, database_of

RENEWALS, BULK = "/v1/portfolio/renewals", "/v1/portfolio/renewals/bulk"


def ahead(days: int) -> datetime:
    """Return noon of the day after so many days."""
    return clock.now().replace(hour=12, minute=0, second=0, microsecond=0) + timedelta(days=days)


async def fill(alice: Person) -> None:
    """Domains with a price of each source, in and outside of the next 30 days."""
    await add_rates(database_of(alice))
    add = add_domains
    await add(alice, "harbour.com", price="10.00", expires_at=ahead(10), auto_renew=True, registrar="Porkbun")
    await add(alice, "overdue.com", price="20.00", expires_at=ahead(-6), auto_renew=False, registrar="Porkbun")
    renewed = await add(alice, "renewed.com", expires_at=ahead(20), registrar="Porkbun")
    await add(alice, "median.com", expires_at=ahead(21), registrar="PORKBUN")
    await add(alice, "unknown.org", expires_at=ahead(22), registrar="Porkbun")
    await add(alice, "later.com", price="30.00", expires_at=ahead(60), registrar="Porkbun")
    await add(alice, "never.com", price="40.00")
    await add(alice, "sold.com", price="50.00", expires_at=ahead(5), status=PortfolioDomainStatus.SOLD)
    entries = [
        entry(renewed["renewed.com"], "9.00", "EUR", years=1, reference="r1"),
        entry(renewed["renewed.com"], "16.00", "EUR", years=2, occurred_on=clock.now().date(), reference="r2"),
        entry(renewed["renewed.com"], "99.00", "EUR", kind=EntryKind.REDEMPTION, reference="r3"),
    ]
    async with database_of(alice).transaction() as conn:
        await ledger_entries.post_entries(conn, account_id=alice.account.id, entries=entries)


async def report(owner: Client, headers: Any = None, **query: Any) -> dict[str, Any]:
    answer = await owner.get(RENEWALS, params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def decide(owner: Client, body: Any, headers: Any = None) -> dict[str, Any]:
    answer = await owner.patch(BULK, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found
