"""The base currency of a portfolio, in which its totals are."""

from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.errors import Invalid
from builders.portfolio.ledger.records import DEFAULT_BASE_CURRENCY
from builders.portfolio.ledger.store import rates as store


async def get_base_currency(conn: Conn, *, account_id: UUID) -> str:
    """Return the base currency of a portfolio."""
    return await store.find_base_currency(conn, account_id=account_id) or DEFAULT_BASE_CURRENCY


async def set_base_currency(conn: Conn, *, account_id: UUID, base_currency: str) -> None:
    """Set the base currency, and convert all entries to it, each at the rate of its date; needs a transaction.

    Raises Invalid for a currency without exchange rates.
    """
    await require_quoted(conn, currency=base_currency)
    await store.set_base_currency(conn, account_id=account_id, base_currency=base_currency)
    await store.convert_entries(conn, account_id=account_id, base_currency=base_currency)


async def require_quoted(conn: Conn, *, currency: str, field: str = "base_currency") -> None:
    """Raise Invalid for a currency without exchange rates."""
    if currency != DEFAULT_BASE_CURRENCY and not await store.is_quoted(conn, currency=currency):
        message = f"There are no exchange rates of {currency}: the European Central Bank does not quote it."
        raise Invalid(("body", field), message, "currency_unknown")


async def lock_base_currency(conn: Conn, *, account_id: UUID) -> str:
    """Return the base currency, which then stays until the transaction ends."""
    found = await store.lock_base_currency(conn, account_id=account_id)
    while found is None:
        await store.add_base_currency(conn, account_id=account_id, base_currency=DEFAULT_BASE_CURRENCY)
        found = await store.lock_base_currency(conn, account_id=account_id)
    return found
