"""The daily run over the domains of a portfolio: a year of it, killed workers, costs and jobs."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from builders.kit.db.connections import Conn, Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.kit.values.money import Money
from builders.mail import service as mail
from builders.portfolio.domains import changes as domain_changes, lookups
from builders.portfolio.domains.records import ChangeSource, DomainChange, domain_patch
from builders.portfolio.ledger import rates
from builders.portfolio.ledger.records import Rate
from builders.portfolio.notifications import notices as notification_notices, runs
from tests.cast import Person
from tests.conftest import MakePerson
from tests.portfolio.notifications.make import (
    NOTICES,
    PREFERENCES,
    deliver,
    domain,
    emails,
    notices,
    notify,
    prefer,
    read_email,
)
from tests.portfolio.team.make import join, of

DAYS = (90, 60, 30, 14, 7, 3, 1, 0, -1)
COUNT, BATCH = 250, 50
MADE = """
    SELECT domain, expires_on, threshold_days, created_at, emailed_at FROM portfolio_notifications_notices
    WHERE account_id = %s ORDER BY id
"""
PUBLISHED = "SELECT count(*) FROM kit_outbox WHERE account_id = %s AND name LIKE 'portfolio.renewal.%%'"
Made = Counter[tuple[str, date, int]]


class WorkerKilledError(Exception):
    """A worker that ends in the middle of a run."""


def due(expiries: dict[str, datetime], now: datetime, sent: Made) -> None:
    """Add what is due by the definition of a threshold: the smallest one that is reached, once for an expiry."""
    for name, expires_at in expiries.items():
        left = (expires_at.date() - now.date()).days
        reached = [days for days in DAYS if days >= left >= -30]
        if reached:
            sent[name, expires_at.date(), min(reached)] = 1


async def renew(database: Database, account_id: UUID, expiries: dict[str, datetime], names: Sequence[str]) -> None:
    """Move the expiry of domains by a year."""
    async with database.transaction() as conn:
        found = await lookups.load_domains(conn, account_id=account_id, names=names)
        for name in names:
            expiries[name] += timedelta(days=365)
        changes = [
            DomainChange(id=each.id, patch=domain_patch(expires_at=expiries[name])) for name, each in found.items()
        ]
        await domain_changes.change_domains(
            conn, account_id=account_id, changes=changes, source=ChangeSource.REGISTRAR
        )


async def test_over_a_year_each_threshold_is_one_notice(
    people: MakePerson, database: Database, settings: Settings, conn: Conn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job runs daily, then late, twice at once, and is killed between two batches; every third name renews."""
    owner = (await people("alice")).account.id
    domains = [domain(f"d{n}.example", n * 7 % 400) for n in range(COUNT)]
    expiries = {each.name.domain: each.expires_at for each in domains if each.expires_at is not None}
    await notify(database, owner, domains)
    expected: Made = Counter()
    due(expiries, clock.now(), expected)
    elapsed = 0
    while elapsed < 365:
        step = 1 if elapsed < 10 else 2 + elapsed % 9
        elapsed += step
        clock.move(timedelta(days=step))
        if elapsed % 7 == 0:
            await run_killed(database, owner, monkeypatch)
        await asyncio.gather(
            *(runs.run(database, account_id=owner, batch_size=BATCH) for _ in range(1 + (elapsed % 5 == 0)))
        )
        if elapsed % 3 == 0:
            await deliver(database, settings, owner)
        due(expiries, clock.now(), expected)
        soon = [name for name, at in expiries.items() if at < clock.now() + timedelta(days=5)]
        await renew(database, owner, expiries, [name for name in soon if int(name[1:-8]) % 3 == 0])

    rows = await (await conn.execute(MADE, [owner])).fetchall()
    assert Counter((name, expires_on, days) for name, expires_on, days, *_ in rows) == expected
    assert set(DAYS) == {days for _, _, days in expected}
    assert await (await conn.execute(PUBLISHED, [owner])).fetchone() == (len(rows),)


