"""The domains that registrars hold, as their latest listings had them.

Some functions take the parameters of their statement by name, as `row`.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, LiteralString
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.kit.db.connections import Conn
from builders.kit.db.queries import constructor, query
from builders.kit.values.money import Money
from builders.portfolio.registrars.records import (
    Holding,
    InventoryFilters,
    Snapshot,
)

COLUMNS = """
    connection_id, provider, domain, expires_at, registered_at, auto_renew, locked, privacy, status, status_raw,
    nameservers, renewal_price, renewal_currency, source, listing_id, first_seen_at, last_seen_at, missing_since,
    suspected_since
"""
_WRITTEN = """
    domain text, expires_at timestamptz, registered_at timestamptz, auto_renew boolean, locked boolean,
    privacy boolean, status text, status_raw text, nameservers text[], renewal_price numeric, renewal_currency text
"""
_KNOWN: LiteralString = ", ".join(
    f"{name} = coalesce(excluded.{name}, held.{name})"
    for name in (
        *("expires_at", "registered_at", "auto_renew", "locked", "privacy"),
        *("status_raw", "nameservers", "renewal_price", "renewal_currency"),
    )
)


# The domain of each row is looked up, so that a page takes the same time wherever it begins.
_INVENTORY = f"""
    {COLUMNS}, owned.id AS domain_id FROM portfolio_registrars_holdings AS held
    LEFT JOIN LATERAL (
        SELECT own.id FROM portfolio_domains AS own
        WHERE own.account_id = %(account_id)s AND own.domain = held.domain LIMIT 1
    ) AS owned ON true
    WHERE held.account_id = %(account_id)s
      AND (held.domain, held.connection_id) > (%(domain)s, %(connection_id)s::uuid)
      AND (%(matched)s::boolean IS NULL OR (owned.id IS NOT NULL) = %(matched)s)
      AND (%(stale)s::boolean IS NULL
           OR (held.missing_since IS NOT NULL OR held.last_seen_at < %(fresh)s) = %(stale)s)
"""
_PAGE = "ORDER BY held.domain, held.connection_id LIMIT %(limit)s"
LIST = f"SELECT {_INVENTORY} {_PAGE}"
LIST_OF_PROVIDER = f"SELECT {_INVENTORY} AND held.provider = %(provider)s {_PAGE}"
LIST_OF_DOMAIN = f"""
    SELECT {_INVENTORY}
      AND held.domain = (
        SELECT own.domain FROM portfolio_domains AS own
        WHERE own.account_id = %(account_id)s AND own.id = %(domain_id)s
      )
      AND (%(provider)s::text IS NULL OR held.provider = %(provider)s)
    {_PAGE}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A connection that holds a domain, and the auto-renew setting there."""

    domain: str
    connection_id: UUID
    auto_renew: bool | None


_make = constructor(Holding)


def _holding(*, renewal_price: Decimal | None, renewal_currency: str | None, **columns: Any) -> Holding:
    price = None if renewal_price is None or renewal_currency is None else Money(renewal_price, renewal_currency)
    return _make(renewal_price=price, **columns)


find = query(f"""
    SELECT {COLUMNS} FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND domain = ANY(%(domains)s::text[])
""").keyed(_holding, by=lambda row: row.domain)


# A missing value of the registrar keeps the stored one. One order for all, so that two listings do not deadlock.
upsert = query(f"""
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
        {_KNOWN}, status = CASE WHEN excluded.status = 'unknown' THEN held.status ELSE excluded.status END,
        source = excluded.source, listing_id = excluded.listing_id, last_seen_at = excluded.last_seen_at,
        missing_since = NULL, suspected_since = NULL
""").run()


upsert_snapshot = query("""
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
""").run()
list_snapshots = query("""
    SELECT connection_id, provider, source, taken_at, is_complete AS complete, domains, last_complete_at
    FROM portfolio_registrars_snapshots WHERE account_id = %(account_id)s ORDER BY provider, connection_id
""").all(Snapshot)
# Other connections that hold the domains at present.
list_holders = query("""
    SELECT domain, connection_id FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND connection_id <> %(connection_id)s
      AND missing_since IS NULL AND status <> 'gone'
""").set_of(tuple[str, UUID])
list_of_domains = query(f"""
    SELECT {COLUMNS} FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[])
    ORDER BY domain, provider, connection_id
""").all(_holding)
list_leaving = query("""
    SELECT domain FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND status = 'transferring_out' AND missing_since IS NULL
    ORDER BY domain LIMIT %(limit)s
""").scalars(str)


async def list_page(
    conn: Conn,
    *,
    account_id: UUID,
    filters: InventoryFilters,
    after: tuple[str, UUID],
    limit: int,
    fresh: datetime,
) -> Sequence[Holding]:
    """Return the inventory after a domain and connection, in this order."""
    row = {**asdict(filters), "account_id": account_id, "fresh": fresh, "limit": limit}
    row |= {"domain": after[0], "connection_id": after[1]}
    async with conn.cursor(row_factory=kwargs_row(_holding)) as cursor:
        await cursor.execute(
            LIST_OF_DOMAIN if filters.domain_id else LIST_OF_PROVIDER if filters.provider is not None else LIST,
            row,
            prepare=False,
        )
        return await cursor.fetchall()


# Those that a complete listing does not have are missing, or held back as suspected. It `confirms` those that were
# suspected before.
mark_unlisted = query("""
    UPDATE portfolio_registrars_holdings
    SET missing_since = CASE WHEN NOT %(holds_back)s OR (%(confirms)s AND suspected_since IS NOT NULL)
            THEN %(now)s::timestamptz END,
        suspected_since = CASE WHEN %(holds_back)s AND NOT (%(confirms)s AND suspected_since IS NOT NULL)
            THEN coalesce(suspected_since, %(now)s) END
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND listing_id <> %(listing_id)s
      AND missing_since IS NULL
""").run()
# How many present domains a listing does not have, and how many of them were held back before.
count_unlisted = query("""
    SELECT count(*), count(suspected_since) FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND listing_id <> %(listing_id)s
      AND missing_since IS NULL
""").only(tuple[int, int])
# Counts no further than `most`.
count_up_to = query("""
    SELECT count(*) FROM (
        SELECT FROM portfolio_registrars_holdings WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS held
""").value(int)
# Nothing after the first complete listing. The rows of an import stay.
delete_first = query("""
    DELETE FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND domain IN (
        SELECT domain FROM portfolio_registrars_holdings
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND source = 'api'
          AND first_seen_at >= %(since)s LIMIT %(limit)s
    ) AND NOT EXISTS (
        SELECT FROM portfolio_registrars_snapshots
        WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s AND last_complete_at IS NOT NULL
    )
""").count()
list_settings = query("""
    SELECT domain, connection_id, auto_renew FROM portfolio_registrars_holdings
    WHERE account_id = %(account_id)s AND domain = ANY(%(domains)s::text[]) AND missing_since IS NULL
      AND status <> 'gone'
    ORDER BY domain, last_seen_at DESC, connection_id
""").all(Holder)


update_settings = query("""
    UPDATE portfolio_registrars_holdings AS held SET auto_renew = set.auto_renew
    FROM unnest(%(domains)s::text[], %(settings)s::boolean[]) AS set (domain, auto_renew)
    WHERE held.account_id = %(account_id)s AND held.connection_id = %(connection_id)s AND held.domain = set.domain
""").run()
