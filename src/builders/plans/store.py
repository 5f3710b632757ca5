"""All SQL of plans, of promotions and of their steps (the journal)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.errors import ForeignKeyViolation
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.kit.db.queries import accounts_with, due_rows, query
from builders.kit.values import ids
from builders.plans.errors import PlanNotFound, PromotionNotFound
from builders.plans.records import BilledOn, OnError, Plan, Promotion, PromotionStatus, Step, StepError

_PLAN = TypeAdapter(Plan)
_BILLED = TypeAdapter(tuple[BilledOn, ...])
_PROMOTION = TypeAdapter(Promotion)
_ERROR = TypeAdapter(StepError)

# Deletes the oldest plans too, except those that a promotion has locked. It does not see the plan that it inserts.
INSERT_PLAN = """
    WITH oldest AS (
        SELECT id FROM plans
        WHERE account_id = %(account_id)s AND status IN ('ready', 'empty', 'blocked') AND id < (
            SELECT id FROM plans WHERE account_id = %(account_id)s
            ORDER BY id DESC OFFSET %(kept)s - 2 LIMIT 1
        ) AND NOT EXISTS (
            SELECT FROM plans_promotions AS promotion
            WHERE promotion.account_id = plans.account_id AND promotion.plan_id = plans.id
        )
        ORDER BY id LIMIT %(deleted)s FOR UPDATE SKIP LOCKED
    ), deleted AS (
        DELETE FROM plans WHERE account_id = %(account_id)s AND id IN (SELECT id FROM oldest)
    )
    INSERT INTO plans
        (account_id, id, manifest, labels, status, digest, actions, summary, errors, warnings,
         created_by, created_at, expires_at, manifest_digest)
    VALUES (%(account_id)s, %(id)s, %(manifest)s, %(labels)s, %(status)s, %(digest)s, %(actions)s, %(summary)s,
            %(errors)s, %(warnings)s, %(created_by)s, %(created_at)s, %(expires_at)s, %(manifest_digest)s)
"""
FIND_PLAN = """
    SELECT account_id, id, manifest, labels, status, digest, manifest_digest, actions, errors, warnings,
           created_by, created_at, expires_at
    FROM plans WHERE account_id = %(account_id)s AND id = %(plan_id)s
"""
_SELECT = """
    SELECT id, plan_id, status, on_error, created_by, started_at, finished_at, invoices, error
    FROM plans_promotions
    WHERE account_id = %(account_id)s
"""
FIND_PROMOTION = f"{_SELECT} AND id = %(promotion_id)s"
LOCK_PROMOTION = f"{FIND_PROMOTION} FOR UPDATE"
LIST_PROMOTIONS = f"{_SELECT} AND (plan_id = %(plan_id)s OR id = %(holder)s)"
# An existing row is locked and keeps its promotion: the next statement reads the status of that promotion.
LOCK_SLOT = """
    INSERT INTO plans_turns AS turn (account_id, promotion_id) VALUES (%(account_id)s, %(promotion_id)s)
    ON CONFLICT (account_id) DO UPDATE SET promotion_id = turn.promotion_id
    RETURNING promotion_id
"""
_TAKE_SLOT = """
    slot AS (
        UPDATE plans_turns SET promotion_id = %(promotion_id)s
        WHERE account_id = %(account_id)s AND %(status)s = 'running'
    ), plan AS (
        UPDATE plans SET status = 'promoting'
        WHERE account_id = %(account_id)s AND id = %(plan_id)s AND %(status)s = 'running'
    )
"""
# The promotions of the last day are counted from the primary key: ids are in the order of time.
INSERT_PROMOTION = f"""
    WITH promotion AS (
        INSERT INTO plans_promotions (account_id, id, plan_id, status, on_error, created_by, started_at)
        SELECT %(account_id)s, %(promotion_id)s, %(plan_id)s, %(status)s, %(on_error)s, %(created_by)s, %(now)s
        WHERE (
            SELECT count(*) FROM (
                SELECT FROM plans_promotions
                WHERE account_id = %(account_id)s AND id >= %(since)s LIMIT %(limit)s
            ) AS counted
        ) < %(limit)s
        RETURNING id
    ), {_TAKE_SLOT}
    SELECT id FROM promotion
