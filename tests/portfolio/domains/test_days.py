"""The days of a portfolio: calendar days in the time zone of its account, the same in Python and in SQL."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies

from builders.kit.db.connections import Conn, Database
from builders.kit.events import dispatcher
from builders.kit.jobs import queue
from builders.kit.process.settings import Settings
from builders.kit.values import clock, texts
from builders.portfolio.domains import events as domain_events
from builders.portfolio.domains.records import PortfolioDomainStatus
from builders.portfolio.domains.today import Today, day_of
from tests.cast import Client, Person
from tests.portfolio.domains.make import DOMAINS, add, names
from tests.portfolio.domains.test_change import events
from tests.portfolio.domains.zones import ZONES
from tests.portfolio.renewals.make import report
from tests.portfolio.team.make import join, of

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
MOMENTS = strategies.integers(0, 20 * 366 * 86_400).map(
    lambda seconds: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
)
# Days without a time, and times, also around the clock changes of spring and autumn.
EXPIRIES = MOMENTS | strategies.dates(date(2020, 1, 1), date(2040, 1, 1)).map(
    lambda day: datetime(day.year, day.month, day.day, tzinfo=UTC)
)


@pytest.fixture
def noon() -> None:
    clock.move(NOON - clock.now())


async def set_zone(owner: Client, zone: str) -> None:
    answer = await owner.patch("/v1/me", json={"timezone": zone})
    assert answer.status_code == 200, answer.text


async def shown(owner: Client, name: str = "harbour.com", headers: Any = None) -> tuple[int, str]:
    found = (await owner.get(f"{DOMAINS}/{name}", headers=headers)).json()
    [item] = [
        each for each in (await owner.get(DOMAINS, headers=headers)).json()["items"] if each["domain"] == name
    ]
    assert (found["days_to_expiry"], found["lifecycle"]) == (item["days_to_expiry"], item["lifecycle"])
    return found["days_to_expiry"], found["lifecycle"]


@given(EXPIRIES, MOMENTS, ZONES)
def test_days_count_calendar_days(expires_at: datetime, now: datetime, zone: ZoneInfo) -> None:
    today = Today(now, zone)
    day = today.day_of(expires_at)
    assert today.day == now.astimezone(zone).date()
    assert today.days_until(expires_at) == (day - today.day).days
    is_day = expires_at.time() == datetime.min.time()
    assert day == (expires_at.date() if is_day else expires_at.astimezone(zone).date())


@given(EXPIRIES, ZONES)
def test_a_day_begins_with_its_first_time(expires_at: datetime, zone: ZoneInfo) -> None:
    today = Today(expires_at, zone)
    local = expires_at.astimezone(zone).date()
    assert today.start_of(local) <= expires_at < today.start_of(local + timedelta(days=1))
    assert Today(today.start_of(local), zone).day == local
    assert Today(today.start_of(local) - timedelta(microseconds=1), zone).day < local


@given(EXPIRIES, ZONES)
def test_the_bounds_of_a_day_hold_each_of_its_times(expires_at: datetime, zone: ZoneInfo) -> None:
    today = Today(NOON, zone)
    day = today.day_of(expires_at)
    assert today.before(day) <= expires_at < today.after(day)


@pytest.fixture(scope="module")
def plain(conninfo: str) -> Any:
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


def test_postgresql_knows_each_time_zone_of_a_profile(plain: psycopg.Connection) -> None:
    known = {name.lower() for (name,) in plain.execute("SELECT name FROM pg_timezone_names")}
    assert sorted(set(texts.timezones()) - known) == []


@hypothesis_settings(max_examples=30)
@given(strategies.lists(EXPIRIES, min_size=50, max_size=50), strategies.data())
def test_postgresql_decides_the_same_day(
    plain: psycopg.Connection, moments: list[datetime], data: strategies.DataObject
) -> None:
    zone = data.draw(ZONES)
    found = plain.execute(
        "SELECT portfolio_domains_day(at, %s) FROM unnest(%s::timestamptz[]) WITH ORDINALITY AS all_of (at, n)"
        " ORDER BY n",
        (zone.key, moments),
    ).fetchall()
    assert [day for (day,) in found] == [day_of(each, zone) for each in moments]


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Etc/GMT+12", "Asia/Kolkata", "America/New_York"])
@pytest.mark.usefixtures("noon")
async def test_a_date_of_today_is_today_and_not_expired(alice: Person, zone: str) -> None:
    await set_zone(alice, zone)
    today = NOON.astimezone(ZoneInfo(zone)).date()
    await add(alice, expires_at=today.isoformat())
    assert await shown(alice) == (0, "expiring")
    assert await names(alice, expiring_within_days=0) == ["harbour.com"]
    assert await names(alice, lifecycle="expiring") == ["harbour.com"]
    assert [each["days_left"] for each in (await report(alice, within_days=1))["items"]] == [0]
    await alice.patch(f"{DOMAINS}/harbour.com", json={"expires_at": (today - timedelta(days=1)).isoformat()})
    assert await shown(alice) == (-1, "grace")
    assert await names(alice, lifecycle="grace") == ["harbour.com"]


@pytest.mark.parametrize(
    ("zone", "expires_at", "days"),
    [
        pytest.param("Asia/Tokyo", "2026-11-22T15:30:00Z", 1, id="tomorrow in Tokyo"),
        pytest.param("America/Los_Angeles", "2026-11-23T07:30:00Z", 0, id="still today in Los Angeles"),
        pytest.param("Asia/Kolkata", "2026-11-22T18:29:59Z", 0, id="the last second of a half-hour zone"),
        pytest.param("Asia/Kolkata", "2026-11-22T18:30:00Z", 1, id="the first second of a half-hour zone"),
        pytest.param("America/New_York", "2027-03-14", 112, id="a day without a time over a clock change"),
        pytest.param("Europe/Berlin", "2027-03-22T22:59:59Z", 120, id="day 120 over a clock change"),
    ],
)
@pytest.mark.usefixtures("noon")
async def test_each_day_is_counted_in_the_time_zone_of_the_account(
    alice: Person, bob: Person, charlie: Person, zone: str, expires_at: str, days: int
) -> None:
    await set_zone(alice, zone)
    await set_zone(charlie, "Pacific/Kiritimati")  # that of a member does not count
    for owner in (alice, bob):
        await add(owner, expires_at=expires_at)
    await join(alice, charlie, "viewer")
    assert (await shown(alice))[0] == (await shown(charlie, headers=of(alice)))[0] == days
    assert [each["days_left"] for each in (await report(alice, within_days=max(days, 1)))["items"]] == [days]
    assert await names(alice, expiring_within_days=days) == ["harbour.com"]
    if days:
        assert await names(alice, expiring_within_days=days - 1) == []
    whole = datetime.fromisoformat(expires_at)
    at_utc = (whole.date() - NOON.date()).days
    assert (await shown(bob))[0] == at_utc  # without a time zone: UTC


@pytest.mark.usefixtures("noon")
async def test_a_test_key_counts_days_as_its_owner(alice: Person) -> None:
    await set_zone(alice, "Asia/Tokyo")
    await add(alice.test, expires_at="2026-11-22T15:30:00Z")
    assert await shown(alice.test) == (1, "expiring")


@pytest.mark.usefixtures("noon")
async def test_a_filter_finds_the_state_that_is_shown(alice: Person) -> None:
    suffixes = ["com", "de", "co.uk", "eu", "se", "com.au", "es", "it", "ca", "at", "pl", "xn--p1ai"]
    rows = []
    for at, suffix in enumerate(suffixes):
        for days in (400, 30, 31, 0, -1, -10, -44, -46, -75, -77, -90, -92, -400):
            moment = NOON + timedelta(days=days, hours=(at % 5) * 5 - 10)
            rows.append({"domain": f"a{days + 400}.{suffix}", "expires_at": moment.isoformat()})
        rows.append({"domain": f"reported.{suffix}", "expires_at": "2020-01-01"})
    rows += [{"domain": "sold.com", "expires_at": "2020-01-01", "status": PortfolioDomainStatus.SOLD}]
    for zone in ("UTC", "Asia/Kathmandu", "Pacific/Pago_Pago"):
        await set_zone(alice, zone)
        if zone == "UTC":
            done = await alice.post("/v1/portfolio/import", json={"rows": rows})
            assert done.json()["summary"]["created"] == len(rows), done.text
        states: dict[str, set[str]] = {}
        items = (await alice.get(DOMAINS, params={"limit": 200})).json()["items"]
        for each in items:
            states.setdefault(each["lifecycle"], set()).add(each["domain"])
        assert len(items) == len(rows)
        for state in ("active", "expiring", "grace", "redemption", "quarantine", "pending_delete", "expired"):
            assert set(await names(alice, lifecycle=state, limit=200)) == states.get(state, set()), (zone, state)
        assert set(await names(alice, lifecycle="unknown", limit=200)) == states["unknown"]


async def advance(database: Database, conn: Conn, owner: Person) -> list[str]:
    """Compute the states that are due; return the states that the owner's domains had when they expired."""
    count = 1
    while count:
        async with database.transaction() as writing:
            count = await domain_events.advance_lifecycles(writing, limit=100)
    found = await events(conn, owner.account.id)
    return [data["lifecycle"] for name, data in found if name == "domain.expired"]


