"""Insert payloads, deliveries and due rows: of published events, test sends and simulated events."""

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
# A payload or delivery that exists is from an earlier dispatch of this batch.
INSERT_DELIVERIES = """
    -- 1. The events. `wanted` is an array per event, passed as text because unnest would flatten it.
    WITH event AS (
        SELECT * FROM unnest(
            %(account_ids)s::uuid[], %(ids)s::uuid[], %(created)s::timestamptz[], %(names)s::text[],
            %(wanted)s::text[], %(bodies)s::text[], %(requests)s::text[]
        ) AS event (account_id, id, created_at, name, wanted, body, request_id)
    ),
    -- 2. The destinations of each event: enabled, or disabled by the service.
    matched AS (
        SELECT event.account_id, event.id AS event_id, event.created_at, event.name,
               destination.id AS destination_id, webhooks_delivery_id(event.id, destination.id) AS delivery_id,
               destination.enabled
        FROM event JOIN webhooks_destinations AS destination ON destination.account_id = event.account_id
        WHERE (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
    ),
    -- 3. The payload, once for each event with a destination. This repeats the condition, since a join with
    --    `matched` would be quadratic.
    payload AS (
        INSERT INTO webhooks_payloads (account_id, event_id, created_at, body, request_id)
        SELECT account_id, id, created_at, body, request_id FROM event WHERE EXISTS (
            SELECT FROM webhooks_destinations AS destination
            WHERE destination.account_id = event.account_id
              AND (enabled OR disabled_reason IN ('gone', 'failing')) AND events && event.wanted::text[]
        )
        ON CONFLICT DO NOTHING
    ),
    -- 4. The deliveries. For a destination that the service disabled, the delivery is cancelled; it can be
    --    replayed.
    delivery AS (
        INSERT INTO webhooks_deliveries
            (account_id, id, created_at, destination_id, event_id, event, status, trigger, given_up_at)
        SELECT account_id, delivery_id, created_at, destination_id, event_id, name,
               CASE WHEN enabled THEN 'pending' ELSE 'cancelled' END, 'event',
               CASE WHEN NOT enabled THEN %(now)s::timestamptz END
        FROM matched
        ON CONFLICT DO NOTHING
        RETURNING account_id, id, created_at, destination_id, event_id, status
    )
    -- 5. Pending deliveries are due now.
    INSERT INTO webhooks_due (account_id, delivery_id, created_at, destination_id, event_id, next_attempt_at)
    SELECT account_id, id, created_at, destination_id, event_id, %(now)s FROM delivery WHERE status = 'pending'
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingEvent:
    """A public event with its payload."""

    account_id: UUID
    id: UUID
    created_at: datetime
    name: str
    wanted: Sequence[str]  # names and patterns that match it
    body: str
    request_id: str | None  # of the request that published it


async def list_subscribed_accounts(conn: Conn, *, account_ids: Collection[UUID]) -> set[UUID]:
    """Return the accounts that have a destination which is enabled or was disabled automatically."""
    rows = await (await conn.execute(LIST_SUBSCRIBED_ACCOUNTS, {"account_ids": list(account_ids)})).fetchall()
    return {account_id for (account_id,) in rows}


async def insert_deliveries(conn: Conn, *, events: Sequence[OutgoingEvent], now: datetime) -> int:
    """Insert the payloads and deliveries of events; return the number of new due deliveries."""
    row = {
        "account_ids": [each.account_id for each in events],
        "ids": [each.id for each in events],
        "created": [each.created_at for each in events],
        "names": [each.name for each in events],
        "wanted": ["{" + ",".join(each.wanted) + "}" for each in events],
        "bodies": [each.body for each in events],
        "requests": [each.request_id for each in events],
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
_AHEAD = timedelta(seconds=10)  # that an id runs ahead of its delivery's time


async def count_test_sends(
    conn: Conn, *, account_id: UUID, destination_id: UUID, since: datetime
) -> tuple[int, datetime | None]:
    """Return the number of test sends since then and the time of the first; serialize other counts."""
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
    WHERE account_id = %(account_id)s
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedReceiver:
    """A destination with its signing secrets."""

    account_id: UUID
    destination_id: UUID
    label: str
    url: str
    enabled: bool
    events: Sequence[str]
    secret: bytes = field(repr=False)  # sealed
    old_secret: bytes | None = field(repr=False)  # sealed; None: no longer used


async def list_receivers(conn: Conn, *, account_id: UUID, now: datetime) -> Sequence[SimulatedReceiver]:
    """Return the account's destinations."""
    async with conn.cursor(row_factory=class_row(SimulatedReceiver)) as cursor:
        await cursor.execute(LIST_RECEIVERS, {"account_id": account_id, "now": now})
        return await cursor.fetchall()


async def count_simulated(conn: Conn, *, account_id: UUID, since: datetime) -> tuple[int, datetime | None]:
    """Return the number of simulated deliveries since then and the time of the first; serialize other counts."""
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
    """Insert a due delivery of the payload for each destination; return delivery ids by destination id."""
    row = {"account_id": account_id, "event_id": event_id, "event": event, "body": body, "now": now}
    cursor = await conn.execute(INSERT_SIMULATED, {**row, "destination_ids": list(destination_ids)})
    return dict(await cursor.fetchall())


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
    """Insert the delivery of a test send; the sender sends it at `later` unless the caller does before."""
    row = {"account_id": account_id, "destination_id": destination_id, "event_id": event_id, "event": event}
    cursor = await conn.execute(INSERT_TEST, {**row, "body": body, "later": later, "now": now})
    found = await cursor.fetchone()
    assert found is not None  # noqa: S101 - an INSERT of one row returns it
    delivery_id: UUID = found[0]
    return delivery_id