"""
# A statement of its own: Citus sends the rows of a CTE that another table gets to all nodes.
INSERT_STEPS = """
    INSERT INTO plans_steps
        (account_id, promotion_id, position, address, action, status, resource_id, finished_at)
    SELECT %(account_id)s, %(promotion_id)s, new.position - 1, address, action, status, resource_id,
           CASE status WHEN 'succeeded' THEN %(now)s::timestamptz END
    FROM unnest(
        %(addresses)s::text[], %(actions)s::text[], %(statuses)s::text[], %(resource_ids)s::uuid[]
    ) WITH ORDINALITY AS new (address, action, status, resource_id, position)
"""
FINISH_PROMOTION = """
    WITH plan AS (
        UPDATE plans SET status = CASE %(status)s::text WHEN 'succeeded' THEN 'promoted' ELSE 'partial' END
        WHERE account_id = %(account_id)s AND id = %(plan_id)s
    ), step AS (
        UPDATE plans_steps AS step SET invoice_id = billed.invoice_id
        FROM unnest(%(positions)s::int[], %(invoice_ids)s::uuid[]) AS billed (position, invoice_id)
        WHERE step.account_id = %(account_id)s AND step.promotion_id = %(promotion_id)s
          AND step.position = billed.position
    )
    UPDATE plans_promotions
    SET status = %(status)s, finished_at = %(now)s, error = %(error)s, invoices = %(invoices)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
"""
LIST_STEPS = """
    SELECT position, address, action, status, attempts, resource_id, error, finished_at, invoice_id
    FROM plans_steps
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s ORDER BY position
"""
FINISH_STEPS = """
    UPDATE plans_steps AS step
    SET status = CASE WHEN new.error IS NULL THEN 'succeeded' ELSE 'failed' END, error = new.error,
        attempts = step.attempts + 1, finished_at = %(now)s
    FROM unnest(%(positions)s::int[], %(errors)s::jsonb[]) AS new (position, error)
    WHERE step.account_id = %(account_id)s AND step.promotion_id = %(promotion_id)s
      AND step.position = new.position AND step.status = 'pending'
"""


async def insert_plan(conn: Conn, *, plan: Plan, kept: int, deleted: int) -> None:
    """Insert a plan; of more than `kept` plans that were not promoted, delete the oldest, up to `deleted`."""
    row = {**_PLAN.dump_python(plan, mode="json"), "kept": kept, "deleted": deleted}
    row |= {name: Jsonb(row[name]) for name in ("labels", "actions", "errors", "warnings")}
    row["summary"] = Jsonb(Counter(str(action.action) for action in plan.actions))
    await conn.execute(INSERT_PLAN, row)


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> tuple[Plan, list[object]]:
    """Return a plan of the account, and its actions as they are stored. Raise PlanNotFound."""
    cursor = conn.cursor(row_factory=dict_row)
    row = await (await cursor.execute(FIND_PLAN, {"account_id": account_id, "plan_id": plan_id})).fetchone()
    if row is None:
        raise PlanNotFound
    return _PLAN.validate_python(row), row["actions"]


# The columns, with numbers instead of actions and findings.
# `expired` follows from the expiry and is not stored. Executed without preparing: a generic plan is slow here.
list_plans = query("""
    SELECT id, manifest, labels, digest, summary, errors, warnings, created_by, created_at, expires_at, status,
           status IN ('ready', 'empty') AS promotable
    FROM (
        SELECT id, manifest, labels, digest, summary, jsonb_array_length(errors) AS errors,
               jsonb_array_length(warnings) AS warnings, created_by, created_at, expires_at,
               CASE WHEN status IN ('ready', 'empty') AND expires_at <= %(now)s THEN 'expired' ELSE status
               END AS status
        FROM plans WHERE account_id = %(account_id)s AND id < %(before)s
          AND strpos(lower(manifest), lower(%(q)s::text)) > 0
    ) AS plan
    WHERE %(status)s::text IS NULL OR status = %(status)s ORDER BY id DESC LIMIT %(limit)s
""").unprepared.all(dict[str, Any])
_UNUSED = """
    plan.created_at < %(before)s AND NOT EXISTS (
        SELECT FROM plans_promotions AS promotion
        WHERE promotion.account_id = plan.account_id AND promotion.plan_id = plan.id
    )
