"""What happens to invoices that nobody pays: a step for many at once, each once.

A condition on the step before decides, so two workers never take the same one; what somebody is paying at this
moment is left alone.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from psycopg.rows import kwargs_row

from builders.invoices.records import Invoice, Stage
from builders.invoices.store import rows
from builders.invoices.store.rows import COLUMNS
from builders.kit.db.connections import Conn

RETURNED = f"""{COLUMNS}, ARRAY(
        SELECT alias_id FROM invoices_lines AS line
        WHERE line.account_id = invoice.account_id AND line.invoice_id = invoice.id AND alias_id IS NOT NULL
        ORDER BY position
    ) AS alias_ids
"""  # noqa: S608 - of a constant
STEP = f"""
    UPDATE invoices_invoices AS invoice
    SET stage = %(after)s,
        counted_from = CASE WHEN coalesce(counted_from, due_at) < %(late)s THEN %(due)s ELSE counted_from END
    WHERE (account_id, id) IN (
        SELECT account_id, id FROM invoices_invoices
        WHERE status = 'open' AND stage = %(before)s AND due_at <= %(due)s
          AND coalesce(counted_from, due_at) <= %(due)s
        ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING {RETURNED}
"""  # noqa: S608 - of a constant
GIVE_UP = f"""
    UPDATE invoices_invoices AS invoice SET status = 'uncollectible', uncollectible_at = %(now)s
    WHERE (account_id, id) IN (
        SELECT account_id, id FROM invoices_invoices
        WHERE status = 'open' AND stage = %(before)s AND due_at <= %(due)s
          AND coalesce(counted_from, due_at) <= %(due)s
        ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
    RETURNING {RETURNED}
"""  # noqa: S608 - of a constant
FIND_ARREARS = """
    SELECT number FROM invoices_invoices
    WHERE account_id = %(account_id)s AND number IS NOT NULL
      AND status IN ('open', 'uncollectible') AND (status = 'uncollectible' OR stage = %(stage)s)
    ORDER BY id LIMIT 1
"""


async def step(
    conn: Conn, *, before: Stage, after: Stage, due: datetime, late: datetime, limit: int
) -> Sequence[Invoice]:
    """Those that were at `before`, were due then or earlier, and are at `after` now.

    Of those that were due before `late` the steps are counted from `due` on.
    """
    row = {"before": before, "after": after, "due": due, "late": late, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(STEP, row)
        return await cursor.fetchall()


async def give_up(conn: Conn, *, before: Stage, due: datetime, now: datetime, limit: int) -> Sequence[Invoice]:
    """Those that were at `before`, were due then or earlier, and are uncollectible now."""
    row = {"before": before, "due": due, "now": now, "limit": limit}
    async with conn.cursor(row_factory=kwargs_row(rows.invoice)) as cursor:
        await cursor.execute(GIVE_UP, row)
        return await cursor.fetchall()


async def find_arrears(conn: Conn, *, account_id: UUID, stage: Stage) -> str | None:
    """The number of the account's oldest invoice that is given up, or has come to the stage."""
    row = {"account_id": account_id, "stage": stage}
    found = await (await conn.execute(FIND_ARREARS, row)).fetchone()
    return None if found is None else found[0]
