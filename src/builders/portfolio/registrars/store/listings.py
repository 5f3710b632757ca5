"""What listings of a connection did not have, and what a failed first one has written."""

from datetime import datetime
from uuid import UUID

from builders.kit.db.connections import Conn

MARK_MISSING = """
    UPDATE portfolio_registrars_holdings SET missing_since = %(now)s, suspected_since = NULL
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND listing_id <> %(listing_id)s
      AND missing_since IS NULL AND (suspected_since IS NOT NULL OR NOT %(only_suspected)s)
"""
MARK_SUSPECTED = """
    UPDATE portfolio_registrars_holdings SET suspected_since = coalesce(suspected_since, %(now)s)
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND listing_id <> %(listing_id)s
      AND missing_since IS NULL
"""
COUNT_UNLISTED = """
    SELECT count(*), count(suspected_since) FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND listing_id <> %(listing_id)s
      AND missing_since IS NULL
"""
COUNT_UP_TO = """
    SELECT count(*) FROM (
        SELECT FROM portfolio_registrars_holdings WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS held
"""
# Nothing after the first complete listing. The rows of an import stay.
DELETE_FIRST = """
    DELETE FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND domain IN (
        SELECT domain FROM portfolio_registrars_holdings
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND source = 'api'
          AND first_seen_at >= %(since)s LIMIT %(limit)s
    ) AND NOT EXISTS (
        SELECT FROM portfolio_registrars_snapshots
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND last_complete_at IS NOT NULL
    )
"""


async def mark_missing(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    listing_id: UUID,
    now: datetime,
    only_suspected: bool = False,
) -> None:
    """Mark the present domains that a complete listing does not have; or only those that were held back before."""
    row = {"account_id": account_id, "connection_id": connection_id, "listing_id": listing_id, "now": now}
    await conn.execute(MARK_MISSING, {**row, "only_suspected": only_suspected})


async def mark_suspected(
    conn: Conn, *, account_id: UUID, connection_id: UUID, listing_id: UUID, now: datetime
) -> None:
    """Hold back the present domains that a complete listing does not have."""
    row = {"account_id": account_id, "connection_id": connection_id, "listing_id": listing_id, "now": now}
    await conn.execute(MARK_SUSPECTED, row)


async def count_unlisted(
    conn: Conn, *, account_id: UUID, connection_id: UUID, listing_id: UUID
) -> tuple[int, int]:
    """Return how many present domains a listing does not have, and how many of them were held back before."""
    row = {"account_id": account_id, "connection_id": connection_id, "listing_id": listing_id}
    [(unlisted, suspected)] = await (await conn.execute(COUNT_UNLISTED, row)).fetchall()
    return unlisted, suspected


async def count_up_to(conn: Conn, *, account_id: UUID, most: int) -> int:
    """Return how many domains the inventory of a portfolio has; `most` for more."""
    found = await conn.execute(COUNT_UP_TO, {"account_id": account_id, "most": most})
    [(count,)] = await found.fetchall()
    return int(count)


async def delete_first(conn: Conn, *, account_id: UUID, connection_id: UUID, since: datetime, limit: int) -> int:
    """Delete domains that the first listing of a connection wrote since a time; return how many."""
    row = {"account_id": account_id, "connection_id": connection_id, "since": since, "limit": limit}
    return (await conn.execute(DELETE_FIRST, row)).rowcount
