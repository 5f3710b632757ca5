"""The figures of domains, for orders and filters of lists: stored ones, and computed ones where those are old.

Also the stored sums of months, for summaries (finance/store.py).
"""

from datetime import date
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, query
from builders.portfolio.ledger.store.rates import RATES
from builders.portfolio.ledger.store.totals import BASE_CURRENCY, SUMS, sums_parameters

IS_VALID = f"""
    base_currency = {BASE_CURRENCY} AND valid_from <= %(today)s::date AND valid_until > %(today)s::date
"""
# Of the domains in `wanted`.
COMPUTED = f"""computed AS (
        SELECT domain_id, cost, income, net,
            CASE WHEN cost > 0 THEN portfolio_ledger_round(net / cost, 6) END AS roi
        FROM {SUMS}
    )"""
# The figures of all domains, with the renewal price in the base currency, not rounded.
FIGURES = f"""
    WITH wanted AS MATERIALIZED (
        SELECT domain_id FROM portfolio_domains_outdated WHERE account_id = %(account_id)s
        UNION
        SELECT domain_id FROM portfolio_domains_figures WHERE account_id = %(account_id)s AND NOT ({IS_VALID})
    ), {COMPUTED}, known AS MATERIALIZED (
        SELECT domain_id, cost, income, net, roi FROM portfolio_domains_figures AS stored
        WHERE account_id = %(account_id)s
          AND NOT EXISTS (SELECT FROM wanted WHERE wanted.domain_id = stored.domain_id)
        UNION ALL SELECT domain_id, cost, income, net, roi FROM computed
    ), needed AS (
        SELECT DISTINCT renewal_currency AS currency, %(today)s::date AS occurred_on,
            {BASE_CURRENCY} AS base_currency
        FROM portfolio_domains WHERE account_id = %(account_id)s AND renewal_currency IS NOT NULL
    ), {RATES}
    SELECT domain.id AS domain_id, rates.base_currency, coalesce(cost, 0) AS cost, coalesce(income, 0) AS income,
        coalesce(net, 0) AS net, roi, renewal_price * fx_rate AS renewal_price_base
    FROM portfolio_domains AS domain
    LEFT JOIN known ON known.domain_id = domain.id
    LEFT JOIN rates ON rates.currency = domain.renewal_currency
    WHERE domain.account_id = %(account_id)s
"""
# The next ones of a portfolio. The rows and what they are about are of one snapshot: a change that is committed
# meanwhile has a row that remains.
REFRESH = f"""
    WITH taken AS (
        DELETE FROM portfolio_domains_outdated WHERE account_id = %(account_id)s AND domain_id IN (
            SELECT domain_id FROM portfolio_domains_outdated WHERE account_id = %(account_id)s
            ORDER BY position LIMIT %(limit)s
        ) RETURNING domain_id
    ), passed AS (
        SELECT domain_id FROM portfolio_domains_figures
        WHERE account_id = %(account_id)s AND NOT ({IS_VALID}) LIMIT %(limit)s
    ), wanted AS MATERIALIZED (
        SELECT id AS domain_id FROM portfolio_domains WHERE account_id = %(account_id)s
          AND (id IN (SELECT domain_id FROM taken) OR id IN (SELECT domain_id FROM passed))
        ORDER BY id FOR KEY SHARE
    ), {COMPUTED}, written AS (
        INSERT INTO portfolio_domains_figures (
            account_id, domain_id, base_currency, cost, income, net, roi, valid_from, valid_until
        )
        SELECT %(account_id)s, domain_id, {BASE_CURRENCY}, cost, income, net, roi,
            coalesce(day.last, '-infinity'), coalesce(day.next, 'infinity')
        FROM computed
        CROSS JOIN LATERAL (
            SELECT max(changes_on) FILTER (WHERE changes_on <= %(today)s) AS last,
                min(changes_on) FILTER (WHERE changes_on > %(today)s) AS next
            FROM (
                SELECT occurred_on FROM portfolio_ledger_entries
                WHERE account_id = %(account_id)s AND domain_id = computed.domain_id AND voided_at IS NULL
                UNION ALL SELECT sold_on + 1 FROM portfolio_finance_sales
                WHERE account_id = %(account_id)s AND domain_id = computed.domain_id AND voided_at IS NULL
            ) AS event (changes_on)
        ) AS day
        ON CONFLICT (account_id, domain_id) DO UPDATE
        SET base_currency = excluded.base_currency, cost = excluded.cost, income = excluded.income,
            net = excluded.net, roi = excluded.roi, valid_from = excluded.valid_from,
            valid_until = excluded.valid_until
    )
    SELECT (SELECT count(*) FROM passed) = %(limit)s OR EXISTS (
        SELECT 1 FROM portfolio_domains_outdated AS other WHERE account_id = %(account_id)s
          AND NOT EXISTS (SELECT FROM taken WHERE taken.domain_id = other.domain_id)
    )
"""
# The next outdated months of a portfolio; their sums are deleted. The statement that writes them comes later: it
# sees all changes that this one forgets.
take_months = query("""
    WITH taken AS (
        DELETE FROM portfolio_domains_outdated_months WHERE account_id = %(account_id)s AND month IN (
            SELECT DISTINCT month FROM portfolio_domains_outdated_months WHERE account_id = %(account_id)s
            ORDER BY month LIMIT %(limit)s
        ) RETURNING month
    ), removed AS (
        DELETE FROM portfolio_domains_months
        WHERE account_id = %(account_id)s AND month IN (SELECT month FROM taken)
    )
    SELECT DISTINCT month FROM taken
""").scalars(date)
write_months = query("""
    WITH summed AS MATERIALIZED (
        SELECT month, tld, tags, currency, base_currency, kind, source, sum(amount) AS amount,
            sum(base_amount) AS base_amount, count(*) AS entries, count(base_amount) AS converted
        FROM unnest(%(months)s::date[]) AS month
        JOIN portfolio_ledger_entries AS entry
          ON occurred_on >= month AND occurred_on < month + interval '1 month'
        LEFT JOIN portfolio_domains AS domain
          ON domain.account_id = %(account_id)s AND domain.id = entry.domain_id
        WHERE entry.account_id = %(account_id)s AND voided_at IS NULL
        GROUP BY month, tld, tags, currency, base_currency, kind, source
    )
    INSERT INTO portfolio_domains_months (
        account_id, label_kind, label, month, base_currency, kind, source, amount, base_amount, entries, converted
    )
    SELECT %(account_id)s, label_kind, label, month, base_currency, kind, source, sum(amount), sum(base_amount),
        sum(entries), sum(converted)
    FROM summed CROSS JOIN LATERAL (
        SELECT 'currency' AS label_kind, currency AS label
        UNION ALL SELECT 'tld', tld WHERE tld IS NOT NULL UNION ALL SELECT 'tag', unnest(tags)
    ) AS labels
    GROUP BY label_kind, label, month, base_currency, kind, source
""").run()
# Two refreshes of a portfolio would write figures of different snapshots in any order.
lock_portfolio = account_lock("portfolio_figures")
# `passed` is a day that is over or begun in every time zone.
list_portfolios = query("""
    SELECT account_id FROM portfolio_domains_outdated
    UNION SELECT account_id FROM portfolio_domains_outdated_months
    UNION SELECT account_id FROM portfolio_domains_figures WHERE valid_until <= %(passed)s
""").scalars(UUID)


async def refresh(conn: Conn, *, account_id: UUID, today: date, limit: int) -> bool:
    """Write up to `limit` outdated figures of a portfolio; return whether there may be more."""
    row = {"account_id": account_id, "limit": limit, **sums_parameters(today)}
    [(has_more,)] = await (await conn.execute(REFRESH, row, prepare=False)).fetchall()
    return bool(has_more)
