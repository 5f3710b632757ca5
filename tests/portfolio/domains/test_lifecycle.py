"""The life cycle of a domain: states by dated rules, and events once for each state."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies

from builders.kit.db.connections import Conn, Database
from builders.kit.values import clock
from builders.portfolio.domains import events as domain_events, lifecycle
from builders.portfolio.domains.records import DomainFields, Lifecycle, PortfolioDomainStatus
from builders.portfolio.domains.today import Today
from tests.cast import Person
from tests.portfolio.domains.make import DOMAINS, add
from tests.portfolio.domains.test_change import events
from tests.portfolio.domains.zones import ZONES

EXPIRY = datetime(2026, 3, 1, tzinfo=UTC)
ACTIVE, EXPIRING, GRACE = Lifecycle.ACTIVE, Lifecycle.EXPIRING, Lifecycle.GRACE
REDEMPTION, PENDING_DELETE, EXPIRED = Lifecycle.REDEMPTION, Lifecycle.PENDING_DELETE, Lifecycle.EXPIRED
UNKNOWN = Lifecycle.UNKNOWN


@pytest.mark.parametrize(
    ("tld", "days", "state"),
    [
        ("com", -31, ACTIVE),
        ("com", -30, EXPIRING),
        ("com", 0, EXPIRING),
        ("com", 1, GRACE),
        ("com", 45, GRACE),
        ("com", 46, REDEMPTION),
        ("com", 75, REDEMPTION),
        ("com", 76, PENDING_DELETE),
        ("com", 80, PENDING_DELETE),
        ("com", 81, EXPIRED),
        ("berlin", 46, REDEMPTION),
        ("xn--vermgensberatung-pwb", 46, REDEMPTION),
        *((tld, 1, UNKNOWN) for tld in ("xn--p1ai", "edu", "uk.com", "example", "io", "ai", "us", "pl", "in")),
        *((tld, 1, UNKNOWN) for tld in ("me", "tv", "cc", "co.jp")),
        ("pl", 0, EXPIRING),
        ("de", -30, EXPIRING),
    ],
)
def test_a_state_follows_the_rules_of_the_tld(tld: str, days: int, state: Lifecycle) -> None:
    fields = DomainFields(expires_at=EXPIRY)
    assert lifecycle.state_of(fields, tld=tld, today=Today(EXPIRY + timedelta(days=days))).lifecycle is state


@pytest.mark.parametrize(
    ("statuses", "state"),
    [
        (["pendingDelete"], PENDING_DELETE),
        (["pendingDelete", "redemptionPeriod"], REDEMPTION),
        (["pending delete", "redemption period"], REDEMPTION),
        (["autoRenewPeriod", "clientHold"], ACTIVE),
        ([], ACTIVE),
    ],
)
def test_what_the_registry_says_outweighs_the_dates(statuses: list[str], state: Lifecycle) -> None:
    fields = DomainFields(expires_at=EXPIRY, epp_statuses=statuses)
    assert lifecycle.state_of(fields, tld="com", today=Today(EXPIRY - timedelta(days=300))).lifecycle is state


@given(
    strategies.sampled_from(["com", "de", "uk", "se", "pl"]),
    strategies.timedeltas(timedelta(days=-2_000), timedelta(days=2_000)).map(EXPIRY.__add__),
    strategies.timedeltas(timedelta(days=-400), timedelta(days=400)),
    strategies.sampled_from(PortfolioDomainStatus),
    ZONES,
)
def test_a_state_lasts_until_its_end(
    tld: str, expires_at: datetime, after: timedelta, status: PortfolioDomainStatus, zone: ZoneInfo
) -> None:
    fields, now = DomainFields(expires_at=expires_at, status=status), expires_at + after
    state = lifecycle.state_of(fields, tld=tld, today=Today(now, zone))
    assert (state.lifecycle is None) == (not status.is_held)
    if state.changes_at is None:
        assert state.lifecycle in {None, EXPIRED, UNKNOWN}
        return
    assert state.changes_at > now
    last = lifecycle.state_of(fields, tld=tld, today=Today(state.changes_at - timedelta(microseconds=1), zone))
    assert last == state
    following = lifecycle.state_of(fields, tld=tld, today=Today(state.changes_at, zone))
    assert following.lifecycle != state.lifecycle


async def test_drop_dates_are_shown(alice: Person) -> None:
    added = await add(alice, expires_at="2190-03-01")
    assert added["drop_dates"] == {
        "renewable_until": "2190-05-15T00:00:00Z",
        "grace_end": "2190-04-15T00:00:00Z",
        "redemption_end": "2190-05-15T00:00:00Z",
        "quarantine_end": None,
        "pending_delete_end": "2190-05-20T00:00:00Z",
        "drops_at": "2190-05-20T00:00:00Z",
        "basis": "gTLD: auto-renew grace up to 45 days, redemption 30 days, pending delete 5 days",
        "source": "https://www.icann.org/resources/pages/errp-2013-02-28-en",
    }
    polish = await add(alice, "harbour.pl", expires_at="2190-03-01")
    assert set(polish["drop_dates"].values()) == {None}
    expired = await add(alice, "old.com", expires_at=f"{clock.now() - timedelta(days=50):%Y-%m-%d}")
    assert (expired["lifecycle"], expired["days_to_expiry"]) == ("redemption", -50)
    sold = (await alice.patch(f"{DOMAINS}/old.com", json={"status": "sold"})).json()
    assert (sold["lifecycle"], sold["days_to_expiry"]) == (None, -50)


async def advance(database: Database) -> None:
    """Run the job twice, on two workers at once."""

    async def work() -> None:
        count = 1
        while count:
            async with database.transaction() as conn:
                count = await domain_events.advance_lifecycles(conn, limit=2)

    await asyncio.gather(work(), work())
    await work()


async def test_each_state_is_published_once(alice: Person, bob: Person, database: Database, conn: Conn) -> None:
    start = clock.now()
    for owner, name, days in (
        (alice, "a.com", 40),
        (alice, "b.pl", 40),
        (alice, "c.com", 400),
        (alice, "d.com", None),
        (bob, "a.com", 40),
    ):
        when = None if days is None else (start + timedelta(days=days)).isoformat()
        await add(owner, name, expires_at=when)
    await alice.patch(f"{DOMAINS}/c.com", json={"status": "sold"})
    found: list[tuple[str, str, str]] = []
    for days in (1, 20, 50, 100, 200):
        with clock.moved(timedelta(days=days)):
            await advance(database)
        of_alice = await events(conn, alice.account.id)
        kept = [each for each in of_alice if each[0] in {"lifecycle.changed", "domain.expired"}]
        found = [(name, data["domain"], data["lifecycle"]) for name, data in kept]
    assert sorted(found) == [
        ("domain.expired", "a.com", "grace"),
        ("domain.expired", "b.pl", "unknown"),
        *(("lifecycle.changed", "a.com", state) for state in ("expired", "expiring", "grace", "redemption")),
        *(("lifecycle.changed", "b.pl", state) for state in ("expiring", "unknown")),
    ]
    of_bob = [name for name, _ in await events(conn, bob.account.id)]
    assert of_bob.count("domain.expired") == 1


async def test_a_new_expiry_is_a_new_state_at_once(alice: Person, conn: Conn) -> None:
    added = await add(alice, expires_at="2190-01-01")
    path, soon = f"{DOMAINS}/{added['id']}", clock.now() + timedelta(days=3)
    for when in (soon, soon - timedelta(days=10), soon):
        await alice.patch(path, json={"expires_at": when.isoformat()})

    found = await events(conn, alice.account.id)

    states = [data["lifecycle"] for name, data in found if name == "lifecycle.changed"]
    assert states == ["expiring", "grace", "expiring"]
    assert sum(name == "domain.expired" for name, _ in found) == 1
    assert UUID(found[-1][1]["id"]) == UUID(added["id"])
