"""The sender's loop: a failure of one step loses no delivery or result."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from structlog.contextvars import bound_contextvars

from builders.kit.db.connections import Conn, Database
from builders.kit.errors import DatabaseBusy
from builders.kit.outbound.client import Outbound
from builders.kit.process.settings import Settings
from builders.kit.values import clock
from builders.webhooks import deliveries, sender
from builders.webhooks.sender import SenderLimits
from builders.webhooks.store import claims
from tests.kit.outbound.receivers import OK, calling, receiving, saying
from tests.kit.scratch import until
from tests.webhooks import endless_receivers
from tests.webhooks.engine.harness import Harness, ids_in, later, status

TRIES = "CREATE SEQUENCE IF NOT EXISTS tries; ALTER SEQUENCE tries RESTART"
TRY_AND_FAIL = "SELECT nextval('tries') / 0"
TRIED = b"SELECT last_value FROM tries WHERE is_called"
HOLD = "SELECT FROM webhooks_due WHERE delivery_id = %s FOR UPDATE"
TAKE = "UPDATE webhooks_due SET next_attempt_at = %s WHERE delivery_id = %s"
BLOCKED = b"""
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


async def fail_to_cancel(conn: Conn, **_: object) -> None:
    """Count the call, and fail."""
    await conn.execute(TRY_AND_FAIL)


async def test_claimed_deliveries_are_sent_when_a_cancellation_fails(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness.limits = SenderLimits(cancel_interval_s=0)
    monkeypatch.setattr(claims, "cancel_undeliverable", fail_to_cancel)
    async with harness.database.connection() as conn:
        await conn.execute(TRIES)
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id, count=20)
        running = asyncio.create_task(harness.sender().run())

        async def is_sent() -> bool:
            return not await harness.ask(b"SELECT count(*) FROM webhooks_due")

        await until(is_sent)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert await harness.ask(TRIED) > 1
    assert len(ids_in(receiver)) == len(receiver.requests) == 20


async def test_a_failed_cancellation_is_repeated_after_its_interval(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "cancel_undeliverable", fail_to_cancel)
    async with harness.database.connection() as conn:
        await conn.execute(TRIES)
    async with calling() as harness.outbound:
        one = harness.sender()
        for n in range(3):
            later(timedelta(seconds=harness.limits.cancel_interval_s))
            await one._cancel_undeliverable()
            await one._cancel_undeliverable()
            assert await harness.ask(TRIED) == n + 1


async def test_results_are_kept_while_the_database_is_unavailable(
    harness: Harness,
) -> None:
    assert harness.settings.database_url is not None
    hasty = Database(
        harness.settings.database_url.get_secret_value(),
        harness.settings.model_copy(update={"lock_timeout_s": 0.1}),
    )
    await hasty.open()
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id, count=4)
        one = sender.Sender(hasty, harness.outbound, harness.keyring)
        results = [
            await deliveries.send_claim(harness.outbound, harness.keyring, each) for each in await harness.claim()
        ]
        bad = replace(results[1], attempt=replace(results[1].attempt, response_excerpt="\0"))
        one._results = [results[0], bad, *results[2:]]
        async with harness.database.transaction() as conn:
            await conn.execute(HOLD, [results[2].claim.delivery_id])
            with pytest.raises(DatabaseBusy):
                await one._write()
        assert one._results == results[2:]
        await one._write()
    await hasty.close()
    left = [row.id for row in await harness.rows() if row.status != "succeeded"]
    assert left == [bad.claim.delivery_id]


async def test_a_late_result_does_not_overwrite_a_new_claim(harness: Harness) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        (claim,) = await harness.claim()
        result = await deliveries.send_claim(harness.outbound, harness.keyring, claim)

        async def write() -> int:
            async with harness.database.transaction() as conn:
                return await deliveries.write_results(conn, batch=[result])

        async with harness.database.transaction() as conn:
            await conn.execute(TAKE, [clock.now() + timedelta(minutes=2), claim.delivery_id])
            writing = asyncio.create_task(write())

            async def is_waiting() -> bool:
                return bool(await harness.ask(BLOCKED))

            await until(is_waiting)
        assert await writing == 0
    row = await harness.one()
    assert (row.status, row.leased, row.attempts) == ("pending", True, 0)


async def test_endless_responses_do_not_delay_other_deliveries(harness: Harness) -> None:
    account = await harness.account()
    with endless_receivers.serving() as port:
        async with receiving(saying(OK)) as receiver:
            allow = (f"{endless_receivers.HOST}:{port}", f"{endless_receivers.HOST}:{receiver.port}")
            async with Outbound(
                Settings(outbound_allow=allow, base_url="https://builders.test")
            ) as harness.outbound:
                for kind in endless_receivers.KINDS:
                    await harness.destination(account.id, f"http://{endless_receivers.HOST}:{port}/{kind}")
                await harness.destination(account.id, receiver.url)
                await harness.happen(account.id, count=2)
                await harness.rounds()
        assert len(ids_in(receiver)) == 2
    errors = {each.last_error for each in await harness.rows() if each.last_error is not None}
    assert {"too_large", "protocol"} <= errors
    assert "timeout" not in errors


async def test_a_failed_attempt_is_logged_with_its_cause_and_request_and_without_the_url(
    harness: Harness, logged: StringIO
) -> None:
    account = await harness.account()
    async with receiving(saying(status(503))) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, f"{receiver.url}?key=hidden-word")
        with bound_contextvars(request_id="request-1"):
            await harness.happen(account.id)
        await harness.round()

    row = await harness.one()
    [line] = failures(logged)
    assert line["delivery"] == str(row.id)
    assert line["destination"] == str(row.destination_id)
    assert (line["attempt"], line["cause"], line["status"]) == (1, "http_status", 503)
    assert line["request_id"] == "request-1"
    assert "hidden-word" not in logged.getvalue()


async def test_a_successful_attempt_is_not_logged(harness: Harness, logged: StringIO) -> None:
    account = await harness.account()
    async with receiving(saying(OK)) as receiver, calling(receiver) as harness.outbound:
        await harness.destination(account.id, receiver.url)
        await harness.happen(account.id)
        await harness.rounds()

    assert failures(logged) == []


def failures(logged: StringIO) -> list[dict[str, Any]]:
    """Return the log lines of failed attempts."""
    lines = [json.loads(line) for line in logged.getvalue().splitlines()]
    return [line for line in lines if line["event"] == "delivery_attempt_failed"]
