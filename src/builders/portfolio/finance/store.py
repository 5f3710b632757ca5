"""SQL of finance: the sales of domains, and sums by their labels. All other amounts are in the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from psycopg.rows import class_row, dict_row, kwargs_row
from psycopg.types.json import Jsonb

from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, constructor, query
from builders.kit.values import ids
from builders.portfolio.domains.filters import ALL_DOMAINS, DomainFilters
from builders.portfolio.domains.store.filters import HELD, MATCHES, filter_parameters
from builders.portfolio.domains.today import Today
from builders.portfolio.finance.calculation import BASIS_KINDS
from builders.portfolio.finance.records import (
    EntrySum,
    HoldingSums,
    Label,
    LabelKind,
    Sale,
    Traffic,
    ValueSum,
)
from builders.portfolio.ledger.records import INCOME_KINDS, SALE_KINDS, START_KINDS, EntryKind, Installment
from builders.portfolio.ledger.store.copies import OUTDATED_DOMAINS

COLUMNS = (
    "id, domain_id, sold_on, commission_rate, venue, buyer_ref, own_share, status_before, created_at, import_id, "
    "awaits_day, installments"
)
SAVE_SALES = f"""
    WITH changed AS (
        INSERT INTO portfolio_finance_sales (account_id, created_by, {COLUMNS})
        SELECT %(account_id)s, %(created_by)s, new.*
        FROM unnest(
            %(id)s::uuid[], %(domain_id)s::uuid[], %(sold_on)s::date[], %(commission_rate)s::numeric[],
            %(venue)s::text[], %(buyer_ref)s::text[], %(own_share)s::numeric[], %(status_before)s::text[],
            %(created_at)s::timestamptz[], %(import_id)s::uuid[], %(awaits_day)s::boolean[],
            %(installments)s::jsonb[]
        ) AS new
        ON CONFLICT (account_id, id) DO UPDATE
        SET sold_on = excluded.sold_on, commission_rate = excluded.commission_rate, venue = excluded.venue,
            buyer_ref = excluded.buyer_ref, import_id = excluded.import_id, awaits_day = excluded.awaits_day,
            installments = excluded.installments
        RETURNING domain_id
    ), {OUTDATED_DOMAINS}
    SELECT count(*) FROM changed
"""
LIST_SALES_AND_TRAFFIC = f"""
    SELECT sale.*, reported_on, visited_on
    FROM (SELECT) AS one
    LEFT JOIN (
        SELECT {COLUMNS} FROM portfolio_finance_sales
        WHERE account_id = %(account_id)s AND domain_id = %(domain_id)s AND voided_at IS NULL
    ) AS sale ON true
    LEFT JOIN portfolio_finance_traffic AS traffic
      ON traffic.account_id = %(account_id)s AND traffic.domain_id = %(domain_id)s
    ORDER BY sold_on
"""


_KINDS = {
    "basis_kinds": sorted(BASIS_KINDS),
    "start_kinds": sorted(START_KINDS),
    "holding_kinds": sorted(INCOME_KINDS - SALE_KINDS - {EntryKind.REFUND}),
    "premium": EntryKind.PREMIUM_FEE,
}


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
# Today, and what each month after the first day of the period has added. One statement, as two could see different
# estimates.
SUM_VALUES = f"""
    SELECT NULL::date AS month, estimated_currency AS currency, sum(estimated_value) AS amount,
        count(*) AS domains, count(*) FILTER (WHERE renewal_price IS NULL) AS unpriced
    FROM portfolio_domains AS listed
    WHERE account_id = %(account_id)s AND status = ANY(%(held)s::text[]) AND {MATCHES}
    GROUP BY estimated_currency
    UNION ALL
    SELECT month, currency, sum(change), 0, 0 FROM portfolio_domains_value_changes
    WHERE account_id = %(account_id)s AND month > %(since)s
      AND (%(all)s::boolean OR domain_id IN (
          SELECT id FROM portfolio_domains AS listed WHERE account_id = %(account_id)s AND {MATCHES}
      ))
    GROUP BY month, currency
    ORDER BY month, currency
"""
# Of the months that a copy may answer, those that it does not. Their entries are summed up, and those of the other
# days of the period.
DAYS = """outdated AS MATERIALIZED (
        SELECT DISTINCT month FROM portfolio_domains_outdated_months
        WHERE account_id = %(account_id)s AND month = ANY(%(months)s::date[])
    ), days AS MATERIALIZED (
        SELECT first, last FROM unnest(%(first_days)s::date[], %(last_days)s::date[]) AS day (first, last)
        UNION ALL SELECT month, (month + interval '1 month')::date - 1 FROM outdated
    )"""
COPIED = """
    account_id = %(account_id)s AND month = ANY(%(months)s::date[])
    AND NOT EXISTS (SELECT FROM outdated WHERE outdated.month = copied.month)
"""
# An entry in another base currency than the portfolio's is not converted yet. Grouped by kind and source, which
# decide the sign and the total. Without filters no domain is read.
SUM_BY_MONTH = f"""
    WITH {DAYS}
    SELECT portfolio_domains_month(occurred_on) AS month, currency, kind, source, sum(amount) AS amount,
        sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS base_amount, count(*) AS entries,
        count(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS converted
    FROM days JOIN portfolio_ledger_entries ON occurred_on BETWEEN first AND last
    WHERE account_id = %(account_id)s AND voided_at IS NULL
      AND (%(all)s::boolean OR domain_id IN (
          SELECT id FROM portfolio_domains AS listed WHERE account_id = %(account_id)s AND {MATCHES}
      ))
    GROUP BY 1, currency, kind, source
    UNION ALL
    SELECT month, label, kind, source, sum(amount),
        sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s), sum(entries)::bigint,
        coalesce(sum(converted) FILTER (WHERE base_currency = %(base_currency)s), 0)::bigint
    FROM portfolio_domains_months AS copied WHERE label_kind = 'currency' AND {COPIED}
    GROUP BY month, label, kind, source
