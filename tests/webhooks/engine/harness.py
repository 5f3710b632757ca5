"""A test harness for the sender with a database per test module."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.aliases.events import ALIAS_CREATED
from builders.identity import accounts
from builders.identity.records import Account
from builders.kit.db.connections import Database
from builders.kit.events import dispatcher, outbox
from builders.kit.events.outbox import Event
from builders.kit.jobs import queue
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring, generate_secret
from builders.kit.process.settings import Settings
from builders.kit.values import clock, ids
from builders.webhooks import jobs as webhooks_jobs, signatures
from builders.webhooks.records import DeliveryStatus, Destination, DestinationSpec
from builders.webhooks.sender import Sender, SenderLimits
from builders.webhooks.store import destinations
from builders.webhooks.store.claims import Claim
from tests.kit.outbound.receivers import Receiver

JOBS = [webhooks_jobs]  # importing them has events fanned out
EMPTY = """
    TRUNCATE webhooks_due, webhooks_deliveries, webhooks_payloads, webhooks_attempts, webhooks_destinations,
             kit_outbox, kit_outbox_pending, procrastinate_jobs, mail_messages CASCADE
"""
# That the account was made is no test's concern.
MARK_DISPATCHED = """
    DELETE FROM kit_outbox_pending WHERE id IN (SELECT id FROM kit_outbox WHERE account_id = %s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A delivery with its due row."""

    id: UUID
    account_id: UUID
    destination_id: UUID
    event_id: UUID
    event: str
    created_at: datetime
    status: str
    trigger: str
    attempts: int
    last_status: int | None
    last_error: str | None
    next_attempt_at: datetime | None
    leased: bool | None
    step: int | None


ROWS = """
    SELECT delivery.id, delivery.account_id, delivery.destination_id, delivery.event_id, delivery.event,
           delivery.created_at, delivery.status, delivery.trigger, delivery.attempts, delivery.last_status,
           delivery.last_error, due.next_attempt_at, due.leased, due.step
    FROM webhooks_deliveries AS delivery
    LEFT JOIN webhooks_due AS due ON due.account_id = delivery.account_id AND due.delivery_id = delivery.id
    ORDER BY delivery.id
"""


@dataclass
class Harness:
    """The sender with its dependencies, and operations on its database."""

    database: Database
    settings: Settings
    keyring: Keyring = field(default_factory=lambda: Keyring([generate_secret()]))
    outbound: Outbound | None = None
    limits: SenderLimits = field(default_factory=SenderLimits)

    async def empty(self) -> None:
        async with self.database.transaction() as conn:
            await conn.execute(EMPTY)

    async def account(self) -> Account:
        async with self.database.transaction() as conn:
            made = await accounts.create_account(conn, email=f"{ids.new().hex}@example.net", verified=True)
            await conn.execute(MARK_DISPATCHED, [made.id])
            return made

    async def destination(
        self, account_id: UUID, url: str, *, events: Sequence[str] = ("*",), secret: str | None = None
    ) -> UUID:
        made = ids.new()
        text = secret or signatures.generate_secret()
        async with self.database.transaction() as conn:
            spec = DestinationSpec(id=made, label="main", url=url, enabled=True, events=list(events))
            sealed = signatures.stored_secret(self.keyring, text, account_id=account_id, destination_id=spec.id)
            await destinations.insert(conn, account_id=account_id, specs=[spec], secrets=[sealed], now=clock.now())
        return made

    async def find(self, account_id: UUID, destination_id: UUID) -> Destination:
        async with self.database.connection() as conn:
            found = await destinations.find(
                conn, account_id=account_id, destination_id=destination_id, now=clock.now()
            )
        assert found is not None
        return found

    async def publish(self, account_id: UUID, event: Event = ALIAS_CREATED, *, count: int = 1) -> None:
        async with self.database.transaction() as conn:
            await outbox.publish_many(conn, event, [(account_id, event.example)] * count)

    async def dispatch(self) -> int:
        """Dispatch until the outbox is empty; return the number of events."""
        done = 0
        while True:
            async with self.database.transaction() as conn:
                batch = await dispatcher.dispatch(conn)
            if batch == 0:
                return done
            done += batch

    async def happen(self, account_id: UUID, event: Event = ALIAS_CREATED, *, count: int = 1) -> None:
        await self.publish(account_id, event, count=count)
        await self.dispatch()

    async def drain_jobs(self) -> None:
        await queue.run_pending(self.database, self.settings)

    def sender(self) -> Sender:
        assert self.outbound is not None
        return Sender(self.database, self.outbound, self.keyring, self.limits)

    async def claim(self) -> Sequence[Claim]:
        return await self.sender()._claim()

    async def round(self) -> int:
        """Claim once, send and record; return the number of attempts."""
        claimed = await self.claim()
        await self.finish(claimed)
        return len(claimed)

    async def finish(self, claimed: Sequence[Claim]) -> None:
        """Send claimed deliveries and record the results."""
        sender = self.sender()
        sender._start(claimed)
        while sender._sending:
            await asyncio.wait(sender._sending)
            await asyncio.sleep(0)
        await sender._write()

    async def rounds(self) -> int:
        """Send until nothing is due; return the number of attempts."""
        done = 0
        while sent := await self.round():
            done += sent
        return done

    async def cancel_undeliverable(self) -> None:
        sender = self.sender()
        sender._cancelled_at -= 60
        await sender._cancel_undeliverable()

    async def rows(self, *statuses: DeliveryStatus) -> list[Row]:
        async with self.database.connection() as conn, conn.cursor(row_factory=class_row(Row)) as cursor:
            await cursor.execute(ROWS)
            return [each for each in await cursor.fetchall() if not statuses or each.status in statuses]

    async def one(self) -> Row:
        (row,) = await self.rows()
        return row

    async def ask(self, query: bytes, *values: Any) -> Any:
        """Return the first column of the first row."""
        async with self.database.connection() as conn:
            row = await (await conn.execute(query, values)).fetchone()
        return None if row is None else row[0]


def ids_in(receiver: Receiver) -> Counter[str]:
    """Return how often each event arrived."""
    return Counter(head_of(each)["webhook-id"] for each in receiver.requests)


def head_of(request: bytes) -> dict[str, str]:
    lines = request.split(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def body_of(request: bytes) -> bytes:
    return request.split(b"\r\n\r\n", 1)[1]


def status(code: int, *, headers: str = "", body: bytes = b"") -> bytes:
    """Return a response with this status."""
    return f"HTTP/1.1 {code} Said\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def later(by: timedelta) -> None:
    clock.move(by)
