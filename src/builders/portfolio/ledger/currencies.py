"""The base currency of a portfolio, in which its totals are."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import Invalid
from builders.kit.jobs import time_slices
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.values import ids
from builders.kit.values.money import decimals_of
from builders.portfolio.ledger.records import (
    DEFAULT_BASE_CURRENCY,
    EURO,
    MAX_OWN_RATES,
    OwnRate,
)
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


async def list_own_rates(conn: Conn, *, account_id: UUID) -> Sequence[OwnRate]:
    """Return the rates of a portfolio's own, by currency and day."""
    return await store.list_own_rates(conn, account_id=account_id, limit=MAX_OWN_RATES)


async def set_own_rates(
    conn: Conn, *, account_id: UUID, rates: Sequence[OwnRate], batch_size: int = BATCH
) -> None:
    """Replace the rates of a portfolio's own, and convert the entries as `set_base_currency` does.

    Needs a transaction. Raise Invalid for a currency that the bank quotes, for a rate in one that it does not
    quote, and for two rates of a currency on a day.
    """
    await lock_base_currency(conn, account_id=account_id, exclusive=True)
    named = {each.currency for each in rates} | {each.quote_currency for each in rates}
    # The two also before rates are loaded.
    quoted = {DEFAULT_BASE_CURRENCY, EURO} | await store.list_quoted(conn, currencies=sorted(named))
    days = set[tuple[str, date]]()
    for at, each in enumerate(rates):
        if each.currency in quoted:
            message = f"The European Central Bank quotes {each.currency}, and its rates count."
            raise Invalid(("body", "rates", at, "currency"), message, "currency_quoted")
        if each.quote_currency not in quoted:
            raise unquoted(each.quote_currency, ("body", "rates", at, "quote_currency"))
        if (each.currency, each.since) in days:
            raise Invalid(
                ("body", "rates", at, "since"), "The currency has another rate of this day.", "rate_twice"
            )
        days.add((each.currency, each.since))
    await store.delete_own_rates(conn, account_id=account_id)
    await store.insert_own_rates(conn, account_id=account_id, rates=rates)
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
    """Convert the entries of a portfolio that are in another base currency, wait for rates, or depend on own ones.

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
        conn,
        account_id=account_id,
        base_currency=base_currency,
        decimals=decimals_of(base_currency),
        after=after,
        limit=batch_size,
    )


def unquoted(currency: str, location: tuple[str | int, ...]) -> Invalid:
    """Return the refusal of a currency without exchange rates."""
    message = f"There are no exchange rates of {currency}: the European Central Bank does not quote it."
    return Invalid(location, message, "currency_unknown")


async def lock_base_currency(conn: Conn, *, account_id: UUID, exclusive: bool = False) -> str:
    """Return the base currency, locked until the transaction ends, before any entry is locked.

    With `exclusive`, other transactions cannot record or void entries.
    """
    while True:
        found = await (store.lock_exclusively if exclusive else store.lock_base_currency)(
            conn, account_id=account_id
        )
        if found is not None:
            return found
        await store.add_base_currency(conn, account_id=account_id, base_currency=DEFAULT_BASE_CURRENCY)
