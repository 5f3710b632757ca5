"""Imports, and the sealed sources of those that a job runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow, dict_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.portfolio.imports.records import Counts

COLUMNS = """
    id, state, source, options, detected, failure, rows_total, rows_done, created, updated, unchanged, skipped,
    errors, duplicates, rows_undone, removed, restored, kept, created_by, created_at, finished_at, undo_until
"""
INSERT = f"""
    INSERT INTO portfolio_imports (account_id, id, state, source, options, created_by, created_at)
    VALUES (%(account_id)s, %(id)s, %(state)s, %(source)s, %(options)s, %(created_by)s, %(now)s)
    RETURNING {COLUMNS}
"""
INSERT_PART = """
    INSERT INTO portfolio_imports_parts (account_id, import_id, number, content, first_row)
    VALUES (%(account_id)s, %(import_id)s, %(number)s, %(content)s, %(first_row)s)
"""
FIND_ROWS = """
    SELECT number, content FROM portfolio_imports_parts
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND first_row = %(first_row)s
"""
FIND_PART = """
    SELECT content FROM portfolio_imports_parts
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number = %(number)s AND first_row IS NULL
"""
DELETE_PARTS = (
    "DELETE FROM portfolio_imports_parts WHERE account_id = %(account_id)s AND import_id = %(import_id)s"
)
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_imports WHERE account_id = %(account_id)s AND id = %(id)s
"""
LOCK = f"""
    SELECT {COLUMNS} FROM portfolio_imports WHERE account_id = %(account_id)s AND id = %(id)s FOR UPDATE
"""
LIST = f"""
    SELECT {COLUMNS} FROM portfolio_imports
    WHERE account_id = %(account_id)s AND id < %(before)s ORDER BY id DESC LIMIT %(limit)s
"""
LOCK_PORTFOLIO = "SELECT pg_advisory_xact_lock(hashtextextended('portfolio_imports ' || %(account_id)s::uuid, 0))"
COUNT_OPEN = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_imports
        WHERE account_id = %(account_id)s AND created_at > %(since)s AND state IN ('queued', 'running', 'undoing')
        LIMIT %(limit)s
    ) AS open
"""
FIND_NEXT = """
    SELECT id FROM portfolio_imports
    WHERE account_id = %(account_id)s AND created_at > %(since)s AND state IN ('queued', 'running', 'undoing')
    ORDER BY id LIMIT 1
"""
LIST_NEXT = """
    SELECT DISTINCT ON (account_id) account_id, id FROM portfolio_imports
    WHERE account_id > %(after)s AND created_at > %(since)s AND state IN ('queued', 'running', 'undoing')
    ORDER BY account_id, id LIMIT %(limit)s
"""
# From the primary key: ids are in the order of time.
SUM_ROWS = """
    SELECT coalesce(sum(
        CASE WHEN rows_total IS NULL AND state IN ('queued', 'running') THEN %(unread)s ELSE rows_total END
    ), 0)
    FROM portfolio_imports WHERE account_id = %(account_id)s AND id >= %(since)s
"""
START = """
    UPDATE portfolio_imports SET state = 'running', detected = %(detected)s, rows_total = %(rows_total)s
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
ADVANCE = """
    UPDATE portfolio_imports SET rows_done = rows_done + %(rows)s, created = created + %(created)s,
        updated = updated + %(updated)s, unchanged = unchanged + %(unchanged)s, skipped = skipped + %(skipped)s,
        errors = errors + %(errors)s, duplicates = duplicates + %(duplicates)s
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
FINISH = f"""
    UPDATE portfolio_imports SET state = %(state)s, failure = %(failure)s, finished_at = %(now)s,
        undo_until = %(undo_until)s
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""
SET_STATE = "UPDATE portfolio_imports SET state = %(state)s WHERE account_id = %(account_id)s AND id = %(id)s"
ADVANCE_UNDO = """
    UPDATE portfolio_imports SET rows_undone = rows_undone + %(rows)s, removed = removed + %(removed)s,
        restored = restored + %(restored)s, kept = kept + %(kept)s
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
PRUNE_IMPORTS = """
    DELETE FROM portfolio_imports WHERE (account_id, id) IN (
        SELECT account_id, id FROM portfolio_imports WHERE created_at < %(before)s LIMIT %(limit)s
    )
