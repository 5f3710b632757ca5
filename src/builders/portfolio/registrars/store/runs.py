"""Runs and their parts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb
from pydantic_core import to_json

from builders.kit.db.connections import Conn

PART_COLUMNS = """
    account_id, run_id, connection_id, provider, kind, state, claim, counts, changes, error, created_at,
    started_at, finished_at
"""
INSERT = """
    INSERT INTO portfolio_registrars_runs (account_id, id, kind, options, state, created_at)
    VALUES (%(account_id)s, %(id)s, %(kind)s, %(options)s, 'queued', %(now)s)
"""
# One order for all, so that concurrent starts do not deadlock.
INSERT_PARTS = """
    INSERT INTO portfolio_registrars_parts (
        account_id, run_id, connection_id, provider, kind, state, error, created_at, advanced_at, finished_at
    )
    SELECT %(account_id)s, %(run_id)s, connection_id, provider, %(kind)s, state, error, %(now)s, %(now)s,
        CASE WHEN state = 'queued' THEN NULL ELSE %(now)s::timestamptz END
    FROM jsonb_to_recordset(%(parts)s::jsonb) AS new (connection_id uuid, provider text, state text, error jsonb)
    ORDER BY connection_id
    ON CONFLICT (account_id, connection_id, kind) WHERE state IN ('queued', 'running') DO NOTHING
    RETURNING connection_id
"""
DELETE = "DELETE FROM portfolio_registrars_runs WHERE account_id = %(account_id)s AND id = %(id)s"
LIST_OPEN = """
    SELECT connection_id, run_id FROM portfolio_registrars_parts
    WHERE account_id = %(account_id)s AND kind = %(kind)s AND connection_id = ANY(%(connection_ids)s::uuid[])
      AND state IN ('queued', 'running')
    ORDER BY created_at, connection_id
"""
ABANDON_STUCK = """
    UPDATE portfolio_registrars_parts SET state = 'failed', error = %(error)s, finished_at = %(now)s
    WHERE account_id = %(account_id)s AND kind = %(kind)s AND connection_id = ANY(%(connection_ids)s::uuid[])
      AND state IN ('queued', 'running') AND advanced_at < %(before)s
    RETURNING run_id
"""
BEGIN_PART = f"""
    UPDATE portfolio_registrars_parts
    SET state = 'running', claim = %(claim)s, started_at = coalesce(started_at, %(now)s), advanced_at = %(now)s,
        counts = (
            SELECT coalesce(jsonb_object_agg(name, value), '{{}}') FROM jsonb_each(counts) AS kept (name, value)
            WHERE name = ANY(%(kept)s::text[])
        )
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND connection_id = %(connection_id)s
      AND state IN ('queued', 'running')
    RETURNING {PART_COLUMNS}
"""
START = """
    UPDATE portfolio_registrars_runs SET state = 'running'
    WHERE account_id = %(account_id)s AND id = %(id)s AND state = 'queued'
"""
# The counts are added to those that are there; of the changes, the first ones are kept.
ADVANCE_PART = f"""
    UPDATE portfolio_registrars_parts
    SET advanced_at = %(now)s, counts = counts || (
            SELECT coalesce(jsonb_object_agg(name, value::bigint + coalesce((counts ->> name)::bigint, 0)), '{{}}')
            FROM jsonb_each_text(%(counts)s::jsonb) AS more (name, value)
        ), changes = CASE WHEN %(changes)s::jsonb = '[]' OR jsonb_array_length(changes) >= %(max_changes)s
            THEN changes
            ELSE jsonb_path_query_array(changes || %(changes)s::jsonb, '$[0 to $last]', %(bounds)s::jsonb) END
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND connection_id = %(connection_id)s
      AND state = 'running' AND claim = %(claim)s
    RETURNING {PART_COLUMNS}
"""
END_PART = """
    UPDATE portfolio_registrars_parts
    SET state = %(state)s, error = %(error)s, advanced_at = %(now)s, finished_at = %(now)s
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND connection_id = %(connection_id)s
      AND state IN ('queued', 'running') AND (claim = %(claim)s OR %(any_claim)s)
    RETURNING run_id
"""
LOCK = "SELECT FROM portfolio_registrars_runs WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE"
END = """
    UPDATE portfolio_registrars_runs AS run
    SET finished_at = %(now)s, state = (
            SELECT CASE WHEN count(*) FILTER (WHERE state = 'failed') > 0
                         AND count(*) FILTER (WHERE state = 'completed') = 0 THEN 'failed' ELSE 'completed' END
            FROM portfolio_registrars_parts WHERE account_id = %(account_id)s AND run_id = %(id)s
        )
    WHERE account_id = %(account_id)s AND id = %(id)s AND finished_at IS NULL AND NOT EXISTS (
        SELECT FROM portfolio_registrars_parts
        WHERE account_id = %(account_id)s AND run_id = %(id)s AND state IN ('queued', 'running')
    )
"""
FIND = "SELECT * FROM portfolio_registrars_runs WHERE account_id = %(account_id)s AND id = %(id)s"
LIST_PARTS = f"""
    SELECT {PART_COLUMNS} FROM portfolio_registrars_parts
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s ORDER BY provider, connection_id
"""
FIND_EARLIER = f"""
    SELECT {PART_COLUMNS} FROM portfolio_registrars_parts
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND kind = %(kind)s
      AND created_at < %(before)s AND state IN ('completed', 'failed')
    ORDER BY created_at DESC LIMIT 1
"""
PRUNE = """
    DELETE FROM portfolio_registrars_runs WHERE (account_id, id) IN (
        SELECT account_id, id FROM portfolio_registrars_runs WHERE created_at < %(before)s LIMIT %(limit)s
    )
