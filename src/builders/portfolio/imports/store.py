"""SQL of imports: results of rows with the data for an undo, and the sealed sources that a job imports."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from psycopg import AsyncCursor
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
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
      AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s) AND (NOT %(only_kept)s OR kept IS NOT NULL)
    ORDER BY number LIMIT %(limit)s
"""
KEEP = """
    UPDATE portfolio_imports_rows AS row SET kept = given.kept
    FROM unnest(%(numbers)s::int[], %(kept)s::jsonb[]) AS given (number, kept)
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND row.number = given.number
"""
# The first row of each domain that was not refused.
FIND_EARLIER = """
    SELECT DISTINCT ON (domain) domain, position, outcome FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND domain = ANY(%(domains)s::text[])
      AND outcome <> 'error'
    ORDER BY domain, number
"""
INSERT_PART = """
    INSERT INTO portfolio_imports_sources (account_id, import_id, number, content, first_row)
    VALUES (%(account_id)s, %(import_id)s, %(number)s, %(content)s, %(first_row)s)
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
    after: int,
    limit: int,
    outcome: RowOutcome | None = None,
    only_kept: bool = False,
) -> Sequence[ImportRow]:
    """Return rows after a number: all, those of one outcome, or those of which the undo kept something."""
    row = {"account_id": account_id, "import_id": import_id, "after": after, "limit": limit}
    row |= {"outcome": outcome, "only_kept": only_kept}
    return await (await _rows(conn).execute(LIST, row, prepare=False)).fetchall()


list_backwards = query(f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number < %(below)s
    ORDER BY number DESC LIMIT %(limit)s
""").all(ImportRow)
# The rows from a number on that have one of the domains.
list_of_domains = query(f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND domain = ANY(%(domains)s::text[])
      AND number >= %(since)s
    ORDER BY number DESC
""").all(ImportRow)
# Those of the domains that a later import has, too, which is not undone.
# Imports are numbered by time.
list_imported_later = query("""
    SELECT DISTINCT domain FROM portfolio_imports_rows AS row
    JOIN portfolio_runs AS later ON later.account_id = %(account_id)s AND later.id = row.import_id
    WHERE row.account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND import_id > %(import_id)s
      AND outcome IN ('updated', 'unchanged') AND NOT (later.options ->> 'dry_run')::boolean AND NOT EXISTS (
        SELECT FROM portfolio_runs_parts AS undo
        WHERE undo.account_id = %(account_id)s AND undo.run_id = later.id AND undo.kind = 'undo'
          AND undo.state = 'completed'
    )
""").scalars(str)


async def keep(
    conn: Conn, *, account_id: UUID, import_id: UUID, kept: Mapping[int, Sequence[Mapping[str, Any]]]
) -> None:
    """Record why the undo kept something of rows, by their numbers."""
    columns = {"numbers": list(kept), "kept": [Jsonb(each) for each in kept.values()]}
    await conn.execute(KEEP, {"account_id": account_id, "import_id": import_id, **columns})


async def load_earlier(
    conn: Conn, *, account_id: UUID, import_id: UUID, domains: Sequence[str]
) -> Mapping[str, Earlier]:
    """Return the first row of each of the domains that an import has done."""
    row = {"account_id": account_id, "import_id": import_id, "domains": list(domains)}
    found = await (await conn.execute(FIND_EARLIER, row)).fetchall()
    return {domain: Earlier(position, RowOutcome(outcome)) for domain, position, outcome in found}


async def insert_part(
    conn: Conn, *, account_id: UUID, import_id: UUID, number: int, content: bytes, first_row: int | None = None
) -> None:
    """Add a part of a sealed source: some of its bytes, or its rows from a number on."""
    row = {"account_id": account_id, "import_id": import_id, "number": number}
    await conn.execute(INSERT_PART, {**row, "content": content, "first_row": first_row})


find_part = query("""
    SELECT content FROM portfolio_imports_sources
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number = %(number)s AND first_row IS NULL
""").scalar(bytes)
# The part of a sealed source that begins with a row, and its number.
find_rows = query("""
    SELECT number, content FROM portfolio_imports_sources
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND first_row = %(first_row)s
""").one(tuple[int, bytes])
delete_parts = query("""
    DELETE FROM portfolio_imports_sources WHERE account_id = %(account_id)s AND import_id = %(import_id)s
""").run()


def _rows(conn: Conn) -> AsyncCursor[ImportRow]:
    return conn.cursor(row_factory=class_row(ImportRow))
