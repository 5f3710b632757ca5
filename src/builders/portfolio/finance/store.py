"""SQL of finance: the sales of domains, and sums by their labels. All other amounts are in the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row, kwargs_row

from builders.kit.db.connections import Conn
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.domains.store import filters as domains_store_filters
from builders.portfolio.domains.store.filters import MATCHES
from builders.portfolio.finance.records import Label, LabelKind, Sale, Traffic
from builders.portfolio.ledger.records import EntrySum

COLUMNS = "id, domain_id, sold_on, commission_rate, venue, buyer_ref, own_share, status_before, created_at"
FIND_SALE = f"""
    SELECT {COLUMNS} FROM portfolio_finance_sales
    WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
"""
SAVE_SALE = f"""
    INSERT INTO portfolio_finance_sales (account_id, created_by, {COLUMNS})
    VALUES (
        %(account_id)s, %(created_by)s, %(id)s, %(domain_id)s, %(sold_on)s, %(commission_rate)s, %(venue)s,
        %(buyer_ref)s, %(own_share)s, %(status_before)s, %(created_at)s
    )
    ON CONFLICT (account_id, id) DO UPDATE
    SET sold_on = excluded.sold_on, commission_rate = excluded.commission_rate, venue = excluded.venue,
        buyer_ref = excluded.buyer_ref
"""
FIND_SALE_AND_TRAFFIC = f"""
    SELECT sale.*, reported_on, visited_on
    FROM (SELECT) AS one
    LEFT JOIN (
        SELECT {COLUMNS} FROM portfolio_finance_sales
        WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    ) AS sale ON true
    LEFT JOIN portfolio_finance_traffic AS traffic
      ON traffic.account_id = %(account_id)s AND traffic.domain_id = %(domain_id)s
"""
LIST_TRAFFIC = """
    SELECT domain_id, reported_on, visited_on FROM portfolio_finance_traffic
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
"""
SAVE_TRAFFIC = """
    INSERT INTO portfolio_finance_traffic (account_id, domain_id, reported_on, visited_on)
    SELECT %(account_id)s, new.*
    FROM unnest(%(domain_ids)s::uuid[], %(reported)s::date[], %(visited)s::date[]) AS new
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET reported_on = excluded.reported_on, visited_on = excluded.visited_on
"""
VOID_SALE = """
    UPDATE portfolio_finance_sales SET voided_at = %(now)s WHERE account_id = %(account_id)s AND id = %(id)s
"""
# The labels with the most domains. Grouped by all labels of a domain first, so that few rows are kept.
LIST_LABELS = f"""
    WITH listed AS MATERIALIZED (
        SELECT tld, tags, count(*) AS number FROM portfolio_domains AS listed
        WHERE account_id = %(account_id)s AND {MATCHES} GROUP BY tld, tags
    )
    (
        SELECT 'tld' AS kind, tld AS label, sum(number)::bigint AS domains, sum(sum(number)) OVER ()::bigint AS of
        FROM listed GROUP BY tld ORDER BY domains DESC, tld LIMIT %(limit)s
    ) UNION ALL (
        SELECT 'tag', tag, sum(number)::bigint AS domains, NULL
        FROM listed, unnest(tags) AS tag GROUP BY tag ORDER BY domains DESC, tag LIMIT %(limit)s
    )
