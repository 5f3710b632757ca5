"""All SQL of the sandbox."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db import Conn
from builders.sandbox.records import (
    ACTIONS,
    Abandoned,
    Finding,
    OnError,
    Plan,
    PlanStatus,
    Promotion,
    PromotionStatus,
    Step,
    StepError,
    StepStatus,
)

_FINDINGS = TypeAdapter(tuple[Finding, ...])
_ERROR = TypeAdapter(StepError)
_PLAN = TypeAdapter(Plan)
_STEP = TypeAdapter(Step)

INSERT_PLAN = """
    INSERT INTO sandbox_plans
        (account_id, id, manifest, labels, status, digest, actions, errors, warnings,
         created_by, created_at, expires_at)
    VALUES (%(account_id)s, %(id)s, %(manifest)s, %(labels)s, %(status)s, %(digest)s, %(actions)s, %(errors)s,
            %(warnings)s, %(created_by)s, %(created_at)s, %(expires_at)s)
"""
FIND_PLAN = """
    SELECT account_id, id, manifest, labels, status, digest, actions, errors, warnings, created_by, created_at,
           expires_at
    FROM sandbox_plans WHERE account_id = %(account_id)s AND id = %(plan_id)s
"""
LOCK_PLAN = """
    SELECT account_id, id, manifest, labels, status, digest, actions, errors, warnings, created_by, created_at,
           expires_at
    FROM sandbox_plans WHERE account_id = %(account_id)s AND id = %(plan_id)s FOR UPDATE
"""
MARK_PLAN = """
    UPDATE sandbox_plans SET status = %(status)s WHERE account_id = %(account_id)s AND id = %(plan_id)s
"""
INSERT_PROMOTION = """
    INSERT INTO sandbox_promotions (account_id, id, plan_id, status, on_error, created_by, started_at)
    VALUES (%(account_id)s, %(id)s, %(plan_id)s, 'running', %(on_error)s, %(created_by)s, %(now)s)
"""
INSERT_STEPS = """
    INSERT INTO sandbox_steps
        (account_id, promotion_id, position, address, action, status, resource_id, finished_at)
    SELECT %(account_id)s, %(promotion_id)s, position, address, action,
           CASE action WHEN 'no_op' THEN 'succeeded' ELSE 'pending' END, resource_id,
           CASE action WHEN 'no_op' THEN %(now)s::timestamptz END
    FROM unnest(%(positions)s::int[], %(addresses)s::text[], %(actions)s::text[], %(resource_ids)s::uuid[])
         AS new (position, address, action, resource_id)
"""
FIND_PROMOTION = """
    SELECT id, plan_id, status, on_error, created_by, started_at, finished_at FROM sandbox_promotions
    WHERE account_id = %(account_id)s
      AND (id = %(promotion_id)s::uuid OR plan_id = %(plan_id)s::uuid)
"""
LOCK_RUNNING = """
    SELECT id, plan_id, status, on_error, created_by, started_at, finished_at FROM sandbox_promotions
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s AND status = 'running' FOR UPDATE
"""
LIST_STEPS = """
    SELECT position, address, action, status, attempts, resource_id, error, finished_at FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s ORDER BY position
"""
# The next steps of one kind, in the order of the kinds.
LIST_PENDING = """
    SELECT position, address, action, status, attempts, resource_id, error, finished_at FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
      AND action = (
          SELECT action FROM sandbox_steps
          WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
          ORDER BY array_position(%(order)s::text[], action) LIMIT 1
      )
    ORDER BY position LIMIT %(limit)s
"""
FINISH_STEPS = """
    UPDATE sandbox_steps AS step
    SET status = new.status, error = new.error, attempts = step.attempts + 1, finished_at = %(now)s
    FROM unnest(%(positions)s::int[], %(statuses)s::text[], %(errors)s::jsonb[]) AS new (position, status, error)
    WHERE step.account_id = %(account_id)s AND step.promotion_id = %(promotion_id)s
      AND step.position = new.position AND step.status = 'pending'
"""
SKIP_STEPS = """
    UPDATE sandbox_steps SET status = 'skipped', finished_at = %(now)s
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
"""
REOPEN = """
    UPDATE sandbox_promotions SET status = 'running', on_error = %(on_error)s, finished_at = NULL
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
REOPEN_STEPS = """
    UPDATE sandbox_steps SET status = 'pending', error = NULL, finished_at = NULL
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status IN ('failed', 'skipped')
"""
MARK_PROMOTION = """
    UPDATE sandbox_promotions SET status = %(status)s, finished_at = %(now)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
COUNT_STEPS = """
    SELECT status, count(*) FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s GROUP BY status
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
PRUNE_PLANS = """
    DELETE FROM sandbox_plans AS plan WHERE plan.created_at < %(before)s AND NOT EXISTS (
        SELECT FROM sandbox_promotions AS promotion
        WHERE promotion.account_id = plan.account_id AND promotion.plan_id = plan.id
    )
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a step ended."""

    position: int
    status: StepStatus
    error: StepError | None = None


