"""SQL of imports: results of rows with the data for an undo, and the sealed sources that a job imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from pydantic_core import to_json

from builders.kit.db.columns import columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import query
from builders.kit.rows import RowOutcome
from builders.portfolio.imports.records import ImportRow

COLUMNS = columns_of(ImportRow)
INSERT = """
    INSERT INTO portfolio_imports_rows (
        account_id, import_id, number, position, domain, outcome, domain_id, errors, warnings, before, after,
        entry_ids
    )
    SELECT %(account_id)s, %(import_id)s, row.*
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS row (
        number int, position int, domain text, outcome text, domain_id uuid, errors jsonb, warnings jsonb,
        before jsonb, after jsonb, entry_ids uuid[]
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The first row of an import that has a domain."""

    domain: str
    position: int
    outcome: RowOutcome


async def insert(conn: Conn, *, account_id: UUID, import_id: UUID, rows: Sequence[ImportRow]) -> None:
    """Add rows."""
    row = {"account_id": account_id, "import_id": import_id, "rows": to_json(rows).decode()}
    await conn.execute(INSERT, row)


list_page = query(f"""
    SELECT {COLUMNS} FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number > %(after)s
      AND (%(outcome)s::text IS NULL OR outcome = %(outcome)s) AND (NOT %(only_kept)s OR kept IS NOT NULL)
    ORDER BY number LIMIT %(limit)s
""").unprepared.all(ImportRow)


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


keep = query("""
    UPDATE portfolio_imports_rows AS row SET kept = given.kept
    FROM unnest(%(numbers)s::int[], %(kept)s::jsonb[]) AS given (number, kept)
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND row.number = given.number
""").run()


# The first row of each domain that was not refused.
load_earlier = query("""
    SELECT DISTINCT ON (domain) domain, position, outcome FROM portfolio_imports_rows
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND domain = ANY(%(domains)s::text[])
      AND outcome <> 'error'
    ORDER BY domain, number
""").keyed(Earlier, by=lambda row: row.domain)


# A part of a sealed source: some of its bytes, or its rows from a number on.
insert_part = query("""
    INSERT INTO portfolio_imports_sources (account_id, import_id, number, content, first_row)
    VALUES (%(account_id)s, %(import_id)s, %(number)s, %(content)s, %(first_row)s)
""").run()


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
