"""Which domains are due to be looked at, whoever's they are, and what was seen."""

from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row

from builders.domains.records import AccountDomain, DnsHealth
from builders.domains.store.rows import COLUMNS, Row, health_json, record
from builders.kit.db.connections import Conn

# A lease: what a killed worker had taken is due again when it ends.
CLAIM_DUE = f"""
    UPDATE domains_domains SET next_check_at = %(leased_until)s
    WHERE (account_id, id) IN (
        SELECT account_id, id FROM domains_domains WHERE next_check_at <= %(now)s
        ORDER BY next_check_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING {COLUMNS}
"""  # noqa: S608 - of a constant
RECORD_CHECK = f"""
    UPDATE domains_domains
    SET health = %(health)s::jsonb, asked_at = coalesce(%(asked_at)s, asked_at), lost_at = %(lost_at)s,
        checks = checks + 1, next_check_at = %(next_check_at)s
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""  # noqa: S608 - of a constant


async def claim_due(conn: Conn, *, now: datetime, leased_until: datetime, limit: int) -> list[AccountDomain]:
    """Some that are due, those first that have waited longest; nobody else gets them before the lease ends."""
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(CLAIM_DUE, {"now": now, "leased_until": leased_until, "limit": limit})
        return [record(row) for row in await cursor.fetchall()]


async def record_check(
    conn: Conn,
    *,
    account_id: UUID,
    domain_id: UUID,
    health: DnsHealth,
    asked_at: datetime | None,
    lost_at: datetime | None,
    next_check_at: datetime | None,
) -> AccountDomain:
    """The locked domain with what was seen of it."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "health": health_json(health),
        "asked_at": asked_at,
        "lost_at": lost_at,
        "next_check_at": next_check_at,
    }
    async with conn.cursor(row_factory=class_row(Row)) as cursor:
        await cursor.execute(RECORD_CHECK, row)
        [found] = await cursor.fetchall()
        return record(found)
