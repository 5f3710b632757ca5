"""Entries and rates of the tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.values.money import Money
from builders.portfolio.ledger import (
    currencies as ledger_currencies,
    entries as ledger_entries,
    rates as ledger_rates,
)
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, NewEntry, Rate, Totals

FRIDAY, MONDAY, NEWEST = date(2024, 3, 1), date(2024, 3, 4), date(2024, 3, 5)
# Units per euro: of the bank, but of days far fewer.
RATES = {
    FRIDAY: {"USD": "1.0813", "GBP": "0.85550", "JPY": "162.48"},
    MONDAY: {"USD": "1.0846", "GBP": "0.85505", "JPY": "163.15"},
    NEWEST: {"USD": "1.0849", "GBP": "0.85573", "JPY": "163.08"},
}


def rates(*days: date) -> list[Rate]:
    quoted = {day: RATES[day] for day in days or RATES}
    return [
        Rate(currency=currency, quoted_on=day, rate=Decimal(rate))
        for day, currencies in quoted.items()
        for currency, rate in currencies.items()
    ]


async def add_rates(database: Database, *days: date) -> None:
    """Load the rates of the days, or of all, in place of those that other tests loaded."""
    async with database.transaction() as conn:
        await conn.execute("DELETE FROM portfolio_ledger_rates")
        await ledger_rates.load_rates(conn, rates=rates(*days))


def entry(domain_id: UUID, amount: str = "10.00", currency: str = "USD", **more: Any) -> NewEntry:
    values: dict[str, Any] = {
        "kind": EntryKind.RENEWAL,
        "source": EntrySource.MANUAL,
        "occurred_on": MONDAY,
        **more,
    }
    return NewEntry(domain_id=domain_id, money=Money.of(amount, currency), **values)


@dataclass(frozen=True)
class Posted:
    """A recorded entry, and whether it is new."""

    entry: Entry
    is_new: bool


@dataclass(frozen=True)
class Books:
    """A portfolio and one of its domains."""

    database: Database
    account_id: UUID
    domain_id: UUID

    def entry(self, amount: str = "10.00", currency: str = "USD", **more: Any) -> NewEntry:
        return entry(self.domain_id, amount, currency, **more)

    async def post(self, *entries: NewEntry) -> Sequence[Posted]:
        async with self.database.transaction() as conn:
            posted = await ledger_entries.post_entries(conn, account_id=self.account_id, entries=entries)
        return [Posted(ledger_entries.require_recorded(each), each.is_new) for each in posted]

    async def void(self, *posted: Posted) -> Sequence[UUID]:
        async with self.database.transaction() as conn:
            entry_ids = [each.entry.id for each in posted]
            return await ledger_entries.void_entries(
                conn, account_id=self.account_id, ids=entry_ids, reason="mistake"
            )

    async def entries(self, currency: str | None = None) -> Sequence[Entry]:
        async with self.database.connection() as conn:
            return await ledger_entries.list_entries(
                conn, account_id=self.account_id, domain_id=self.domain_id, currency=currency
            )

    async def totals(self) -> Totals:
        async with self.database.connection() as conn:
            found = await ledger_entries.list_totals(conn, account_id=self.account_id, domain_ids=[self.domain_id])
        return found[self.domain_id]

    async def set_base_currency(self, currency: str, **options: Any) -> None:
        async with self.database.transaction() as conn:
            await ledger_currencies.set_base_currency(
                conn, account_id=self.account_id, base_currency=currency, **options
            )
