"""Domains whose life cycle falls due."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.kit.db.connections import Conn
from builders.portfolio.domains.records import Domain, LifecycleState
from builders.portfolio.domains.store.rows import COLUMNS, domain_of

# Skips the rows that another worker has claimed.
CLAIM = f"""
    SELECT account_id, {COLUMNS} FROM portfolio_domains WHERE lifecycle_due_at <= %(now)s
    ORDER BY lifecycle_due_at LIMIT %(limit)s FOR NO KEY UPDATE SKIP LOCKED
"""
ADVANCE = """
    UPDATE portfolio_domains AS domain SET lifecycle = state.lifecycle, lifecycle_due_at = state.due_at
    FROM unnest(%(account_ids)s::uuid[], %(ids)s::uuid[], %(lifecycles)s::text[], %(due)s::timestamptz[])
         AS state (account_id, id, lifecycle, due_at)
    WHERE domain.account_id = state.account_id AND domain.id = state.id
"""


async def claim(conn: Conn, *, now: datetime, limit: int) -> Sequence[tuple[UUID, Domain]]:
    """Lock up to `limit` domains that are due; return each with its account."""
    async with conn.cursor(row_factory=kwargs_row(_owned)) as cursor:
        await cursor.execute(CLAIM, {"now": now, "limit": limit})
        return await cursor.fetchall()


async def advance(conn: Conn, *, states: Sequence[tuple[UUID, UUID, LifecycleState]]) -> None:
    """Write the states of locked domains, by account and id."""
    row = {
        "account_ids": [account_id for account_id, _, _ in states],
        "ids": [domain_id for _, domain_id, _ in states],
        "lifecycles": [state.lifecycle for _, _, state in states],
        "due": [state.changes_at for _, _, state in states],
    }
    await conn.execute(ADVANCE, row)


def _owned(*, account_id: UUID, **columns: Any) -> tuple[UUID, Domain]:
    return account_id, domain_of(**columns)
