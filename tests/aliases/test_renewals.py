"""Names are renewed ahead of time, and never billed twice for one period."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

import psycopg
import pytest
from hypothesis import given, strategies as st

from builders.aliases import billing
from builders.aliases.jobs import renew as renew_job
from builders.aliases.records import Alias, PriceInterval
from builders.invoices import invoices, issuance
from builders.invoices.records import Invoice, InvoiceStatus, Seller
from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseUnavailable
from builders.kit.jobs import queue
from builders.kit.values import clock, ids
from builders.kit.values.money import Money
from tests.aliases.make import ALIASES, AliasWorker, Owner, fresh, published, spec
from tests.cast import Person

SELLER = Seller(name="Harbour Names Ltd")


async def renew(database: Database, owner: Owner) -> int:
    """Renew the names of an account as the job does."""
    async with database.transaction() as conn:
        return await billing.renew_aliases(conn, account_id=owner.account_id, seller=SELLER)


async def billed(database: Database, owner: Owner) -> Sequence[Invoice]:
    """Return the account's invoices with their lines, oldest first."""
    async with database.connection() as conn:
        found = await invoices.list_all_invoices(conn, account_id=owner.account_id, limit=100)
        return [
            await invoices.get_invoice(conn, account_id=owner.account_id, invoice_id=each.id)
            for each in reversed(found)
        ]


async def one(owner: Owner) -> Alias:
    """Return the only alias of the account."""
    (alias,) = (await owner.aliases()).values()
    return alias


