"""The journal of promotions: their steps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.records import Step, StepStatus
from builders.sandbox.step_errors import StepError

_ERROR = TypeAdapter(StepError)
_STEP = TypeAdapter(Step)

INSERT_STEPS = """
    INSERT INTO sandbox_steps
        (account_id, promotion_id, position, address, action, status, resource_id, finished_at)
    SELECT %(account_id)s, %(promotion_id)s, position, address, action,
           CASE action WHEN 'no_op' THEN 'succeeded' ELSE 'pending' END, resource_id,
           CASE action WHEN 'no_op' THEN %(now)s::timestamptz END
    FROM unnest(%(positions)s::int[], %(addresses)s::text[], %(actions)s::text[], %(resource_ids)s::uuid[])
         AS new (position, address, action, resource_id)
"""
LIST_STEPS = """
    SELECT position, address, action, status, attempts, resource_id, error, finished_at, invoice_id
    FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s ORDER BY position
"""
# The next pending steps: those of the first group that has any. A stage is `KIND ACTION`.
LIST_PENDING = """
    WITH pending AS (
        SELECT position, address, action, status, attempts, resource_id, error, finished_at, invoice_id,
               (%(groups)s::int[])[
                   array_position(%(stages)s::text[], split_part(address, '.', 1) || ' ' || action)
               ] AS in_group
        FROM sandbox_steps
        WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
    )
    SELECT position, address, action, status, attempts, resource_id, error, finished_at, invoice_id
    FROM pending WHERE in_group = (SELECT min(in_group) FROM pending) ORDER BY position LIMIT %(limit)s
"""
LIST_UNDONE = """
    SELECT address FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND address = ANY(%(addresses)s::text[])
      AND status <> 'succeeded'
"""
MARK_BILLED = """
    UPDATE sandbox_steps SET invoice_id = %(invoice_id)s
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND position = ANY(%(positions)s::int[])
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
REOPEN_STEPS = """
    UPDATE sandbox_steps SET status = 'pending', error = NULL, finished_at = NULL
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status IN ('failed', 'skipped')
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of a step."""

    position: int
    status: StepStatus
    error: StepError | None = None


def dump_error(error: StepError) -> Jsonb:
    """Return the stored form of an error, with `retryable` for readers of the table."""
    return Jsonb({**_ERROR.dump_python(error), "retryable": error.retryable})


def successes(steps: Sequence[Step]) -> list[Outcome]:
    """Return the outcomes of steps that succeeded."""
    return [Outcome(position=step.position, status=StepStatus.SUCCEEDED) for step in steps]


def failures(faults: Mapping[int, StepError]) -> list[Outcome]:
    """Return the outcomes of steps that failed, by position."""
    return [Outcome(position=at, status=StepStatus.FAILED, error=error) for at, error in faults.items()]


async def insert_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, steps: Sequence[Step], now: datetime
) -> None:
    """Insert the steps of a promotion; steps without a change have succeeded."""
    columns = {
        "positions": [step.position for step in steps],
        "addresses": [step.address for step in steps],
        "actions": [step.action for step in steps],
        "resource_ids": [step.resource_id for step in steps],
    }
    row = {"account_id": account_id, "promotion_id": promotion_id, "now": now}
    await conn.execute(INSERT_STEPS, {**row, **columns})


async def list_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> list[Step]:
    """Return all steps of a promotion, in the sequence of the plan."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_STEPS, {"account_id": account_id, "promotion_id": promotion_id})
        return [_STEP.validate_python(each) for each in await cursor.fetchall()]


async def list_pending(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, groups: Sequence[Sequence[str]], limit: int
) -> list[Step]:
    """Return the pending steps of the first group of stages that has any."""
    stages = {stage: at for at, group in enumerate(groups) for stage in group}
    row = {"account_id": account_id, "promotion_id": promotion_id, "limit": limit}
    row |= {"stages": list(stages), "groups": list(stages.values())}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_PENDING, row)
        return [_STEP.validate_python(each) for each in await cursor.fetchall()]


async def finish_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, outcomes: Sequence[Outcome], now: datetime
) -> int:
    """Record the outcomes of pending steps in one statement; return their number."""
    row = {
        "account_id": account_id,
        "promotion_id": promotion_id,
        "positions": [each.position for each in outcomes],
        "statuses": [each.status for each in outcomes],
        "errors": [None if each.error is None else dump_error(each.error) for each in outcomes],
        "now": now,
    }
    return (await conn.execute(FINISH_STEPS, row)).rowcount


async def skip_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID, now: datetime) -> None:
    """Skip the pending steps."""
    await conn.execute(SKIP_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now})


async def reopen_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Make failed and skipped steps pending again."""
    await conn.execute(REOPEN_STEPS, {"account_id": account_id, "promotion_id": promotion_id})


async def list_undone(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, addresses: Sequence[str]
) -> frozenset[str]:
    """Return the addresses whose step has not succeeded."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "addresses": list(addresses)}
    return frozenset(each[0] for each in await (await conn.execute(LIST_UNDONE, row)).fetchall())


async def mark_billed(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, positions: Sequence[int], invoice_id: UUID
) -> None:
    """Record the invoice of steps."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "positions": list(positions)}
    await conn.execute(MARK_BILLED, {**row, "invoice_id": invoice_id})
