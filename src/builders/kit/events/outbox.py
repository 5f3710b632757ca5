"""Events: published in the transaction of what they tell, so that both happen or neither does.

A room declares its events in its `events` file; this module keeps the register and names no room. `news`
takes them from here to the subscribers.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic import BaseModel
from structlog.contextvars import get_contextvars

from builders.kit.db import partitions
from builders.kit.db.connections import Conn
from builders.kit.values import clock, ids

partitions.declare("kit_outbox", kept=timedelta(days=90))

INSERT = """
    WITH event AS (
        INSERT INTO kit_outbox (id, created_at, account_id, name, version, request_id, data)
        SELECT id, %(now)s, account_id, %(name)s, %(version)s, %(request_id)s, data
        FROM unnest(%(ids)s::uuid[], %(account_ids)s::uuid[], %(data)s::text[]) AS new (id, account_id, data)
        RETURNING id, created_at
    )
    INSERT INTO kit_outbox_pending (id, created_at) SELECT id, created_at FROM event
"""

INSERT_PROBE = """
    WITH event AS (
        INSERT INTO kit_outbox (id, created_at, account_id, name, version, data)
        VALUES (%(id)s, %(now)s, %(account_id)s, 'kit.write_probe', 1, '{}')
        RETURNING id, created_at
    )
    INSERT INTO kit_outbox_pending (id, created_at) SELECT id, created_at FROM event
"""

FORGET = """
    DELETE FROM kit_outbox
    WHERE account_id = %(account_id)s AND name = %(name)s AND data::json ->> %(member)s = %(value)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A kind of event, as a room declares it; `example` stands in the documents and in test sends."""

    name: str  # noun.past_tense
    version: int
    description: str
    example: BaseModel
    internal: bool = False  # for subscribers only, never delivered to a destination
    earlier: tuple["Event", ...] = ()  # versions that are told no more, and still described

    def __post_init__(self) -> None:
        """Raises ValueError for an earlier version of another event, or one that is not earlier."""
        if any(each.name != self.name or each.version >= self.version for each in self.earlier):
            raise ValueError(f"what is earlier than {self.name} {self.version} must be of that name and before it")

    def schema(self) -> dict[str, Any]:
        """The JSON schema of its data."""
        return type(self.example).model_json_schema(mode="serialization")

    def members(self) -> list[tuple[str, str]]:
        """The members of its data, each with its type in few words, for the documents."""
        schema = self.schema()
        return [(name, _kind(each, schema)) for name, each in schema.get("properties", {}).items()]


def _kind(member: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if "$ref" in member:
        return _kind(schema["$defs"][member["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in member:
        return " or ".join(_kind(each, schema) for each in member["anyOf"])
    if "enum" in member:
        return " or ".join(f"`{each}`" for each in member["enum"])
    if member.get("type") == "array":
        return f"list of {_kind(member['items'], schema)}"
    return str(member.get("format") or member.get("type", "any"))


_register: dict[str, Event] = {}


def declare(event: Event) -> Event:
    """Puts an event into the register. Raises ValueError when the name is taken by another."""
    if _register.setdefault(event.name, event) != event:
        raise ValueError(f"the event {event.name} is declared twice")
    return event


def list_events() -> Sequence[Event]:
    """All declared events by name."""
    return [_register[name] for name in sorted(_register)]


async def publish(conn: Conn, event: Event, *, account_id: UUID, data: BaseModel) -> None:
    """Records that something happened to the account, in the transaction of `conn`."""
    await publish_many(conn, event, [(account_id, data)])


async def publish_many(conn: Conn, event: Event, happened: Iterable[tuple[UUID, BaseModel]]) -> None:
    """Records many events of a kind in one statement."""
    rows = [(account_id, data.model_dump_json()) for account_id, data in happened]
    if not rows:
        return
    await conn.execute(
        INSERT,
        {
            "now": clock.now(),
            "name": event.name,
            "version": event.version,
            "request_id": get_contextvars().get("request_id"),
            "ids": [ids.new() for _ in rows],
            "account_ids": [account_id for account_id, _ in rows],
            "data": [data for _, data in rows],
        },
    )


async def insert_probe(conn: Conn) -> None:
    """Insert an event that no subscriber gets, since the caller rolls it back: can the outbox be written?"""
    await conn.execute(INSERT_PROBE, {"id": ids.new(), "account_id": ids.new(), "now": clock.now()})


async def forget(conn: Conn, event: Event, *, account_id: UUID, member: str, value: str) -> None:
    """Removes what was told of the account in events of a kind whose data say so: somebody is to be erased."""
    await conn.execute(FORGET, {"account_id": account_id, "name": event.name, "member": member, "value": value})
