"""Create destinations through the API, and deliveries by publishing events."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from builders.aliases.events import ALIAS_CREATED
from builders.app import Service
from builders.kit.db.connections import Database
from builders.kit.events.dispatcher import PublishedEvent
from builders.kit.events.outbox import Event
from builders.kit.values import clock, ids
from builders.webhooks import deliveries as webhook_deliveries, jobs
from builders.webhooks.store import claims
from tests.cast import Client

PATH = "/v1/notifications/webhooks"
DELIVERIES = "/v1/notifications/deliveries"
WANTED = {
    "label": "main",
    "url": "https://93.184.215.14/hooks",  # an address, so that nothing is looked up
    "enabled": True,
    "events": ["alias.*"],
}

Json = dict[str, Any]


async def create(client: Client, **changes: Any) -> Json:
    """Create a destination; return the reply with its secret."""
    answer = await client.post(PATH, json=WANTED | changes)
    assert answer.status_code == 200, answer.text
    made: Json = answer.json()
    return made


async def read(client: Client, made: Json) -> Json:
    """Return the destination."""
    answer = await client.get(f"{PATH}/{made['id']}")
    assert answer.status_code == 200, answer.text
    shown: Json = answer.json()
    return shown


async def happen(database: Database, account_id: UUID, *events: Event) -> list[PublishedEvent]:
    """Publish events of the account and dispatch them."""
    published = [
        PublishedEvent(
            id=ids.new(),
            name=event.name,
            version=event.version,
            account_id=account_id,
            created_at=clock.now(),
            data=event.example.model_dump_json(),
        )
        for event in (events or [ALIAS_CREATED])
    ]
    async with database.transaction() as conn:
        await jobs.fan_out(conn, published)
    return published


async def send_due(service: Service, *, account_id: UUID) -> int:
    """Send the account's due deliveries; return their number."""
    state = service.api.state
    async with state.database.transaction() as conn:
        query = "SELECT delivery_id FROM webhooks_due WHERE account_id = %s AND next_attempt_at <= %s"
        due = await (await conn.execute(query, (account_id, clock.now()))).fetchall()
        claimed = [
            await claims.claim_one(conn, account_id=account_id, delivery_id=delivery_id, now=clock.now())
            for (delivery_id,) in due
        ]
    results = [
        await webhook_deliveries.send_claim(state.outbound, state.keyring, each)
        for each in claimed
        if each is not None
    ]
    async with state.database.transaction() as conn:
        await webhook_deliveries.write_results(conn, batch=results)
    return len(results)


async def deliveries(client: Client, **filters: Any) -> Sequence[Json]:
    """Return the first page of the client's deliveries."""
    answer = await client.get(DELIVERIES, params=filters)
    assert answer.status_code == 200, answer.text
    items: Sequence[Json] = answer.json()["items"]
    return items
