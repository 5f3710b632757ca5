"""Sealed sources of the imports that a job runs."""

from uuid import UUID

from builders.kit.db.connections import Conn

INSERT = """
    INSERT INTO portfolio_imports_sources (account_id, import_id, number, content, first_row)
    VALUES (%(account_id)s, %(import_id)s, %(number)s, %(content)s, %(first_row)s)
"""
FIND_ROWS = """
    SELECT number, content FROM portfolio_imports_sources
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND first_row = %(first_row)s
"""
FIND = """
    SELECT content FROM portfolio_imports_sources
    WHERE account_id = %(account_id)s AND import_id = %(import_id)s AND number = %(number)s AND first_row IS NULL
"""
DELETE = "DELETE FROM portfolio_imports_sources WHERE account_id = %(account_id)s AND import_id = %(import_id)s"


async def insert(
    conn: Conn, *, account_id: UUID, import_id: UUID, number: int, content: bytes, first_row: int | None = None
) -> None:
    """Add a piece of a sealed source: some of its bytes, or its rows from a number on."""
    row = {"account_id": account_id, "import_id": import_id, "number": number}
    await conn.execute(INSERT, {**row, "content": content, "first_row": first_row})


async def find(conn: Conn, *, account_id: UUID, import_id: UUID, number: int) -> bytes | None:
    """Return a piece of the bytes of a sealed source."""
    row = {"account_id": account_id, "import_id": import_id, "number": number}
    found = await (await conn.execute(FIND, row)).fetchone()
    return None if found is None else bytes(found[0])


async def find_rows(conn: Conn, *, account_id: UUID, import_id: UUID, first_row: int) -> tuple[int, bytes] | None:
    """Return the piece of a sealed source that begins with a row, and its number."""
    row = {"account_id": account_id, "import_id": import_id, "first_row": first_row}
    found = await (await conn.execute(FIND_ROWS, row)).fetchone()
    return None if found is None else (int(found[0]), bytes(found[1]))


async def delete(conn: Conn, *, account_id: UUID, import_id: UUID) -> None:
    """Delete the source of an import."""
    await conn.execute(DELETE, {"account_id": account_id, "import_id": import_id})