"""
# Those that have ended, and that newer imports with more than this number of rows follow.
DELETE_OLDEST = """
    DELETE FROM portfolio_imports WHERE (account_id, id) IN (
        SELECT account_id, id FROM (
            SELECT account_id, id, state, undo_until, sum(rows_done) OVER (
                PARTITION BY account_id ORDER BY id DESC ROWS UNBOUNDED PRECEDING
            ) AS rows
            FROM portfolio_imports WHERE account_id IN (
                SELECT account_id FROM portfolio_imports GROUP BY account_id HAVING sum(rows_done) > %(rows)s
            )
        ) AS numbered
        WHERE rows > %(rows)s AND state IN ('completed', 'failed', 'undone')
          AND (undo_until IS NULL OR undo_until < %(now)s)
        LIMIT %(limit)s
    )
"""


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    import_id: UUID,
    state: str,
    source: str,
    options: Mapping[str, Any],
    created_by: UUID,
    now: datetime,
) -> DictRow:
    """Add an import."""
    row = {
        "account_id": account_id,
        "id": import_id,
        "state": state,
        "source": source,
        "options": Jsonb(options),
        "created_by": created_by,
        "now": now,
    }
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(INSERT, row)
        [inserted] = await cursor.fetchall()
        return inserted


async def insert_part(
    conn: Conn, *, account_id: UUID, import_id: UUID, number: int, content: bytes, first_row: int | None = None
) -> None:
    """Add a part of a sealed source: some of its bytes, or its rows from a number on."""
    row = {"account_id": account_id, "import_id": import_id, "number": number}
    await conn.execute(INSERT_PART, {**row, "content": content, "first_row": first_row})


async def find_part(conn: Conn, *, account_id: UUID, import_id: UUID, number: int) -> bytes | None:
    """Return a part of the bytes of a sealed source."""
    row = {"account_id": account_id, "import_id": import_id, "number": number}
    found = await (await conn.execute(FIND_PART, row)).fetchone()
    return None if found is None else bytes(found[0])


async def find_rows(conn: Conn, *, account_id: UUID, import_id: UUID, first_row: int) -> tuple[int, bytes] | None:
    """Return the part of a sealed source that begins with a row, and its number."""
    row = {"account_id": account_id, "import_id": import_id, "first_row": first_row}
    found = await (await conn.execute(FIND_ROWS, row)).fetchone()
    return None if found is None else (int(found[0]), bytes(found[1]))


async def delete_parts(conn: Conn, *, account_id: UUID, import_id: UUID) -> None:
    """Delete the source of an import."""
    await conn.execute(DELETE_PARTS, {"account_id": account_id, "import_id": import_id})


async def find(conn: Conn, *, account_id: UUID, import_id: UUID) -> DictRow | None:
    """Return an import."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND, {"account_id": account_id, "id": import_id})
        return await cursor.fetchone()


async def lock(conn: Conn, *, account_id: UUID, import_id: UUID) -> DictRow | None:
    """Return an import, locked until the transaction ends."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LOCK, {"account_id": account_id, "id": import_id})
        return await cursor.fetchone()


async def list_page(conn: Conn, *, account_id: UUID, before: UUID, limit: int) -> Sequence[DictRow]:
    """Return imports, the newest first."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST, {"account_id": account_id, "before": before, "limit": limit})
        return await cursor.fetchall()


