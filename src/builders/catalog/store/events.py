"""SQL of funnel events, their daily sums and the popularity of domains."""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from uuid import UUID

from psycopg.rows import class_row
from pydantic_core import to_json

from builders.catalog.funnel_events import StoredEvent
from builders.catalog.records import FunnelLine
from builders.kit.db import partitions
from builders.kit.db.connections import Conn

partitions.declare("catalog_events", retention=timedelta(days=90), setting="tracking_days")

_COLUMNS = """
    id, created_at, occurred_at, kind, domain, local_part, category, result, session_id, referrer, utm, metadata,
    is_machine, agent, network
"""
# One JSON text for all rows takes less time than sixteen arrays.
INSERT = f"""
    WITH given AS (
        SELECT decode(key, 'hex') AS key, {_COLUMNS}
        FROM json_to_recordset(%(rows)s::json) AS given (
            id uuid, key text, created_at timestamptz, occurred_at timestamptz, kind text, domain text,
            local_part text, category text, result text, session_id text, referrer text, utm jsonb, metadata jsonb,
            is_machine boolean, agent text, network cidr
        )
    ), fresh AS (
        -- The events whose key is new. In the order of keys: batches that share keys wait and cannot deadlock.
        INSERT INTO catalog_event_keys (key, event_id, created_at)
        SELECT key, id, created_at FROM given WHERE key IS NOT NULL ORDER BY key, id
        ON CONFLICT (key) DO NOTHING
        RETURNING event_id
    )
    -- The events that are not repeats: without a key, or with a new one.
    INSERT INTO catalog_events ({_COLUMNS})
    SELECT {_COLUMNS} FROM given WHERE key IS NULL OR id IN (SELECT event_id FROM fresh)
"""
FIND_KEYS = "SELECT key, event_id FROM catalog_event_keys WHERE key = ANY(%(keys)s)"
PRUNE_KEYS = "DELETE FROM catalog_event_keys WHERE created_at < %(before)s"
SET_TIMEOUTS = "SELECT set_config('statement_timeout', '300s', true), set_config('lock_timeout', '300s', true)"
# One roll-up at a time: a concurrent one with an older snapshot could write last and lose the newer sums.
LOCK_SUMS = "LOCK TABLE catalog_daily IN SHARE ROW EXCLUSIVE MODE"
LAST_DAY = """
    SELECT coalesce(
        (SELECT max(day) FROM catalog_daily WHERE day <= %(today)s),
        (SELECT (min(created_at) AT TIME ZONE 'UTC')::date FROM catalog_events)
    )
"""
ROLL_UP = """
    -- The sums of a day replace those before.
    INSERT INTO catalog_daily (day, domain, kind, result, people, machines, sessions)
    SELECT %(day)s, domain, kind, result, sum(people), sum(machines),
           count(*) FILTER (WHERE people > 0 AND session_id IS NOT NULL)
    FROM (
        -- Grouped by session first: count(DISTINCT session_id) would sort every event. The bounds of created_at
        -- limit the search to the partitions that can have events of the day.
        SELECT coalesce(domain, '') AS domain, kind, coalesce(result, '') AS result, session_id,
               count(*) FILTER (WHERE NOT is_machine) AS people, count(*) FILTER (WHERE is_machine) AS machines
        FROM catalog_events
        WHERE occurred_at >= %(start)s AND occurred_at < %(end)s
          AND created_at >= %(received_from)s AND created_at < %(received_until)s
        GROUP BY coalesce(domain, ''), kind, coalesce(result, ''), session_id
    ) AS by_session
    GROUP BY domain, kind, result
    ON CONFLICT (day, domain, kind, result) DO UPDATE
    SET people = excluded.people, machines = excluded.machines, sessions = excluded.sessions
"""
RANK = """
    -- The points of each domain with visitors: its sessions, or its events without sessions, by the weight of the
    -- step.
    WITH points AS (
        SELECT domain, sum(
            CASE WHEN sessions > 0 THEN sessions ELSE people END * CASE kind
                WHEN 'claim' THEN 10 WHEN 'check' THEN 3 ELSE 1 END
        ) AS points
        FROM catalog_daily WHERE day >= %(since)s AND domain <> '' GROUP BY domain
    ), placed AS (
        -- The share of domains with at most as many points.
        SELECT domain, points, cume_dist() OVER (ORDER BY points) AS place FROM points
    ), wanted AS (
        -- The popularity of every domain of the catalog, by the least points and the share of domains below.
        SELECT known.domain, CASE
            WHEN points >= %(high_from)s AND place > %(high_above)s THEN 'high'
            WHEN points >= %(medium_from)s AND place > %(medium_above)s THEN 'medium'
            ELSE 'low' END AS popularity
        FROM catalog_domains AS known LEFT JOIN placed ON placed.domain = known.domain
    )
    -- Only a change takes a new serial: each process reads the domains with newer serials again.
    UPDATE catalog_domains AS known
    SET popularity = wanted.popularity, serial = nextval('catalog_serial')
    FROM wanted WHERE wanted.domain = known.domain AND wanted.popularity <> known.popularity
"""
# Not prepared: one domain and all domains need different plans.
REPORT = """
    SELECT domain,
           coalesce(sum(people) FILTER (WHERE kind = 'view'), 0)::bigint AS views,
           coalesce(sum(people) FILTER (WHERE kind = 'check'), 0)::bigint AS checks,
           coalesce(sum(people) FILTER (WHERE kind = 'check' AND result = 'available'), 0)::bigint AS available,
           coalesce(sum(people) FILTER (WHERE kind = 'claim'), 0)::bigint AS claims,
           coalesce(sum(people) FILTER (WHERE kind = 'claim' AND result = 'completed'), 0)::bigint AS completed,
           sum(sessions)::bigint AS sessions,
           sum(machines)::bigint AS machines
    FROM catalog_daily
    WHERE day >= %(since)s AND (%(domain)s::text IS NULL OR domain = %(domain)s)
    GROUP BY domain ORDER BY views DESC, checks DESC, domain LIMIT %(limit)s
"""


async def insert(conn: Conn, *, events: Sequence[StoredEvent], event_ids: Sequence[UUID]) -> int:
    """Write the events that are not repeats; return their number."""
    rows = [
        {
            **event._asdict(),  # members without a column in `given` are ignored
            "kind": str(event.kind),  # to_json takes a µs for each enum
            "result": event.result and str(event.result),
            "id": event_id,
            "key": key and key.hex(),
            "created_at": at,
            "occurred_at": occurred_at,
            "is_machine": visitor.machine is not None,
            "agent": str(visitor.agent),
            "network": visitor.network,
        }
        for (key, at, occurred_at, event, visitor), event_id in zip(events, event_ids, strict=True)
    ]
    return (await conn.execute(INSERT, {"rows": to_json(rows).decode()})).rowcount


async def find_keys(conn: Conn, *, keys: Sequence[bytes]) -> dict[bytes, UUID]:
    """Return the first event of each of the keys."""
    return dict(await (await conn.execute(FIND_KEYS, {"keys": list(keys)})).fetchall())


async def prune_keys(conn: Conn, *, before: datetime) -> int:
    """Delete older keys; return their number."""
    return (await conn.execute(PRUNE_KEYS, {"before": before})).rowcount


async def find_last_day(conn: Conn, *, today: date) -> date | None:
    """Return the last day up to today that has sums; without any sums, the day of the first event."""
    row = await (await conn.execute(LAST_DAY, {"today": today})).fetchone()
    return None if row is None else row[0]


async def roll_up(
    conn: Conn, *, day: date, start: datetime, end: datetime, late: timedelta, early: timedelta
) -> None:
    """Sum up a day again; its events arrive between `early` before and `late` after their time."""
    await conn.execute(SET_TIMEOUTS)
    await conn.execute(LOCK_SUMS)
    row = {"day": day, "start": start, "end": end, "received_from": start - early, "received_until": end + late}
    await conn.execute(ROLL_UP, row)


async def rank(conn: Conn, *, since: date, high: tuple[int, float], medium: tuple[int, float]) -> int:
    """Write the popularity of each domain, by least points and share of domains below; return the changes."""
    row = {
        "since": since,
        "high_from": high[0],
        "high_above": high[1],
        "medium_from": medium[0],
        "medium_above": medium[1],
    }
    return (await conn.execute(RANK, row)).rowcount


async def report(conn: Conn, *, since: date, domain: str | None, limit: int) -> Sequence[FunnelLine]:
    """Return the sums of domains since a day, the most viewed first."""
    async with conn.cursor(row_factory=class_row(FunnelLine)) as cursor:
        await cursor.execute(REPORT, {"since": since, "domain": domain, "limit": limit}, prepare=False)
        return await cursor.fetchall()
