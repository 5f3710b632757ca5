"""Signing secrets, sealed: read them for one use, rotate them, and seal them again under a new secret key."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

LIST_SECRETS = """
    SELECT id, secret FROM webhooks_destinations
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
"""
# Only the transaction that clears `secret_unseen` gets the row, so a secret is shown once.
TAKE_UNSEEN = """
    UPDATE webhooks_destinations SET secret_unseen = false
    WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[]) AND secret_unseen
    RETURNING id, secret
"""
ROTATE = """
    UPDATE webhooks_destinations SET
        old_secret = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s THEN secret END,
        old_secret_until = CASE WHEN %(old_secret_until)s::timestamptz > %(now)s
                                THEN %(old_secret_until)s::timestamptz END,
        secret = %(secret)s, secret_hint = %(secret_hint)s, secret_unseen = false,
        version = version + 1, updated_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(id)s
"""
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
# Compares the bytes, not the column: after a concurrent rotation, the secret that was read is the old one, and is
# replaced there.
RESEAL = """
    UPDATE webhooks_destinations SET
        secret = CASE WHEN secret = %(before)s THEN %(after)s ELSE secret END,
        old_secret = CASE WHEN old_secret = %(before)s THEN %(after)s ELSE old_secret END
    WHERE account_id = %(account_id)s AND id = %(id)s AND (secret = %(before)s OR old_secret = %(before)s)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSecret:
    """The stored form of the secret of a new destination."""

    sealed: bytes = field(repr=False)
    hint: str
    is_unseen: bool  # generated, and not yet shown to the owner


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecrets:
    """The secrets that sign for a destination."""

    account_id: UUID
    id: UUID
    secret: bytes = field(repr=False)
    old_secret: bytes | None = field(repr=False)  # None: no longer used


async def list_secrets(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """Return the sealed secrets of the destinations that exist, by id."""
    rows = await conn.execute(LIST_SECRETS, {"account_id": account_id, "ids": list(destination_ids)})
    return dict(await rows.fetchall())


async def take_unseen(conn: Conn, *, account_id: UUID, destination_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """Mark the unseen secrets as seen and return them, sealed, by destination id."""
    rows = await conn.execute(TAKE_UNSEEN, {"account_id": account_id, "ids": list(destination_ids)})
    return dict(await rows.fetchall())


async def rotate(
    conn: Conn,
    *,
    account_id: UUID,
    destination_id: UUID,
    secret: bytes,
    secret_hint: str,
    old_secret_until: datetime,
    now: datetime,
) -> None:
    """Store a new sealed secret; the previous one also signs until `old_secret_until`."""
    row = {"account_id": account_id, "id": destination_id, "secret": secret, "secret_hint": secret_hint}
    await conn.execute(ROTATE, {**row, "old_secret_until": old_secret_until, "now": now})


async def list_stale(
    conn: Conn, *, header: bytes, after: tuple[UUID, UUID], limit: int, now: datetime
) -> Sequence[SealedSecrets]:
    """Return destinations after (account id, id) with a secret whose seal does not begin with `header`."""
    row = {"header": header, "after_account": after[0], "after_id": after[1], "limit": limit, "now": now}
    async with conn.cursor(row_factory=class_row(SealedSecrets)) as cursor:
        await cursor.execute(LIST_STALE, row)
        return await cursor.fetchall()


async def reseal(conn: Conn, *, account_id: UUID, destination_id: UUID, before: bytes, after: bytes) -> bool:
    """Replace the sealed secret `before` by `after`; return False when the destination no longer has it."""
    row = {"account_id": account_id, "id": destination_id, "before": before, "after": after}
    return (await conn.execute(RESEAL, row)).rowcount == 1
