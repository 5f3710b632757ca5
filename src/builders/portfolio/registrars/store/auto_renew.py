"""SQL of the auto-renew setting of domains at their registrars."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn

LIST_HOLDERS = """
    SELECT domain, connection_id, auto_renew FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND missing_since IS NULL
      AND status <> 'gone'
    ORDER BY domain, last_seen_at DESC, connection_id
"""
UPDATE_HOLDINGS = """
    UPDATE portfolio_registrars_holdings AS held SET auto_renew = set.auto_renew
    FROM unnest(%(connections)s::uuid[], %(domains)s::text[], %(settings)s::boolean[])
        AS set (connection_id, domain, auto_renew)
    WHERE held.account_id = %(account_id)s AND held.connection_id = set.connection_id AND held.domain = set.domain
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A connection that holds a domain, and the setting there."""

    domain: str
    connection_id: UUID
    auto_renew: bool | None


async def list_holders(conn: Conn, *, account_id: UUID, domains: Collection[str]) -> Sequence[Holder]:
    """Return the connections that hold the domains; for a domain, the latest listing first."""
    async with conn.cursor(row_factory=class_row(Holder)) as cursor:
        await cursor.execute(LIST_HOLDERS, {"account_id": account_id, "domains": list(domains)})
        return await cursor.fetchall()


async def update_holdings(
    conn: Conn, *, account_id: UUID, connection_id: UUID, settings: Mapping[str, bool]
) -> None:
    """Write the settings of domains that were set at a registrar."""
    row = {
        "account_id": account_id,
        "connections": [connection_id] * len(settings),
        "domains": list(settings),
        "settings": list(settings.values()),
    }
    await conn.execute(UPDATE_HOLDINGS, row)
