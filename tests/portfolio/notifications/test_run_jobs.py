"""The jobs of the daily run: once a day for each portfolio, in time slices."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.db import old_rows
from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.portfolio.domains import changes
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.notifications import jobs, runs
from builders.portfolio.notifications.runs import Progress
from tests.cast import Person
from tests.portfolio.notifications.make import domain, emails, notices

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
LOOK_THROUGH_OTHERS = """
    INSERT INTO portfolio_notifications_runs (account_id, run_on)
    SELECT DISTINCT account_id, 'infinity'::date FROM portfolio_domains
    ON CONFLICT (account_id) DO UPDATE SET run_on = excluded.run_on
"""


@pytest.fixture(autouse=True)
async def _others_are_done(conn: Conn) -> None:
    """Mark the portfolios of other tests as looked through: they are thousands."""
    await conn.execute(LOOK_THROUGH_OTHERS)
    clock.move(NOON - clock.now())


async def test_the_job_looks_through_each_portfolio_once_a_day(
    alice: Person, database: Database, settings: Settings
) -> None:
    async def work() -> None:
        async with database.transaction() as conn:
            await queue.defer(conn, jobs.send_renewal_notices, timestamp=0)
            await queue.defer(conn, jobs.deliver_notices, timestamp=0)
        await queue.run_pending(database, settings)

    async with database.transaction() as conn:
        new = [domain("a.example", 7), domain("sold.example", 7, status=PortfolioDomainStatus.SOLD)]
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
    await work()
    assert [each["domain"] for each in await notices(alice)] == ["a.example"]
    assert len(await emails(database, alice)) == 1
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=alice.account.id, new=[domain("b.example", 7)])
    await work()
    assert len(await notices(alice)) == 1
    clock.move(timedelta(days=1))
    await work()
    assert len(await notices(alice)) == 2
    await old_rows.delete(database, "portfolio_notifications_notices")
    assert len(await notices(alice)) == 2
    clock.move(timedelta(days=181))
    await old_rows.delete(database, "portfolio_notifications_notices")
    assert await notices(alice) == []


async def test_a_large_portfolio_is_looked_through_in_time_slices(
    alice: Person, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, unpatched = list[int](), runs.run

    async def run(*arguments: Any, **options: Any) -> Progress:
        progress = await unpatched(*arguments, batch_size=2, **options)
        if options["account_id"] == alice.account.id:  # other tests have portfolios in the same database
            made.append(progress.notices)
        return progress

    monkeypatch.setattr(runs, "run", run)
    async with database.transaction() as conn:
        new = [domain(f"{name}.example", 7) for name in "abcde"]
        await changes.add_domains(conn, account_id=alice.account.id, new=new)
        await queue.defer(conn, jobs.send_renewal_notices, timestamp=0)
    await queue.run_pending(database, settings.model_copy(update={"worker_slice_s": 0.0}))
    assert made == [2, 2, 1]
    assert len(await notices(alice)) == 5


@pytest.mark.parametrize(
    ("zone", "first", "hours"),
    [
        ("UTC", True, 18),  # until six o'clock of the next day
        ("Asia/Tokyo", True, 9),  # it is nine in the evening there
        ("America/Los_Angeles", False, 2),  # it is four in the morning there
        ("Pacific/Kiritimati", False, 4),  # it is two in the morning of the next day there
    ],
)
async def test_a_run_begins_in_the_morning_of_the_account(
    alice: Person, database: Database, zone: str, first: bool, hours: int
) -> None:
    await alice.patch("/v1/me", json={"timezone": zone})
    account_id = alice.account.id
    async with database.transaction() as conn:
        await changes.add_domains(conn, account_id=account_id, new=[domain("a.example", 7)])

    async def is_due() -> bool:
        async with database.connection() as conn:
            found: list[UUID] = []
            after: UUID | None = ids.NIL
            while after is not None:
                due, after = await runs.list_portfolios(conn, after=after)
                found += due
            return account_id in found

    assert await is_due() is first
    if first:
        await runs.run(database, account_id=account_id)
        assert await is_due() is False
    clock.move(timedelta(hours=hours, minutes=-1))
    assert await is_due() is False
    clock.move(timedelta(minutes=1))
    assert await is_due() is True
