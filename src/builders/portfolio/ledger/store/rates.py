"""The base currency of a portfolio, and the exchange rates."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, query
from builders.kit.values import ids
from builders.portfolio.ledger.records import EURO, OwnRate
from builders.portfolio.ledger.store.copies import OUTDATED

# The rate of each `needed (currency, base_currency, occurred_on)`: of the last day with rates up to that date. The
# bank quotes all currencies on one day. A currency without a rate on it is not quoted any more, or not yet, and
# has the portfolio's own rate if there is one. `rate / per` is what a euro is worth in each.
RATES = """worth AS MATERIALIZED (
    SELECT used.currency, used.occurred_on, day.quoted_on, own.since, coalesce(bank.rate, own.rate) AS rate,
        coalesce(own.per, 1) AS per
    FROM (
        SELECT currency, occurred_on FROM needed UNION SELECT base_currency, occurred_on FROM needed
    ) AS used
    LEFT JOIN LATERAL (
        SELECT max(quoted_on) AS quoted_on FROM portfolio_ledger_rates
        WHERE currency = %(euro)s AND quoted_on <= used.occurred_on
    ) AS day ON true
    LEFT JOIN portfolio_ledger_rates AS bank ON bank.currency = used.currency AND bank.quoted_on = day.quoted_on
    LEFT JOIN LATERAL (
        SELECT quote.rate, given.rate AS per, given.since
        FROM portfolio_ledger_own_rates AS given
        JOIN portfolio_ledger_rates AS quote
          ON quote.currency = given.quote_currency AND quote.quoted_on = day.quoted_on
        WHERE given.account_id = %(account_id)s AND given.currency = used.currency
          AND given.since <= used.occurred_on AND bank.rate IS NULL
        ORDER BY given.since DESC LIMIT 1
    ) AS own ON true
), rates AS MATERIALIZED (
    SELECT needed.currency, needed.base_currency, needed.occurred_on,
        CASE WHEN needed.currency = needed.base_currency THEN 1
             ELSE round(base.rate * quoted.per / (base.per * quoted.rate), 12)
        END AS fx_rate,
        CASE WHEN needed.currency = needed.base_currency THEN needed.occurred_on
             WHEN base.rate IS NOT NULL AND quoted.rate IS NOT NULL
             THEN coalesce(quoted.since, base.since, quoted.quoted_on)
        END AS fx_date,
        needed.currency <> needed.base_currency AND base.rate IS NOT NULL AND quoted.rate IS NOT NULL
            AND (quoted.since IS NOT NULL OR base.since IS NOT NULL) AS is_own_rate,
        needed.currency <> needed.base_currency AND (needed.occurred_on > newest.quoted_on) IS NOT FALSE
            AS awaits_rates
    FROM needed
    CROSS JOIN (SELECT max(quoted_on) AS quoted_on FROM portfolio_ledger_rates WHERE currency = %(euro)s) AS newest
    JOIN worth AS base ON base.currency = needed.base_currency AND base.occurred_on = needed.occurred_on
    JOIN worth AS quoted ON quoted.currency = needed.currency AND quoted.occurred_on = needed.occurred_on
)"""


INSERT_OWN_RATES = """
    INSERT INTO portfolio_ledger_own_rates (account_id, currency, since, rate, quote_currency)
    SELECT %(account_id)s, new.* FROM unnest(
        %(currency)s::text[], %(since)s::date[], %(rate)s::numeric[], %(quote_currency)s::text[]
    ) AS new
"""


# Locked until the transaction ends; who changes it waits, and entries are recorded in one currency.
lock_base_currency = query("""
    SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s FOR SHARE
""").scalar(str)
# A conversion locks entries in the order of their ids, and other changes lock them in any order.
lock_exclusively = query("""
    SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s FOR NO KEY UPDATE
""").scalar(str)


add_base_currency = query("""
    INSERT INTO portfolio_ledger_settings (account_id, base_currency) VALUES (%(account_id)s, %(base_currency)s)
    ON CONFLICT (account_id) DO NOTHING
""").run()
find_base_currency = query("""
    SELECT base_currency FROM portfolio_ledger_settings WHERE account_id = %(account_id)s
""").scalar(str)
# The entries do not change.
set_base_currency = query("""
    INSERT INTO portfolio_ledger_settings (account_id, base_currency) VALUES (%(account_id)s, %(base_currency)s)
    ON CONFLICT (account_id) DO UPDATE SET base_currency = excluded.base_currency
