"""From an event to deliveries: to whom, what, and once."""

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
from builders.webhooks import attempts, catalog
from builders.webhooks.store import claims
from tests.webhooks.engine.house import House

URL = "https://93.184.215.14/hooks"


class Said(BaseModel):
    """What an event of the test says."""

    text: str = "é \u2028 \"'"


HIDDEN = Event(name="test.hidden", version=1, description="Inside.", example=Said(), internal=True)
OTHER = Event(name="alias.tested", version=1, description="Another one.", example=Said())
UNKNOWN = Event(name="test.unknown", version=1, description="Of another revision.", example=Said())


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_registry", dict(outbox._registry))
    outbox.declare(HIDDEN)
    outbox.declare(OTHER)


async def wanted(house: House) -> list[tuple[str, Any]]:
    return sorted((row.event, row.destination_id) for row in await house.rows())


@pytest.mark.parametrize(
    ("events", "gets"),
    [
        (["*"], {"alias.created", "alias.tested"}),
        (["alias.*"], {"alias.created", "alias.tested"}),
        (["alias.created"], {"alias.created"}),
        (["invoice.paid", "alias.tested"], {"alias.tested"}),
        (["invoice.*"], set()),
        (["alias"], set()),
        (["ALIAS.*"], set()),
    ],
)
async def test_a_destination_gets_what_it_lists(house: House, events: list[str], gets: set[str]) -> None:
    account = await house.account()
    await house.destination(account.id, URL, events=events)
    for event in (ALIAS_CREATED, OTHER, HIDDEN):
        await house.publish(account.id, event)
    assert await house.dispatch() == 3
    assert {row.event for row in await house.rows()} == gets
    for event in (ALIAS_CREATED, OTHER):
        assert catalog.is_subscribed(events, event.name) == (event.name in gets)  # Python and SQL agree


