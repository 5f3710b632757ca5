"""Entries and rates of the tests."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row

from builders.kit.db.connections import Conn, Database
from builders.kit.db.queries import constructor
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.ledger import (
    currencies as ledger_currencies,
    entries as ledger_entries,
    rates as ledger_rates,
)
from builders.portfolio.ledger.records import Entry, EntryKind, EntrySource, NewEntry, Rate, SaleRole, Totals

FRIDAY, MONDAY, NEWEST = date(2024, 3, 1), date(2024, 3, 4), date(2024, 3, 5)
# Units per euro: of the bank, but of days far fewer.
RATES = {
    FRIDAY: {"USD": "1.0813", "GBP": "0.85550", "JPY": "162.48"},
    MONDAY: {"USD": "1.0846", "GBP": "0.85505", "JPY": "163.15"},
    NEWEST: {"USD": "1.0849", "GBP": "0.85573", "JPY": "163.08"},
}


ENTRIES = """
    SELECT * FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s ORDER BY occurred_on, id
"""


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
    if values["source"] is EntrySource.SALE:
        values = {"sale_id": ids.new(), "sale_line": 0, "sale_role": SaleRole.PRICE, **values}
    if values["source"] is EntrySource.SYNC:
        values = {"charge_id": ids.new(), **values}
    return NewEntry(domain_id=domain_id, money=Money.of(amount, currency), **values)


async def list_entries(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Sequence[Entry]:
    """The entries of a domain as they are stored, void ones too."""
    row = {"account_id": account_id, "domain_id": domain_id}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(ENTRIES, row)
        found = await cursor.fetchall()
    names = [each.name for each in fields(Entry)]
    make = constructor(Entry)
    return [make(**{name: row[name] for name in names}) for row in found]


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
            if currency is None:
                return await list_entries(conn, account_id=self.account_id, domain_id=self.domain_id)
            found = await ledger_entries.get_statement(
                conn, account_id=self.account_id, domain_id=self.domain_id, prices=(), on=NEWEST, currency=currency
            )
            return found.entries

    async def totals(self) -> Totals:
        async with self.database.connection() as conn:
            found = await ledger_entries.list_totals(
                conn, account_id=self.account_id, domain_ids=[self.domain_id], today=date.max
            )
        return found[self.domain_id]

    async def set_base_currency(self, currency: str, **options: Any) -> None:
        async with self.database.transaction() as conn:
            await ledger_currencies.set_base_currency(
                conn, account_id=self.account_id, base_currency=currency, **options
            )
