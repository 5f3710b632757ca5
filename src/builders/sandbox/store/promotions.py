"""Promotions."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.errors import PlanNotFound
from builders.sandbox.records import Abandoned, BilledOn, OnError, Promotion, Step
from builders.sandbox.store import steps as journal

_BILLED = TypeAdapter(tuple[BilledOn, ...])
_PROMOTION = TypeAdapter(Promotion)

_SELECT = """
    SELECT id, plan_id, status, on_error, created_by, started_at, finished_at, invoices, error
    FROM sandbox_promotions
    WHERE account_id = %(account_id)s
"""
FIND_PROMOTION = f"{_SELECT} AND id = %(promotion_id)s"
LOCK_PROMOTION = f"{FIND_PROMOTION} FOR UPDATE"
LIST_PROMOTIONS = f"{_SELECT} AND (plan_id = %(plan_id)s OR id = %(holder)s)"
# An existing row is locked and keeps its promotion: the next statement reads the status of that promotion.
LOCK_SLOT = """
    INSERT INTO sandbox_turns AS turn (account_id, promotion_id) VALUES (%(account_id)s, %(promotion_id)s)
    ON CONFLICT (account_id) DO UPDATE SET promotion_id = turn.promotion_id
    RETURNING promotion_id
"""
_TAKE_SLOT = """
    slot AS (
        UPDATE sandbox_turns SET promotion_id = %(promotion_id)s WHERE account_id = %(account_id)s
    ), plan AS (
        UPDATE sandbox_plans SET status = 'promoting' WHERE account_id = %(account_id)s AND id = %(plan_id)s
    )
"""
# The promotions of the last day are counted from the primary key: ids are in the order of time.
INSERT_PROMOTION = f"""
    WITH promotion AS (
        INSERT INTO sandbox_promotions (account_id, id, plan_id, status, on_error, created_by, started_at)
        SELECT %(account_id)s, %(promotion_id)s, %(plan_id)s, 'running', %(on_error)s, %(created_by)s, %(now)s
        WHERE (
            SELECT count(*) FROM (
                SELECT FROM sandbox_promotions
                WHERE account_id = %(account_id)s AND id >= %(since)s LIMIT %(limit)s
            ) AS counted
        ) < %(limit)s
        RETURNING account_id, id
    ), step AS (
        INSERT INTO sandbox_steps
            (account_id, promotion_id, position, address, action, status, resource_id, finished_at)
        SELECT promotion.account_id, promotion.id, new.position - 1, address, action, status, resource_id,
               CASE status WHEN 'succeeded' THEN %(now)s::timestamptz END
        FROM promotion, unnest(
            %(addresses)s::text[], %(actions)s::text[], %(statuses)s::text[], %(resource_ids)s::uuid[]
        ) WITH ORDINALITY AS new (address, action, status, resource_id, position)
    ), {_TAKE_SLOT}
    SELECT id FROM promotion
"""
REOPEN = f"""
    WITH step AS (
        UPDATE sandbox_steps SET status = 'pending', error = NULL, finished_at = NULL
        WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status IN ('failed', 'skipped')
    ), {_TAKE_SLOT}
    UPDATE sandbox_promotions SET status = 'running', on_error = %(on_error)s, finished_at = NULL, error = NULL
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
FINISH_PROMOTION = """
    WITH plan AS (
        UPDATE sandbox_plans SET status = CASE %(status)s::text WHEN 'succeeded' THEN 'promoted' ELSE 'partial' END
        WHERE account_id = %(account_id)s AND id = %(plan_id)s
    ), step AS (
        UPDATE sandbox_steps AS step SET invoice_id = billed.invoice_id
        FROM unnest(%(positions)s::int[], %(invoice_ids)s::uuid[]) AS billed (position, invoice_id)
        WHERE step.account_id = %(account_id)s AND step.promotion_id = %(promotion_id)s
          AND step.position = billed.position
    )
    UPDATE sandbox_promotions
    SET status = %(status)s, finished_at = %(now)s, error = %(error)s, invoices = %(invoices)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
COUNT_OPEN = """
    SELECT (SELECT count(*) FROM sandbox_plans
            WHERE account_id = %(account_id)s AND status = 'ready' AND expires_at > %(now)s) AS plans_open,
           (SELECT count(*) FROM sandbox_promotions
            WHERE account_id = %(account_id)s AND status = 'running') AS promotions_running
