"""Pages of charges, and their sums."""

from collections.abc import Sequence
from datetime import date
from typing import Any
from uuid import UUID

from psycopg.rows import class_row

from builders.kit.db.connections import Conn
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.billing.records import Charge, ChargeFilters, ChargeState, RunSummary, StateSum
from builders.portfolio.billing.store.charges import COLUMNS

# The states of a filter are an array, so that an index of states serves one of them.
WANTED = """
    account_id = %(account_id)s AND state = ANY(%(states)s::text[])
    AND (%(provider)s::text IS NULL OR provider = %(provider)s)
    AND charged_on BETWEEN %(since)s AND %(until)s
"""
LIST_PAGE = f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE {WANTED} AND (charged_on, id) < (%(before_on)s, %(before_id)s)
    ORDER BY charged_on DESC, id DESC LIMIT %(limit)s
"""
SUM = f"""
    SELECT state, currency, count(*) AS count, sum(total) AS total FROM portfolio_billing_charges
    WHERE {WANTED} GROUP BY state, currency ORDER BY currency, state
"""
SUM_RUN = """
    SELECT currency, sum(total) AS total FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s GROUP BY currency ORDER BY currency
"""
# The names of a few domains are enough for an event.
SUMMARIZE_RUN = """
    SELECT count(*) AS new, count(*) FILTER (WHERE is_matched) AS matched,
        count(*) FILTER (WHERE state = 'applied') AS applied, count(*) FILTER (WHERE is_open) AS unmatched,
        count(*) FILTER (WHERE is_refund) AS refunds,
        coalesce(
            (array_agg(DISTINCT domain) FILTER (WHERE is_matched AND domain IS NOT NULL))[1:%(max_domains)s], '{}'
        ) AS matched_domains,
        coalesce(
            (array_agg(DISTINCT domain) FILTER (WHERE is_open AND domain IS NOT NULL))[1:%(max_domains)s], '{}'
        ) AS unmatched_domains,
        coalesce(
            (array_agg(DISTINCT domain) FILTER (WHERE is_refund AND domain IS NOT NULL))[1:%(max_domains)s], '{}'
        ) AS refunded_domains,
        count(DISTINCT domain) FILTER (WHERE is_matched) AS matched_domain_count,
        count(DISTINCT domain) FILTER (WHERE is_open) AS unmatched_domain_count,
        count(DISTINCT domain) FILTER (WHERE is_refund) AS refunded_domain_count
    FROM (
        SELECT domain, state, state IN ('matched', 'applied') AS is_matched,
            state IN ('unmatched', 'suggested') AS is_open, total < 0 OR kind = 'refund' AS is_refund
        FROM portfolio_billing_charges
        WHERE account_id = %(account_id)s AND run_id = %(run_id)s
          AND connection_id IS NOT DISTINCT FROM %(connection_id)s
    ) AS recorded
"""
_OPEN = (ChargeState.UNMATCHED, ChargeState.SUGGESTED)


def _wanted(account_id: UUID, filters: ChargeFilters) -> dict[str, Any]:
    states = [filters.state] if filters.state else list(ChargeState)
    return {
        "account_id": account_id,
        "states": [each for each in states if each in _OPEN or not filters.unmatched_only],
        "provider": filters.provider,
        "since": filters.since or date.min,
        "until": filters.until or date.max,
    }


async def list_page(
    conn: Conn, *, account_id: UUID, filters: ChargeFilters, before: tuple[date, UUID] | None, limit: int
) -> Sequence[Charge]:
    """Return charges, the newest first, behind a day and an id."""
    before_on, before_id = before or (date.max, ids.LAST)
    row = {**_wanted(account_id, filters), "before_on": before_on, "before_id": before_id, "limit": limit}
    row["until"] = min(row["until"], before_on)  # the scan of the index begins there
    async with conn.cursor(row_factory=class_row(Charge)) as cursor:
        await cursor.execute(LIST_PAGE, row, prepare=False)
        return await cursor.fetchall()


async def list_sums(conn: Conn, *, account_id: UUID, filters: ChargeFilters) -> Sequence[StateSum]:
    """Return number and sum of the charges of each state and currency."""
    async with conn.cursor(row_factory=class_row(StateSum)) as cursor:
        await cursor.execute(SUM, _wanted(account_id, filters), prepare=False)
        return await cursor.fetchall()


async def list_run_totals(conn: Conn, *, account_id: UUID, run_id: UUID) -> Sequence[Money]:
    """Return the sum of the charges of a run in each currency."""
    found = await conn.execute(SUM_RUN, {"account_id": account_id, "run_id": run_id})
    return [Money(total, currency).quantized() for currency, total in await found.fetchall()]


async def summarize_run(
    conn: Conn, *, account_id: UUID, run_id: UUID, connection_id: UUID | None, max_domains: int
) -> RunSummary:
    """Return the numbers of charges of a run by state, with up to `max_domains` domains each."""
    row = {"account_id": account_id, "run_id": run_id, "connection_id": connection_id, "max_domains": max_domains}
    async with conn.cursor(row_factory=class_row(RunSummary)) as cursor:
        await cursor.execute(SUMMARIZE_RUN, row)
        [summary] = await cursor.fetchall()
        return summary
