"""Publish events in tests, and read the feed."""

from typing import Any
from uuid import UUID

from builders import worker
from builders.aliases.events import ALIAS_CREATED
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.outbox import Event
from tests.cast import Client

PATH = "/v1/events"
RELAYS = worker.JOBS  # importing them has events relayed

Json = dict[str, Any]


async def publish(database: Database, account_id: UUID, *events: Event) -> None:
    """Publish events of the account, each in its own transaction."""
    async with database.transaction() as conn:
        for event in events or (ALIAS_CREATED,):
            await outbox.publish(conn, event, account_id=account_id, data=event.example)


async def relay(database: Database) -> None:
    """Dispatch pending events."""
    while True:
        async with database.transaction() as conn:
            if not await dispatcher.dispatch(conn):
                return


async def happen(database: Database, account_id: UUID, *events: Event) -> None:
    """Publish events of the account and dispatch them."""
    await publish(database, account_id, *events)
    await relay(database)


async def read(client: Client, cursor: str | None = None, **params: Any) -> Json:
    """Return a page of the client's feed."""
    asked = params if cursor is None else {**params, "cursor": cursor}
    reply = await client.get(PATH, params=asked)
    assert reply.status_code == 200, reply.text
    page: Json = reply.json()
    return page


def types(page: Json) -> list[str]:
    """Return the types of a page's events in their order."""
    return [each["type"] for each in page["items"]]


async def seek_end(client: Client, database: Database) -> str:
    """Return the cursor after all events of the client's account so far."""
    await relay(database)  # accounts of the tests begin with events of their keys
    cursor, is_end = None, False
    while not is_end:
        page = await read(client, cursor, limit=500)
        cursor, is_end = page["resume_cursor"], page["next_cursor"] is None
    return str(cursor)
