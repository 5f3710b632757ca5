"""From events to deliveries: what of a batch somebody wants, its payload, and what is due."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids

LIST_SUBSCRIBED_ACCOUNTS = """
    SELECT DISTINCT account_id FROM webhooks_destinations
    WHERE account_id = ANY(%(account_ids)s) AND (enabled OR disabled_reason IN ('gone', 'failing'))
"""
# `wanted` is an array for each event, which unnest would flatten: it comes as its text.
# Whether a payload is wanted is asked a second time: to look into `matched` for each would be quadratic.
# A payload or delivery that is there already is of an earlier time, when this batch was told before.
# What a destination misses that its owner did not disable is cancelled from the start, so that it can be replayed.
INSERT_DELIVERIES = """
    WITH event AS (
        SELECT * FROM unnest(
            %(account_ids)s::uuid[], %(ids)s::uuid[], %(created)s::timestamptz[], %(names)s::text[],
            %(wanted)s::text[], %(bodies)s::text[]
        ) AS event (account_id, id, created_at, name, wanted, body)
    ), matched AS (
        SELECT event.account_id, event.id AS event_id, event.created_at, event.name,
               destination.id AS destination_id, webhooks_delivery_id(event.id, destination.id) AS delivery_id,
               destination.enabled
        FROM event JOIN webhooks_destinations AS destination ON destination.account_id = event.account_id
        WHERE (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
    ), payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        SELECT account_id, id, created_at, body FROM event WHERE EXISTS (
            SELECT FROM webhooks_destinations AS destination
            WHERE destination.account_id = event.account_id
              AND (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
        )
        ON CONFLICT DO NOTHING
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, given_up_at)
        SELECT account_id, delivery_id, created_at, destination_id, event_id, name,
               CASE WHEN enabled THEN 'pending' ELSE 'cancelled' END, 'event',
               CASE WHEN NOT enabled THEN %(now)s::timestamptz END
        FROM matched
        ON CONFLICT DO NOTHING
        RETURNING account_id, id, created_at, destination_id, event_id, status
    )
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery WHERE status = 'pending'
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEvent:
    """An event as it leaves the house."""

    account_id: UUID
    id: UUID
    created_at: datetime
    name: str
    wanted: Sequence[str]  # what a destination lists that wants it
    body: str


async def list_subscribed_accounts(conn: Conn, *, account_ids: Collection[UUID]) -> set[UUID]:
    """Those of the accounts that have a destination whose deliveries are kept, at least."""
    rows = await (await conn.execute(LIST_SUBSCRIBED_ACCOUNTS, {"account_ids": list(account_ids)})).fetchall()
    return {account_id for (account_id,) in rows}


async def insert_deliveries(conn: Conn, *, events: Sequence[OutgoingEvent], now: datetime) -> int:
    """The payloads and deliveries of these events; the number of deliveries that are newly due."""
    row = {
        "account_ids": [each.account_id for each in events],
        "ids": [each.id for each in events],
        "created": [each.created_at for each in events],
        "names": [each.name for each in events],
        "wanted": ["{" + ",".join(each.wanted) + "}" for each in events],
        "bodies": [each.body for each in events],
    }
    return (await conn.execute(INSERT_DELIVERIES, {**row, "now": now})).rowcount


LOCK_TEST_SENDS = (
    "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_samples ' || %(destination_id)s::uuid, 0))"
)
COUNT_TEST_SENDS = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND destination_id = %(destination_id)s AND id >= %(first)s
      AND created_at > %(since)s AND trigger = 'test'
"""
_AHEAD = timedelta(seconds=10)  # of an id and its delivery's time


async def count_test_sends(
    conn: Conn, *, account_id: UUID, destination_id: UUID, since: datetime
) -> tuple[int, datetime | None]:
    """How many since then, and when the first of them was; nobody else counts until the transaction ends."""
    await conn.execute(LOCK_TEST_SENDS, {"destination_id": destination_id})
    row = {"account_id": account_id, "destination_id": destination_id, "first": ids.lowest(since - _AHEAD)}
    found = await (await conn.execute(COUNT_TEST_SENDS, {**row, "since": since})).fetchone()
    return (0, None) if found is None else (found[0], found[1])


INSERT_TEST = """
    WITH payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        VALUES (%(account_id)s, %(event_id)s, %(now)s, %(body)s)
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger)
        VALUES (%(account_id)s, webhooks_delivery_id(%(event_id)s, %(destination_id)s), %(now)s,
                %(destination_id)s, %(event_id)s, %(event)s, 'pending', 'test')
    )
    INSERT INTO webhooks_due
        (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at, once, test)
    VALUES (%(account_id)s, webhooks_delivery_id(%(event_id)s, %(destination_id)s), %(now)s, %(destination_id)s,
            %(event_id)s, %(later)s, true, true)
    RETURNING delivery_id