"""
# Grouped by all labels of a domain first, so that the entries are read once.
SUM_BY_LABEL = f"""
    WITH {DAYS}, labelled AS MATERIALIZED (
        SELECT tld, tags, kind, source, count(*) AS entries,
            sum(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS base_amount,
            count(base_amount) FILTER (WHERE base_currency = %(base_currency)s) AS converted
        FROM days JOIN portfolio_ledger_entries AS entry ON occurred_on BETWEEN first AND last
        JOIN (
            SELECT id, tld, tags FROM portfolio_domains AS listed
            WHERE account_id = %(account_id)s AND {MATCHES}
        ) AS domain ON domain.id = entry.domain_id
        WHERE entry.account_id = %(account_id)s AND voided_at IS NULL
        GROUP BY tld, tags, kind, source
    ), summed AS (
        SELECT 'tld' AS label_kind, tld AS label, kind, source, base_amount, entries, converted FROM labelled
        UNION ALL SELECT 'tag', unnest(tags), kind, source, base_amount, entries, converted FROM labelled
        UNION ALL
        SELECT label_kind, label, kind, source, CASE WHEN base_currency = %(base_currency)s THEN base_amount END,
            entries, CASE WHEN base_currency = %(base_currency)s THEN converted ELSE 0 END
        FROM portfolio_domains_months AS copied WHERE label_kind IN ('tld', 'tag') AND {COPIED}
    )
    SELECT label_kind, label, kind, source, sum(base_amount) AS base_amount, sum(entries)::bigint AS entries,
        sum(converted)::bigint AS converted
    FROM summed
    WHERE label_kind = 'tld' AND label = ANY(%(tlds)s::text[])
       OR label_kind = 'tag' AND label = ANY(%(tags)s::text[])
    GROUP BY label_kind, label, kind, source
"""


async def list_sales_and_traffic(
    conn: Conn, *, account_id: UUID, domain_id: UUID
) -> tuple[Sequence[Sale], Traffic]:
    """Return the sales of a domain that are not void, by day, and its traffic, in one statement."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_SALES_AND_TRAFFIC, {"account_id": account_id, "domain_id": domain_id})
        rows = await cursor.fetchall()
    [days, *_] = [{name: row.pop(name) for name in ("reported_on", "visited_on")} for row in rows]
    return [Sale(**row) for row in rows if row["id"] is not None], Traffic(domain_id=domain_id, **days)


list_sales = query(f"""
    SELECT {COLUMNS} FROM portfolio_finance_sales
    WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
    ORDER BY domain_id, sold_on
""").all(Sale)


def _holding_sums(
    *, domain_id: UUID, reported_on: date | None, visited_on: date | None, **columns: Any
) -> HoldingSums:
    traffic = Traffic(domain_id=domain_id, reported_on=reported_on, visited_on=visited_on)
    return HoldingSums(domain_id=domain_id, traffic=traffic, **columns)


# Of the present holding period: it begins with the first purchase after the last sale (overview.py). The income is
# that after `since`.
list_holding_sums = query("""
    SELECT domain_id, coalesce(cost_basis, 0) AS cost_basis, coalesce(income_12m, 0) AS income_12m,
        coalesce(is_premium, false) AS is_premium, reported_on, visited_on
    FROM unnest(%(domain_ids)s::uuid[]) AS wanted (domain_id)
    LEFT JOIN (
        SELECT entry.domain_id,
            sum(base_amount) FILTER (WHERE kind = ANY(%(basis_kinds)s::text[])) AS cost_basis,
            sum(base_amount) FILTER (
                WHERE kind = ANY(%(holding_kinds)s::text[]) AND occurred_on > %(since)s
            ) AS income_12m,
            bool_or(kind = %(premium)s) AS is_premium
        FROM portfolio_ledger_entries AS entry
        LEFT JOIN (
            SELECT domain_id, coalesce((
                SELECT min(occurred_on) FROM portfolio_ledger_entries AS purchase
                WHERE purchase.account_id = %(account_id)s AND purchase.domain_id = last.domain_id
                  AND purchase.kind = ANY(%(start_kinds)s::text[]) AND purchase.occurred_on > last.sold_on
                  AND purchase.voided_at IS NULL
            ), last.sold_on + 1) AS since
            FROM (
                SELECT domain_id, max(sold_on) AS sold_on FROM portfolio_finance_sales
                WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
                  AND sold_on <= %(until)s
                GROUP BY domain_id
            ) AS last
        ) AS present ON present.domain_id = entry.domain_id
        WHERE account_id = %(account_id)s AND entry.domain_id = ANY(%(domain_ids)s::uuid[]) AND voided_at IS NULL
          AND base_amount IS NOT NULL AND occurred_on <= %(until)s AND sale_id IS NULL
          AND (present.since IS NULL OR occurred_on >= present.since)
        GROUP BY entry.domain_id
    ) AS sums USING (domain_id)
    LEFT JOIN (
        SELECT domain_id, reported_on, visited_on FROM portfolio_finance_traffic
        WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[])
    ) AS traffic USING (domain_id)
""").keyed(_holding_sums, by=lambda row: row.domain_id, **_KINDS)


save_traffic = query("""
    INSERT INTO portfolio_finance_traffic (account_id, domain_id, reported_on, visited_on)
    SELECT %(account_id)s, new.*
    FROM unnest(%(domain_ids)s::uuid[], %(reported)s::date[], %(visited)s::date[]) AS new
    ON CONFLICT (account_id, domain_id) DO UPDATE
    SET reported_on = excluded.reported_on, visited_on = excluded.visited_on
""").run()


async def save_sales(conn: Conn, *, account_id: UUID, sales: Sequence[Sale], created_by: UUID | None) -> None:
    """Add or change sales of locked domains. Raise UniqueViolation for a second one of a domain on a day."""
    rows: dict[str, Any] = {name: [getattr(each, name) for each in sales] for name in COLUMNS.split(", ")}
    rows["installments"] = [Jsonb([_stored(each) for each in sale.installments]) for sale in sales]
    await conn.execute(SAVE_SALES, {**rows, "account_id": account_id, "created_by": created_by})


def _stored(installment: Installment) -> Mapping[str, Any]:
    received_on = installment.received_on
    return {
        **installment.money.to_wire(),
        "on": installment.on.isoformat(),
        "received_on": None if received_on is None else received_on.isoformat(),
    }


# The portfolios with sales whose day can have come, wherever they are.
list_due_accounts = accounts_with(
    "portfolio_finance_sales", only="awaits_day AND voided_at IS NULL AND sold_on <= %(until)s"
).scalars(UUID, after=ids.NIL, limit=None)
list_due = query("""
    SELECT DISTINCT domain_id FROM portfolio_finance_sales
    WHERE account_id = %(account_id)s AND awaits_day AND voided_at IS NULL AND sold_on <= %(until)s
    ORDER BY domain_id LIMIT %(limit)s
""").scalars(UUID)
# Return the domains.
take_due = query(f"""
    WITH changed AS (
        UPDATE portfolio_finance_sales SET awaits_day = false
        WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND awaits_day
          AND voided_at IS NULL AND sold_on <= %(until)s
        RETURNING domain_id
    ), {OUTDATED_DOMAINS}
    SELECT domain_id FROM changed
""").set_of(UUID)
void_sales = query(f"""
    WITH changed AS (
        UPDATE portfolio_finance_sales SET voided_at = %(now)s
        WHERE account_id = %(account_id)s AND id = ANY(%(ids)s::uuid[])
        RETURNING domain_id
    ), {OUTDATED_DOMAINS}
    SELECT count(*) FROM changed
""").run()
void_imported = query(f"""
    WITH changed AS (
        UPDATE portfolio_finance_sales SET voided_at = %(now)s
        WHERE account_id = %(account_id)s AND domain_id = ANY(%(domain_ids)s::uuid[]) AND import_id = %(import_id)s
          AND voided_at IS NULL
        RETURNING domain_id
    ), {OUTDATED_DOMAINS}
    SELECT count(*) FROM changed
""").run()
# The entries of sales that are not void and not of the import.
# A change of a sale by a member forgets its import.
list_changed_entries = query("""
    SELECT entry.id FROM portfolio_ledger_entries AS entry
    JOIN portfolio_finance_sales AS sale ON sale.account_id = %(account_id)s AND sale.id = entry.sale_id
    WHERE entry.account_id = %(account_id)s AND entry.id = ANY(%(entry_ids)s::uuid[])
      AND sale.voided_at IS NULL AND sale.import_id IS DISTINCT FROM %(import_id)s
""").set_of(UUID)


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryQuery:
    """The entries of a summary: of the domains that match, in a period with both days."""

    account_id: UUID
    filters: DomainFilters
    base_currency: str
    since: date
    until: date
    today: Today
    months: Sequence[
        date
    ] = ()  # whole ones in the period, in order, whose copies may answer: those of all domains

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the statements."""
        days = [(self.since, self.until)]
        if self.months:
            following = (self.months[-1] + timedelta(days=32)).replace(day=1)
            days = [
                (self.since, self.months[0] - timedelta(days=1)),
                (following, self.until),
            ]  # either can be none
        return {
            **filter_parameters(self.filters, today=self.today),
            "all": self.filters == ALL_DOMAINS,
            "account_id": self.account_id,
            "base_currency": self.base_currency,
            "since": self.since,
            "months": list(self.months),
            "first_days": [first for first, _ in days],
            "last_days": [last for _, last in days],
        }


_make_sum = constructor(EntrySum)


async def sum_by_month(conn: Conn, *, query: SummaryQuery) -> Sequence[EntrySum]:
    """Return the sums of the entries by month and currency."""
    async with conn.cursor(row_factory=kwargs_row(_make_sum)) as cursor:
        await cursor.execute(SUM_BY_MONTH, query.parameters(), prepare=False)
        return await cursor.fetchall()


async def sum_values(conn: Conn, *, query: SummaryQuery) -> Sequence[ValueSum]:
    """Return the sums of the estimated values of held domains by currency; those without an estimate last.

    First what each month after the first day of the period has added to them, the earliest first.
    """
    async with conn.cursor(row_factory=class_row(ValueSum)) as cursor:
        await cursor.execute(SUM_VALUES, query.parameters() | {"held": HELD}, prepare=False)
        return await cursor.fetchall()


find_first_value_month = query("""
    SELECT min(month) FROM portfolio_domains_value_changes WHERE account_id = %(account_id)s
""").scalar(date)


async def list_labels(conn: Conn, *, query: SummaryQuery, limit: int) -> Sequence[Label]:
    """Return up to `limit` suffixes and as many tags, those with the most domains first."""
    async with conn.cursor(row_factory=kwargs_row(constructor(Label))) as cursor:
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
    return (LabelKind(label_kind), label), _make_sum(**columns)