"""
LIST_ABANDONED = """
    SELECT account_id, id FROM sandbox_promotions
    WHERE status = 'running' AND started_at < %(before)s ORDER BY started_at LIMIT %(limit)s
"""
LOCK_ACCOUNT = "SELECT pg_advisory_xact_lock(hashtextextended('sandbox_rehearsals ' || %(account_id)s::uuid, 0))"


async def insert_promotion(
    conn: Conn,
    *,
    account_id: UUID,
    promotion_id: UUID,
    plan_id: UUID,
    on_error: OnError,
    created_by: str,
    steps: Sequence[Step],
    now: datetime,
    since: UUID,
    limit: int,
) -> bool:
    """Insert a running promotion with all its steps, unless the account has `limit` since an id; give it the slot.

    Return whether it was inserted. Raise PlanNotFound.
    """
    row = {"account_id": account_id, "promotion_id": promotion_id, "plan_id": plan_id, "on_error": on_error}
    row |= {"created_by": created_by, "now": now, "since": since, "limit": limit}
    columns = {
        "addresses": [step.address for step in steps],
        "actions": [step.action for step in steps],
        "statuses": [step.status for step in steps],
        "resource_ids": [step.resource_id for step in steps],
    }
    try:
        return await (await conn.execute(INSERT_PROMOTION, {**row, **columns})).fetchone() is not None
    except ForeignKeyViolation:  # a plan was deleted because the account has many newer ones
        raise PlanNotFound from None


async def find_promotion(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, lock: bool = False
) -> Promotion | None:
    """Return a promotion with its steps, or None; with `lock`, no other run changes it in this transaction."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    cursor = await conn.cursor(row_factory=dict_row).execute(LOCK_PROMOTION if lock else FIND_PROMOTION, row)
    found = await cursor.fetchone()
    if found is None:
        return None
    return _PROMOTION.validate_python({**found, "steps": await journal.list_steps(conn, **row)})


async def list_promotions(conn: Conn, *, account_id: UUID, plan_id: UUID, holder: UUID) -> list[Promotion]:
    """Return the promotion of a plan, and the one that holds the slot, without their steps."""
    row = {"account_id": account_id, "plan_id": plan_id, "holder": holder}
    cursor = await conn.cursor(row_factory=dict_row).execute(LIST_PROMOTIONS, row)
    return [_PROMOTION.validate_python({**found, "steps": []}) for found in await cursor.fetchall()]


async def lock_slot(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> UUID:
    """Lock the promotion slot of the account until the transaction ends; return the promotion that holds it."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    [(holder,)] = await (await conn.execute(LOCK_SLOT, row)).fetchall()
    return UUID(str(holder))


async def reopen(conn: Conn, *, account_id: UUID, promotion_id: UUID, plan_id: UUID, on_error: OnError) -> None:
    """Make failed and skipped steps pending again, and give the promotion the slot."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "plan_id": plan_id}
    await conn.execute(REOPEN, {**row, "on_error": on_error})


async def finish_promotion(conn: Conn, *, account_id: UUID, promotion: Promotion) -> None:
    """Write the end of a promotion: its status, error and invoices."""
    billed = {step.position: step.invoice_id for step in promotion.steps if step.invoice_id is not None}
    row = {
        "account_id": account_id,
        "promotion_id": promotion.id,
        "plan_id": promotion.plan_id,
        "status": promotion.status,
        "now": promotion.finished_at,
        "positions": list(billed),
        "invoice_ids": list(billed.values()),
        "error": None if promotion.error is None else journal.dump_error(promotion.error),
        "invoices": Jsonb(_BILLED.dump_python(tuple(promotion.invoices), mode="json")),
    }
    await conn.execute(FINISH_PROMOTION, row)


async def count_open(conn: Conn, *, account_id: UUID, now: datetime) -> tuple[int, int]:
    """Return the numbers of open plans and of running promotions."""
    row = await (await conn.execute(COUNT_OPEN, {"account_id": account_id, "now": now})).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


async def list_abandoned(conn: Conn, *, before: datetime, limit: int) -> list[Abandoned]:
    """Return running promotions that started before a time, oldest first."""
    rows = await (await conn.execute(LIST_ABANDONED, {"before": before, "limit": limit})).fetchall()
    return [Abandoned(*row) for row in rows]


async def lock_account(conn: Conn, *, account_id: UUID) -> None:
    """Exclude other rehearsals and resets of a sandbox account until the transaction ends."""
    await conn.execute(LOCK_ACCOUNT, {"account_id": account_id})