"""
LIST_RECEIVERS = """
    SELECT account_id, id AS destination_id, label, url, enabled, events, secret,
           CASE WHEN old_secret_until > %(now)s THEN old_secret END AS old_secret
    FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND (%(destination_id)s::uuid IS NULL OR id = %(destination_id)s::uuid)
    ORDER BY id
"""
LOCK_SIMULATIONS = (
    "SELECT pg_advisory_xact_lock(hashtextextended('webhooks_simulations ' || %(account_id)s::uuid, 0))"
)
COUNT_SIMULATED = """
    SELECT count(*), min(created_at) FROM webhooks_deliveries
    WHERE account_id = %(account_id)s AND id >= %(first)s AND created_at > %(since)s AND simulated
"""
INSERT_SIMULATED = """
    WITH payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body)
        VALUES (%(account_id)s, %(event_id)s, %(now)s, %(body)s)
    ), delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, simulated)
        SELECT %(account_id)s, webhooks_delivery_id(%(event_id)s, destination_id), %(now)s, destination_id,
               %(event_id)s, %(event)s, 'pending', 'event', true
        FROM unnest(%(destination_ids)s::uuid[]) AS wanted (destination_id)
        RETURNING account_id, id, created_at, destination_id, event_id
    )
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery
    RETURNING destination_id, delivery_id
"""
_AHEAD = timedelta(seconds=10)  # of an id and its delivery's time


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedReceiver:
    """A destination, with what signs for it."""

    account_id: UUID
    destination_id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret: bytes = field(repr=False)  # sealed
    old_secret: bytes | None = field(repr=False)  # sealed; None when its time is over


async def list_receivers(
    conn: Conn, *, account_id: UUID, destination_id: UUID | None, now: datetime
) -> Sequence[SimulatedReceiver]:
    """The account's destinations, or the one; there are few."""
    async with conn.cursor(row_factory=class_row(SimulatedReceiver)) as cursor:
        await cursor.execute(
            LIST_RECEIVERS, {"account_id": account_id, "destination_id": destination_id, "now": now}
        )
        return await cursor.fetchall()


async def count_simulated(conn: Conn, *, account_id: UUID, since: datetime) -> tuple[int, datetime | None]:
    """How many simulated deliveries since then, and when the first was; nobody else counts meanwhile."""
    await conn.execute(LOCK_SIMULATIONS, {"account_id": account_id})
    row = {"account_id": account_id, "first": ids.lowest(since - _AHEAD), "since": since}
    found = await (await conn.execute(COUNT_SIMULATED, row)).fetchone()
    return (0, None) if found is None else (found[0], found[1])


async def insert_simulated(
    conn: Conn,
    *,
    account_id: UUID,
    event_id: UUID,
    event: str,
    body: str,
    destination_ids: Sequence[UUID],
    now: datetime,
) -> dict[UUID, UUID]:
    """A delivery of the payload for each destination, due at once; their ids by the destination's."""
    row = {"account_id": account_id, "event_id": event_id, "event": event, "body": body, "now": now}
    cursor = await conn.execute(INSERT_SIMULATED, {**row, "destination_ids": list(destination_ids)})
    return dict(await cursor.fetchall())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Identified:
    delivery_id: UUID


async def insert_test(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    event_id: UUID,
    event: str,
    body: str,
    later: datetime,
    now: datetime,
) -> UUID:
    """The delivery of a sample, which the sender sends `later` if nobody has by then."""
    row = {"account_id": account_id, "destination_id": destination_id, "event_id": event_id, "event": event}
    async with conn.cursor(row_factory=class_row(_Identified)) as cursor:
        await cursor.execute(INSERT_TEST, {**row, "body": body, "later": later, "now": now})
        found = await cursor.fetchone()
    assert found is not None  # noqa: S101 - an INSERT of one row returns it
    return found.delivery_id
