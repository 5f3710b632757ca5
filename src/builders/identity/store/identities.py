"""Which account a subject of another issuer speaks for."""

from datetime import datetime
from uuid import UUID

from builders.kit.db import Conn

FIND_IDENTITY = """
    SELECT account_id FROM identity_identities WHERE issuer = %(issuer)s AND subject = %(subject)s
"""
INSERT_IDENTITY = """
    INSERT INTO identity_identities (issuer, subject, account_id, created_at)
    VALUES (%(issuer)s, %(subject)s, %(account_id)s, %(now)s)
    ON CONFLICT (issuer, subject) DO NOTHING
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
