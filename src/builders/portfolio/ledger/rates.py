"""Exchange rates: the euro reference rates of the European Central Bank.

The bank quotes about 30 currencies on each working day, in units per euro. An entry is converted at the rate of
its date, or of the last day with rates before it.
"""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal

from builders.kit.db.connections import Conn
from builders.portfolio.ledger.records import EURO, Rate
from builders.portfolio.ledger.store import rates as store


async def load_rates(conn: Conn, *, rates: Iterable[Rate]) -> int:
    """Add rates, and convert the entries that wait for them; needs a transaction. Returns how many are new."""
    given = list(rates)
    days = {each.quoted_on for each in given}
    given += [Rate(currency=EURO, quoted_on=day, rate=Decimal(1)) for day in days]
    added = await store.insert_rates(conn, rates=given)
    await store.convert_awaiting(conn)
    return added


async def find_newest_day(conn: Conn) -> date | None:
    """Return the newest day with rates; None without any."""
    return await store.find_newest_day(conn)
