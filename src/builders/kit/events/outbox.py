"""Transactional outbox: publish an event in the transaction of the change that it reports.

Packages declare their events in `events.py`; this module keeps the registry. `dispatcher` delivers published
events to the subscribers.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from importlib import resources
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from structlog.contextvars import get_contextvars

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.process import traces
from builders.kit.values import clock, ids

partitions.declare("kit_outbox", retention=timedelta(days=90))

# Both from the parameters: Citus sends the rows of a CTE that another table gets to all nodes.
INSERT = """
    WITH event AS (
        INSERT INTO kit_outbox (id, created_at, account_id, name, version, request_id, traceparent, data)
        SELECT id, %(now)s, account_id, %(name)s, %(version)s, %(request_id)s, %(traceparent)s, data
        FROM unnest(%(ids)s::uuid[], %(account_ids)s::uuid[], %(data)s::text[]) AS new (id, account_id, data)
    )
    INSERT INTO kit_outbox_pending (id, account_id, created_at)
    SELECT id, account_id, %(now)s
    FROM unnest(%(ids)s::uuid[], %(account_ids)s::uuid[]) AS new (id, account_id)
"""

DELETE = """
    DELETE FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = %(name)s AND data::json ->> %(member)s = %(value)s
"""


@dataclass(frozen=True, kw_only=True)
class Event:
    """The declaration of an event."""

    name: str  # noun.past_tense
    version: int
    description: str
    data: type[BaseModel]
    internal: bool = False  # for subscribers only; never delivered to a webhook

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema of the event's data: those of all events take 0.1 s of processor time."""
        return self.data.model_json_schema(mode="serialization")

    @cached_property
    def example(self) -> BaseModel:
        """Data that the documentation shows and test deliveries send: from examples.json beside the model."""
        package = self.data.__module__.rpartition(".")[0]
        found = json.loads(resources.files(package).joinpath("examples.json").read_bytes())
        return self.data.model_validate(found[self.name])


_registry: dict[str, Event] = {}


def declare(
    *,
    name: str,
    description: str,
    data: type[BaseModel],
    version: int = 1,
    internal: bool = False,
) -> Event:
    """Return the declaration of an event, registered. Raise ValueError if a different event has the name."""
    return register(Event(name=name, version=version, description=description, data=data, internal=internal))


def register(event: Event) -> Event:
    """Register an event. Raise ValueError if a different event has the name."""
    if _registry.setdefault(event.name, event) != event:
        raise ValueError(f"the event {event.name} is declared twice")
    return event


def list_events() -> Sequence[Event]:
    """Return all declared events, ordered by name."""
    return [_registry[name] for name in sorted(_registry)]


async def publish(conn: Conn, event: Event, *, account_id: UUID, data: BaseModel) -> None:
    """Publish an event of the account in the transaction of `conn`."""
    await publish_many(conn, event, [(account_id, data)])


async def publish_many(conn: Conn, event: Event, events: Iterable[tuple[UUID, BaseModel]]) -> None:
    """Publish one event for each account id and data, in one statement."""
    rows = list(events)
    if rows:
        row = {
            "now": clock.now(),
            "name": event.name,
            "version": event.version,
            "request_id": get_contextvars().get("request_id"),
            "traceparent": traces.current(),
            "ids": ids.new_many(len(rows)),
            "account_ids": [account_id for account_id, _ in rows],
            "data": [data.model_dump_json() for _, data in rows],
        }
        await conn.execute(INSERT, row)


class _Probe(BaseModel):
    """The data of an event that nobody gets."""


async def insert_probe(conn: Conn) -> None:
    """Insert an event to check that the outbox is writable; the caller rolls back, so no subscriber gets it."""
    probe = Event(name="kit.write_probe", version=1, description="", data=_Probe)
    await publish(conn, probe, account_id=ids.new(), data=_Probe())


async def delete_events(conn: Conn, event: Event, *, account_id: UUID, member: str, value: str) -> None:
    """Delete the account's events whose data has this value in `member`, to erase personal data."""
    await conn.execute(DELETE, {"account_id": account_id, "name": event.name, "member": member, "value": value})
