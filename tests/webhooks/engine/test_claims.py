"""Who is served when there is more to send than can be sent at once."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from builders.kit.values import clock
from builders.webhooks import attempts, sender
from builders.webhooks.store import claims
from builders.webhooks.store.claims import Claim
from tests.kit.outbound.receivers import calling
from tests.webhooks.engine.house import House, later

URL = "https://93.184.215.14/hooks"


async def claim(house: House, *, room: int = 1000, troubled_room: int = 1000, most: int = 8) -> Sequence[Claim]:
    async with house.database.transaction() as conn:
        assert await claims.lock_claims(conn)
        return await claims.claim(
            conn,
            room=room,
            troubled_room=troubled_room,
            most=most,
            behind=await claims.list_overtaken(conn, now=clock.now()),
            slow_ms=attempts.SLOW_MS,
            lease=attempts.LEASE,
            skew=attempts.CLOCK_SKEW,
            now=clock.now(),
        )


def shares(claimed: Sequence[Claim]) -> Counter[UUID]:
    return Counter(each.destination_id for each in claimed)


async def test_a_destination_has_so_many_in_flight_and_no_more(house: House) -> None:
    account = await house.account()
    made = [await house.destination(account.id, URL) for _ in range(3)]
    await house.happen(account.id, count=10)

    assert shares(await claim(house, most=4)) == dict.fromkeys(made, 4)
    assert shares(await claim(house, most=4)) == {}
    assert shares(await claim(house, most=6)) == dict.fromkeys(made, 2)
    later(attempts.LEASE + timedelta(seconds=1))
    assert shares(await claim(house, most=4)) == dict.fromkeys(made, 4)


async def test_the_oldest_are_claimed_first(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    for _ in range(6):
        await house.happen(account.id)
        later(timedelta(seconds=1))
    order = [row.id for row in await house.rows()]
    found = [each.delivery_id for _ in range(3) for each in await claim(house, room=2)]
    assert sorted(found) == order
    assert [set(found[n : n + 2]) for n in (0, 2, 4)] == [set(order[n : n + 2]) for n in (0, 2, 4)]


async def test_behind_the_backlog_of_one_the_others_are_seen(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MAX_SCANNED", 10)
    alice, bob = await house.account(), await house.account()
    busy = await house.destination(alice.id, URL)
    await house.happen(alice.id, count=60)
    later(timedelta(minutes=1))
    quiet = [await house.destination(bob.id, URL) for _ in range(3)]
    await house.happen(bob.id)

    assert shares(await claim(house, most=4)) == {busy: 4, **dict.fromkeys(quiet, 1)}


async def test_an_account_with_many_destinations_takes_no_more_turns_than_one_with_one(house: House) -> None:
    alice, bob = await house.account(), await house.account()
    for _ in range(20):
        await house.destination(alice.id, URL)
    await house.happen(alice.id, count=5)
    later(timedelta(minutes=1))
    await house.destination(bob.id, URL)
    await house.happen(bob.id, count=5)

    found = Counter(each.account_id for each in await claim(house, room=6))
    assert found == {alice.id: 3, bob.id: 3}


async def test_those_that_fail_share_a_part_of_the_room(house: House) -> None:
    account = await house.account()
    failing = [await house.destination(account.id, URL) for _ in range(10)]
    slow = await house.destination(account.id, URL)
    await house.happen(account.id, count=10)
    async with house.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET failures = 1 WHERE id = ANY(%s)", [failing])
        await conn.execute("UPDATE webhooks_destinations SET last_duration_ms = 9000 WHERE id = %s", [slow])
    healthy = await house.destination(account.id, URL)
    async with house.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET last_success_at = now()")
    later(timedelta(minutes=1))
    await house.happen(account.id, count=10)

    claimed = await claim(house, room=16, troubled_room=8, most=8)
    assert Counter(each.troubled for each in claimed) == {True: 8, False: 8}
    assert {each.destination_id for each in claimed if not each.troubled} == {healthy}


async def test_so_do_those_that_were_never_reached(house: House) -> None:
    strangers = [await house.account() for _ in range(4)]
    for each in strangers:
        for _ in range(5):
            await house.destination(each.id, URL)
        await house.happen(each.id, count=10)
    account = await house.account()
    known = await house.destination(account.id, URL)
    async with house.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET last_success_at = now() WHERE id = %s", [known])

    assert len(await claim(house, room=16, troubled_room=8)) == 8
    await house.happen(account.id, count=10)
    assert shares(await claim(house, room=8, troubled_room=0)) == {known: 8}


async def test_two_never_claim_the_same(house: House) -> None:
    account = await house.account()
    for _ in range(5):
        await house.destination(account.id, URL)
    await house.happen(account.id, count=20)

    async def work() -> list[UUID]:
        found: list[UUID] = []
        is_empty = False
        while not is_empty:  # until a turn of our own found nothing more
            async with house.database.transaction() as conn:
                if await claims.lock_claims(conn):
                    some = await claims.claim(
                        conn,
                        room=7,
                        troubled_room=7,
                        most=8,
                        behind=(),
                        slow_ms=1,
                        lease=attempts.LEASE,
                        skew=attempts.CLOCK_SKEW,
                        now=clock.now(),
                    )
                    found += [each.delivery_id for each in some]
                    is_empty = not some
            await asyncio.sleep(0)
        return found

    found = [each for mine in await asyncio.gather(*(work() for _ in range(4))) for each in mine]
    assert len(found) == len(set(found)) == 40  # five destinations with eight each


async def test_while_one_claims_another_does_not_wait(house: House) -> None:
    async with house.database.transaction() as first, house.database.transaction() as second:
        assert await claims.lock_claims(first)
        assert not await claims.lock_claims(second)


async def test_without_room_nothing_is_claimed(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.happen(account.id)
    assert len(await claim(house, room=0)) == 0
    assert len(await claim(house)) == 1


async def test_what_another_holds_whose_clock_is_ahead_counts_as_in_flight(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.happen(account.id, count=40)
    later(timedelta(seconds=5))
    assert len(await claim(house, most=8)) == 8
    later(timedelta(seconds=-5))
    assert len(await claim(house, most=8)) == 0


async def touched(house: House, statement: str, row: dict[str, Any]) -> int:
    """Blocks that a statement looked at, by its plan's own count."""
    async with house.database.connection() as conn:
        query = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}".encode()
        (plan,) = await (await conn.execute(query, row)).fetchone() or ()
    return int(plan[0]["Plan"]["Shared Hit Blocks"] + plan[0]["Plan"]["Shared Read Blocks"])


