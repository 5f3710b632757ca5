"""The journal of promotions: their steps. A promotion is inserted with its steps (`promotions`)."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.records import Step
from builders.sandbox.step_errors import StepError

_ERROR = TypeAdapter(StepError)
_STEPS = TypeAdapter(list[Step])

LIST_STEPS = """
    SELECT position, address, action, status, attempts, resource_id, error, finished_at, invoice_id
    FROM sandbox_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s ORDER BY position
"""
FINISH_STEPS = """
    UPDATE sandbox_steps AS step
    SET status = CASE WHEN new.error IS NULL THEN 'succeeded' ELSE 'failed' END, error = new.error,
        attempts = step.attempts + 1, finished_at = %(now)s
    FROM unnest(%(positions)s::int[], %(errors)s::jsonb[]) AS new (position, error)
    WHERE step.account_id = %(account_id)s AND step.promotion_id = %(promotion_id)s
      AND step.position = new.position AND step.status = 'pending'
"""
SKIP_STEPS = """
    UPDATE sandbox_steps SET status = 'skipped', finished_at = %(now)s
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
"""


def dump_error(error: StepError) -> Jsonb:
    """Return the stored form of an error, with `retryable` for readers of the table."""
    return Jsonb({**_ERROR.dump_python(error), "retryable": error.retryable})


async def list_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> list[Step]:
    """Return all steps of a promotion, in the sequence of the plan."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_STEPS, {"account_id": account_id, "promotion_id": promotion_id})
        return _STEPS.validate_python(await cursor.fetchall())


async def finish_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, outcomes: Mapping[int, StepError | None], now: datetime
) -> int:
    """Record the errors of pending steps by position, or None for success; return the number of steps."""
    row = {
        "account_id": account_id,
        "promotion_id": promotion_id,
        "positions": list(outcomes),
        "errors": [None if error is None else dump_error(error) for error in outcomes.values()],
        "now": now,
    }
    return (await conn.execute(FINISH_STEPS, row)).rowcount


async def skip_steps(conn: Conn, *, account_id: UUID, promotion_id: UUID, now: datetime) -> None:
    """Skip the pending steps."""
    await conn.execute(SKIP_STEPS, {"account_id": account_id, "promotion_id": promotion_id, "now": now})
