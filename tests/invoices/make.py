"""Make invoices for tests through the service."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.invoices import invoices, issuance
from builders.invoices.records import Invoice, NewInvoice, NewLine, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock, ids
from builders.kit.values.money import Money

SELLER = Seller(
    name="Harbour Names Ltd",
    address=("1 Quay Street", "Port Town"),
    tax_id="GB123",
    bank="Bank of Quay, 00-11",
    tax_rate=Decimal(20),
)
DUE = timedelta(days=14)


def usd(amount: str) -> Money:
    """Return an amount in US dollars."""
    return Money.of(amount, "USD")


def line(amount: str = "10.00", *, quantity: int = 1, currency: str = "USD", **options: Any) -> NewLine:
    """Return a line for a name and a period of one year."""
    now = clock.now()
    values: dict[str, Any] = {
        "description": "ada@harbour.example, 1 year",
        "alias_id": ids.new(),
        "quantity": quantity,
        "unit_amount": Money.of(amount, currency),
        "period_start": now,
        "period_end": now + timedelta(days=365),
    }
    return NewLine(**values | options)


async def pass_by(database: Database, time: timedelta) -> int:
    """Move the clock day by day and advance the timeline each day; return the number of steps."""
    taken = 0
    while time > timedelta():
        clock.move(min(time, timedelta(days=1)))
        time -= timedelta(days=1)
        taken += await invoices.advance(database)
    return taken


async def make_invoice(
    where: Conn | Database,
    *,
    account_id: UUID,
    lines: Sequence[NewLine] = (),
    is_test: bool = False,
    tax: str = "0",
    currency: str = "USD",
    **options: Any,
) -> Invoice:
    """Issue an invoice for the account; without lines, of 10 USD."""
    if isinstance(where, Database):
        async with where.transaction() as conn:
            return await make_invoice(
                conn,
                account_id=account_id,
                lines=lines,
                is_test=is_test,
                tax=tax,
                currency=currency,
                **options,
            )
    return await issuance.issue(
        where,
        account_id=account_id,
        new=NewInvoice(
            is_test=is_test,
            seller=replace(SELLER, tax_rate=Decimal(tax)),
            lines=lines or [line(currency=currency)],
            currency=currency,
            **{"due_at": clock.now() + DUE, **options},
        ),
    )


async def published(conn: Conn, account_id: UUID, *names: str) -> list[tuple[str, Any]]:
    """Return the published invoice events of the account, oldest first; only those with `names`, if given."""
    query = "SELECT name, data FROM kit_outbox WHERE account_id = %s AND name LIKE 'invoice.%%' ORDER BY id"
    rows = await (await conn.execute(query, [account_id])).fetchall()
    return [(name, json.loads(data)) for name, data in rows if not names or name in names]
