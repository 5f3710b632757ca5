"""SQL of billing: charges, any number with one statement, their pages and their sums."""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from psycopg.rows import kwargs_row
from pydantic import TypeAdapter
from pydantic_core import to_json

from builders.kit.db.columns import columns, columns_of
from builders.kit.db.connections import Conn
from builders.kit.db.queries import constructor, query
from builders.kit.values import ids
from builders.kit.values.money import Money
from builders.portfolio.billing.records import (
    Candidate,
    Charge,
    ChargeFilters,
    ChargeSource,
    ChargeState,
    NewCharge,
    RunCount,
    StateSum,
)

SAME = "provider, order_id, domain, total, currency"  # what a charge of both sources has in common
NEW = f"""
    {SAME}, key, connection_id, line_id, parent_order_id, charged_on, description, domain_raw, name_origin, kind,
    years, tax, fees, split_of
"""
COLUMNS = columns_of(Charge)
_CANDIDATES, _make = TypeAdapter(Sequence[Candidate]), constructor(Charge)


def _charge(*, candidates: Sequence[Mapping[str, Any]], **columns: Any) -> Charge:
    return _make(**columns, candidates=_CANDIDATES.validate_python(candidates))


INSERT = f"""
    INSERT INTO portfolio_billing_charges (account_id, source, run_id, imported_at, id, {NEW})
    SELECT %(account_id)s, %(source)s, %(run_id)s, %(now)s, new.* FROM unnest(
        %(ids)s::uuid[], %(provider)s::text[], %(order_id)s::text[], %(domain)s::text[], %(total)s::numeric[],
        %(currency)s::text[], %(key)s::bytea[], %(connection_id)s::uuid[], %(line_id)s::text[],
        %(parent_order_id)s::text[], %(charged_on)s::date[], %(description)s::text[], %(domain_raw)s::text[],
        %(name_origin)s::text[], %(kind)s::text[], %(years)s::smallint[], %(tax)s::numeric[], %(fees)s::numeric[],
        %(split_of)s::uuid[]
    ) AS new
    ON CONFLICT (account_id, key) WHERE split_of IS NULL DO NOTHING
    RETURNING {COLUMNS}
"""
# How many charges the other source has of the same order (or day, without one), domain and amount. Parts are among
# them: one source can have a line for each domain, where the other has one line that a member has split.
COUNT_DUPLICATES = f"""
    SELECT wanted.number, count(*) FROM unnest(
        %(numbers)s::int[], %(provider)s::text[], %(order_id)s::text[], %(domain)s::text[], %(total)s::numeric[],
        %(currency)s::text[], %(charged_on)s::date[]
    ) AS wanted (number, {SAME}, charged_on)
    JOIN portfolio_billing_charges AS charge USING ({SAME})
    WHERE charge.account_id = %(account_id)s AND charge.source <> %(source)s
      AND (charge.order_id <> '' OR charge.charged_on = wanted.charged_on)
    GROUP BY wanted.number
"""
# The oldest first, so that a charge is matched before its refund.
_list_open = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND state = ANY(%(states)s::text[])
      AND (%(ids)s::uuid[] IS NULL OR id = ANY(%(ids)s::uuid[]))
      AND (charged_on, id) > (%(after_on)s, %(after_id)s)
    ORDER BY charged_on, id LIMIT %(limit)s
""").unprepared.all(_charge)
UPDATE = """
    UPDATE portfolio_billing_charges AS charge
    SET domain_id = new.domain_id, confidence = new.confidence, method = new.method,
        candidates = coalesce(new.candidates, '[]'), refund_of = new.refund_of, years = new.years,
        is_ignored = new.is_ignored, applied_at = new.applied_at, entry_id = new.entry_id,
        is_linked = new.is_linked, reason = new.reason
    FROM jsonb_to_recordset(%(rows)s::jsonb) AS new (
        id uuid, domain_id uuid, confidence numeric, method text, candidates jsonb, refund_of uuid, years smallint,
        is_ignored boolean, applied_at timestamptz, entry_id uuid, is_linked boolean,
        reason text
    )
    WHERE charge.account_id = %(account_id)s AND charge.id = new.id
"""
_UPDATED = (
    *("id", "domain_id", "confidence", "method", "candidates", "refund_of", "years", "is_ignored", "applied_at"),
    *("entry_id", "is_linked", "reason"),
)
# The states of a filter are an array, so that an index of states serves one of them.
WANTED = """
    account_id = %(account_id)s AND state = ANY(%(states)s::text[])
    AND (%(provider)s::text IS NULL OR provider = %(provider)s)
    AND charged_on BETWEEN %(since)s AND %(until)s
