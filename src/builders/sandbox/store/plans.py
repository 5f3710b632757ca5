"""Plans."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from psycopg.rows import class_row, dict_row
from psycopg.types.json import Jsonb
from pydantic import TypeAdapter

from builders.kit.db.connections import Conn
from builders.sandbox.records import ACTIONS, Finding, Plan, PlanOverview, PlanStatus

_FINDINGS = TypeAdapter(tuple[Finding, ...])
_PLAN = TypeAdapter(Plan)
_OVERVIEW = TypeAdapter(PlanOverview)

INSERT_PLAN = """
    INSERT INTO sandbox_plans
        (account_id, id, manifest, labels, status, digest, actions, summary, errors, warnings,
         created_by, created_at, expires_at, manifest_digest)
    VALUES (%(account_id)s, %(id)s, %(manifest)s, %(labels)s, %(status)s, %(digest)s, %(actions)s, %(summary)s,
            %(errors)s, %(warnings)s, %(created_by)s, %(created_at)s, %(expires_at)s, %(manifest_digest)s)
"""
# `expired` follows from the expiry and is not stored. Executed without preparing: a generic plan is slow here.
LIST_PLANS = """
    SELECT * FROM (
        SELECT id, manifest, labels, digest, summary, jsonb_array_length(errors) AS errors,
               jsonb_array_length(warnings) AS warnings, created_by, created_at, expires_at,
               CASE WHEN status IN ('ready', 'empty') AND expires_at <= %(now)s THEN 'expired' ELSE status
               END AS status
        FROM sandbox_plans WHERE account_id = %(account_id)s AND id < %(before)s
    ) AS plan
    WHERE %(status)s::text IS NULL OR status = %(status)s ORDER BY id DESC LIMIT %(limit)s
"""
_SELECT = """
    SELECT account_id, id, manifest, labels, status, digest, manifest_digest, actions, errors, warnings,
           created_by, created_at, expires_at
    FROM sandbox_plans WHERE account_id = %(account_id)s
"""
FIND_PLAN = f"{_SELECT} AND id = %(plan_id)s"
FIND_PLAN_OF = f"""
    {_SELECT} AND id = (
        SELECT plan_id FROM sandbox_promotions WHERE account_id = %(account_id)s AND id = %(promotion_id)s
    )
"""
PRUNE_PLANS = """
    DELETE FROM sandbox_plans AS plan WHERE plan.created_at < %(before)s AND NOT EXISTS (
        SELECT FROM sandbox_promotions AS promotion
        WHERE promotion.account_id = plan.account_id AND promotion.plan_id = plan.id
    )
"""
# Without plans that a promotion has locked.
DELETE_OLDEST = """
    DELETE FROM sandbox_plans WHERE account_id = %(account_id)s AND id IN (
        SELECT id FROM sandbox_plans
        WHERE account_id = %(account_id)s AND status IN ('ready', 'empty', 'blocked') AND id < (
            SELECT id FROM sandbox_plans WHERE account_id = %(account_id)s
            ORDER BY id DESC OFFSET %(kept)s - 1 LIMIT 1
        )
        ORDER BY id LIMIT %(limit)s FOR UPDATE SKIP LOCKED
    )
"""
LIST_OPEN = """
    SELECT id, manifest, status, created_at, expires_at FROM sandbox_plans
    WHERE account_id = %(account_id)s AND status = 'ready' AND expires_at > %(now)s
    ORDER BY id DESC LIMIT %(limit)s
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlan:
    """A plan that can be promoted."""

    id: UUID
    manifest: str
    status: str
    created_at: datetime
    expires_at: datetime


async def insert_plan(conn: Conn, *, plan: Plan) -> None:
    """Insert a plan."""
    row = {
        "account_id": plan.account_id,
        "id": plan.id,
        "manifest": plan.manifest,
        "labels": Jsonb(plan.labels),
        "status": plan.status,
        "digest": plan.digest,
        "actions": Jsonb(ACTIONS.dump_python(tuple(plan.actions), mode="json")),
        "summary": Jsonb(Counter(str(action.action) for action in plan.actions)),
        "errors": Jsonb(_FINDINGS.dump_python(tuple(plan.errors), mode="json")),
        "warnings": Jsonb(_FINDINGS.dump_python(tuple(plan.warnings), mode="json")),
        "created_by": plan.created_by,
        "created_at": plan.created_at,
        "expires_at": plan.expires_at,
        "manifest_digest": plan.manifest_digest,
    }
    await conn.execute(INSERT_PLAN, row)


async def find_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Plan | None:
    """Return a plan of the account, or None."""
    found = await find_stored_plan(conn, account_id=account_id, plan_id=plan_id)
    return found and found[0]


async def find_stored_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> tuple[Plan, list[object]] | None:
    """Return a plan of the account and its actions as they are stored, or None."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_PLAN, {"account_id": account_id, "plan_id": plan_id})
        row = await cursor.fetchone()
    return None if row is None else (_PLAN.validate_python(row), row["actions"])


async def find_plan_of(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Plan | None:
    """Return the plan of a promotion of the account, or None."""
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(FIND_PLAN_OF, {"account_id": account_id, "promotion_id": promotion_id})
        row = await cursor.fetchone()
    return None if row is None else _PLAN.validate_python(row)


async def list_plans(
    conn: Conn, *, account_id: UUID, status: PlanStatus | None, before: UUID, limit: int, now: datetime
) -> list[PlanOverview]:
    """Return the account's plans without their actions, newest first."""
    row = {"account_id": account_id, "status": status, "before": before, "limit": limit, "now": now}
    async with conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(LIST_PLANS, row, prepare=False)
        return [_OVERVIEW.validate_python(each) for each in await cursor.fetchall()]


async def prune_plans(conn: Conn, *, before: datetime) -> int:
    """Delete plans made before a time that were never promoted; return their number."""
    return (await conn.execute(PRUNE_PLANS, {"before": before})).rowcount


async def delete_oldest(conn: Conn, *, account_id: UUID, kept: int, limit: int) -> None:
    """Delete up to `limit` plans that were never promoted and have `kept` newer plans of the account."""
    await conn.execute(DELETE_OLDEST, {"account_id": account_id, "kept": kept, "limit": limit})


async def list_open(conn: Conn, *, account_id: UUID, limit: int, now: datetime) -> Sequence[OpenPlan]:
    """Return the account's newest plans that can be promoted."""
    async with conn.cursor(row_factory=class_row(OpenPlan)) as cursor:
        await cursor.execute(LIST_OPEN, {"account_id": account_id, "limit": limit, "now": now})
        return await cursor.fetchall()
