"""Rows of imports: results, and the data for an undo."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from psycopg.rows import class_row, scalar_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.http.bulk import RowOutcome
from builders.portfolio.imports.records import ImportRow

COLUMNS = "number, position, domain, outcome, domain_id, errors, warnings, before, after, entry_ids, kept"
INSERT = """
    INSERT INTO portfolio_imports_rows (
        account_id, import_id, number, position, domain, outcome, domain_id, errors, warnings, before, after,
        entry_ids
    )
    SELECT %(account_id)s, %(import_id)s, number, position, domain, outcome, domain_id, errors, warnings, before,
        after, ARRAY(SELECT jsonb_array_elements_text(entry_ids)::uuid)
    FROM unnest(
        %(numbers)s::int[], %(positions)s::int[], %(domains)s::text[], %(outcomes)s::text[],
        %(domain_ids)s::uuid[], %(errors)s::jsonb[], %(warnings)s::jsonb[], %(before)s::jsonb[],
        %(after)s::jsonb[], %(entry_ids)s::jsonb[]
    ) AS row (number, position, domain, outcome, domain_id, errors, warnings, before, after, entry_ids)
"""
LIST = f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number > %(after)s
    ORDER BY number LIMIT %(limit)s
"""
LIST_OF_OUTCOME = f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND outcome = %(outcome)s
      AND number > %(after)s
    ORDER BY number LIMIT %(limit)s
"""
LIST_KEPT = f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND kept IS NOT NULL AND number > %(after)s
      AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s)
    ORDER BY number LIMIT %(limit)s
"""
# The rows from a number on that have one of the domains.
LIST_OF_DOMAINS = f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND domain = ANY(%(domains)s::text[])
      AND number >= %(since)s
    ORDER BY number DESC
"""
# Imports are numbered by time.
LIST_IMPORTED_LATER = """
    SELECT DISTINCT domain FROM portfolio_imports_rows AS row
    JOIN portfolio_runs AS later ON later.account_id = %(account_id)s AND later.id = row.import_id
    WHERE row.account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND import_id > %(import_id)s
      AND outcome IN ('updated', 'unchanged') AND NOT (later.options ->> 'dry_run')::boolean AND NOT EXISTS (
        SELECT FROM portfolio_runs_parts AS undo
        WHERE undo.account_id = %(account_id)s AND undo.run_id = later.id AND undo.kind = 'undo'
          AND undo.state = 'completed'
    )
"""
KEEP = """
    UPDATE portfolio_imports_rows AS row SET kept = given.kept
    FROM unnest(%(numbers)s::int[], %(kept)s::jsonb[]) AS given (number, kept)
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND row.number = given.number
"""
LIST_BACKWARDS = f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number < %(below)s
    ORDER BY number DESC LIMIT %(limit)s
"""
# The first row of each domain that was not refused.
FIND_EARLIER = """
    SELECT DISTINCT ON (domain) domain, position, outcome FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND domain = ANY(%(domains)s::text[])
      AND outcome <> 'error'
    ORDER BY domain, number
"""


class Earlier(NamedTuple):
    """The first row of an import that has a domain."""

    position: int
    outcome: RowOutcome


async def insert(conn: Conn, *, account_id: UUID, import_id: UUID, rows: Sequence[ImportRow]) -> None:
    """Add rows."""
    columns: Mapping[str, Any] = {
        "numbers": [each.number for each in rows],
        "positions": [each.position for each in rows],
        "domains": [each.domain for each in rows],
        "outcomes": [each.outcome.value for each in rows],
        "domain_ids": [each.domain_id for each in rows],
        "errors": [Jsonb(each.errors) for each in rows],
        "warnings": [Jsonb(each.warnings) for each in rows],
        "before": [None if each.before is None else Jsonb(each.before) for each in rows],
        "after": [None if each.after is None else Jsonb(each.after) for each in rows],
        "entry_ids": [Jsonb([str(entry_id) for entry_id in each.entry_ids]) for each in rows],
    }
    await conn.execute(INSERT, {"account_id": account_id, "import_id": import_id, **columns})


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    import_id: UUID,
    outcome: RowOutcome | None,
    after: int,
    limit: int,
) -> Sequence[ImportRow]:
    """Return rows after a number, all of them or those of one outcome."""
    row = {"account_id": account_id, "import_id": import_id, "after": after, "limit": limit}
    async with conn.cursor(row_factory=class_row(ImportRow)) as cursor:
        if outcome is None:
            await cursor.execute(LIST, row)
        else:
            await cursor.execute(LIST_OF_OUTCOME, {**row, "outcome": outcome.value})
        return await cursor.fetchall()


async def list_backwards(
    conn: Conn, *, account_id: UUID, import_id: UUID, below: int, limit: int
) -> Sequence[ImportRow]:
    """Return rows below a number, the last one first."""
    row = {"account_id": account_id, "import_id": import_id, "below": below, "limit": limit}
    async with conn.cursor(row_factory=class_row(ImportRow)) as cursor:
        await cursor.execute(LIST_BACKWARDS, row)
        return await cursor.fetchall()


async def list_kept(
    conn: Conn, *, account_id: UUID, import_id: UUID, outcome: RowOutcome | None, after: int, limit: int
) -> Sequence[ImportRow]:
    """Return rows after a number of which the undo kept something, all of them or those of one outcome."""
    row = {"account_id": account_id, "import_id": import_id, "after": after, "limit": limit, "outcome": outcome}
    async with conn.cursor(row_factory=class_row(ImportRow)) as cursor:
        await cursor.execute(LIST_KEPT, row, prepare=False)
        return await cursor.fetchall()


async def list_of_domains(
    conn: Conn, *, account_id: UUID, import_id: UUID, domains: Sequence[str], since: int
) -> Sequence[ImportRow]:
    """Return rows from a number on that have one of the domains, the last one first."""
    row = {"account_id": account_id, "import_id": import_id, "domains": list(domains), "since": since}
    async with conn.cursor(row_factory=class_row(ImportRow)) as cursor:
        await cursor.execute(LIST_OF_DOMAINS, row)
        return await cursor.fetchall()


async def list_imported_later(
    conn: Conn, *, account_id: UUID, import_id: UUID, domains: Sequence[str]
) -> Sequence[str]:
    """Return those of the domains that a later import has, too, which is not undone."""
    row = {"account_id": account_id, "import_id": import_id, "domains": list(domains)}
    async with conn.cursor(row_factory=scalar_row) as cursor:
        await cursor.execute(LIST_IMPORTED_LATER, row)
        return await cursor.fetchall()


async def keep(
    conn: Conn, *, account_id: UUID, import_id: UUID, kept: Mapping[int, Sequence[Mapping[str, Any]]]
) -> None:
    """Record why the undo kept something of rows, by their numbers."""
    columns = {"numbers": list(kept), "kept": [Jsonb(each) for each in kept.values()]}
    await conn.execute(KEEP, {"account_id": account_id, "import_id": import_id, **columns})


async def find_earlier(
    conn: Conn, *, account_id: UUID, import_id: UUID, domains: Sequence[str]
) -> Mapping[str, Earlier]:
    """Return the first row of each of the domains that an import has done."""
    row = {"account_id": account_id, "import_id": import_id, "domains": list(domains)}
    found = await (await conn.execute(FIND_EARLIER, row)).fetchall()
    return {domain: Earlier(position, RowOutcome(outcome)) for domain, position, outcome in found}