"""
_list_page = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE {WANTED} AND (charged_on, id) < (%(before_on)s, %(before_id)s)
    ORDER BY charged_on DESC, id DESC LIMIT %(limit)s
""").unprepared.all(_charge)
_list_sums = query(f"""
    SELECT state, currency, count(*) AS count, sum(total) AS total FROM portfolio_billing_charges
    WHERE {WANTED} GROUP BY state, currency ORDER BY currency, state
""").unprepared.all(StateSum)
SUM_RUN = """
    SELECT currency, sum(total) AS total FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s AND split_of IS NULL
    GROUP BY currency ORDER BY currency
"""
# A charge counts under each name that holds. The names of a few domains are enough for an event.
COUNT_RUN = """
    SELECT name, count(*) AS charges, count(DISTINCT domain) AS domain_count,
        coalesce(
            (array_agg(DISTINCT domain) FILTER (WHERE domain IS NOT NULL))[1:%(max_domains)s], '{}'
        ) AS domains
    FROM portfolio_billing_charges
    CROSS JOIN LATERAL (
        VALUES ('new', true), ('matched', state IN ('matched', 'applied')), ('applied', state = 'applied'),
            ('unmatched', state IN ('unmatched', 'suggested')), ('refunds', total < 0 OR kind = 'refund')
    ) AS counted (name, is_counted)
    WHERE account_id = %(account_id)s AND run_id = %(run_id)s
      AND connection_id IS NOT DISTINCT FROM %(connection_id)s AND split_of IS NULL AND is_counted
    GROUP BY name
"""
COUNTED = ("new", "matched", "applied", "unmatched", "refunds")
# Two calls about the charges of a portfolio write them one after the other.
lock_portfolio = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('portfolio_billing ' || %(account_id)s::uuid, 0))
""").run()


async def insert(
    conn: Conn,
    *,
    account_id: UUID,
    charges: Sequence[NewCharge],
    source: ChargeSource,
    run_id: UUID,
    now: datetime,
) -> Sequence[Charge]:
    """Add charges; return those whose key is new."""
    row: dict[str, Any] = columns(charges, *NEW.replace(",", " ").split())
    row |= {"account_id": account_id, "source": source, "run_id": run_id, "now": now}
    row["ids"] = ids.new_many(len(charges))
    return await (await conn.cursor(row_factory=kwargs_row(_charge)).execute(INSERT, row)).fetchall()


# Counts no further than `most`.
count_up_to = query("""
    SELECT count(*) FROM (
        SELECT FROM portfolio_billing_charges WHERE account_id = %(account_id)s LIMIT %(most)s
    ) AS charge
""").value(int)


async def count_duplicates(
    conn: Conn, *, account_id: UUID, charges: Sequence[NewCharge], source: ChargeSource
) -> Mapping[int, int]:
    """Return how many charges of the other source are the same, by the index of each charge that has any."""
    row = {"account_id": account_id, "source": source, "numbers": list(range(len(charges)))}
    found = await conn.execute(COUNT_DUPLICATES, {**row, **columns(charges, *SAME.split(", "), "charged_on")})
    return dict(await found.fetchall())


# Order, domain and the sum of its charges. Parts are left out: a split that changed how a refund is divided would
# let its charges of both sources differ.
list_paid = query("""
    SELECT order_id, domain, sum(total) FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND provider = %(provider)s AND order_id = ANY(%(orders)s::text[])
      AND domain IS NOT NULL AND total > 0 AND split_of IS NULL
    GROUP BY order_id, domain
""").all(tuple[str, str, Any])
find = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges WHERE account_id = %(account_id)s AND id = %(charge_id)s
""").one(_charge)


# One of two members who split a charge at once finds it open.
begin_split = query(f"""
    UPDATE portfolio_billing_charges
    SET is_split = true, domain_id = NULL, confidence = NULL, method = NULL, candidates = '[]', reason = NULL
    WHERE account_id = %(account_id)s AND id = %(charge_id)s AND split_of IS NULL
      AND state IN ('unmatched', 'suggested', 'matched')
    RETURNING {COLUMNS}
""").one(_charge)
end_split = query(f"""
    UPDATE portfolio_billing_charges SET is_split = false
    WHERE account_id = %(account_id)s AND id = %(charge_id)s AND is_split
    RETURNING {COLUMNS}
""").one(_charge)
list_parts = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND split_of = %(charge_id)s ORDER BY id
""").all(_charge)
delete_parts = query("""
    DELETE FROM portfolio_billing_charges WHERE account_id = %(account_id)s AND split_of = %(charge_id)s
