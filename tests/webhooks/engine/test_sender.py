"""The loop itself: what goes wrong at one of its steps loses nothing of the others."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from builders.kit.db.connections import Database
from builders.kit.errors import DatabaseBusy
from builders.kit.outbound.client import opened
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.webhooks import attempts, sender
from builders.webhooks.store import claims
from soak import hostile
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.kit.scratch import until
from tests.webhooks.engine.house import House, ids_in, later

TRIES = "CREATE SEQUENCE IF NOT EXISTS tries; ALTER SEQUENCE tries RESTART"
TRY_AND_FAIL = "SELECT nextval('tries') / 0"
TRIED = b"SELECT last_value FROM tries WHERE is_called"
HOLD = "SELECT FROM webhooks_due WHERE delivery_id = %s FOR UPDATE"
TAKE = "UPDATE webhooks_due SET next_attempt_at = %s WHERE delivery_id = %s"
BLOCKED = b"""
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def test_what_was_claimed_is_sent_though_tidying_fails(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "CANCEL_INTERVAL_S", 0.0)
    monkeypatch.setattr(claims, "CANCEL", TRY_AND_FAIL)
    async with house.database.connection() as conn:
        await conn.execute(TRIES)
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id, count=20)
        running = asyncio.create_task(house.sender().run())

        async def is_sent() -> bool:
            return not await house.ask(b"SELECT count(*) FROM webhooks_due")

        await until(is_sent)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await house.ask(TRIED) > 1
    assert len(ids_in(receiver)) == len(receiver.requests) == 20


async def test_when_tidying_fails_it_is_tried_again_after_a_while(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "CANCEL", TRY_AND_FAIL)
    async with house.database.connection() as conn:
        await conn.execute(TRIES)
    async with calling() as house.outbound:
        one = house.sender()
        for n in range(3):
            later(timedelta(seconds=sender.CANCEL_INTERVAL_S))
            await one._tidy()
            await one._tidy()
            assert await house.ask(TRIED) == n + 1


async def test_what_is_not_written_for_want_of_the_database_is_kept_also_beside_what_cannot_be(
    house: House,
) -> None:
    assert house.settings.database_url is not None
    hasty = Database(
        house.settings.database_url.get_secret_value(), house.settings.model_copy(update={"lock_timeout_s": 0.1})
    )
    await hasty.open()
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id, count=4)
        one = sender.Sender(hasty, house.outbound, house.keyring)
        results = [await attempts.send_claim(house.outbound, house.keyring, each) for each in await house.claim()]
        bad = replace(results[1], attempt=replace(results[1].attempt, excerpt="\0"))
        one._results = [results[0], bad, *results[2:]]
        async with house.database.transaction() as conn:
            await conn.execute(HOLD, [results[2].claim.delivery_id])
            with pytest.raises(DatabaseBusy):
                await one._write()
        assert one._results == results[2:]
        await one._write()
    await hasty.close()
    left = [row.id for row in await house.rows() if row.status != "succeeded"]
    assert left == [bad.claim.delivery_id]


async def test_a_result_does_not_overtake_who_takes_its_delivery_over_at_that_moment(house: House) -> None:
    account = await house.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as house.outbound:
        await house.destination(account.id, receiver.url)
        await house.happen(account.id)
        (claim,) = await house.claim()
        result = await attempts.send_claim(house.outbound, house.keyring, claim)

        async def write() -> int:
            async with house.database.transaction() as conn:
                return await attempts.write_results(conn, results_=[result])

        async with house.database.transaction() as conn:
            await conn.execute(TAKE, [clock.now() + timedelta(minutes=2), claim.delivery_id])
            writing = asyncio.create_task(write())

            async def is_waiting() -> bool:
                return bool(await house.ask(BLOCKED))

            await until(is_waiting)
        assert await writing == 0
    row = await house.one()
    assert (row.status, row.leased, row.attempts) == ("pending", True, 0)


async def test_endless_responses_hold_up_no_delivery_to_others(house: House) -> None:
    account = await house.account()
    with hostile.serving() as port:
        async with receiving(saying(OK)) as receiver:
            allow = (f"{hostile.HOST}:{port}", f"{hostile.HOST}:{receiver.port}")
            async with opened(Settings(outbound_allow=allow, base_url="https://builders.test")) as house.outbound:
                for kind in hostile.KINDS:
                    await house.destination(account.id, f"http://{hostile.HOST}:{port}/{kind}")
                await house.destination(account.id, receiver.url)
                await house.happen(account.id, count=2)
                await house.rounds()
        assert len(ids_in(receiver)) == 2
    errors = {each.last_error for each in await house.rows() if each.last_error is not None}
    assert {"too_large", "protocol"} <= errors
    assert "timeout" not in errors