"""


async def insert(
    conn: Conn, *, account_id: UUID, run_id: UUID, kind: str, options: Mapping[str, Any], now: datetime
) -> None:
    """Add a run without parts."""
    row = {"account_id": account_id, "id": run_id, "kind": kind, "options": Jsonb(options), "now": now}
    await conn.execute(INSERT, row)


async def insert_parts(
    conn: Conn, *, account_id: UUID, run_id: UUID, kind: str, parts: Sequence[Mapping[str, Any]], now: datetime
) -> frozenset[UUID]:
    """Add parts, but for those whose connection has an open one; return the connections of the added ones."""
    row = {"account_id": account_id, "run_id": run_id, "kind": kind, "now": now}
    found = await conn.execute(INSERT_PARTS, {**row, "parts": to_json(parts).decode()})
    return frozenset([connection_id for (connection_id,) in await found.fetchall()])


async def delete(conn: Conn, *, account_id: UUID, run_id: UUID) -> None:
    """Delete a run."""
    await conn.execute(DELETE, {"account_id": account_id, "id": run_id})


async def list_open(
    conn: Conn, *, account_id: UUID, kind: str, connection_ids: Sequence[UUID]
) -> Mapping[UUID, UUID]:
    """Return the run of the open part of each connection that has one, the oldest part first."""
    row = {"account_id": account_id, "kind": kind, "connection_ids": list(connection_ids)}
    return dict(await (await conn.execute(LIST_OPEN, row)).fetchall())


async def abandon_stuck(
    conn: Conn,
    *,
    account_id: UUID,
    kind: str,
    connection_ids: Sequence[UUID],
    before: datetime,
    error: Mapping[str, Any],
    now: datetime,
) -> frozenset[UUID]:
    """End the open parts without progress since a time; return their runs."""
    row = {"account_id": account_id, "kind": kind, "connection_ids": list(connection_ids), "now": now}
    found = await conn.execute(ABANDON_STUCK, {**row, "before": before, "error": Jsonb(error)})
    return frozenset([run_id for (run_id,) in await found.fetchall()])


async def begin_part(
    conn: Conn,
    *,
    account_id: UUID,
    run_id: UUID,
    connection_id: UUID,
    claim: UUID,
    kept: Sequence[str],
    now: datetime,
) -> DictRow | None:
    """Claim an open part, with only the `kept` ones of its counts."""
    row = {"account_id": account_id, "run_id": run_id, "connection_id": connection_id, "claim": claim, "now": now}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(BEGIN_PART, {**row, "kept": list(kept)})
        begun = await cursor.fetchone()
    await conn.execute(START, {"account_id": account_id, "id": run_id})
    return begun


async def advance_part(
    conn: Conn,
    *,
    account_id: UUID,
    run_id: UUID,
    connection_id: UUID,
    claim: UUID | None,
    counts: Mapping[str, int],
    changes: Sequence[Mapping[str, Any]],
    max_changes: int,
    now: datetime,
) -> DictRow | None:
    """Add counts and changes to a claimed part."""
    row: dict[str, Any] = {"account_id": account_id, "run_id": run_id, "connection_id": connection_id}
    row |= {
        "claim": claim,
        "now": now,
        "counts": Jsonb(counts),
        "changes": Jsonb(changes),
        "max_changes": max_changes,
        "bounds": Jsonb({"last": max_changes - 1}),
    }
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(ADVANCE_PART, row)
        return await cursor.fetchone()


async def end_part(
    conn: Conn,
    *,
    account_id: UUID,
    run_id: UUID,
    connection_id: UUID,
    claim: UUID | None,
    any_claim: bool,
    state: str,
    error: Mapping[str, Any] | None,
    now: datetime,
) -> bool:
    """End an open part of a claim; return whether there is one."""
    row: dict[str, Any] = {"account_id": account_id, "run_id": run_id, "connection_id": connection_id}
    row |= {
        "claim": claim,
        "now": now,
        "any_claim": any_claim,
        "state": state,
        "error": None if error is None else Jsonb(error),
    }
    return (await conn.execute(END_PART, row)).rowcount == 1


async def end(conn: Conn, *, account_id: UUID, run_id: UUID, now: datetime) -> bool:
    """End a run that has no open part; return whether it ended now."""
    row = {"account_id": account_id, "id": run_id, "now": now}
    return (await conn.execute(END, row)).rowcount == 1


async def lock(conn: Conn, *, account_id: UUID, run_id: UUID) -> None:
    """Let only one part of the run end at a time."""
    await conn.execute(LOCK, {"account_id": account_id, "id": run_id})


async def find(conn: Conn, *, account_id: UUID, run_id: UUID) -> tuple[DictRow, Sequence[DictRow]] | None:
    """Return a run and its parts."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "id": run_id})
        run = await cursor.fetchone()
        if run is None:
            return None
        await cursor.execute(LIST_PARTS, {"account_id": account_id, "run_id": run_id})
        return run, await cursor.fetchall()


async def find_earlier(
    conn: Conn, *, account_id: UUID, connection_id: UUID, kind: str, before: datetime
) -> DictRow | None:
    """Return the last part of a connection that ended regularly, among those created before a time."""
    row = {"account_id": account_id, "connection_id": connection_id, "kind": kind, "before": before}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_EARLIER, row)
        return await cursor.fetchone()


async def prune(conn: Conn, *, before: datetime, limit: int) -> int:
    """Delete runs that were made before a time; return how many."""
    return (await conn.execute(PRUNE, {"before": before, "limit": limit})).rowcount
