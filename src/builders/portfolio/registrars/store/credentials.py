"""Sealed credentials of connections: read for one use, and sealed again under a new secret key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

FIND = """
    SELECT credentials FROM portfolio_registrars_connections
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
LIST_STALE = """
    SELECT account_id, id, credentials FROM portfolio_registrars_connections
    WHERE (account_id, id) > (%(after_account)s::uuid, %(after_id)s::uuid) AND credentials IS NOT NULL
      AND substr(credentials, 1, octet_length(%(header)s::bytea)) <> %(header)s
    ORDER BY account_id, id LIMIT %(limit)s
"""
# Compares the bytes: credentials that were changed concurrently stay.
REPLACE = """
    UPDATE portfolio_registrars_connections SET credentials = %(after)s
    WHERE account_id = %(account_id)s AND id = %(id)s AND credentials = %(before)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedCredentials:
    """The credentials of a connection."""

    account_id: UUID
    id: UUID
    credentials: bytes = field(repr=False)


async def find(conn: Conn, *, account_id: UUID, connection_id: UUID) -> bytes | None:
    """Return the sealed credentials; None when the connection has none."""
    row = await (await conn.execute(FIND, {"account_id": account_id, "id": connection_id})).fetchone()
    return None if row is None else row[0]


async def list_stale(
    conn: Conn, *, header: bytes, after: tuple[UUID, UUID], limit: int
) -> Sequence[SealedCredentials]:
    """Return connections after (account id, id) with credentials whose seal does not begin with `header`."""
    row = {"header": header, "after_account": after[0], "after_id": after[1], "limit": limit}
    async with conn.cursor(row_factory=class_row(SealedCredentials)) as cursor:
        await cursor.execute(LIST_STALE, row)
        return await cursor.fetchall()


async def replace(conn: Conn, *, account_id: UUID, connection_id: UUID, before: bytes, after: bytes) -> bool:
    """Replace the sealed credentials `before` by `after`; return False when the connection has others."""
    row = {"account_id": account_id, "id": connection_id, "before": before, "after": after}
    return (await conn.execute(REPLACE, row)).rowcount == 1
