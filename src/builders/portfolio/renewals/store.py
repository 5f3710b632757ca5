"""SQL of renewals: sums, decisions, calendars, and settings that wait to be sent to registrars."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from psycopg.rows import kwargs_row, scalar_row
from psycopg.types.json import Jsonb

from builders.kit.db.columns import columns
from builders.kit.db.connections import Conn
from builders.kit.db.queries import account_lock, constructor, query
from builders.kit.values.money import DECIMALS
from builders.portfolio.domains.filters import FigureFilters
from builders.portfolio.domains.records import RENEWED
from builders.portfolio.domains.store.filters import EXPIRY_DAY, MATCHES_FIGURES, figure_parameters
from builders.portfolio.domains.today import Today
from builders.portfolio.renewals.records import Decision, DueSum

# Due domains with the decision about their expiry (records.Decision.at_expiry).
DUE = f"""
    SELECT domain.id, domain.tld, lower(domain.registrar) AS registrar, domain.auto_renew, domain.renewal_price,
        domain.renewal_currency,
        date_trunc('month', portfolio_domains_day(domain.expires_at, %(zone)s))::date AS month,
        coalesce(decided.decision, 'undecided') AS decision, coalesce(decided.years, 1) AS years
    FROM (
        SELECT * FROM portfolio_domains AS listed
        WHERE account_id = %(account_id)s AND coalesce(expires_at, 'infinity') < %(until_at)s
          AND {EXPIRY_DAY} <= %(until)s
          AND status = ANY(%(held)s::text[]) AND {MATCHES_FIGURES}
    ) AS domain
    LEFT JOIN portfolio_renewals_decisions AS decided
      ON decided.account_id = %(account_id)s AND decided.domain_id = domain.id
      AND (decided.expires_at IS NULL OR domain.expires_at < decided.expires_at + %(renewed)s)
"""
# Prices as in prices.list_prices. The medians are computed only for a domain that needs one, and domains with a
# price of their own are summed apart, because they are most: both make the statement several times faster.
SUM_DUE = f"""
    WITH unpriced AS MATERIALIZED (
        SELECT due.*, last.amount, last.currency
        FROM ({DUE} WHERE domain.renewal_price IS NULL) AS due
        LEFT JOIN LATERAL (
            SELECT currency, portfolio_ledger_round(
                amount / coalesce(years, 1), coalesce((%(decimals)s::jsonb ->> currency)::int, 2)
            ) AS amount
            FROM portfolio_ledger_entries
            WHERE account_id = %(account_id)s AND domain_id = due.id AND kind = 'renewal' AND voided_at IS NULL
            ORDER BY occurred_on DESC, id DESC LIMIT 1
        ) AS last ON true
    ), median AS MATERIALIZED (
        SELECT DISTINCT ON (tld, registrar) tld, registrar, amount, currency
        FROM (
            SELECT tld, lower(registrar) AS registrar, renewal_currency AS currency, count(*) AS domains,
                percentile_disc(0.5) WITHIN GROUP (ORDER BY renewal_price) AS amount
            FROM portfolio_domains
            WHERE account_id = %(account_id)s AND registrar IS NOT NULL AND renewal_price IS NOT NULL
              AND EXISTS (SELECT FROM unpriced WHERE amount IS NULL)
            GROUP BY tld, lower(registrar), renewal_currency
        ) AS priced
        ORDER BY tld, registrar, domains DESC, currency
    )
    SELECT month, decision, auto_renew, renewal_currency AS currency, sum(years * renewal_price) AS amount,
        count(*) AS renewals
    FROM ({DUE} WHERE domain.renewal_price IS NOT NULL) AS due
    GROUP BY 1, 2, 3, 4
    UNION ALL
    SELECT month, decision, auto_renew, coalesce(unpriced.currency, median.currency) AS currency,
        sum(years * coalesce(unpriced.amount, median.amount)) AS amount, count(*) AS renewals
    FROM unpriced
    LEFT JOIN median ON unpriced.amount IS NULL AND median.tld = unpriced.tld
      AND median.registrar = unpriced.registrar
    GROUP BY 1, 2, 3, 4
"""
_UPSERT = """
    INSERT INTO portfolio_renewals_decisions AS present (
        account_id, decided_by, domain_id, decision, years, note, snooze_until, expires_at, decided_at
    )
    SELECT %(account_id)s, %(member_id)s, new.*
    FROM unnest(
        %(domain_id)s::uuid[], %(decision)s::text[], %(years)s::smallint[], %(note)s::text[],
        %(snooze_until)s::date[], %(expires_at)s::timestamptz[], %(decided_at)s::timestamptz[]
    ) AS new
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET decision = excluded.decision, years = excluded.years, note = excluded.note,
        snooze_until = excluded.snooze_until, expires_at = excluded.expires_at, decided_at = excluded.decided_at,
        decided_by = excluded.decided_by
