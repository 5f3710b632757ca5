"""SQL of the urgent findings that are known, and of transfers that are expected."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn

# The row is there and locked, so that two jobs publish a finding once.
LOCK_DRIFT = """
    INSERT INTO portfolio_registrars_drifts AS drift (account_id, finding_ids) VALUES (%(account_id)s, '{}')
    ON CONFLICT (account_id) DO UPDATE SET account_id = excluded.account_id
    RETURNING finding_ids
"""
UPDATE_DRIFT = """
    UPDATE portfolio_registrars_drifts SET finding_ids = %(finding_ids)s
    WHERE account_id = %(account_id)s
"""
UPSERT_DEPARTURE = """
    WITH ended AS (
        DELETE FROM portfolio_registrars_departures
        WHERE account_id = %(account_id)s AND expected_until <= %(now)s AND domain <> %(domain)s
    )
    INSERT INTO portfolio_registrars_departures AS departure (account_id, domain, expected_until)
    VALUES (%(account_id)s, %(domain)s, %(expected_until)s)
    ON CONFLICT (account_id, domain)
    DO UPDATE SET expected_until = greatest(departure.expected_until, excluded.expected_until)
"""


async def lock_drift(conn: Conn, *, account_id: UUID) -> Sequence[UUID]:
    """Return the ids of the known findings, locked until the transaction ends."""
    [(finding_ids,)] = await (await conn.execute(LOCK_DRIFT, {"account_id": account_id})).fetchall()
    found: Sequence[UUID] = finding_ids
    return found


async def update_drift(conn: Conn, *, account_id: UUID, finding_ids: Sequence[UUID]) -> None:
    """Write the ids of the known findings."""
    await conn.execute(UPDATE_DRIFT, {"account_id": account_id, "finding_ids": list(finding_ids)})


async def upsert_departure(
    conn: Conn, *, account_id: UUID, domain: str, expected_until: datetime, now: datetime
) -> None:
    """Expect the transfer of a domain until a time; delete expired expectations."""
    row = {"account_id": account_id, "domain": domain, "expected_until": expected_until, "now": now}
    await conn.execute(UPSERT_DEPARTURE, row)