""").run()


async def list_open(
    conn: Conn,
    *,
    account_id: UUID,
    states: Collection[str],
    charge_ids: Sequence[UUID] | None,
    after: Charge | None,
    limit: int,
) -> Sequence[Charge]:
    """Return charges in some states, behind a charge: of those with the ids, or of all for None."""
    row: dict[str, Any] = {
        "account_id": account_id,
        "states": list(states),
        "ids": None if charge_ids is None else list(charge_ids),
        "limit": limit,
        "after_on": date.min if after is None else after.charged_on,
        "after_id": ids.NIL if after is None else after.id,
    }
    return await _list_open(conn, **row)


# Charges that refunds can reverse: those of their orders, and those of their domains within some days.
list_earlier = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND total > 0 AND order_id = ANY(%(orders)s::text[])
    UNION
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND total > 0 AND domain = ANY(%(domains)s::text[])
      AND charged_on BETWEEN %(since)s AND %(until)s
""").all(_charge)
list_applied = query(f"""
    SELECT {COLUMNS} FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND entry_id = ANY(%(entry_ids)s::uuid[]) AND applied_at IS NOT NULL
""").all(_charge)
list_taken = query("""
    SELECT entry_id FROM portfolio_billing_charges
    WHERE account_id = %(account_id)s AND entry_id = ANY(%(entry_ids)s::uuid[]) AND applied_at IS NOT NULL
""").scalars(UUID)


async def update(conn: Conn, *, account_id: UUID, charges: Sequence[Charge]) -> None:
    """Write what is matched and booked of charges."""
    rows = [{name: getattr(each, name) for name in _UPDATED} for each in charges]
    await conn.execute(UPDATE, {"account_id": account_id, "rows": to_json(rows).decode()})


def _wanted(account_id: UUID, filters: ChargeFilters, *, until: date = date.max) -> dict[str, Any]:
    wanted = [ChargeState.UNMATCHED, ChargeState.SUGGESTED] if filters.unmatched_only else list(ChargeState)
    return {
        "account_id": account_id,
        "states": [each for each in wanted if filters.state in {None, each}],
        "provider": filters.provider,
        "since": filters.since or date.min,
        "until": min(filters.until or date.max, until),
    }


async def list_page(
    conn: Conn, *, account_id: UUID, filters: ChargeFilters, before: tuple[date, UUID] | None, limit: int
) -> Sequence[Charge]:
    """Return charges, the newest first, behind a day and an id."""
    before_on, before_id = before or (date.max, ids.LAST)
    return await _list_page(
        conn,
        **_wanted(account_id, filters, until=before_on),  # the scan of the index begins there
        before_on=before_on,
        before_id=before_id,
        limit=limit,
    )


async def list_sums(conn: Conn, *, account_id: UUID, filters: ChargeFilters) -> Sequence[StateSum]:
    """Return number and sum of the charges of each state and currency."""
    return await _list_sums(conn, **_wanted(account_id, filters))


async def list_run_totals(conn: Conn, *, account_id: UUID, run_id: UUID) -> Sequence[Money]:
    """Return the sum of the charges of a run in each currency."""
    found = await conn.execute(SUM_RUN, {"account_id": account_id, "run_id": run_id})
    return [Money(total, currency).quantized() for currency, total in await found.fetchall()]


async def count_run(
    conn: Conn, *, account_id: UUID, run_id: UUID, connection_id: UUID | None, max_domains: int
) -> Mapping[str, RunCount]:
    """Return the charges of a run by the names in COUNTED, with up to `max_domains` domains each."""
    row = {"account_id": account_id, "run_id": run_id, "connection_id": connection_id, "max_domains": max_domains}

    def named(*, name: str, **row: Any) -> tuple[str, RunCount]:
        return name, RunCount(**row)

    async with conn.cursor(row_factory=kwargs_row(named)) as cursor:
        await cursor.execute(COUNT_RUN, row)
        return dict.fromkeys(COUNTED, RunCount()) | dict(await cursor.fetchall())