async def lock_portfolio(conn: Conn, *, account_id: UUID) -> None:
    """Lock the number of open imports until the transaction ends."""
    await conn.execute(LOCK_PORTFOLIO, {"account_id": account_id})


async def find_next(conn: Conn, *, account_id: UUID, since: datetime) -> UUID | None:
    """Return the first import since a time that has not ended."""
    found = await (await conn.execute(FIND_NEXT, {"account_id": account_id, "since": since})).fetchone()
    return None if found is None else found[0]


async def list_next(conn: Conn, *, after: UUID, since: datetime, limit: int) -> Mapping[UUID, UUID]:
    """Return the first import since a time that has not ended, for each of some portfolios after an id."""
    found = await conn.execute(LIST_NEXT, {"after": after, "since": since, "limit": limit})
    return {account_id: import_id async for account_id, import_id in found}


async def count_open(conn: Conn, *, account_id: UUID, since: datetime, limit: int) -> int:
    """Return how many imports since a time have not ended, at most `limit`."""
    found = await conn.execute(COUNT_OPEN, {"account_id": account_id, "since": since, "limit": limit})
    [(count,)] = await found.fetchall()
    return int(count)


async def sum_rows(conn: Conn, *, account_id: UUID, since: UUID, unread: int) -> int:
    """Return the number of rows of the imports since an id; an import that was not read yet has `unread`."""
    row = {"account_id": account_id, "since": since, "unread": unread}
    [(rows,)] = await (await conn.execute(SUM_ROWS, row)).fetchall()
    return int(rows)


async def start(
    conn: Conn, *, account_id: UUID, import_id: UUID, detected: Mapping[str, Any], rows_total: int
) -> None:
    """Record the detected properties of the source."""
    row = {"account_id": account_id, "id": import_id, "detected": Jsonb(detected), "rows_total": rows_total}
    await conn.execute(START, row)


async def advance(conn: Conn, *, account_id: UUID, import_id: UUID, rows: int, counts: Counts) -> None:
    """Count rows that are done."""
    row = {"account_id": account_id, "id": import_id, "rows": rows, "created": counts.created}
    row |= {"updated": counts.updated, "unchanged": counts.unchanged, "skipped": counts.skipped}
    await conn.execute(ADVANCE, {**row, "errors": counts.errors, "duplicates": counts.duplicates})


async def finish(
    conn: Conn,
    *,
    account_id: UUID,
    import_id: UUID,
    state: str,
    failure: Mapping[str, Any] | None,
    now: datetime,
    undo_until: datetime | None,
) -> DictRow:
    """Record the end of an import."""
    row = {"account_id": account_id, "id": import_id, "state": state, "now": now, "undo_until": undo_until}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FINISH, {**row, "failure": None if failure is None else Jsonb(failure)})
        [finished] = await cursor.fetchall()
        return finished


async def set_state(conn: Conn, *, account_id: UUID, import_id: UUID, state: str) -> None:
    """Set the state of an import."""
    await conn.execute(SET_STATE, {"account_id": account_id, "id": import_id, "state": state})


async def advance_undo(
    conn: Conn, *, account_id: UUID, import_id: UUID, rows: int, removed: int, restored: int, kept: int
) -> None:
    """Count rows that are undone."""
    row = {"account_id": account_id, "id": import_id, "rows": rows}
    await conn.execute(ADVANCE_UNDO, {**row, "removed": removed, "restored": restored, "kept": kept})


async def prune_imports(conn: Conn, *, before: datetime, limit: int) -> int:
    """Delete imports that were made before a time; return how many."""
    return (await conn.execute(PRUNE_IMPORTS, {"before": before, "limit": limit})).rowcount


async def delete_oldest(conn: Conn, *, rows: int, now: datetime, limit: int) -> int:
    """Delete ended imports that are not within the newest `rows` rows of a portfolio; return how many."""
    return (await conn.execute(DELETE_OLDEST, {"rows": rows, "now": now, "limit": limit})).rowcount
