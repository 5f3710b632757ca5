"""Accounts that the operator has suspended: their credentials are refused, and no job works for them.

A sandbox account is suspended with its account. A statement of any package may exclude the rows of this table.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.db.queries import query

ERASING = "It is being erased."  # the reason of an account whose erasure has begun
_insert = query("""
    INSERT INTO kit_suspensions (account_id, reason, suspended_at)
    SELECT id, %(reason)s, %(now)s FROM unnest(%(account_ids)s::uuid[]) AS suspended (id)
    ON CONFLICT (account_id) DO NOTHING
""").changes()
_delete = query("DELETE FROM kit_suspensions WHERE account_id = ANY(%(account_ids)s::uuid[])").changes()
# The reason of one of the accounts that is suspended.
_find_reason = query("""
    SELECT reason FROM kit_suspensions WHERE account_id = ANY(%(account_ids)s::uuid[]) LIMIT 1
""").scalar(str)


async def find_reason(conn: Conn, *account_ids: UUID) -> str | None:
    """Return why one of these accounts is suspended; None if none is."""
    return await _find_reason(conn, account_ids=account_ids)


async def insert(conn: Conn, *, account_ids: Sequence[UUID], reason: str, now: datetime) -> bool:
    """Suspend accounts; return False if they are."""
    return await _insert(conn, account_ids=account_ids, reason=reason, now=now)


async def delete(conn: Conn, *, account_ids: Collection[UUID]) -> bool:
    """End the suspension of accounts; return False if they have none."""
    return await _delete(conn, account_ids=account_ids)