"""
# An entry in another base currency than the portfolio's is not converted yet. Grouped by kind and source, which
# decide the sign and the total. Without filters no domain is read.
SUM_BY_MONTH = f"""
    SELECT occurred_on - (extract(day FROM occurred_on)::int - 1) AS month, currency, kind, source,
        sum(amount) AS amount,
        sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS base_amount, count(*) AS entries,
        count(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS converted
    FROM portfolio_ledger_entries
    WHERE account_id = %(account_id)s AND occurred_on BETWEEN %(since)s AND %(until)s AND voided_at IS NULL
      AND (%(all)s::boolean OR domain_id IN (
          SELECT id FROM portfolio_domains AS listed WHERE account_id = %(account_id)s AND {MATCHES}
      ))
    GROUP BY 1, currency, kind, source
"""
# Grouped by all labels of a domain first, so that the entries are read once.
SUM_BY_LABEL = f"""
    WITH labelled AS MATERIALIZED (
        SELECT tld, tags, kind, source, count(*) AS entries,
            sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS base_amount,
            count(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS converted
        FROM portfolio_ledger_entries AS entry
        JOIN (
            SELECT id, tld, tags FROM portfolio_domains AS listed
            WHERE account_id = %(account_id)s AND {MATCHES}
        ) AS domain ON domain.id = entry.domain_id
        WHERE entry.account_id = %(account_id)s AND occurred_on BETWEEN %(since)s AND %(until)s
          AND voided_at IS NULL
        GROUP BY tld, tags, kind, source
    )
    SELECT 'tld' AS label_kind, tld AS label, kind, source, sum(base_amount) AS base_amount,
        sum(entries)::bigint AS entries, sum(converted)::bigint AS converted
    FROM labelled WHERE tld = ANY(%(tlds)s::text[]) GROUP BY tld, kind, source
    UNION ALL
    SELECT 'tag', tag, kind, source, sum(base_amount), sum(entries)::bigint, sum(converted)::bigint
    FROM labelled, unnest(tags) AS tag WHERE tag = ANY(%(tags)s::text[]) GROUP BY tag, kind, source
"""


async def find_sale(conn: Conn, *, account_id: UUID, domain_id: UUID) -> Sale | None:
    """Return the sale of a domain that is not void."""
    async with conn.cursor(row_factory=class_row(Sale)) as cursor:
        await cursor.execute(FIND_SALE, {"account_id": account_id, "domain_id": domain_id})
        return await cursor.fetchone()


async def find_sale_and_traffic(conn: Conn, *, account_id: UUID, domain_id: UUID) -> tuple[Sale | None, Traffic]:
    """Return the sale of a domain that is not void, and its traffic, in one statement."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_SALE_AND_TRAFFIC, {"account_id": account_id, "domain_id": domain_id})
        [row] = await cursor.fetchall()
    days = {name: row.pop(name) for name in ("reported_on", "visited_on")}
    sale = None if row["id"] is None else Sale(**row)
    return sale, Traffic(domain_id=domain_id, **days)


async def list_traffic(conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID]) -> Mapping[UUID, Traffic]:
    """Return the traffic of the domains that have any record of it, by domain."""
    async with conn.cursor(row_factory=class_row(Traffic)) as cursor:
        await cursor.execute(LIST_TRAFFIC, {"account_id": account_id, "domain_ids": list(domain_ids)})
        return {each.domain_id: each async for each in cursor}


async def save_traffic(conn: Conn, *, account_id: UUID, traffic: Sequence[Traffic]) -> None:
    """Write the traffic of domains."""
    row = {
        "account_id": account_id,
        "domain_ids": [each.domain_id for each in traffic],
        "reported": [each.reported_on for each in traffic],
        "visited": [each.visited_on for each in traffic],
    }
    await conn.execute(SAVE_TRAFFIC, row)


async def save_sale(conn: Conn, *, account_id: UUID, sale: Sale, created_by: UUID | None) -> None:
    """Add or change the sale of a locked domain."""
    row: dict[str, Any] = {name: getattr(sale, name) for name in COLUMNS.split(", ")}
    await conn.execute(SAVE_SALE, {**row, "account_id": account_id, "created_by": created_by})


async def void_sale(conn: Conn, *, account_id: UUID, sale: Sale, now: datetime) -> None:
    """Void a sale."""
    await conn.execute(VOID_SALE, {"account_id": account_id, "id": sale.id, "now": now})


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryQuery:
    """The entries of a summary: of the domains that match, in a period with both days."""

    account_id: UUID
    filters: DomainFilters
    base_currency: str
    since: date
    until: date
    now: datetime

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the statements."""
        return {
            **domains_store_filters.filter_parameters(self.filters, now=self.now),
            "all": self.filters == ALL_DOMAINS,
            "account_id": self.account_id,
            "base_currency": self.base_currency,
            "since": self.since,
            "until": self.until,
        }


async def sum_by_month(conn: Conn, *, query: SummaryQuery) -> Sequence[EntrySum]:
    """Return the sums of the entries by month and currency."""
    async with conn.cursor(row_factory=class_row(EntrySum)) as cursor:
        await cursor.execute(SUM_BY_MONTH, query.parameters(), prepare=False)
        return await cursor.fetchall()


async def list_labels(conn: Conn, *, query: SummaryQuery, limit: int) -> Sequence[Label]:
    """Return up to `limit` suffixes and as many tags, those with the most domains first."""
    async with conn.cursor(row_factory=class_row(Label)) as cursor:
        await cursor.execute(LIST_LABELS, query.parameters() | {"limit": limit}, prepare=False)
        return await cursor.fetchall()


async def sum_by_label(
    conn: Conn, *, query: SummaryQuery, labels: Sequence[Label]
) -> Sequence[tuple[tuple[LabelKind, str], EntrySum]]:
    """Return the sums of the entries for each of the labels."""
    row = query.parameters()
    row |= {f"{kind}s": [each.label for each in labels if each.kind is kind] for kind in LabelKind}
    async with conn.cursor(row_factory=kwargs_row(_labelled)) as cursor:
        await cursor.execute(SUM_BY_LABEL, row, prepare=False)
        return await cursor.fetchall()


def _labelled(*, label_kind: str, label: str, **columns: Any) -> tuple[tuple[LabelKind, str], EntrySum]:
    return (LabelKind(label_kind), label), EntrySum(**columns)
