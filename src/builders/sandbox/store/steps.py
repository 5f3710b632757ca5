"""The journal: the steps of promotions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.error_codes import StepError
from builders.sandbox.records import (
    Step,
    StepStatus,
)

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
# The next steps of one group of stages, in the order of the groups; a stage is `KIND ACTION`.
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
# Of the addresses those whose step is not done.
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
    """How a step ended."""

    position: int
    status: StepStatus
    error: StepError | None = None


def dump_error(error: StepError) -> Jsonb:
    """Return an error as it is stored; `retryable` is for those who read the table."""
    return Jsonb({**_ERROR.dump_python(error), "retryable": error.retryable})


def successes(steps: Sequence[Step]) -> list[Outcome]:
    """These are done."""
    return [Outcome(position=step.position, status=StepStatus.SUCCEEDED) for step in steps]


def failures(blamed: Mapping[int, StepError]) -> list[Outcome]:
    """These failed, by position."""
    return [Outcome(position=at, status=StepStatus.FAILED, error=error) for at, error in blamed.items()]


async def insert_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, steps: Sequence[Step], now: datetime
) -> None:
    """The steps of a new promotion; those that have nothing to do are done."""
    columns = {
        "positions": [step.position for step in steps],
        "addresses": [step.address for step in steps],
        "actions": [step.action for step in steps],
        "resource_ids": [step.resource_id for step in steps],
    }
    row = {"account_id": account_id, "promotion_id": promotion_id, "now": now}
    await conn.execute(INSERT_STEPS, {**row, **columns})


async def list_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> list[Step]:
    """All steps of a promotion, in the order of the plan."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_STEPS, {"account_id": account_id, "promotion_id": promotion_id})
        return [_STEP.validate_python(each) for each in await cursor.fetchall()]


async def list_pending(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, groups: Sequence[Sequence[str]], limit: int
) -> list[Step]:
    """The next steps to do: of one group of stages, the first in the order."""
    stages = {stage: at for at, group in enumerate(groups) for stage in group}
    row = {"account_id": account_id, "promotion_id": promotion_id, "limit": limit}
    row |= {"stages": list(stages), "groups": list(stages.values())}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_PENDING, row)
        return [_STEP.validate_python(each) for each in await cursor.fetchall()]


async def finish_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, outcomes: Sequence[Outcome], now: datetime
) -> int:
    """Journals how steps ended that are pending, in one statement; their number."""
    errors = [None if each.error is None else dump_error(each.error) for each in outcomes]
    columns = {
        "positions": [each.position for each in outcomes],
        "statuses": [each.status for each in outcomes],
        "errors": errors,
    }
    cursor = await conn.execute(
        FINISH_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now, **columns}
    )
    return cursor.rowcount


async def skip_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID, now: datetime) -> None:
    """Leaves out what is still to do."""
    await conn.execute(SKIP_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now})


async def reopen_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> None:
    """Makes what failed or was left out pending again."""
    await conn.execute(REOPEN_STEPS, {"account_id": account_id, "promotion_id": promotion_id})


async def list_undone(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, addresses: Sequence[str]
) -> frozenset[str]:
    """Those of the addresses whose step is not done."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "addresses": list(addresses)}
    return frozenset(each[0] for each in await (await conn.execute(LIST_UNDONE, row)).fetchall())


async def mark_billed(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, positions: Sequence[int], invoice_id: UUID
) -> None:
    """Says on which invoice the steps are."""
    row = {"account_id": account_id, "promotion_id": promotion_id, "positions": list(positions)}
    await conn.execute(MARK_BILLED, {**row, "invoice_id": invoice_id})