"""
UPSERT_DECISIONS = f"{_UPSERT} RETURNING domain_id"
UPSERT_LATER = f"{_UPSERT} WHERE present.decided_at < excluded.decided_at RETURNING domain_id"


# Two bulk calls about the same domains write them one after the other.
lock_portfolio = account_lock("portfolio_renewals")


async def sum_due(
    conn: Conn, *, account_id: UUID, filters: FigureFilters, until: date, today: Today
) -> Sequence[DueSum]:
    """Return the sums of the domains that expire up to a day, by month, decision, auto-renew and currency."""
    row = {"account_id": account_id, "until": until, "until_at": today.after(until), "renewed": RENEWED}
    row |= {"decimals": Jsonb(DECIMALS), **figure_parameters(filters, today=today)}
    async with conn.cursor(row_factory=kwargs_row(constructor(DueSum))) as cursor:
        await cursor.execute(SUM_DUE, row, prepare=False)
        return await cursor.fetchall()


list_decisions = query("""
    SELECT domain_id, decision, years, note, snooze_until, expires_at, decided_at
    FROM portfolio_renewals_decisions
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
""").all(Decision)


async def upsert_decisions(
    conn: Conn, *, account_id: UUID, member_id: UUID, decisions: Sequence[Decision], only_later: bool = False
) -> Sequence[UUID]:
    """Add or replace decisions about different domains, or with `only_later` earlier ones; return the domains."""
    names = ("domain_id", "decision", "years", "note", "snooze_until", "expires_at", "decided_at")
    row = {"account_id": account_id, "member_id": member_id, **columns(decisions, *names)}
    cursor = conn.cursor(row_factory=scalar_row)
    return await (await cursor.execute(UPSERT_LATER if only_later else UPSERT_DECISIONS, row)).fetchall()


add_calendar = query("""
    WITH calendar AS (
        INSERT INTO portfolio_renewals_calendars (account_id, member_id, created_at)
        VALUES (%(account_id)s, %(member_id)s, %(now)s)
        ON CONFLICT (account_id, member_id) DO UPDATE SET created_at = excluded.created_at
        RETURNING account_id, member_id
    ), replaced AS (
        DELETE FROM portfolio_renewals_tokens WHERE account_id = %(account_id)s AND member_id = %(member_id)s
    )
    INSERT INTO portfolio_renewals_tokens (token_hash, account_id, member_id)
    SELECT %(token_hash)s, account_id, member_id FROM calendar
""").run()
# The token remains invalid if a former member joins again.
delete_calendar = query("""
    DELETE FROM portfolio_renewals_calendars WHERE account_id = %(account_id)s AND member_id = %(member_id)s
""").run()
# The portfolio and the member of a token.
find_by_hash = query("""
    SELECT account_id, member_id FROM portfolio_renewals_tokens WHERE token_hash = ANY(%(hashes)s::bytea[])
""").one(tuple[UUID, UUID])


# Of a domain the last setting is sent.
upsert_pushes = query("""
    INSERT INTO portfolio_renewals_pushes (account_id, domain_id, connection_id, auto_renew, requested_at)
    SELECT %(account_id)s, new.domain_id, new.connection_id, new.auto_renew, %(now)s
    FROM unnest(%(domain_ids)s::uuid[], %(connection_ids)s::uuid[], %(settings)s::boolean[])
        AS new (domain_id, connection_id, auto_renew)
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET connection_id = excluded.connection_id, auto_renew = excluded.auto_renew,
        requested_at = excluded.requested_at
""").run()


list_pushes = query("""
    SELECT domain_id, auto_renew FROM portfolio_renewals_pushes
    WHERE account_id = %(account_id)s AND connection_id = %(connection_id)s
    ORDER BY requested_at, domain_id LIMIT %(limit)s
""").pairs(UUID, bool)


# A replaced setting remains.
delete_pushes = query("""
    DELETE FROM portfolio_renewals_pushes AS push
    USING unnest(%(domain_ids)s::uuid[], %(settings)s::boolean[]) AS sent (domain_id, auto_renew)
    WHERE push.account_id = %(account_id)s AND push.connection_id = %(connection_id)s
      AND push.domain_id = sent.domain_id AND push.auto_renew = sent.auto_renew
""").run()
