"""The domains that registrars hold, as their latest listings had them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from pydantic_core import to_json

from builders.kit.db.connections import Conn
from builders.kit.values.money import Money
from builders.portfolio.registrars.inventory_records import Holding, InventoryFilters, InventoryItem, Snapshot

COLUMNS = """
    connection_id, provider, domain, expires_at, registered_at, auto_renew, locked, privacy, status, status_raw,
    nameservers, renewal_price, renewal_currency, source, listing_id, first_seen_at, last_seen_at, missing_since,
    suspected_since
"""
_WRITTEN = """
    domain text, expires_at timestamptz, registered_at timestamptz, auto_renew boolean, locked boolean,
    privacy boolean, status text, status_raw text, nameservers text[], renewal_price numeric, renewal_currency text
"""
FIND = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND domain = ANY(%(domains)s::text[])
"""
# A missing value of the registrar keeps the stored one. One order for all, so that two listings do not deadlock.
UPSERT = f"""
    INSERT INTO portfolio_registrars_holdings AS held (
        account_id, connection_id, provider, domain, expires_at, registered_at, auto_renew, locked, privacy,
        status, status_raw, nameservers, renewal_price, renewal_currency, source, listing_id, first_seen_at,
        last_seen_at
    )
    SELECT %(account_id)s, %(connection_id)s, %(provider)s, domain, expires_at, registered_at, auto_renew, locked,
        privacy, status, status_raw, nameservers, renewal_price, renewal_currency, %(source)s, %(listing_id)s,
        %(now)s, %(now)s
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS written ({_WRITTEN})
    ORDER BY domain
    ON CONFLICT (account_id, connection_id, domain) DO UPDATE SET
        expires_at = coalesce(excluded.expires_at, held.expires_at),
        registered_at = coalesce(excluded.registered_at, held.registered_at),
        auto_renew = coalesce(excluded.auto_renew, held.auto_renew),
        locked = coalesce(excluded.locked, held.locked),
        privacy = coalesce(excluded.privacy, held.privacy),
        status = CASE WHEN excluded.status = 'unknown' THEN held.status ELSE excluded.status END,
        status_raw = coalesce(excluded.status_raw, held.status_raw),
        nameservers = coalesce(excluded.nameservers, held.nameservers),
        renewal_price = coalesce(excluded.renewal_price, held.renewal_price),
        renewal_currency = coalesce(excluded.renewal_currency, held.renewal_currency),
        source = excluded.source, listing_id = excluded.listing_id, last_seen_at = excluded.last_seen_at,
        missing_since = NULL, suspected_since = NULL
"""
UPSERT_SNAPSHOT = """
    INSERT INTO portfolio_registrars_snapshots AS snapshot (
        account_id, connection_id, provider, source, taken_at, is_complete, domains, last_complete_at
    ) VALUES (
        %(account_id)s, %(connection_id)s, %(provider)s, %(source)s, %(now)s, %(is_complete)s, %(domains)s,
        CASE WHEN %(is_complete)s THEN %(now)s::timestamptz END
    )
    ON CONFLICT (account_id, connection_id) DO UPDATE SET
        source = excluded.source, taken_at = excluded.taken_at, is_complete = excluded.is_complete,
        domains = excluded.domains,
        last_complete_at = coalesce(excluded.last_complete_at, snapshot.last_complete_at)
"""
LIST_SNAPSHOTS = """
    SELECT connection_id, provider, source, taken_at, is_complete, domains, last_complete_at
    FROM portfolio_registrars_snapshots WHERE account_id = %(account_id)s ORDER BY provider, connection_id
"""
# Other connections that hold the domains at present.
LIST_HOLDERS = """
    SELECT domain, connection_id FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND connection_id <> %(connection_id)s
      AND missing_since IS NULL AND status <> 'gone'
"""
LIST_OF_DOMAINS = f"""
    SELECT {COLUMNS} FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[])
    ORDER BY domain, provider, connection_id
"""
_LISTED = """
    held.connection_id, held.provider, held.domain, held.expires_at, held.registered_at, held.auto_renew,
    held.locked, held.privacy, held.status, held.status_raw, held.nameservers, held.renewal_price,
    held.renewal_currency, held.source, held.listing_id, held.first_seen_at, held.last_seen_at, held.missing_since,
    held.suspected_since, owned.id AS domain_id
"""
_FILTERED = """
    held.account_id = %(account_id)s
      AND (held.domain, held.connection_id) > (%(domain)s, %(connection_id)s::uuid)
      AND (%(matched)s::boolean IS NULL OR (owned.id IS NOT NULL) = %(matched)s)
      AND (%(stale)s::boolean IS NULL
           OR (held.missing_since IS NOT NULL OR held.last_seen_at < %(fresh)s) = %(stale)s)
    ORDER BY held.domain, held.connection_id LIMIT %(limit)s
"""
# The domain of each row is looked up, so that a page takes the same time wherever it begins.
_OWNED = """
    LEFT JOIN LATERAL (
        SELECT own.id FROM portfolio_domains AS own
        WHERE own.account_id = %(account_id)s AND own.domain = held.domain LIMIT 1
    ) AS owned ON true
"""
LIST = f"""
    SELECT {_LISTED} FROM portfolio_registrars_holdings AS held {_OWNED} WHERE {_FILTERED}
"""
LIST_OF_PROVIDER = f"""
    SELECT {_LISTED} FROM portfolio_registrars_holdings AS held {_OWNED}
    WHERE held.provider = %(provider)s AND {_FILTERED}
"""
LIST_LEAVING = """
    SELECT domain FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND status = 'transferring_out' AND missing_since IS NULL
    ORDER BY domain LIMIT %(limit)s
"""
COUNT_BY_CONNECTION = """
    SELECT connection_id, count(*) FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND missing_since IS NULL GROUP BY connection_id
"""
DELETE = """
    WITH snapshot AS (
        DELETE FROM portfolio_registrars_snapshots
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
    )
    DELETE FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
"""


