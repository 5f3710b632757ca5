"""Which account a subject of another issuer speaks for."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.identity.records import Identity
from builders.kit.db.connections import Conn

FIND_IDENTITY = """
    SELECT account_id FROM identity_identities WHERE issuer = %(issuer)s AND subject = %(subject)s
"""
INSERT_IDENTITY = """
    INSERT INTO identity_identities (issuer, subject, account_id, created_at)
    VALUES (%(issuer)s, %(subject)s, %(account_id)s, %(now)s)
    ON CONFLICT (issuer, subject) DO NOTHING
"""
DELETE_IDENTITY = """
    DELETE FROM identity_identities
    WHERE issuer = %(issuer)s AND subject = %(subject)s AND account_id = %(account_id)s
"""
LIST_IDENTITIES = """
    SELECT issuer, subject, created_at FROM identity_identities
    WHERE account_id = %(account_id)s ORDER BY created_at DESC, issuer, subject LIMIT %(limit)s
"""


async def find_identity(conn: Conn, *, issuer: str, subject: str) -> UUID | None:
    """The account, when the subject is linked to one."""
    cursor = await conn.execute(FIND_IDENTITY, {"issuer": issuer, "subject": subject})
    row = await cursor.fetchone()
    return None if row is None else row[0]


async def insert_identity(conn: Conn, *, issuer: str, subject: str, account_id: UUID, now: datetime) -> bool:
    """Whether the subject is linked by this; False when it was before."""
    row = {"issuer": issuer, "subject": subject, "account_id": account_id, "now": now}
    return (await conn.execute(INSERT_IDENTITY, row)).rowcount == 1


async def delete_identity(conn: Conn, *, issuer: str, subject: str, account_id: UUID) -> bool:
    """Whether the subject was linked to the account, and is not any more."""
    row = {"issuer": issuer, "subject": subject, "account_id": account_id}
    return (await conn.execute(DELETE_IDENTITY, row)).rowcount == 1


async def list_identities(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[Identity]:
    """Whose tokens speak for the account, the newest links first."""
    async with conn.cursor(row_factory=class_row(Identity)) as cursor:
        await cursor.execute(LIST_IDENTITIES, {"account_id": account_id, "limit": limit})
        return await cursor.fetchall()