async def run_killed(database: Database, owner: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run until the second batch has been written, which is then rolled back."""
    write, written = notification_notices.notify_of_expiry, 0

    async def write_and_end(*args: object, **options: object) -> int:
        nonlocal written
        made = await write(*args, **options)  # type: ignore[arg-type] # the arguments of any of the writers
        written += 1
        if written > 1:
            raise WorkerKilledError
        return made

    with monkeypatch.context() as patch:
        patch.setattr(runs, "notify_of_expiry", write_and_end)
        with pytest.raises(WorkerKilledError):
            await runs.run(database, account_id=owner, batch_size=BATCH)


async def test_a_worker_that_ends_while_it_sends_leaves_the_email_to_the_next(
    alice: Person, database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    await notify(database, alice.account.id, [domain("a.example", 7)])

    async def end(*_: object, **__: object) -> None:
        raise WorkerKilledError

    with monkeypatch.context() as patch:
        patch.setattr(mail, "send", end)
        with pytest.raises(WorkerKilledError):
            await deliver(database, settings, alice.account.id)
    assert await emails(database, alice) == []
    assert await deliver(database, settings, alice.account.id) == 1
    assert len(await emails(database, alice)) == 1


async def test_an_email_that_waited_leaves_out_what_was_renewed(
    alice: Person, database: Database, settings: Settings
) -> None:
    owner = alice.account.id
    await prefer(alice, digest={"enabled": True})
    domains = [domain("a.example", 30), domain("b.example", 30)]
    await notify(database, owner, domains)
    expiries = {each.name.domain: each.expires_at for each in domains if each.expires_at is not None}
    await renew(database, owner, expiries, ["a.example"])
    clock.move(timedelta(days=1))
    assert await deliver(database, settings, owner) == 2
    await queue.run_pending(database, settings)
    text = read_email(settings, alice)
    assert "Subject: Digest: 1 domain to review before renewal" in text
    assert " b.example" in text
    assert " a.example" not in text


async def test_over_a_clock_change_quiet_hours_end_at_the_local_time(
    alice: Person, database: Database, settings: Settings
) -> None:
    quiet = {"enabled": True, "start": "22:00", "end": "07:00"}
    await prefer(alice, timezone="Europe/Berlin", quiet_hours=quiet)
    # Saturday evening, 23:30 in winter; the night has the change to summer time.
    year = clock.now().year + 1
    change = next(day for day in (date(year, 3, 31 - back) for back in range(7)) if day.isoweekday() == 7)
    evening = datetime.combine(change, datetime.min.time(), UTC) - timedelta(minutes=90)
    clock.move(evening - clock.now())
    await notify(database, alice.account.id, [domain("a.example", 7)])
    assert await deliver(database, settings, alice.account.id) == 0
    (notice,) = await notices(alice)
    assert (notice["email_at"], notice["held_by"]) == (f"{change}T05:00:00Z", "quiet_hours")
    clock.move(timedelta(hours=6, minutes=29))
    assert await deliver(database, settings, alice.account.id) == 0
    clock.move(timedelta(minutes=2))
    assert await deliver(database, settings, alice.account.id) == 1


async def test_a_month_above_the_limit_is_one_alert(
    alice: Person, charlie: Person, database: Database, settings: Settings, conn: Conn
) -> None:
    owner = alice.account.id
    await join(alice, charlie, "viewer")
    limit = {"cost_alert": {"monthly_renewals_above": {"amount": "25.00", "currency": "EUR"}}}
    await prefer(alice, **limit, expiry={"thresholds": []})
    theirs = {"enabled": True, "expiry": {"thresholds": []}, **limit}
    await charlie.patch(PREFERENCES, json=theirs, headers=of(alice))
    today = clock.now().date()
    async with database.transaction() as transaction:
        rate = Rate(currency="XTS", quoted_on=today, rate=Decimal(2))
        await rates.load_rates(transaction, rates=[rate])
    next_month = (today.replace(day=1) + timedelta(days=31)).replace(day=15)
    days = (next_month - today).days
    euros, others = Money.of("12.00", "EUR"), Money.of("30.00", "XTS")
    await notify(database, owner, [domain("a.example", days, renewal_price=euros)])
    assert await notices(alice) == []
    await notify(database, owner, [domain("b.example", days, renewal_price=others)])
    await notify(database, owner, [domain("c.example", days, renewal_price=None)])

    (notice,) = await notices(alice)
    assert (notice["event"], notice["month"]) == ("portfolio.renewal.cost_exceeded", f"{next_month:%Y-%m}-01")
    assert notice["amount"] == {"amount": "27.00", "currency": "EUR"}
    assert notice["title"] == f"The renewals of {next_month:%B %Y} cost more than your limit."
    assert await notices(charlie, headers=of(alice)) == []  # a viewer sees no money
    assert await (await conn.execute(PUBLISHED, [owner])).fetchone() == (1,)
    assert await deliver(database, settings, owner) == 1


async def test_a_snoozed_renewal_has_no_notice_before_its_day(alice: Person, database: Database) -> None:
    today, new = clock.now().date(), [domain("harbour.com", 20), domain("lantern.com", 20)]
    async with database.transaction() as conn:
        await domain_changes.add_domains(conn, account_id=alice.account.id, new=new)
    items = [
        {"domain_id": "harbour.com", "snooze_until": str(today + timedelta(days=3))},
        {"domain_id": "lantern.com", "snooze_until": str(today)},
    ]
    answer = await alice.patch("/v1/portfolio/renewals/bulk", json={"items": items})
    assert answer.json()["summary"]["updated"] == 2, answer.text
    assert await notify(database, alice.account.id) == 1
    assert [each["domain"] for each in await notices(alice)] == ["lantern.com"]
    clock.move(timedelta(days=3))
    await notify(database, alice.account.id)
    assert {each["domain"] for each in await notices(alice)} == {"lantern.com", "harbour.com"}


async def run_twice(alice: Person, database: Database) -> list[str]:
    """The domains of the notices that two runs at once, and a third, make."""
    before = {each["id"] for each in await notices(alice)}
    await asyncio.gather(*(notify(database, alice.account.id) for _ in range(2)))
    await notify(database, alice.account.id)
    return sorted(each["domain"] for each in await notices(alice) if each["id"] not in before)


async def test_a_notice_is_repeated_each_day_until_it_is_acknowledged(
    alice: Person, charlie: Person, database: Database, settings: Settings
) -> None:
    """Alice acknowledges one, a decision ends another; what Charlie sees depends on his own preferences."""
    owner, names = alice.account.id, ("a.example", "b.example", "c.example")
    await join(alice, charlie, "manager")
    await charlie.patch(PREFERENCES, json={"enabled": True}, headers=of(alice))
    await prefer(alice, expiry={"repeat_until_ack": True, "thresholds": [10, 5]})
    assert await notify(database, owner, [domain(name, 8) for name in names]) == 6
    await deliver(database, settings, owner)
    await queue.run_pending(database, settings)
    assert "/v1/portfolio/notifications/acknowledge" in read_email(settings, alice)

    assert await run_twice(alice, database) == []
    clock.move(timedelta(days=1))
    assert await run_twice(alice, database) == [*names]
    first = {each["domain"]: each["id"] for each in await notices(alice)}["a.example"]
    for count in (1, 0):
        answer = await alice.post(f"{NOTICES}/acknowledge", json={"ids": [first]})
        assert answer.json() == {"acknowledged": count, "warnings": []}
    found = {each["id"]: each for each in await notices(alice)}[first]
    assert found["acknowledged_at"] == found["read_at"] is not None
    assert (await charlie.post(f"{NOTICES}/acknowledge", json={"ids": [first]})).json()["acknowledged"] == 0
    decided = await alice.patch(
        "/v1/portfolio/renewals/bulk", json={"items": [{"domain_id": "b.example", "decision": "renew"}]}
    )
    assert decided.json()["summary"]["updated"] == 1
    clock.move(timedelta(days=1))
    assert await run_twice(alice, database) == ["c.example"]

    clock.move(timedelta(days=1))  # the next threshold is another notice
    assert await run_twice(alice, database) == [*names]
    clock.move(timedelta(days=1))
    assert await run_twice(alice, database) == ["a.example", "c.example"]
    await prefer(alice, expiry={"repeat_until_ack": None})
    clock.move(timedelta(days=1))
    assert await run_twice(alice, database) == []
    assert Counter(each["domain"] for each in await notices(charlie, headers=of(alice))) == dict.fromkeys(names, 3)