def parameters(now: datetime) -> dict[str, Any]:
    row: dict[str, Any] = {
        "room": 1,
        "troubled_room": 1,
        "most": sender.MAX_PER_DESTINATION,
        "slow_ms": 1,
        "seen": claims.MAX_SCANNED,
    }
    row |= {
        "lease_until": now + attempts.LEASE,
        "skewed_until": now + attempts.LEASE + attempts.CLOCK_SKEW,
        "now": now,
    }
    return {**row, "account_ids": [], "destination_ids": []}


async def test_behind_a_dead_receiver_a_claim_does_not_walk_over_all_others(house: House) -> None:
    account = await house.account()
    dead = await house.destination(account.id, URL)
    await house.happen(account.id, count=claims.MAX_SCANNED + 100)
    async with house.database.transaction() as conn:
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
    other = await house.account()
    quiet = await house.destination(other.id, URL)
    await house.happen(other.id)

    assert await touched(house, claims.CLAIM, parameters(clock.now())) < 1000
    async with calling() as house.outbound:
        found = shares(await house.claim())
    assert (found[quiet], found[dead]) == (1, 0)


async def test_who_waits_behind_the_backlog_of_others_is_looked_for_now_and_then(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MAX_SCANNED", 10)
    alice, bob = await house.account(), await house.account()
    await house.destination(alice.id, URL)
    await house.happen(alice.id, count=60)
    later(timedelta(minutes=1))
    async with calling() as house.outbound:
        one = house.sender()
        assert len(await one._claim()) == sender.MAX_PER_DESTINATION
        quiet = await house.destination(bob.id, URL)
        await house.happen(bob.id)
        assert shares(await one._claim()) == {}
        later(timedelta(seconds=10 * sender.OVERTAKEN_INTERVAL_S))
        assert shares(await one._claim()) == {quiet: 1}


async def test_who_waits_behind_a_backlog_is_taken_some_at_a_time_each_account_in_its_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MAX_SCANNED", 10)
    monkeypatch.setattr(sender, "MAX_OVERTAKEN", 3)
    busy, alice, bob = await house.account(), await house.account(), await house.account()
    backlog = await house.destination(busy.id, URL)
    await house.happen(busy.id, count=60)
    later(timedelta(minutes=1))
    waiting = {await house.destination(alice.id, URL) for _ in range(5)} | {await house.destination(bob.id, URL)}
    await house.happen(alice.id)
    await house.happen(bob.id)
    async with calling() as house.outbound:
        one = house.sender()
        first, *others = [await one._claim() for _ in range(4)]
    assert {each.account_id for each in first} == {busy.id, alice.id, bob.id}
    found = [each for some in (first, *others) for each in some if each.destination_id != backlog]
    assert {each.destination_id for each in found} == waiting


@pytest.mark.parametrize("sold_out", [True, False])
async def test_claims_do_not_read_history_or_what_is_due_later(house: House, *, sold_out: bool) -> None:
    """By the plan's own count of what it touched: of 20,000 due later and 5,000 over, next to nothing."""
    account = await house.account()
    await house.destination(account.id, URL)
    await house.happen(account.id, count=3)
    async with house.database.transaction() as conn:
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
    assert await touched(house, claims.CLAIM, parameters(now)) < 150
