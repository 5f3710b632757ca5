"""Signing secrets as they are kept, to be sealed anew when the secret keys of the service rotate."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

LIST_STALE = """
    SELECT account_id, id, secret, old_secret FROM (
        SELECT account_id, id, secret, CASE WHEN old_secret_until > %(now)s THEN old_secret END AS old_secret
        FROM webhooks_destinations
    ) AS destination
    WHERE (account_id, id) > (%(after_account)s::uuid, %(after_id)s::uuid)
      AND (substr(secret, 1, octet_length(%(header)s::bytea)) <> %(header)s
           OR substr(old_secret, 1, octet_length(%(header)s::bytea)) <> %(header)s)
    ORDER BY account_id, id LIMIT %(limit)s
"""
# By what was read, not by its column: a rotation meanwhile stands, and what it made the old secret is found there.
RESEAL = """
    UPDATE webhooks_destinations SET
        secret = CASE WHEN secret = %(before)s THEN %(after)s ELSE secret END,
        old_secret = CASE WHEN old_secret = %(before)s THEN %(after)s ELSE old_secret END
    WHERE account_id = %(account_id)s AND id = %(id)s AND (secret = %(before)s OR old_secret = %(before)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecrets:
    """The secrets of a destination."""

    account_id: UUID
    id: UUID
    secret: bytes = field(repr=False)
    old_secret: bytes | None = field(repr=False)  # None when its time is over


async def list_stale(
    conn: Conn, *, header: bytes, after: tuple[UUID, UUID], limit: int, now: datetime
) -> Sequence[SealedSecrets]:
    """Destinations with a secret that was not sealed under this header, beyond an account's destination."""
    row = {"header": header, "after_account": after[0], "after_id": after[1], "limit": limit, "now": now}
    async with conn.cursor(row_factory=class_row(SealedSecrets)) as cursor:
        await cursor.execute(LIST_STALE, row)
        return await cursor.fetchall()


async def reseal(conn: Conn, *, account_id: UUID, destination_id: UUID, before: bytes, after: bytes) -> bool:
    """Puts `after` in the place of `before`; False when that is there no more."""
    row = {"account_id": account_id, "id": destination_id, "before": before, "after": after}
    return (await conn.execute(RESEAL, row)).rowcount == 1