async def find(
    conn: Conn, *, account_id: UUID, connection_id: UUID, domains: Sequence[str]
) -> Mapping[str, Holding]:
    """Return the holdings of domains at a connection, by domain."""
    row = {"account_id": account_id, "connection_id": connection_id, "domains": list(domains)}
    async with conn.cursor(row_factory=kwargs_row(_holding)) as cursor:
        await cursor.execute(FIND, row)
        return {each.domain: each for each in await cursor.fetchall()}


async def upsert(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    provider: str,
    source: str,
    listing_id: UUID,
    rows: Sequence[Mapping[str, Any]],
    now: datetime,
) -> None:
    """Write rows of a listing, each of another domain."""
    row = {"account_id": account_id, "connection_id": connection_id, "provider": provider, "source": source}
    await conn.execute(UPSERT, {**row, "listing_id": listing_id, "rows": to_json(rows).decode(), "now": now})


async def upsert_snapshot(
    conn: Conn,
    *,
    account_id: UUID,
    connection_id: UUID,
    provider: str,
    source: str,
    is_complete: bool,
    domains: int,
    now: datetime,
) -> None:
    """Write when a connection was listed, and how far."""
    row = {"account_id": account_id, "connection_id": connection_id, "provider": provider, "source": source}
    await conn.execute(UPSERT_SNAPSHOT, {**row, "is_complete": is_complete, "domains": domains, "now": now})


async def list_snapshots(conn: Conn, *, account_id: UUID) -> Sequence[Snapshot]:
    """Return the latest listing of each connection."""
    async with conn.cursor(row_factory=kwargs_row(Snapshot)) as cursor:
        await cursor.execute(LIST_SNAPSHOTS, {"account_id": account_id})
        return await cursor.fetchall()


async def list_holders(
    conn: Conn, *, account_id: UUID, connection_id: UUID, domains: Sequence[str]
) -> frozenset[tuple[str, UUID]]:
    """Return which of the domains are held at which other connections."""
    row = {"account_id": account_id, "connection_id": connection_id, "domains": list(domains)}
    return frozenset(await (await conn.execute(LIST_HOLDERS, row)).fetchall())


async def list_of_domains(conn: Conn, *, account_id: UUID, domains: Sequence[str]) -> Sequence[Holding]:
    """Return the holdings of some domains at all connections."""
    async with conn.cursor(row_factory=kwargs_row(_holding)) as cursor:
        await cursor.execute(LIST_OF_DOMAINS, {"account_id": account_id, "domains": list(domains)})
        return await cursor.fetchall()


async def list_leaving(conn: Conn, *, account_id: UUID, limit: int) -> Sequence[str]:
    """Return the domains that are on their way to another registrar."""
    rows = await conn.execute(LIST_LEAVING, {"account_id": account_id, "limit": limit})
    return [domain for (domain,) in await rows.fetchall()]


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    filters: InventoryFilters,
    after: tuple[str, UUID],
    limit: int,
    fresh: datetime,
) -> Sequence[InventoryItem]:
    """Return the inventory after a domain and connection, in this order."""
    row: dict[str, Any] = {"account_id": account_id, "matched": filters.matched, "stale": filters.stale}
    row |= {"fresh": fresh}
    row |= {"provider": filters.provider, "domain": after[0], "connection_id": after[1], "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(_item)) as cursor:
        await cursor.execute(LIST if filters.provider is None else LIST_OF_PROVIDER, row, prepare=False)
        return await cursor.fetchall()


async def count_by_connection(conn: Conn, *, account_id: UUID) -> Mapping[UUID, int]:
    """Return how many domains each connection holds."""
    return dict(await (await conn.execute(COUNT_BY_CONNECTION, {"account_id": account_id})).fetchall())


async def delete(conn: Conn, *, account_id: UUID, connection_id: UUID) -> int:
    """Delete the inventory of a connection; return the number of domains."""
    return (await conn.execute(DELETE, {"account_id": account_id, "connection_id": connection_id})).rowcount


def _holding(renewal_price: Decimal | None, renewal_currency: str | None, **columns: Any) -> Holding:
    return Holding(renewal_price=_money(renewal_price, renewal_currency), **columns)


def _item(renewal_price: Decimal | None, renewal_currency: str | None, **columns: Any) -> InventoryItem:
    return InventoryItem(renewal_price=_money(renewal_price, renewal_currency), **columns)


def _money(amount: Decimal | None, currency: str | None) -> Money | None:
    return None if amount is None or currency is None else Money(amount, currency)