async def test_a_year_is_billed_thirty_days_ahead(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim_one("ada", domain)
    before = await one(owner)
    assert before.renews_at is not None
    clock.move(before.renews_at - clock.now() - timedelta(days=31))
    assert await renew(database, owner) == 0
    clock.move(timedelta(days=1, minutes=1))
    assert await renew(database, owner) == 1
    (invoice,) = await billed(database, owner)
    (line,) = invoice.lines
    after = await one(owner)
    assert (line.description, line.amount, line.alias_id) == (
        f"ada@{domain}, 1 year",
        Money.of("12.00", "USD"),
        before.id,
    )
    assert (line.period_start, line.period_end) == (before.renews_at, after.renews_at)
    assert after.renews_at == billing.add_months(before.renews_at, 12)
    assert (invoice.status, invoice.due_at, invoice.is_test) == (InvoiceStatus.OPEN, before.renews_at, False)
    assert after.version == before.version
    assert await renew(database, owner) == 0


async def test_a_month_is_billed_seven_days_ahead(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim_one("ada", domain, price=Money.of("1.250", "KWD"), interval=PriceInterval.MONTH)
    due = (await one(owner)).renews_at
    assert due is not None
    clock.move(due - clock.now() - timedelta(days=8))
    assert await renew(database, owner) == 0
    clock.move(timedelta(days=1, minutes=1))
    assert await renew(database, owner) == 1
    (invoice,) = await billed(database, owner)
    assert (invoice.total, invoice.lines[0].description) == (Money.of("1.250", "KWD"), f"ada@{domain}, 1 month")
    assert timedelta(days=6, hours=23) < invoice.due_at - clock.now() <= timedelta(days=7)


async def test_there_is_one_invoice_for_each_currency(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim(
        *(spec(f"usd{at:04}", domain) for at in range(3)),
        *(spec(f"eur{at:04}", domain, price=Money.of("9.00", "EUR")) for at in range(2)),
    )
    clock.move(timedelta(days=350))
    assert await renew(database, owner) == 5
    found = await billed(database, owner)
    assert {str(each.total): len(each.lines) for each in found} == {"36.00 USD": 3, "18.00 EUR": 2}


async def test_free_and_disabled_names_are_renewed(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim(
        spec("free", domain, price=Money.zero("USD")),
        spec("once", domain, interval=PriceInterval.ONCE),
        spec("asleep", domain, enabled=False),
    )
    clock.move(timedelta(days=350))
    assert await renew(database, owner) == 2
    (invoice,) = await billed(database, owner)
    assert [each.description for each in invoice.lines] == [f"asleep@{domain}, 1 year"]
    mine = await owner.aliases()
    assert (mine["once"].renews_at, mine["free"].renews_at) == (None, mine["asleep"].renews_at)


async def test_released_and_suspended_names_are_not_billed(
    owner: Owner, database: Database, conn: Conn, domain: str
) -> None:
    await owner.claim(spec("gone", domain), spec("stopped", domain))
    mine = await owner.aliases()
    await owner.release(mine["gone"])
    await conn.execute("UPDATE aliases SET status = 'suspended' WHERE id = %s", [mine["stopped"].id])
    clock.move(timedelta(days=400))
    assert await renew(database, owner) == 0


async def test_a_sandbox_renews_without_an_invoice(alice: Person, database: Database, domain: str) -> None:
    sandbox = Owner.of_sandbox(database, alice)
    await sandbox.claim_one("ada", domain)
    clock.move(timedelta(days=350))
    assert await renew(database, sandbox) == 1
    assert await billed(database, sandbox) == []


async def test_missed_renewals_are_billed_period_by_period(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim_one("ada", domain, interval=PriceInterval.MONTH)
    clock.move(timedelta(days=100))
    done = [await renew(database, owner) for _ in range(5)]
    assert done == [1, 1, 1, 0, 0]
    lines = [line for each in await billed(database, owner) for line in each.lines]
    assert [each.period_end for each in lines[:-1]] == [each.period_start for each in lines[1:]]


async def test_concurrent_renewals_bill_a_period_once(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim(*(spec(f"crew{at:04}", domain) for at in range(20)))
    clock.move(timedelta(days=350))
    done = await asyncio.gather(*(renew(database, owner) for _ in range(6)))
    assert sorted(done) == [0, 0, 0, 0, 0, 20]
    (invoice,) = await billed(database, owner)
    assert len(invoice.lines) == 20


async def test_an_interrupted_renewal_changes_nothing(
    owner: Owner, database: Database, monkeypatch: pytest.MonkeyPatch, domain: str
) -> None:
    await owner.claim_one("ada", domain)
    clock.move(timedelta(days=350))

    async def fail(*_: object, **__: object) -> None:
        raise psycopg.OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(issuance, "issue", fail)
        with pytest.raises(DatabaseUnavailable):
            await renew(database, owner)
    assert await billed(database, owner) == []
    assert await renew(database, owner) == 1
    assert len(await billed(database, owner)) == 1


async def test_the_job_renews_every_account_and_mails_the_invoice(
    owner: Owner, bob: Person, database: Database, worker: AliasWorker, conn: Conn
) -> None:
    other = Owner.of(database, bob)
    for each in (owner, other):
        await each.claim_one("ada", fresh(), price=Money.of("13.00", "USD"))
    clock.move(timedelta(days=350))
    for _ in range(2):
        async with database.transaction() as other_conn:
            await queue.defer(other_conn, renew_job, timestamp=0)
        await worker.work()
    for each in (owner, other):
        (invoice,) = await billed(database, each)
        assert str(invoice.total) == "13.00 USD"
        assert len(await published(conn, each.account_id, "invoice.created")) == 1


async def test_accounts_are_listed_in_pages(owner: Owner, database: Database, domain: str) -> None:
    await owner.claim_one("ada", domain)
    async with database.connection() as conn:
        assert owner.account_id not in await billing.list_due_accounts(conn, after=UUID(int=0))
        clock.move(timedelta(days=350))
        found = await billing.list_due_accounts(conn, after=UUID(int=0))
        assert owner.account_id in found
        assert list(found) == sorted(found)
        assert await billing.list_due_accounts(conn, after=ids.LAST) == []


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("claimed", "renewals_", "interval"),
    [
        ("2026-01-31", ["2026-02-28", "2026-03-31", "2026-04-30"], "month"),
        ("2028-01-30", ["2028-02-29", "2028-03-30"], "month"),
        ("2028-02-29", ["2029-02-28", "2030-02-28", "2031-02-28", "2032-02-29"], "year"),
        ("2026-12-15", ["2027-01-15", "2027-02-15"], "month"),
    ],
)
def test_months_are_calendar_months(claimed: str, renewals_: list[str], interval: PriceInterval) -> None:
    found, now = [], at(claimed)
    for _ in renewals_:
        now = billing.next_renewal(claimed_at=at(claimed), renews_at=now, interval=interval)
        found.append(now.date().isoformat())
    assert found == renewals_


times = st.datetimes(datetime(2020, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - hypothesis adds the time zone
intervals = st.sampled_from([PriceInterval.MONTH, PriceInterval.YEAR])


@given(times, intervals, st.integers(1, 60))
def test_renewals_are_on_the_day_of_the_claim(claimed: datetime, interval: PriceInterval, count: int) -> None:
    now = claimed
    for done in range(1, count + 1):
        after = billing.next_renewal(claimed_at=claimed, renews_at=now, interval=interval)
        assert after == billing.add_months(claimed, done * billing.MONTHS[interval])
        assert after.time() == claimed.time()
        assert after.day == claimed.day or (after + timedelta(days=1)).day == 1
        assert now < after <= now + timedelta(days=31 if interval is PriceInterval.MONTH else 366)
        now = after


@given(times, times, intervals)
def test_the_next_renewal_is_the_first_later_one(
    claimed: datetime, now: datetime, interval: PriceInterval
) -> None:
    now = max(claimed, now)
    after = billing.next_renewal(claimed_at=claimed, renews_at=now, interval=interval)
    assert after > now
    step = billing.MONTHS[interval]
    passed = (after.year - claimed.year) * 12 + after.month - claimed.month
    assert passed % step == 0
    assert billing.add_months(claimed, passed - step) <= now


async def test_postgresql_adds_months_equally(conn: Conn) -> None:
    claims = [at("2026-01-31"), at("2028-02-29"), at("2026-11-30"), at("2027-08-31")]
    for months in (1, 6, 12):
        cursor = await conn.execute(
            "SELECT claim + make_interval(months => %s) FROM unnest(%s::timestamptz[]) AS claim", [months, claims]
        )
        assert [row[0] for row in await cursor.fetchall()] == [billing.add_months(each, months) for each in claims]


async def test_a_released_name_is_not_charged_for_the_next_year(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, conn: Conn, domain: str
) -> None:
    ada, _ = await owner.claim(spec("ada", domain), spec("grace", domain))
    clock.move(timedelta(days=350))
    assert await renew(database, owner) == 2

    assert (await alice.delete(f"{ALIASES}/{ada}")).status_code == 200
    await worker.work()
    await worker.work()

    voided, anew = await billed(database, owner)
    assert (voided.status, [each.description for each in anew.lines]) == (
        InvoiceStatus.VOID,
        [f"grace@{domain}, 1 year"],
    )
    assert (anew.status, anew.due_at) == (InvoiceStatus.OPEN, voided.due_at)
    await owner.release((await owner.aliases())["grace"])
    clock.move(timedelta(days=60))
    await worker.work()
    await invoices.advance(database)
    assert {each.status for each in await billed(database, owner)} == {InvoiceStatus.VOID}
    assert await published(conn, owner.account_id, "invoice.overdue") == []


async def test_a_name_that_is_released_within_its_year_is_charged_for_it(
    alice: Person, owner: Owner, database: Database, worker: AliasWorker, domain: str
) -> None:
    ada = await owner.claim_one("ada", domain)
    clock.move(timedelta(days=350))
    assert await renew(database, owner) == 1
    clock.move(timedelta(days=30))
    assert (await alice.delete(f"{ALIASES}/{ada}")).status_code == 200
    await worker.work()
    assert [each.status for each in await billed(database, owner)] == [InvoiceStatus.OPEN]