@pytest.mark.usefixtures("noon")
async def test_a_state_begins_with_the_day_of_the_account(alice: Person, database: Database, conn: Conn) -> None:
    await set_zone(alice, "America/New_York")
    await add(alice, expires_at="2026-11-24")
    with clock.moved(datetime(2026, 11, 25, 4, 59, tzinfo=UTC) - clock.now()):
        assert await advance(database, conn, alice) == []
        assert await shown(alice) == (0, "expiring")
    with clock.moved(datetime(2026, 11, 25, 5, 0, tzinfo=UTC) - clock.now()):
        assert await advance(database, conn, alice) == ["grace"]
        assert await shown(alice) == (-1, "grace")


@pytest.mark.usefixtures("noon")
async def test_another_time_zone_moves_the_begin_of_each_state(
    alice: Person, database: Database, conn: Conn, settings: Settings
) -> None:
    await set_zone(alice, "America/New_York")
    await add(alice, expires_at="2026-11-24")
    await set_zone(alice, "Asia/Tokyo")
    async with database.transaction() as writing:
        while await dispatcher.dispatch(writing):
            pass
    await queue.run_pending(database, settings)
    assert await advance(database, conn, alice) == []
    with clock.moved(datetime(2026, 11, 24, 14, 59, tzinfo=UTC) - clock.now()):
        assert await advance(database, conn, alice) == []
    with clock.moved(datetime(2026, 11, 24, 15, 0, tzinfo=UTC) - clock.now()):
        assert await advance(database, conn, alice) == ["grace"]