async def test_the_payload_is_what_was_published(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.destination(account.id, URL)
    await house.happen(account.id, OTHER)

    first, second = await house.rows()
    assert first.event_id == second.event_id
    assert await house.ask(b"SELECT count(*) FROM webhooks_payloads") == 1
    body = await house.ask(b"SELECT body FROM webhooks_payloads")
    assert json.loads(body) == {
        "id": str(first.event_id),
        "type": "alias.tested",
        "timestamp": first.created_at.isoformat().replace("+00:00", "Z"),
        "account_id": str(account.id),
        "livemode": True,
        "data": {"text": Said().text},
    }
    assert list(json.loads(body)) == ["id", "type", "timestamp", "account_id", "livemode", "data"]


async def test_a_sandbox_twin_tells_of_its_real_account(house: House) -> None:
    account = await house.account()
    await house.destination(account.sandbox_id, URL)
    await house.destination(account.id, URL)
    await house.happen(account.sandbox_id)

    assert [row.account_id for row in await house.rows()] == [account.sandbox_id]
    body = json.loads(await house.ask(b"SELECT body FROM webhooks_payloads"))
    assert (body["account_id"], body["livemode"]) == (str(account.id), False)


async def test_nobody_gets_the_events_of_another(house: House) -> None:
    alice, bob = await house.account(), await house.account()
    await house.destination(alice.id, URL)
    bobs = await house.destination(bob.id, URL)
    await house.happen(bob.id)
    assert [(row.account_id, row.destination_id) for row in await house.rows()] == [(bob.id, bobs)]


async def test_a_disabled_destination_gets_nothing(house: House) -> None:
    account = await house.account()
    made = await house.destination(account.id, URL)
    async with house.database.transaction() as conn:
        await conn.execute("UPDATE webhooks_destinations SET enabled = false WHERE id = %s", [made])
    await house.happen(account.id)
    assert await house.rows() == []
    assert await house.ask(b"SELECT count(*) FROM webhooks_payloads") == 0


async def test_a_batch_that_is_told_again_is_not_sent_again(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.publish(account.id, count=20)
    tell_again = "INSERT INTO kit_outbox_pending SELECT id, created_at FROM kit_outbox"

    await house.dispatch()
    async with house.database.transaction() as conn:
        await conn.execute(tell_again)
    await house.dispatch()
    assert len(await house.rows()) == 20

    async with house.database.transaction() as conn:  # and not when they have been delivered meanwhile
        await conn.execute("UPDATE webhooks_deliveries SET status = 'succeeded'")
        await conn.execute("TRUNCATE webhooks_due")
        await conn.execute(tell_again)
    await house.dispatch()
    assert await house.ask(b"SELECT count(*) FROM webhooks_due") == 0


async def test_several_that_dispatch_at_once_make_each_delivery_once(house: House) -> None:
    account = await house.account()
    for _ in range(3):
        await house.destination(account.id, URL)
    await house.publish(account.id, count=2 * dispatcher.BATCH_SIZE + 7)
    assert sum(await asyncio.gather(*(house.dispatch() for _ in range(4)))) == 2 * dispatcher.BATCH_SIZE + 7
    rows = await house.rows()
    assert (
        len({(row.event_id, row.destination_id) for row in rows})
        == len(rows)
        == 3 * (2 * dispatcher.BATCH_SIZE + 7)
    )


async def test_an_id_holds_the_time_of_its_event(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.destination(account.id, URL)
    await house.happen(account.id, count=30)
    rows = await house.rows()
    assert len({row.id for row in rows}) == 60
    for row in rows:
        assert row.id.version == 7
        assert row.id.variant == ids.new().variant
        assert ids.time_of(row.id) == ids.time_of(row.event_id)


async def test_an_event_of_a_newer_revision_holds_up_no_other(house: House) -> None:
    account = await house.account()
    await house.destination(account.id, URL)
    await house.publish(account.id, UNKNOWN)
    await house.publish(account.id)
    assert await house.dispatch() == 2
    assert await house.rows() == []  # the batch was handed to jobs, one for each event
    assert await house.ask(b"SELECT count(*) FROM procrastinate_jobs WHERE task_name = 'news.tell'") >= 2

    await house.drain_jobs()
    assert [row.event for row in await house.rows()] == ["alias.created"]
    query = b"""
        SELECT array_agg(args ->> 'subscriber' ORDER BY args ->> 'subscriber') FROM procrastinate_jobs
        WHERE status = 'todo'
    """
    # Tried again later, by a worker that knows the event.
    assert await house.ask(query) == ["webhooks.append_to_feed", "webhooks.fan_out"]

    outbox.declare(UNKNOWN)
    async with house.database.transaction() as conn:
        await conn.execute("UPDATE procrastinate_jobs SET scheduled_at = NULL")
    await house.drain_jobs()
    assert {row.event for row in await house.rows()} == {"alias.created", "test.unknown"}


async def test_a_relay_that_fails_is_told_again_and_spoils_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []

    async def stumble(conn: Conn, events: Any) -> None:
        await conn.execute("CREATE TABLE spoilt ()")
        told.append(len(events))
        if len(events) > 1:
            raise ZeroDivisionError
        await conn.execute("DROP TABLE spoilt")

    monkeypatch.setattr(dispatcher, "_batch_subscribers", dict(dispatcher._batch_subscribers))
    dispatcher.subscribe_batches(name="test.stumble")(stumble)
    account = await house.account()
    await house.destination(account.id, URL)
    await house.publish(account.id, count=3)
    assert await house.dispatch() == 3
    assert len(await house.rows()) == 3
    assert await house.ask(b"SELECT to_regclass('spoilt')") is None
    await house.drain_jobs()
    assert told == [3, 1, 1, 1]


async def test_a_claim_is_of_what_was_fanned_out(house: House) -> None:
    account = await house.account()
    made = await house.destination(account.id, URL)
    await house.happen(account.id)
    row = await house.one()
    async with house.database.transaction() as conn:
        claim = await claims.claim_one(
            conn, account_id=account.id, delivery_id=row.id, lease=attempts.LEASE, now=clock.now()
        )
    assert claim is not None
    assert (claim.destination_id, claim.event_id, claim.url) == (made, row.event_id, URL)
    assert "secret" not in repr(claim)
    assert claim.body not in repr(claim)
