"""The days that notices of expiries count: calendar days in the time zone of the account."""

from datetime import UTC, datetime, timedelta

import pytest

from builders.kit.db.connections import Database
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.portfolio.notifications import runs
from tests.cast import Person
from tests.portfolio.domains.make import add
from tests.portfolio.notifications.make import deliver, notices, read_email

MORNING = datetime(2026, 11, 22, 6, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("zone", "expires_at", "days"),
    [
        ("UTC", "2027-02-20", 90),
        ("UTC", "2027-02-20T05:00:00Z", 90),
        ("UTC", "2027-02-20T23:00:00Z", 90),
        ("America/Los_Angeles", "2027-02-20T23:00:00Z", 91),  # it is still the 21st of November there
        ("America/Los_Angeles", "2027-02-20T05:00:00Z", 90),
        ("Asia/Kolkata", "2027-02-20T18:30:00Z", 91),
        ("Asia/Kolkata", "2027-02-20T18:29:00Z", 90),
        ("Pacific/Kiritimati", "2026-11-22", 0),
        ("UTC", "2026-11-22", 0),
        ("UTC", "2026-11-22T01:00:00Z", 0),
        ("UTC", "2026-11-21T23:00:00Z", -1),
    ],
)
async def test_a_notice_says_the_days_of_its_threshold(
    alice: Person, bob: Person, database: Database, settings: Settings, zone: str, expires_at: str, days: int
) -> None:
    clock.move(MORNING - clock.now())
    assert (await alice.patch("/v1/me", json={"timezone": zone})).status_code == 200
    await add(alice, expires_at=expires_at, auto_renew=False)
    await runs.run(database, account_id=alice.account.id)
    when = {0: "expires today", -1: "expired 1 day ago"}.get(days, f"expires in {days} days")
    expected = [] if days > 90 else [(days, f"harbour.com {when}.")]
    assert [(each["threshold_days"], each["title"]) for each in await notices(alice)] == expected
    assert await notices(bob) == []
    if days == 90:
        await deliver(database, settings, alice.account.id)
        await queue.run_pending(database, settings)
        assert "90 days" in read_email(settings, alice)
    if days > 90:
        clock.move(timedelta(days=1))
        await runs.run(database, account_id=alice.account.id)
        assert [each["title"] for each in await notices(alice)] == ["harbour.com expires in 90 days."]
