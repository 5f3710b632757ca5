"""Which deliveries are claimed when more are due than can be sent at once."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.webhooks import sender
from builders.webhooks.sender import SenderLimits
from builders.webhooks.store import claims
from builders.webhooks.store.claims import Claim
from tests.kit.outbound.receivers import calling
from tests.webhooks.engine.harness import Harness, later

URL = "https://93.184.215.14/hooks"


async def claim(
    harness: Harness,
    *,
    limit: int = 1000,
    unhealthy_limit: int = 1000,
    max_in_flight: int = 8,
    max_scanned: int = 1000,
) -> Sequence[Claim]:
    async with harness.database.transaction() as conn:
        assert await claims.lock_claims(conn)
        return await claims.claim(
            conn,
            limit=limit,
            unhealthy_limit=unhealthy_limit,
            max_scanned=max_scanned,
            max_in_flight=max_in_flight,
            overtaken=await claims.list_overtaken(conn, max_scanned=max_scanned, now=clock.now()),
            now=clock.now(),
        )


def shares(claimed: Sequence[Claim]) -> Counter[UUID]:
    return Counter(each.destination_id for each in claimed)


async def test_deliveries_in_flight_to_a_destination_are_limited(harness: Harness) -> None:
    account = await harness.account()
    made = [await harness.destination(account.id, URL) for _ in range(3)]
    await harness.happen(account.id, count=10)

    assert shares(await claim(harness, max_in_flight=4, max_scanned=10)) == dict.fromkeys(made, 4)
    assert shares(await claim(harness, max_in_flight=4, max_scanned=10)) == {}
    assert shares(await claim(harness, max_in_flight=6)) == dict.fromkeys(made, 2)
    later(claims.LEASE + timedelta(seconds=1))
    assert shares(await claim(harness, max_in_flight=4, max_scanned=10)) == dict.fromkeys(made, 4)


async def test_the_oldest_deliveries_are_claimed_first(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    for _ in range(6):
        await harness.happen(account.id)
        later(timedelta(seconds=1))
    order = [row.id for row in await harness.rows()]
    found = [each.delivery_id for _ in range(3) for each in await claim(harness, limit=2)]
    assert sorted(found) == order
    assert [set(found[n : n + 2]) for n in (0, 2, 4)] == [set(order[n : n + 2]) for n in (0, 2, 4)]


async def test_destinations_behind_a_backlog_are_claimed(harness: Harness) -> None:
    alice, bob = await harness.account(), await harness.account()
    busy = await harness.destination(alice.id, URL)
    await harness.happen(alice.id, count=60)
    later(timedelta(minutes=1))
    quiet = [await harness.destination(bob.id, URL) for _ in range(3)]
    await harness.happen(bob.id)

    assert shares(await claim(harness, max_in_flight=4, max_scanned=10)) == {busy: 4, **dict.fromkeys(quiet, 1)}


async def test_accounts_take_turns_whatever_their_number_of_destinations(harness: Harness) -> None:
    alice, bob = await harness.account(), await harness.account()
    for _ in range(20):
        await harness.destination(alice.id, URL)
    await harness.happen(alice.id, count=5)
    later(timedelta(minutes=1))
    await harness.destination(bob.id, URL)
    await harness.happen(bob.id, count=5)

    found = Counter(each.account_id for each in await claim(harness, limit=6))
    assert found == {alice.id: 3, bob.id: 3}


async def test_unhealthy_destinations_share_a_part_of_the_limit(harness: Harness) -> None:
    account = await harness.account()
    failing = [await harness.destination(account.id, URL) for _ in range(10)]
    slow = await harness.destination(account.id, URL)
    await harness.happen(account.id, count=10)
    async with harness.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET failures = 1 WHERE id = ANY(%s)", [failing])
        await conn.execute("UPDATE webhooks_destinations SET last_duration_ms = 9000 WHERE id = %s", [slow])
    healthy = await harness.destination(account.id, URL)
    async with harness.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET last_success_at = now()")
    later(timedelta(minutes=1))
    await harness.happen(account.id, count=10)

    claimed = await claim(harness, limit=16, unhealthy_limit=8, max_in_flight=8)
    assert Counter(each.is_unhealthy for each in claimed) == {True: 8, False: 8}
    assert {each.destination_id for each in claimed if not each.is_unhealthy} == {healthy}


async def test_destinations_that_were_never_reached_are_unhealthy(harness: Harness) -> None:
    strangers = [await harness.account() for _ in range(4)]
    for each in strangers:
        for _ in range(5):
            await harness.destination(each.id, URL)
        await harness.happen(each.id, count=10)
    account = await harness.account()
    known = await harness.destination(account.id, URL)
    async with harness.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET last_success_at = now() WHERE id = %s", [known])

    assert len(await claim(harness, limit=16, unhealthy_limit=8)) == 8
    await harness.happen(account.id, count=10)
    assert shares(await claim(harness, limit=8, unhealthy_limit=0)) == {known: 8}


async def test_two_senders_never_claim_the_same_delivery(harness: Harness) -> None:
    account = await harness.account()
    for _ in range(5):
        await harness.destination(account.id, URL)
    await harness.happen(account.id, count=20)

    async def work() -> list[UUID]:
        found: list[UUID] = []
        is_empty = False
        while not is_empty:  # until a turn of our own found nothing more
            async with harness.database.transaction() as conn:
                if await claims.lock_claims(conn):
                    some = await claims.claim(
                        conn,
                        limit=7,
                        unhealthy_limit=7,
                        max_in_flight=8,
                        overtaken=(),
                        now=clock.now(),
                    )
                    found += [each.delivery_id for each in some]
                    is_empty = not some
            await asyncio.sleep(0)
        return found

    found = [each for mine in await asyncio.gather(*(work() for _ in range(4))) for each in mine]
    assert len(found) == len(set(found)) == 40  # five destinations with eight each


async def test_a_sender_does_not_wait_for_another_claim(harness: Harness) -> None:
    async with harness.database.transaction() as first, harness.database.transaction() as second:
        assert await claims.lock_claims(first)
        assert not await claims.lock_claims(second)


async def test_a_limit_of_zero_claims_nothing(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.happen(account.id)
    assert len(await claim(harness, limit=0)) == 0
    assert len(await claim(harness)) == 1


async def test_a_lease_of_a_sender_with_a_fast_clock_counts_as_in_flight(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.happen(account.id, count=40)
    later(timedelta(seconds=5))
    assert len(await claim(harness, max_in_flight=8)) == 8
    later(timedelta(seconds=-5))
    assert len(await claim(harness, max_in_flight=8)) == 0


async def touched(harness: Harness, statement: str, row: dict[str, Any]) -> int:
    """Return how many blocks a statement touched, according to its plan."""
    async with harness.database.connection() as conn:
        query = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}".encode()
        (plan,) = await (await conn.execute(query, row)).fetchone() or ()
    return int(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])


def parameters(now: datetime) -> dict[str, Any]:
    row: dict[str, Any] = {
        "limit": 1,
        "unhealthy_limit": 1,
        "max_in_flight": sender.MAX_PER_DESTINATION,
        "slow_ms": 1,
        "seen": claims.MAX_SCANNED,
    }
    row |= {
        "lease_until": now + claims.LEASE,
        "skewed_until": now + claims.LEASE + claims.CLOCK_SKEW,
        "now": now,
    }
    return {**row, "account_ids": [], "destination_ids": []}


async def test_a_claim_does_not_scan_all_rows_behind_a_dead_receiver(harness: Harness) -> None:
    account = await harness.account()
    dead = await harness.destination(account.id, URL)
    await harness.happen(account.id, count=claims.MAX_SCANNED + 100)
    async with harness.database.transaction() as conn:
        await conn.execute(
            "UPDATE webhooks_destinations SET failures = 9, open_until = %s", [clock.now() + timedelta(hours=1)]
        )
        # Of 3,000 others something is due later.
        await conn.execute(
            """
            INSERT INTO webhooks_due
                (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
            SELECT account_id, gen_random_uuid(), created_at, gen_random_uuid(), event_id, %s
            FROM (SELECT * FROM webhooks_due LIMIT 1) AS one, generate_series(1, 3000)
            """,
            [clock.now() + timedelta(hours=2)],
        )
        await conn.execute("ANALYZE webhooks_due")
    other = await harness.account()
    quiet = await harness.destination(other.id, URL)
    await harness.happen(other.id)

    assert await touched(harness, claims.CLAIM, parameters(clock.now())) < 1000
    async with calling() as harness.outbound:
        found = shares(await harness.claim())
    assert (found[quiet], found[dead]) == (1, 0)


async def test_overtaken_destinations_are_looked_up_periodically(harness: Harness) -> None:
    harness.limits = SenderLimits(max_scanned=10)
    alice, bob = await harness.account(), await harness.account()
    await harness.destination(alice.id, URL)
    await harness.happen(alice.id, count=60)
    later(timedelta(minutes=1))
    async with calling() as harness.outbound:
        one = harness.sender()
        assert len(await one._claim()) == sender.MAX_PER_DESTINATION
        quiet = await harness.destination(bob.id, URL)
        await harness.happen(bob.id)
        assert shares(await one._claim()) == {}
        later(timedelta(seconds=10 * sender.OVERTAKEN_INTERVAL_S))
        assert shares(await one._claim()) == {quiet: 1}


async def test_overtaken_destinations_are_claimed_in_rotation(harness: Harness) -> None:
    harness.limits = SenderLimits(max_scanned=10, max_overtaken=3)
    busy, alice, bob = await harness.account(), await harness.account(), await harness.account()
    backlog = await harness.destination(busy.id, URL)
    await harness.happen(busy.id, count=60)
    later(timedelta(minutes=1))
    waiting = {await harness.destination(alice.id, URL) for _ in range(5)} | {
        await harness.destination(bob.id, URL)
    }
    await harness.happen(alice.id)
    await harness.happen(bob.id)
    async with calling() as harness.outbound:
        one = harness.sender()
        first, *others = [await one._claim() for _ in range(4)]
    assert {each.account_id for each in first} == {busy.id, alice.id, bob.id}
    found = [each for some in (first, *others) for each in some if each.destination_id != backlog]
    assert {each.destination_id for each in found} == waiting


@pytest.mark.parametrize("sold_out", [True, False])
async def test_claims_do_not_read_history_or_what_is_due_later(harness: Harness, *, sold_out: bool) -> None:
    """A claim touches few blocks beside 20,000 deliveries that are due later and 5,000 that are over."""
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.happen(account.id, count=3)
    async with harness.database.transaction() as conn:
        await conn.execute(
            """
            INSERT INTO webhooks_due
                (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
            SELECT account_id, gen_random_uuid(), created_at, destination_id, event_id, %s
            FROM webhooks_due, generate_series(1, 7000)
            """,
            [clock.now() + timedelta(hours=2)],
        )
        await conn.execute("ANALYZE webhooks_due")
    now = clock.now() - timedelta(hours=sold_out)
    assert await touched(harness, claims.CLAIM, parameters(now)) < 150
