"""SQL of the checks: the domains of all accounts that are due, and the results."""

from datetime import datetime
from uuid import UUID

from builders.domains.records import AccountDomain, DnsHealth
from builders.domains.store.rows import COLUMNS, cursor_of, health_json
from builders.kit.db.connections import Conn

# A lease: the domains of a killed worker are due again when it ends.
CLAIM_DUE = f"""
    UPDATE domains_domains SET next_check_at = %(leased_until)s
    WHERE (account_id, id) IN (
        SELECT account_id, id FROM domains_domains WHERE next_check_at <= %(now)s
        ORDER BY next_check_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING {COLUMNS}
"""  # noqa: S608 - built from constants
RECORD_CHECK = f"""
    UPDATE domains_domains
    SET health = %(health)s::jsonb, asked_at = coalesce(%(asked_at)s, asked_at), lost_at = %(lost_at)s,
        checks = checks + 1, next_check_at = %(next_check_at)s
    WHERE account_id = %(account_id)s AND id = %(id)s
    RETURNING {COLUMNS}
"""  # noqa: S608 - built from constants


async def claim_due(conn: Conn, *, now: datetime, leased_until: datetime, limit: int) -> list[AccountDomain]:
    """Lease the domains that have been due for longest, until `leased_until`; return them."""
    row = {"now": now, "leased_until": leased_until, "limit": limit}
    return await (await cursor_of(conn).execute(CLAIM_DUE, row)).fetchall()


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
    """Write the result of a check of a locked domain; return it."""
    row = {
        "account_id": account_id,
        "id": domain_id,
        "health": health_json(health),
        "asked_at": asked_at,
        "lost_at": lost_at,
        "next_check_at": next_check_at,
    }
    [found] = await (await cursor_of(conn).execute(RECORD_CHECK, row)).fetchall()
    return found
