"""Expiries and renewal prices of many domains."""

from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from builders.kit.db.queries import accounts_with, query
from builders.portfolio.domains.records import ExpiringDomain, RenewalSum
from builders.portfolio.domains.store.filters import (
    EXPIRY_DAY,
    IN_PERIOD,
    MATCHES_FIGURES,
)

list_expiring = query(f"""
    SELECT id, domain, unicode, tld, status, registrar, expires_at, auto_renew, epp_statuses, renewal_price,
        renewal_currency, tags
    FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD}
      AND (coalesce(expires_at, 'infinity'), id) > (%(after_at)s::timestamptz, %(after_id)s)
      AND status = ANY(%(held)s::text[]) AND {MATCHES_FIGURES}
    ORDER BY coalesce(expires_at, 'infinity'), id LIMIT %(limit)s
""").unprepared.all(ExpiringDomain)
list_renewal_sums = query(f"""
    SELECT date_trunc('month', {EXPIRY_DAY})::date AS month,
        CASE WHEN renewal_price IS NOT NULL THEN renewal_currency END AS currency,
        count(*) AS domains, coalesce(sum(renewal_price), 0) AS amount
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    GROUP BY 1, 2
""").all(RenewalSum)
count_expiries = query(f"""
    SELECT date_trunc(%(unit)s, {EXPIRY_DAY})::date AS first, count(*) AS domains
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    GROUP BY 1 ORDER BY 1
""").all(tuple[date, int])
find_position = query(f"""
    SELECT expires_at, id
    FROM portfolio_domains
    WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') >= %(since_at)s
      AND coalesce(expires_at, 'infinity') < %(until_at)s
      AND {IN_PERIOD} AND status = ANY(%(held)s::text[])
    ORDER BY coalesce(expires_at, 'infinity'), id OFFSET %(number)s - 1 LIMIT 1
""").one(tuple[datetime, UUID])
list_median_prices = query("""
    SELECT DISTINCT ON (tld, registrar) tld, registrar, price, renewal_currency
    FROM (
        SELECT tld, lower(registrar) AS registrar, renewal_currency, count(*) AS domains,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY renewal_price) AS price
        FROM portfolio_domains
        WHERE account_id = %(account_id)s AND registrar IS NOT NULL AND renewal_price IS NOT NULL
          AND (tld, lower(registrar)) IN (SELECT * FROM unnest(%(tlds)s::text[], %(registrars)s::text[]))
        GROUP BY tld, lower(registrar), renewal_currency
    ) AS median
    ORDER BY tld, registrar, domains DESC, renewal_currency
""").all(tuple[str, str, Decimal, str])


# By an index alone.
list_portfolios = accounts_with("portfolio_domains").scalars(UUID)
