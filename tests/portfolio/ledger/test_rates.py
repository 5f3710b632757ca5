"""Exchange rates: those installed, those of the bank, and the entries that they convert."""

import io
import zipfile
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from itertools import islice

import pytest

from builders.kit.db.connections import Database
from builders.kit.errors import Invalid
from builders.kit.jobs import queue
from builders.kit.jobs.time_slices import TimeSlice
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.ledger import currencies, rates
from builders.portfolio.ledger.records import Rate
from builders.portfolio.ledger.store import rates as rates_store
from tests.kit.outbound.receivers import Reader, Writer, calling, receiving
from tests.portfolio.ledger.make import FRIDAY, MONDAY, NEWEST, RATES, Books

HEADING = "Date,USD,JPY,XXX,"


@pytest.fixture
async def unpublished(database: Database) -> AsyncIterator[date]:
    """A day whose rates a test may load; they are deleted after it."""
    day = NEWEST + timedelta(days=2)
    yield day
    async with database.connection() as conn:
        await conn.execute("DELETE FROM portfolio_ledger_rates WHERE quoted_on >= %s", [day])


def archive(*lines: str, heading: str = HEADING) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as files:
        files.writestr("eurofxref-hist.csv", "\n".join([heading, *lines]))
    return content.getvalue()


def test_the_table_of_the_bank_is_read() -> None:
    table = archive("2024-03-05,1.0849,163.08,N/A,", "2024-03-04,1.0846, 163.15,2,", "2024-03-01,1.0813,162.48,,")
    assert list(rates.read_rates(table, after=date(2024, 3, 1))) == [
        Rate(currency="USD", quoted_on=NEWEST, rate=Decimal("1.0849")),
        Rate(currency="JPY", quoted_on=NEWEST, rate=Decimal("163.08")),
        Rate(currency="USD", quoted_on=MONDAY, rate=Decimal("1.0846")),
        Rate(currency="JPY", quoted_on=MONDAY, rate=Decimal("163.15")),
        Rate(currency="XXX", quoted_on=MONDAY, rate=Decimal(2)),
    ]
    assert len(list(rates.read_rates(table))) == 7


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>Moved</html>",
        archive()[:-30],
        archive(heading=""),
        archive(heading="Date,dollar"),
        archive("5 March 2024,1,1,1,"),
        archive("2024-03-05,1"),
        archive("2024-03-05,0,1,1,"),
        archive("2024-03-05,NaN,1,1,"),
        archive("2024-03-05,one,1,1,"),
    ],
)
def test_another_file_is_refused(content: bytes) -> None:
    with pytest.raises(rates.RatesUnreadable):
        list(rates.read_rates(content))


@pytest.mark.parametrize(
    ("now", "day"),
    [
        (datetime(2024, 3, 5, 15, 29, tzinfo=UTC), date(2024, 3, 4)),
        (datetime(2024, 3, 5, 15, 30, tzinfo=UTC), date(2024, 3, 5)),
        (datetime(2024, 3, 4, 9, tzinfo=UTC), date(2024, 3, 1)),
        (datetime(2024, 3, 3, 23, tzinfo=UTC), date(2024, 3, 1)),
        (datetime(2024, 3, 2, 9, tzinfo=UTC), date(2024, 3, 1)),
    ],
)
def test_the_bank_publishes_on_weekdays(now: datetime, day: date) -> None:
    assert rates.last_published_day(now) == day


@pytest.mark.parametrize(
    ("occurred_on", "fx_date"),
    [
        (FRIDAY, FRIDAY),
        (FRIDAY + timedelta(days=1), FRIDAY),
        (FRIDAY + timedelta(days=2), FRIDAY),
        (MONDAY, MONDAY),
        (NEWEST + timedelta(days=900), NEWEST),
    ],
)
async def test_an_entry_has_the_rate_of_its_date_or_the_last_before(
    books: Books, occurred_on: date, fx_date: date
) -> None:
    [posted] = await books.post(books.entry("1000", "JPY", occurred_on=occurred_on))
    quoted = RATES[fx_date]
    rate = round(Decimal(quoted["USD"]) / Decimal(quoted["JPY"]), 12)
    assert (posted.entry.fx_date, posted.entry.fx_rate) == (fx_date, rate)
    assert posted.entry.base_amount == round(1000 * rate, 2)


@pytest.mark.parametrize(
    ("currency", "occurred_on"), [("BTC", MONDAY), ("GBP", FRIDAY - timedelta(days=1)), ("GBP", date(1985, 3, 15))]
)
async def test_an_entry_without_a_rate_is_not_converted(books: Books, currency: str, occurred_on: date) -> None:
    posted = await books.post(books.entry("5", currency, occurred_on=occurred_on), books.entry("1"))
    assert [each.entry.base_amount for each in posted] == [None, Decimal(1)]
    totals = await books.totals()
    assert (totals.entries, totals.unconverted, str(totals.total_cost)) == (2, 1, "1.00 USD")


async def test_the_base_currency_needs_no_rates(books: Books) -> None:
    [posted] = await books.post(books.entry(occurred_on=date(1985, 3, 15)))
    assert (posted.entry.fx_rate, posted.entry.fx_date) == (Decimal(1), date(1985, 3, 15))