async def insert_plan(conn: Conn, *, plan: Plan) -> None:
    """A new plan."""
    row = {
        "account_id": plan.account_id,
        "id": plan.id,
        "manifest": plan.manifest,
        "labels": Jsonb(plan.labels),
        "status": plan.status,
        "digest": plan.digest,
        "actions": Jsonb(ACTIONS.dump_python(tuple(plan.actions), mode="json")),
        "errors": Jsonb(_FINDINGS.dump_python(tuple(plan.errors), mode="json")),
        "warnings": Jsonb(_FINDINGS.dump_python(tuple(plan.warnings), mode="json")),
        "created_by": plan.created_by,
        "created_at": plan.created_at,
        "expires_at": plan.expires_at,
    }
    await conn.execute(INSERT_PLAN, row)


async def find_plan(conn: Conn, *, account_id: UUID, plan_id: UUID, lock: bool = False) -> Plan | None:
    """One plan of the account; locked, so that two promotions of it begin one after the other."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LOCK_PLAN if lock else FIND_PLAN, {"account_id": account_id, "plan_id": plan_id})
        row = await cursor.fetchone()
    return None if row is None else _PLAN.validate_python(row)


async def mark_plan(conn: Conn, *, account_id: UUID, plan_id: UUID, status: PlanStatus) -> None:
    """Where the plan stands now."""
    await conn.execute(MARK_PLAN, {"account_id": account_id, "plan_id": plan_id, "status": status})


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
    """A new promotion with all its steps."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "now": now}
    promotion = {"id": promotion_id, "plan_id": plan_id, "on_error": on_error, "created_by": created_by}
    await conn.execute(INSERT_PROMOTION, {**row, **promotion})
    columns = {
        "positions": [step.position for step in steps],
        "addresses": [step.address for step in steps],
        "actions": [step.action for step in steps],
        "resource_ids": [step.resource_id for step in steps],
    }
    await conn.execute(INSERT_STEPS, {**row, **columns})


async def find_promotion(
    conn: Conn, *, account_id: UUID, promotion_id: UUID | None = None, plan_id: UUID | None = None
) -> Promotion | None:
    """A promotion with its steps, by its own id or its plan's."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "plan_id": plan_id}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_PROMOTION, row)
        found = await cursor.fetchone()
        if found is None:
            return None
        await cursor.execute(LIST_STEPS, {"account_id": account_id, "promotion_id": found["id"]})
        return _promotion(found, await cursor.fetchall())


async def lock_running(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion | None:
    """A promotion that still runs, without its steps, for this transaction alone."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LOCK_RUNNING, {"account_id": account_id, "promotion_id": promotion_id})
        found = await cursor.fetchone()
    return None if found is None else _promotion(found, [])


async def list_pending(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, order: Sequence[str], limit: int
) -> list[Step]:
    """The next steps to do: of one kind, the first in the order."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "order": list(order), "limit": limit}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_PENDING, row)
        return [_STEP.validate_python(each) for each in await cursor.fetchall()]


async def finish_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, outcomes: Sequence[Outcome], now: datetime
) -> None:
    """Journals how steps ended, in one statement."""
    errors = [None if each.error is None else Jsonb(_ERROR.dump_python(each.error)) for each in outcomes]
    columns = {
        "positions": [each.position for each in outcomes],
        "statuses": [each.status for each in outcomes],
        "errors": errors,
    }
    await conn.execute(
        FINISH_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now, **columns}
    )


async def skip_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID, now: datetime) -> None:
    """Leaves out what is still to do."""
    await conn.execute(SKIP_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now})


async def reopen(conn: Conn, *, account_id: UUID, promotion_id: UUID, on_error: OnError) -> None:
    """Makes what failed or was left out pending again."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "on_error": on_error}
    await conn.execute(REOPEN_STEPS, row)
    await conn.execute(REOPEN, row)


async def finish_promotion(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, status: PromotionStatus, now: datetime
) -> None:
    """Ends a promotion."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "status": status, "now": now}
    await conn.execute(MARK_PROMOTION, row)


async def count_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> dict[StepStatus, int]:
    """How many steps stand how."""
    row = {"account_id": account_id, "promotion_id": promotion_id}
    return {StepStatus(status): n for status, n in await (await conn.execute(COUNT_STEPS, row)).fetchall()}


async def count_open(conn: Conn, *, account_id: UUID, now: datetime) -> tuple[int, int]:
    """Open plans and running promotions."""
    row = await (await conn.execute(COUNT_OPEN, {"account_id": account_id, "now": now})).fetchone()
    return (0, 0) if row is None else (row[0], row[1])


async def list_abandoned(conn: Conn, *, before: datetime, limit: int) -> list[Abandoned]:
    """Promotions that have been running since before then."""
    rows = await (await conn.execute(LIST_ABANDONED, {"before": before, "limit": limit})).fetchall()
    return [Abandoned(*row) for row in rows]


async def prune_plans(conn: Conn, *, before: datetime) -> int:
    """Forgets plans made before then that were never promoted; their number."""
    return (await conn.execute(PRUNE_PLANS, {"before": before})).rowcount


def _promotion(row: dict[str, Any], steps: Sequence[dict[str, Any]]) -> Promotion:
    return Promotion(
        id=row["id"],
        plan_id=row["plan_id"],
        status=PromotionStatus(row["status"]),
        on_error=OnError(row["on_error"]),
        steps=[_STEP.validate_python(step) for step in steps],
        created_by=row["created_by"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )
