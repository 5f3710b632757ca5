"""Promotions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.records import Abandoned, BilledOn, OnError, Promotion, PromotionStatus, Step
from builders.sandbox.step_errors import StepError
from builders.sandbox.store import steps as journal

_BILLED = TypeAdapter(tuple[BilledOn, ...])
_PROMOTION = TypeAdapter(Promotion)

INSERT_PROMOTION = """
    INSERT INTO sandbox_promotions (account_id, id, plan_id, status, on_error, created_by, started_at)
    VALUES (%(account_id)s, %(id)s, %(plan_id)s, 'running', %(on_error)s, %(created_by)s, %(now)s)
"""
SELECT = """
    SELECT id, plan_id, status, on_error, created_by, started_at, finished_at, invoices, error
    FROM sandbox_promotions
    WHERE account_id = %(account_id)s
"""
FIND_PROMOTION = f"{SELECT} AND id = %(promotion_id)s"
FIND_PROMOTION_OF_PLAN = f"{SELECT} AND plan_id = %(plan_id)s"
LOCK_RUNNING = f"{SELECT} AND id = %(promotion_id)s AND status = 'running' FOR UPDATE"
REOPEN = """
    UPDATE sandbox_promotions SET status = 'running', on_error = %(on_error)s, finished_at = NULL, error = NULL
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
MARK_PROMOTION = """
    UPDATE sandbox_promotions SET status = %(status)s, finished_at = %(now)s, error = %(error)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
ADD_INVOICE = """
    UPDATE sandbox_promotions SET invoices = invoices || %(invoice)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
COUNT_OPEN = """
    SELECT (SELECT count(*) FROM sandbox_plans
            WHERE account_id = %(account_id)s AND status = 'ready' AND expires_at > %(now)s) AS plans_open,
           (SELECT count(*) FROM sandbox_promotions
            WHERE account_id = %(account_id)s AND status = 'running') AS promotions_running
"""
# From the primary key: ids are in the order of time.
COUNT_SINCE = """
    SELECT count(*) FROM (
        SELECT FROM sandbox_promotions WHERE account_id = %(account_id)s AND id >= %(since)s LIMIT %(limit)s
    ) AS counted
"""
LIST_ABANDONED = """
    SELECT account_id, id FROM sandbox_promotions
    WHERE status = 'running' AND started_at < %(before)s ORDER BY started_at LIMIT %(limit)s
"""
# An existing row is locked and keeps its promotion: the next statement reads the status of that promotion.
RESERVE = """
    INSERT INTO sandbox_turns AS turn (account_id, promotion_id) VALUES (%(account_id)s, %(promotion_id)s)
    ON CONFLICT (account_id) DO UPDATE SET promotion_id = turn.promotion_id
    RETURNING promotion_id
"""
IS_RUNNING = """
    SELECT FROM sandbox_promotions
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s AND status = 'running'
"""
HAND_OVER = """
    UPDATE sandbox_turns SET promotion_id = %(promotion_id)s WHERE account_id = %(account_id)s
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
) -> None:
    """Insert a promotion with all its steps."""
    row = {"account_id": account_id, "id": promotion_id, "plan_id": plan_id, "on_error": on_error}
    await conn.execute(INSERT_PROMOTION, {**row, "created_by": created_by, "now": now})
    await journal.insert_steps(conn, account_id=account_id, promotion_id=promotion_id, steps=steps, now=now)


async def find_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion | None:
    """Return a promotion with its steps, or None."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    return await _with_steps(
        conn, account_id, await (await conn.cursor(row_factory=dict_row).execute(FIND_PROMOTION, row)).fetchone()
    )


async def find_promotion_of_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Promotion | None:
    """Return the promotion of a plan with its steps, or None."""
    cursor = await conn.cursor(row_factory=dict_row).execute(
        FIND_PROMOTION_OF_PLAN, {"account_id": account_id, "plan_id": plan_id}
    )
    return await _with_steps(conn, account_id, await cursor.fetchone())


async def _with_steps(conn: Conn, account_id: UUID, found: dict[str, Any] | None) -> Promotion | None:
    if found is None:
        return None
    steps = await journal.list_steps(conn, account_id=account_id, promotion_id=found["id"])
    return _promotion(found, steps)


async def lock_running(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion | None:
    """Lock and return a running promotion without its steps, or None."""
    cursor = await conn.cursor(row_factory=dict_row).execute(
        LOCK_RUNNING, {"account_id": account_id, "promotion_id": promotion_id}
    )
    found = await cursor.fetchone()
    return None if found is None else _promotion(found, [])


async def reopen(conn: Conn, *, account_id: UUID, promotion_id: UUID, on_error: OnError) -> None:
    """Make failed and skipped steps pending again."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "on_error": on_error}
    await journal.reopen_steps(conn, account_id=account_id, promotion_id=promotion_id)
    await conn.execute(REOPEN, row)


async def finish_promotion(
    conn: Conn,
    *,
    account_id: UUID,
    promotion_id: UUID,
    status: PromotionStatus,
    error: StepError | None,
    now: datetime,
) -> None:
    """End a promotion; `error` is that of an abandoned one."""
    why = None if error is None else journal.dump_error(error)
    row = {"account_id": account_id, "promotion_id": promotion_id, "status": status, "now": now}
    await conn.execute(MARK_PROMOTION, {**row, "error": why})


async def add_invoice(conn: Conn, *, account_id: UUID, promotion_id: UUID, invoice: BilledOn) -> None:
    """Add an invoice to a promotion."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    await conn.execute(ADD_INVOICE, {**row, "invoice": Jsonb(_BILLED.dump_python((invoice,), mode="json"))})


async def count_open(conn: Conn, *, account_id: UUID, now: datetime) -> tuple[int, int]:
    """Return the numbers of open plans and of running promotions."""
    row = await (await conn.execute(COUNT_OPEN, {"account_id": account_id, "now": now})).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


async def count_since(conn: Conn, *, account_id: UUID, since: UUID, limit: int) -> int:
    """Return the number of the account's promotions since an id, up to a limit."""
    row = {"account_id": account_id, "since": since, "limit": limit}
    [(count,)] = await (await conn.execute(COUNT_SINCE, row)).fetchall()
    return int(count)


async def list_abandoned(conn: Conn, *, before: datetime, limit: int) -> list[Abandoned]:
    """Return running promotions that started before a time, oldest first."""
    rows = await (await conn.execute(LIST_ABANDONED, {"before": before, "limit": limit})).fetchall()
    return [Abandoned(*row) for row in rows]


async def reserve(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> UUID:
    """Lock the promotion slot of the account until the transaction ends; return the promotion that holds it."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    found = await (await conn.execute(RESERVE, row)).fetchone()
    assert found is not None  # noqa: S101 - RETURNING
    holder: UUID = found[0]
    return holder


async def is_running(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> bool:
    """Return whether a promotion is running."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    return await (await conn.execute(IS_RUNNING, row)).fetchone() is not None


async def hand_over(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Give the slot to another promotion."""
    await conn.execute(HAND_OVER, {"account_id": account_id, "promotion_id": promotion_id})


async def lock_account(conn: Conn, *, account_id: UUID) -> None:
    """Exclude other rehearsals and resets of a sandbox account until the transaction ends."""
    await conn.execute(LOCK_ACCOUNT, {"account_id": account_id})


def _promotion(row: dict[str, Any], steps: Sequence[Step]) -> Promotion:
    return _PROMOTION.validate_python({**row, "steps": steps})
