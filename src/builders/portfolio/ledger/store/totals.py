"""The sums of each domain, as its finance has them: of the entries up to a day in its present holding period."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.kit.db.connections import Conn
from builders.portfolio.ledger.records import DEFAULT_BASE_CURRENCY, START_KINDS, Totals

BASE_CURRENCY = """coalesce(
    (SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s), %(default)s
)"""


# Of each domain in `wanted`. A sale ends a holding period. The next one begins with a purchase after it, or on the
# day after when there is another sale; entries of a sale are in the period that it ends (finance/overview.py).
# The entries are found by their domain alone: before there are statistics, the index by day can seem as good.
SUMS = f"""wanted LEFT JOIN (
        SELECT domain_id, array_agg(ended.id) AS sales,
            max(began_on) FILTER (WHERE began_on <= %(today)s) AS since,
            (array_agg(ended.id ORDER BY sold_on) FILTER (WHERE (began_on <= %(today)s) IS NOT TRUE))[1] AS sale_id
        FROM (
            SELECT domain_id, id, sold_on, lead(sold_on) OVER (PARTITION BY domain_id ORDER BY sold_on) AS next_on
            FROM portfolio_finance_sales
            WHERE account_id = %(account_id)s AND domain_id IN (SELECT domain_id FROM wanted)
              AND voided_at IS NULL
        ) AS ended
        CROSS JOIN LATERAL (
            SELECT coalesce(
                min(occurred_on) FILTER (
                    WHERE occurred_on > sold_on AND occurred_on <= coalesce(next_on, 'infinity')
                ),
                CASE WHEN next_on IS NOT NULL THEN sold_on + 1 END
            ) AS began_on
            FROM portfolio_ledger_entries
            WHERE account_id = %(account_id)s AND domain_id = ended.domain_id AND voided_at IS NULL
              AND kind = ANY(%(start_kinds)s::text[]) AND sale_id IS NULL
        ) AS following
        GROUP BY domain_id
    ) AS period USING (domain_id)
    CROSS JOIN LATERAL (
        SELECT coalesce(-sum(amount) FILTER (WHERE entry_group = 'cost'), 0) AS cost,
            coalesce(sum(amount) FILTER (WHERE entry_group = 'income'), 0) AS income,
            coalesce(sum(amount), 0) AS net, count(*) AS entries, count(*) - count(amount) AS unconverted
        FROM (
            SELECT entry_group, CASE WHEN base_currency = (SELECT {BASE_CURRENCY}) THEN signed_base END AS amount
            FROM portfolio_ledger_entries
            WHERE account_id = %(account_id)s AND domain_id = wanted.domain_id AND voided_at IS NULL
              AND CASE WHEN occurred_on > %(today)s THEN false
                       WHEN period.sales IS NULL THEN true
                       WHEN sale_id = ANY(period.sales) THEN sale_id = period.sale_id
                       ELSE (occurred_on >= period.since) IS NOT FALSE END
        ) AS counted
    ) AS sums"""
LIST_TOTALS = f"""
    WITH wanted AS (SELECT DISTINCT unnest(%(domain_ids)s::uuid[]) AS domain_id)
    SELECT domain_id, {BASE_CURRENCY} AS base_currency, cost, income, net - income + cost AS sale, entries,
        unconverted
    FROM {SUMS}
"""


def sums_parameters(today: date) -> Mapping[str, Any]:
    """Return the parameters of SUMS, except the account."""
    return {"today": today, "default": DEFAULT_BASE_CURRENCY, "start_kinds": sorted(START_KINDS)}


async def list_totals(
    conn: Conn, *, account_id: UUID, domain_ids: Sequence[UUID], today: date
) -> Mapping[UUID, Totals]:
    """Return the totals of each domain on a day."""
    row = {"account_id": account_id, "domain_ids": list(domain_ids), **sums_parameters(today)}
    return dict(await (await conn.cursor(row_factory=kwargs_row(_totals)).execute(LIST_TOTALS, row)).fetchall())


def _totals(*, domain_id: UUID, **columns: Any) -> tuple[UUID, Totals]:
    return domain_id, Totals(**columns)