"""
list_unused = due_rows("plans AS plan", by="plan.created_at", at="before", only=_UNUSED).all(tuple[UUID, UUID])
prune_plans = query(f"""
    WITH old AS (
        SELECT id FROM plans AS plan
        WHERE account_id = %(account_id)s AND id = ANY(%(plan_ids)s::uuid[]) AND {_UNUSED}
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM plans AS plan USING old WHERE plan.account_id = %(account_id)s AND plan.id = old.id
""").count()
list_ended = due_rows("plans_promotions", by="finished_at", at="before").all(tuple[UUID, UUID])
# With their promotions, which have ended.
prune_promotions = query("""
    WITH old AS (
        SELECT plan.id AS plan_id, promotion.id
        FROM plans_promotions AS promotion JOIN plans AS plan
          ON plan.account_id = promotion.account_id AND plan.id = promotion.plan_id
        WHERE promotion.account_id = %(account_id)s AND promotion.id = ANY(%(promotion_ids)s::uuid[])
        FOR UPDATE SKIP LOCKED
    ), step AS (
        DELETE FROM plans_steps AS step USING old
        WHERE step.account_id = %(account_id)s AND step.promotion_id = old.id
    ), promotion AS (
        DELETE FROM plans_promotions AS promotion USING old
        WHERE promotion.account_id = %(account_id)s AND promotion.id = old.id
    )
    DELETE FROM plans AS plan USING old WHERE plan.account_id = %(account_id)s AND plan.id = old.plan_id
""").count()


async def insert_promotion(
    conn: Conn,
    *,
    account_id: UUID,
    promotion_id: UUID,
    plan_id: UUID,
    status: PromotionStatus,
    on_error: OnError,
    created_by: str,
    steps: Sequence[Step],
    now: datetime,
    since: UUID,
    limit: int,
) -> bool:
    """Insert a promotion with its steps, unless the account has `limit` since an id; a running one has the slot.

    Return whether it was inserted. Raise PlanNotFound.
    """
    row = {"account_id": account_id, "promotion_id": promotion_id, "plan_id": plan_id, "on_error": on_error}
    row |= {"status": status, "created_by": created_by, "now": now, "since": since, "limit": limit}
    columns = {
        "addresses": [step.address for step in steps],
        "actions": [step.action for step in steps],
        "statuses": [step.status for step in steps],
        "resource_ids": [step.resource_id for step in steps],
    }
    try:
        is_new = await (await conn.execute(INSERT_PROMOTION, row)).fetchone() is not None
    except ForeignKeyViolation:  # a plan was deleted because the account has many newer ones
        raise PlanNotFound from None
    if is_new:
        await conn.execute(INSERT_STEPS, {**row, **columns})
    return is_new


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID, lock: bool = False) -> Promotion:
    """Return a promotion with its steps; `lock` blocks other runs until the end of the transaction.

    Raise PromotionNotFound.
    """
    row = {"account_id": account_id, "promotion_id": promotion_id}
    cursor = await conn.cursor(row_factory=dict_row).execute(LOCK_PROMOTION if lock else FIND_PROMOTION, row)
    found = await cursor.fetchone()
    if found is None:
        raise PromotionNotFound
    steps = await (await cursor.execute(LIST_STEPS, row)).fetchall()
    return _PROMOTION.validate_python({**found, "steps": steps})


find_status = query("""
    SELECT status FROM plans_promotions WHERE account_id = %(account_id)s AND plan_id = %(plan_id)s
""").scalar(PromotionStatus)


async def lock_slot(conn: Conn, *, account_id: UUID, promotion_id: UUID, plan_id: UUID) -> list[Promotion]:
    """Lock the promotion slot of the account until the transaction ends; a first promotion gets it.

    Return the promotion of the plan, and the one that holds the slot, without their steps.
    """
    row = {"account_id": account_id, "promotion_id": promotion_id, "plan_id": plan_id}
    [(holder,)] = await (await conn.execute(LOCK_SLOT, row)).fetchall()
    cursor = await conn.cursor(row_factory=dict_row).execute(LIST_PROMOTIONS, {**row, "holder": holder})
    return [_PROMOTION.validate_python({**found, "steps": []}) for found in await cursor.fetchall()]


# Locks the slot too: decisions, policies and the starts of promotions of an account come one after the other. A
# promotion that does not exist means nothing in the slot.
lock_approvals = query("""
    INSERT INTO plans_turns AS turn (account_id, promotion_id) VALUES (%(account_id)s, %(account_id)s)
    ON CONFLICT (account_id) DO UPDATE SET promotion_id = turn.promotion_id
""").run()
# Also gives the promotion the slot.
reopen = query(f"""
    WITH step AS (
        UPDATE plans_steps SET status = 'pending', error = NULL, finished_at = NULL
        WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status IN ('failed', 'skipped')
    ), {_TAKE_SLOT}
    UPDATE plans_promotions
    SET status = 'running', on_error = %(on_error)s, finished_at = NULL, error = NULL,
        started_at = CASE status WHEN 'waiting' THEN %(now)s ELSE started_at END
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s
""").run(status="running")
# First those about whose plan a person has decided, then the oldest.
list_waiting = query("""
    SELECT id FROM plans_promotions
    WHERE account_id = %(account_id)s AND status = 'waiting' AND id > %(after)s ORDER BY id LIMIT %(limit)s
""").scalars(UUID)
_OF_PLAN = "JOIN plans AS plan ON plan.account_id = promotion.account_id AND plan.id = promotion.plan_id"
# Whose plans have expired.
list_overdue = due_rows(
    f"plans_promotions AS promotion {_OF_PLAN}",
    by="plan.expires_at",
    columns="promotion.account_id, promotion.id",
    only="promotion.status = 'waiting'",
).all(tuple[UUID, UUID])
_end_waiting = query("""
    UPDATE plans_promotions SET status = 'failed', finished_at = %(now)s, error = %(error)s
    WHERE account_id = %(account_id)s AND id = %(promotion_id)s AND status = 'waiting'
""").run()
# Accounts with a promotion that waits for an approval which stands, in case a job was lost or gave up.
list_startable = accounts_with(
    f"plans_promotions AS promotion {_OF_PLAN} JOIN plans_approval_decisions AS decision"
    " ON decision.account_id = plan.account_id AND decision.digest = plan.digest AND decision.ended_at IS NULL",
    account="promotion.account_id",
    only="promotion.status = 'waiting' AND decision.verdict = 'approve' AND decision.expires_at > %(now)s",
).scalars(UUID, after=ids.NIL)


async def end_waiting(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, error: StepError, now: datetime
) -> None:
    """End a promotion that waits for an approval."""
    await _end_waiting(conn, account_id=account_id, promotion_id=promotion_id, error=_dump_error(error), now=now)


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
        "error": _dump_error(promotion.error),
        "invoices": Jsonb(_BILLED.dump_python(tuple(promotion.invoices), mode="json")),
    }
    await conn.execute(FINISH_PROMOTION, row)


count_open = query("""
    SELECT (SELECT count(*) FROM plans
            WHERE account_id = %(account_id)s AND status = 'ready' AND expires_at > %(now)s) AS plans_open,
           (SELECT count(*) FROM plans_promotions
            WHERE account_id = %(account_id)s AND status = 'running') AS promotions_running
""").only(tuple[int, int])
list_unfinished = query("""
    SELECT id FROM plans_promotions
    WHERE account_id = %(account_id)s AND status IN ('waiting', 'running') ORDER BY id LIMIT %(limit)s
""").scalars(UUID)
list_abandoned = due_rows("plans_promotions", by="started_at", at="before", only="status = 'running'").all(
    tuple[UUID, UUID]
)
# Excludes other rehearsals and resets of a sandbox account until the transaction ends.
lock_account = query("""
    SELECT pg_advisory_xact_lock(hashtextextended('plans_rehearsals ' || %(account_id)s::uuid, 0))
""").run()


async def finish_steps(
    conn: Conn, *, account_id: UUID, promotion_id: UUID, outcomes: Mapping[int, StepError | None], now: datetime
) -> int:
    """Record the errors of pending steps by position, or None for success; return the number of steps."""
    row = {
        "account_id": account_id,
        "promotion_id": promotion_id,
        "positions": list(outcomes),
        "errors": [_dump_error(error) for error in outcomes.values()],
        "now": now,
    }
    return (await conn.execute(FINISH_STEPS, row)).rowcount


skip_steps = query("""
    UPDATE plans_steps SET status = 'skipped', finished_at = %(now)s
    WHERE account_id = %(account_id)s AND promotion_id = %(promotion_id)s AND status = 'pending'
""").run()


def _dump_error(error: StepError | None) -> Jsonb | None:
    return None if error is None else Jsonb(_ERROR.dump_python(error))