""").run()


list_rates = query(f"""
    WITH needed AS (
        SELECT * FROM unnest(%(currencies)s::text[], %(base_currencies)s::text[], %(dates)s::date[])
            AS wanted (currency, base_currency, occurred_on)
    ), {RATES}
    SELECT currency, base_currency, occurred_on, fx_rate FROM rates WHERE fx_rate IS NOT NULL
""").all(tuple[str, str, date, Decimal], euro=EURO)


# Those of the currencies that the bank quotes.
list_quoted = query("""
    SELECT currency FROM portfolio_ledger_rates
    WHERE currency = ANY(%(currencies)s::text[])
      AND quoted_on = (SELECT max(quoted_on) FROM portfolio_ledger_rates WHERE currency = %(euro)s)
""").set_of(str, euro=EURO)
list_own_rates = query("""
    SELECT currency, since, rate, quote_currency FROM portfolio_ledger_own_rates
    WHERE account_id = %(account_id)s ORDER BY currency, since LIMIT %(limit)s
""").all(OwnRate)
delete_own_rates = query("""
    DELETE FROM portfolio_ledger_own_rates WHERE account_id = %(account_id)s
""").run()


async def insert_own_rates(conn: Conn, *, account_id: UUID, rates: Sequence[OwnRate]) -> None:
    """Add rates of a portfolio's own."""
    names = ("currency", "since", "rate", "quote_currency")
    row: dict[str, Any] = {name: [getattr(each, name) for each in rates] for name in names}
    await conn.execute(INSERT_OWN_RATES, {**row, "account_id": account_id})


# The next entries of a portfolio that are in another base currency, wait for rates, or depend on own ones. Return
# the last of them, after which there may be more; none for fewer than `limit`.
convert_entries = query(f"""
    WITH entry AS MATERIALIZED (
        SELECT id, currency, occurred_on FROM portfolio_ledger_entries
        WHERE account_id = %(account_id)s AND id > %(after)s
          AND (base_currency <> %(base_currency)s OR awaits_rates OR fx_rate IS NULL OR is_own_rate)
        ORDER BY id LIMIT %(limit)s FOR UPDATE
    ), needed AS (
        SELECT DISTINCT currency, occurred_on, %(base_currency)s::text AS base_currency FROM entry
    ), {RATES}, changed AS (
        UPDATE portfolio_ledger_entries AS present
        SET base_currency = rates.base_currency, fx_rate = rates.fx_rate, fx_date = rates.fx_date,
            base_amount = portfolio_ledger_round(present.amount * rates.fx_rate, %(decimals)s::int),
            awaits_rates = rates.awaits_rates, is_own_rate = rates.is_own_rate
        FROM entry JOIN rates USING (currency, occurred_on)
        WHERE present.account_id = %(account_id)s AND present.id = entry.id
          AND (present.base_currency, present.fx_rate, present.fx_date, present.awaits_rates, present.is_own_rate)
              IS DISTINCT FROM (
                  rates.base_currency, rates.fx_rate, rates.fx_date, rates.awaits_rates, rates.is_own_rate
              )
        RETURNING present.domain_id, present.occurred_on
    ), {OUTDATED}
    SELECT id FROM entry ORDER BY id OFFSET %(limit)s - 1
""").scalar(UUID, euro=EURO)


list_awaiting = accounts_with("portfolio_ledger_entries", only="awaits_rates").scalars(
    UUID, after=ids.NIL, limit=None
)
is_quoted = query("""
    SELECT EXISTS (
        SELECT FROM portfolio_ledger_rates
        WHERE currency = %(currency)s
          AND quoted_on = (SELECT max(quoted_on) FROM portfolio_ledger_rates WHERE currency = %(euro)s)
    )
""").value(bool, euro=EURO)


# Existing ones do not change.
insert_rates = query("""
    INSERT INTO portfolio_ledger_rates (currency, quoted_on, rate)
    SELECT * FROM unnest(%(currencies)s::text[], %(dates)s::date[], %(rates)s::numeric[])
    ON CONFLICT (currency, quoted_on) DO NOTHING
""").count()


find_newest_day = query("""
    SELECT max(quoted_on) FROM portfolio_ledger_rates WHERE currency = %(euro)s
""").scalar(date, euro=EURO)
