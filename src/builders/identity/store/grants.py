"""Login-as grants. Statements name the account, but for the look-up of a grant, which brings none."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.identity.records import Grant
from builders.kit.db.connections import Conn

INSERT_GRANT = """
    WITH granted AS (
        INSERT INTO identity_grants
            (account_id, id, operator, reason, may_write, created_at, expires_at)
        VALUES (%(account_id)s, %(id)s, %(operator)s, %(reason)s, %(may_write)s, %(created_at)s, %(expires_at)s)
    )
    INSERT INTO identity_grant_ids (public_id, digest, account_id, grant_id)
    VALUES (%(public_id)s, %(digest)s, %(account_id)s, %(id)s)
"""
# Of two at once, one.
REDEEM_GRANT = """
    UPDATE identity_grants AS granted SET redeemed_at = %(now)s
    FROM identity_grant_ids AS known
    WHERE known.public_id = %(public_id)s AND known.digest = %(digest)s
      AND granted.account_id = known.account_id AND granted.id = known.grant_id
      AND granted.redeemed_at IS NULL AND granted.revoked_at IS NULL AND granted.expires_at > %(now)s
    RETURNING granted.account_id, granted.id, operator, reason, may_write, created_at, expires_at, redeemed_at,
              revoked_at
"""
FIND_OWNER = "SELECT account_id FROM identity_grant_ids WHERE grant_id = %(grant_id)s"
FIND_GRANT = """
    SELECT account_id, id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at
    FROM identity_grants WHERE account_id = %(account_id)s AND id = %(grant_id)s
"""
LIST_GRANTS = """
    SELECT account_id, id, operator, reason, may_write, created_at, expires_at, redeemed_at, revoked_at
    FROM identity_grants WHERE account_id = %(account_id)s ORDER BY id DESC LIMIT %(limit)s
"""
REVOKE_GRANT = """
    UPDATE identity_grants SET revoked_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(grant_id)s AND revoked_at IS NULL
"""
FIND_SESSION_OF_GRANT = """
    SELECT id FROM identity_sessions WHERE account_id = %(account_id)s AND grant_id = %(grant_id)s
"""


async def insert_grant(conn: Conn, *, grant: Grant, public_id: str, digest: bytes) -> None:
    """The new grant with its global look-up row."""
    row = {
        "account_id": grant.account_id,
        "id": grant.id,
        "operator": grant.operator,
        "reason": grant.reason,
        "may_write": grant.may_write,
        "created_at": grant.created_at,
        "expires_at": grant.expires_at,
        "public_id": public_id,
        "digest": digest,
    }
    await conn.execute(INSERT_GRANT, row)


async def redeem_grant(conn: Conn, *, public_id: str, digest: bytes, now: datetime) -> Grant | None:
    """The grant, used up by this; None when it is unknown, used, revoked or expired."""
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(REDEEM_GRANT, {"public_id": public_id, "digest": digest, "now": now})
        return await cursor.fetchone()


async def find_grant(conn: Conn, *, grant_id: UUID) -> Grant | None:
    """A grant of whatever account."""
    owner = await (await conn.execute(FIND_OWNER, {"grant_id": grant_id})).fetchone()
    if owner is None:
        return None
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(FIND_GRANT, {"account_id": owner[0], "grant_id": grant_id})
        return await cursor.fetchone()


async def list_grants(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[Grant]:
    """The account's newest grants."""
    async with conn.cursor(row_factory=class_row(Grant)) as cursor:
        await cursor.execute(LIST_GRANTS, {"account_id": account_id, "limit": limit})
        return await cursor.fetchall()


async def revoke_grant(conn: Conn, *, account_id: UUID, grant_id: UUID, now: datetime) -> bool:
    """Whether it is by this that the grant is revoked."""
    row = {"account_id": account_id, "grant_id": grant_id, "now": now}
    return (await conn.execute(REVOKE_GRANT, row)).rowcount == 1


async def find_session(conn: Conn, *, account_id: UUID, grant_id: UUID) -> UUID | None:
    """The session that was opened with the grant."""
    row = {"account_id": account_id, "grant_id": grant_id}
    found = await (await conn.execute(FIND_SESSION_OF_GRANT, row)).fetchone()
    return None if found is None else UUID(str(found[0]))
