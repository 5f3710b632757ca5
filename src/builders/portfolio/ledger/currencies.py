"""The base currency of a portfolio, in which its totals are."""

from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.jobs import time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import ids
from builders.portfolio.ledger.records import DEFAULT_BASE_CURRENCY
from builders.portfolio.ledger.store import rates as store

CONVERT_ENTRIES = "portfolio.convert_entries"  # the task
BATCH = 5_000  # entries that one transaction converts


async def get_base_currency(conn: Conn, *, account_id: UUID) -> str:
    """Return the base currency of a portfolio."""
    return await store.find_base_currency(conn, account_id=account_id) or DEFAULT_BASE_CURRENCY


async def set_base_currency(conn: Conn, *, account_id: UUID, base_currency: str, batch_size: int = BATCH) -> None:
    """Set the base currency, and convert the entries to it, each at the rate of its date; needs a transaction.

    A job converts those beyond `batch_size`; until then they count as not converted. Raise Invalid for a
    currency without exchange rates.
    """
    if base_currency != DEFAULT_BASE_CURRENCY and not await store.is_quoted(conn, currency=base_currency):
        raise unquoted(base_currency, ("body", "base_currency"))
    await store.set_base_currency(conn, account_id=account_id, base_currency=base_currency)
    if await _convert_batch(conn, account_id=account_id, after=ids.NIL, batch_size=batch_size) is not None:
        await time_slices.defer(conn, CONVERT_ENTRIES, account_id=str(account_id))


async def convert_entries(
    database: Database,
    *,
    account_id: UUID,
    after: UUID = ids.NIL,
    time_slice: TimeSlice | None = None,
    batch_size: int = BATCH,
) -> UUID | None:
    """Convert the entries that are not in the base currency of the portfolio, or wait for rates.

    A transaction converts `batch_size` of them, with ids after `after`. Return the last id if the time slice is
    over before the end, else None.
    """
    while True:
        async with database.transaction() as conn:
            last = await _convert_batch(conn, account_id=account_id, after=after, batch_size=batch_size)
        if last is None or (time_slice is not None and time_slice.is_over):
            return last
        after = last


async def _convert_batch(conn: Conn, *, account_id: UUID, after: UUID, batch_size: int) -> UUID | None:
    base_currency = await lock_base_currency(conn, account_id=account_id, exclusive=True)
    return await store.convert_entries(
        conn, account_id=account_id, base_currency=base_currency, after=after, limit=batch_size
    )


def unquoted(currency: str, location: tuple[str, ...]) -> Invalid:
    """Return the refusal of a currency without exchange rates."""
    message = f"There are no exchange rates of {currency}: the European Central Bank does not quote it."
    return Invalid(location, message, "currency_unknown")


async def lock_base_currency(conn: Conn, *, account_id: UUID, exclusive: bool = False) -> str:
    """Return the base currency, locked until the transaction ends, before any entry is locked.

    With `exclusive`, other transactions cannot record or void entries.
    """
    found = await store.lock_base_currency(conn, account_id=account_id, exclusive=exclusive)
    while found is None:
        await store.add_base_currency(conn, account_id=account_id, base_currency=DEFAULT_BASE_CURRENCY)
        found = await store.lock_base_currency(conn, account_id=account_id, exclusive=exclusive)
    return found
