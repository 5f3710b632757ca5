"""The fan-out: each event becomes one delivery per subscribed destination."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from builders.aliases.events import ALIAS_CREATED
from builders.kit.db.connections import Conn
from builders.kit.events import dispatcher, outbox
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids
from builders.webhooks import catalog
from builders.webhooks.store import claims
from tests.webhooks.engine.harness import Harness

URL = "https://93.184.215.14/hooks"


class Said(BaseModel):
    """The data of a test event."""

    text: str = "é \u2028 \"'"


HIDDEN = Event(name="test.hidden", version=1, description="Inside.", data=Said, internal=True)
OTHER = Event(name="alias.tested", version=1, description="Another one.", data=Said)
UNKNOWN = Event(name="test.unknown", version=1, description="Of another revision.", data=Said)


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_registry", dict(outbox._registry))
    outbox.register(HIDDEN)
    outbox.register(OTHER)


async def wanted(harness: Harness) -> list[tuple[str, Any]]:
    return sorted((row.event, row.destination_id) for row in await harness.rows())


@pytest.mark.parametrize(
    ("events", "gets"),
    [
        pytest.param(["*"], {"alias.created", "alias.tested"}, id="all"),
        pytest.param(["alias.*"], {"alias.created", "alias.tested"}, id="a group"),
        pytest.param(["alias.created"], {"alias.created"}, id="a name"),
        pytest.param(["invoice.paid", "alias.tested"], {"alias.tested"}, id="one of two names"),
        pytest.param(["invoice.*"], set(), id="another group"),
        pytest.param(["alias"], set(), id="a group without its asterisk"),
        pytest.param(["ALIAS.*"], set(), id="capitals"),
    ],
)
async def test_a_destination_receives_the_events_it_lists(
    harness: Harness, events: list[str], gets: set[str]
) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL, events=events)
    for event in (ALIAS_CREATED, OTHER, HIDDEN):
        await harness.publish(account.id, event)
    assert await harness.dispatch() == 3
    assert {row.event for row in await harness.rows()} == gets
    for event in (ALIAS_CREATED, OTHER):
        assert catalog.is_subscribed(events, event.name) == (event.name in gets)  # Python and SQL agree


async def test_the_payload_is_what_was_published(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.destination(account.id, URL)
    await harness.happen(account.id, OTHER)

    first, second = await harness.rows()
    assert first.event_id == second.event_id
    assert await harness.ask(b"SELECT count(*) FROM webhooks_payloads") == 1
    body = await harness.ask(b"SELECT body FROM webhooks_payloads")
    assert json.loads(body) == {
        "id": str(first.event_id),
        "type": "alias.tested",
        "timestamp": first.created_at.isoformat().replace("+00:00", "Z"),
        "account_id": str(account.id),
        "livemode": True,
        "data": {"text": Said().text},
    }
    assert list(json.loads(body)) == ["id", "type", "timestamp", "account_id", "livemode", "data"]


async def test_a_sandbox_event_names_the_real_account(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.sandbox_id, URL)
    await harness.destination(account.id, URL)
    await harness.happen(account.sandbox_id)

    assert [row.account_id for row in await harness.rows()] == [account.sandbox_id]
    body = json.loads(await harness.ask(b"SELECT body FROM webhooks_payloads"))
    assert (body["account_id"], body["livemode"]) == (str(account.id), False)


async def test_an_account_does_not_receive_events_of_another(harness: Harness) -> None:
    alice, bob = await harness.account(), await harness.account()
    await harness.destination(alice.id, URL)
    bobs = await harness.destination(bob.id, URL)
    await harness.happen(bob.id)
    assert [(row.account_id, row.destination_id) for row in await harness.rows()] == [(bob.id, bobs)]


async def test_a_disabled_destination_receives_nothing(harness: Harness) -> None:
    account = await harness.account()
    made = await harness.destination(account.id, URL)
    async with harness.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET enabled = false WHERE id = %s", [made])
    await harness.happen(account.id)
    assert await harness.rows() == []
    assert await harness.ask(b"SELECT count(*) FROM webhooks_payloads") == 0


async def test_a_batch_that_is_dispatched_again_is_not_sent_again(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.publish(account.id, count=20)
    dispatch_again = "INSERT INTO kit_outbox_pending SELECT id, account_id, created_at FROM kit_outbox"

    await harness.dispatch()
    async with harness.database.transaction() as conn:
        await conn.execute(dispatch_again)
    await harness.dispatch()
    assert len(await harness.rows()) == 20

    async with harness.database.transaction() as conn:  # and not when they have been delivered meanwhile
        await conn.execute("UPDATE webhooks_deliveries SET status = 'succeeded'")
        await conn.execute("TRUNCATE webhooks_due")
        await conn.execute(dispatch_again)
    await harness.dispatch()
    assert await harness.ask(b"SELECT count(*) FROM webhooks_due") == 0


async def test_concurrent_dispatchers_insert_each_delivery_once(harness: Harness) -> None:
    account = await harness.account()
    for _ in range(3):
        await harness.destination(account.id, URL)
    await harness.publish(account.id, count=2 * dispatcher.BATCH_SIZE + 7)
    assert sum(await asyncio.gather(*(harness.dispatch() for _ in range(4)))) == 2 * dispatcher.BATCH_SIZE + 7
    rows = await harness.rows()
    assert (
        len({(row.event_id, row.destination_id) for row in rows})
        == len(rows)
        == 3 * (2 * dispatcher.BATCH_SIZE + 7)
    )


async def test_an_id_holds_the_time_of_its_event(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.destination(account.id, URL)
    await harness.happen(account.id, count=30)
    rows = await harness.rows()
    assert len({row.id for row in rows}) == 60
    for row in rows:
        assert row.id.version == 7
        assert row.id.variant == ids.new().variant
        assert ids.time_of(row.id) == ids.time_of(row.event_id)


async def test_an_event_of_a_newer_revision_does_not_block_others(harness: Harness) -> None:
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.publish(account.id, UNKNOWN)
    await harness.publish(account.id)
    assert await harness.dispatch() == 2
    assert await harness.rows() == []  # the batch was handed to jobs, one for each event
    assert (
        await harness.ask(b"SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'kit.notify_subscriber'")
        >= 2
    )

    await harness.drain_jobs()
    assert [row.event for row in await harness.rows()] == ["alias.created"]
    query = b"""
        SELECT array_agg(args ->> 'subscriber' ORDER BY args ->> 'subscriber') FROM procrastinate_jobs
        WHERE status = 'todo'
    """
    # Tried again later, by a worker that knows the event.
    assert await harness.ask(query) == ["webhooks.append_to_feed", "webhooks.fan_out"]

    outbox.register(UNKNOWN)
    async with harness.database.transaction() as conn:
        await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")
    await harness.drain_jobs()
    assert {row.event for row in await harness.rows()} == {"alias.created", "test.unknown"}


async def test_a_failing_batch_subscriber_is_called_again_and_blocks_nothing(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    published: list[int] = []

    async def stumble(conn: Conn, events: Any) -> None:
        await conn.execute("CREATE TABLE spoilt ()")
        published.append(len(events))
        if len(events) > 1:
            raise ZeroDivisionError
        await conn.execute("DROP TABLE spoilt")

    monkeypatch.setattr(dispatcher, "_batch_subscribers", dict(dispatcher._batch_subscribers))
    dispatcher.subscribe_batches(name="test.stumble")(stumble)
    account = await harness.account()
    await harness.destination(account.id, URL)
    await harness.publish(account.id, count=3)
    assert await harness.dispatch() == 3
    assert len(await harness.rows()) == 3
    assert await harness.ask(b"SELECT to_regclass('spoilt')") is None
    await harness.drain_jobs()
    assert published == [3, 3, 1, 1, 1]  # with all subscribers, alone, and by the jobs


async def test_a_claim_holds_what_the_fan_out_inserted(harness: Harness) -> None:
    account = await harness.account()
    made = await harness.destination(account.id, URL)
    await harness.happen(account.id)
    row = await harness.one()
    async with harness.database.transaction() as conn:
        claim = await claims.claim_one(conn, account_id=account.id, delivery_id=row.id, now=clock.now())
    assert claim is not None
    assert (claim.destination_id, claim.event_id, claim.url) == (made, row.event_id, URL)
    assert "secret" not in repr(claim)
    assert claim.body not in repr(claim)