async def test_another_base_currency_converts_each_entry_at_its_date(books: Books) -> None:
    await books.post(
        books.entry("10", "USD", occurred_on=FRIDAY),
        books.entry("10", "EUR", occurred_on=MONDAY),
        books.entry("10", "BTC", occurred_on=MONDAY),
    )
    in_yen = await books.entries("JPY")
    assert [str(each.base_money) for each in in_yen] == ["1503 JPY", "1632 JPY", "None"]
    await books.set_base_currency("JPY")
    assert await books.entries() == in_yen
    [posted] = await books.post(books.entry("1", "EUR", occurred_on=NEWEST))
    assert str(posted.entry.base_money) == "163 JPY"
    assert str((await books.totals()).total_cost) == "3298 JPY"
    with pytest.raises(Invalid) as refused:
        await books.set_base_currency("BTC")
    assert refused.value.code == "currency_unknown"
    async with books.database.connection() as conn:
        assert await currencies.get_base_currency(conn, account_id=books.account_id) == "JPY"
    await books.set_base_currency("USD")
    assert [str(each.base_money) for each in await books.entries()] == [
        "10.00 USD",
        "10.85 USD",
        "None",
        "1.08 USD",
    ]


def test_the_installed_rates_are_a_table_of_the_bank() -> None:
    found = list(islice(rates.read_rates(rates.read_installed_archive()), 300))
    assert {"USD", "GBP", "JPY", "CHF"} <= {each.currency for each in found}
    assert found[0].quoted_on > date(2026, 1, 1)


async def test_the_days_since_are_fetched_from_the_bank(books: Books, unpublished: date) -> None:
    line = f"{unpublished},1.1,160,N/A,"
    answers = [b"<html>Moved</html>", archive(line, "2024-03-04,9,9,9,")]

    async def answer(reader: Reader, writer: Writer) -> None:
        del reader
        body = answers.pop(0)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)
        writer.close()

    async with receiving(answer) as bank, calling(bank) as outbound:
        fetch = partial(rates.fetch_rates, books.database, outbound=outbound, url=bank.url)
        assert await fetch() == 0  # another file
        assert await fetch() == 3
        with clock.moved(datetime.combine(unpublished, time(20), UTC) - clock.now()):
            assert await fetch() == 0  # there is nothing newer to fetch
    async with calling(bank) as outbound:
        assert await rates.fetch_rates(books.database, outbound=outbound, url=bank.url) == 0  # it is away
    async with books.database.connection() as conn:
        assert await rates.find_newest_day(conn) == unpublished


async def test_a_job_converts_the_entries_of_a_large_portfolio(books: Books, settings: Settings) -> None:
    await books.post(*(books.entry(f"{n}", "EUR") for n in range(1, 6)))
    await books.set_base_currency("JPY", batch_size=2)
    totals = await books.totals()
    assert (totals.base_currency, totals.unconverted, totals.cost) == ("JPY", 3, Decimal(489))
    assert [each.base_amount for each in await books.entries() if each.base_currency == "JPY"] == [163, 326]
    await queue.run_pending(books.database, settings)
    assert [each.base_amount for each in await books.entries()] == [163, 326, 489, 653, 816]
    assert str((await books.totals()).total_cost) == "2447 JPY"


async def test_a_conversion_continues_after_the_last_entry_of_its_turn(books: Books) -> None:
    await books.post(*(books.entry(f"{n}", "EUR") for n in range(1, 6)))
    await books.set_base_currency("JPY", batch_size=1)
    after, slices = ids.NIL, 0
    while (
        last := await currencies.convert_entries(
            books.database,
            account_id=books.account_id,
            after=after,
            time_slice=TimeSlice(timedelta()),
            batch_size=2,
        )
    ) is not None:
        after, slices = last, slices + 1
    assert slices == 2
    assert [each.base_amount for each in await books.entries()] == [163, 326, 489, 653, 816]


async def test_entries_are_converted_when_the_rates_of_their_date_arrive(books: Books, unpublished: date) -> None:
    later = unpublished
    await books.post(
        books.entry("10", "EUR", occurred_on=later),
        books.entry("10", "CHF", occurred_on=later),
        books.entry("10", "EUR", occurred_on=NEWEST),
        books.entry("10", "EUR", occurred_on=later + timedelta(days=400)),
    )
    before = [(each.fx_date, each.base_amount) for each in await books.entries()]
    assert before == [
        (NEWEST, Decimal("10.85")),
        (NEWEST, Decimal("10.85")),
        (None, None),
        (NEWEST, Decimal("10.85")),
    ]
    new = [
        Rate(currency=currency, quoted_on=later, rate=Decimal(rate))
        for currency, rate in {"USD": "1.1", "CHF": "0.55"}.items()
    ]
    async with books.database.transaction() as conn:
        assert await rates.load_rates(conn, rates=new) == 3
        assert await rates.load_rates(conn, rates=new) == 0
    async with books.database.connection() as conn:
        assert books.account_id in await rates_store.list_awaiting(conn)
    await currencies.convert_entries(books.database, account_id=books.account_id)
    after = await books.entries()
    assert [(each.fx_date, each.base_amount) for each in after] == [
        (NEWEST, Decimal("10.85")),
        (later, Decimal("11.00")),
        (later, Decimal("20.00")),
        (later, Decimal("11.00")),
    ]
