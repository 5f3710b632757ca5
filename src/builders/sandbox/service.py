"""The door of the sandbox."""

from datetime import timedelta
from uuid import UUID

from builders.identity import service as identity
from builders.kit import clock, ids, outbox
from builders.kit.callers import Actor
from builders.kit.db import Conn, Database
from builders.sandbox import plan as plans
from builders.sandbox import runner, state, store
from builders.sandbox.errors import PlanNotFound, PromotionNotFound
from builders.sandbox.events import PLAN_CREATED, PlanData
from builders.sandbox.records import (
    Abandoned,
    ActionKind,
    Manifest,
    Order,
    Plan,
    PlanStatus,
    Promotion,
    Status,
)

PLAN_LIFE = timedelta(hours=24)
PLAN_KEPT = timedelta(days=30)
ABANDONED = timedelta(minutes=2)
ABANDONED_AT_ONCE = 1000


async def make_plan(conn: Conn, *, account_id: UUID, manifest: Manifest, actor: Actor) -> Plan:
    """A reviewable plan from the account's live state to the manifest; a few statements for any number of names.

    A plan with errors is stored too, `blocked`, with all of them. Publishes plan.created.
    """
    known = await state.directory(conn, manifest=manifest)
    wishes = state.judge(manifest, known)
    live = await state.of_wishes(conn, account_id=account_id, manifest=manifest, wishes=wishes, known=known)
    draft = plans.draft(manifest, wishes, live)
    changes = any(action.action is not ActionKind.NO_OP for action in draft.actions)
    status = PlanStatus.BLOCKED if draft.errors else PlanStatus.READY if changes else PlanStatus.EMPTY
    now = clock.now()
    plan = Plan(
        id=ids.new(),
        account_id=account_id,
        manifest=manifest.name,
        labels=manifest.labels,
        status=status,
        digest=plans.digest(account_id, manifest, draft.actions),
        actions=draft.actions,
        errors=draft.errors,
        warnings=draft.warnings,
        created_by=str(actor),
        created_at=now,
        expires_at=now + PLAN_LIFE,
    )
    await store.insert_plan(conn, plan=plan)
    news = PlanData(id=plan.id, manifest=plan.manifest, status=plan.status)
    await outbox.publish(conn, PLAN_CREATED, account_id=account_id, data=news)
    return plan


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID | None) -> Plan:
    """A plan of the account. Raises PlanNotFound."""
    plan = await store.find_plan(conn, account_id=account_id, plan_id=plan_id) if plan_id else None
    if plan is None:
        raise PlanNotFound("There is no such plan.")
    return plan


async def promote(
    database: Database, *, account_id: UUID, order: Order, actor: Actor, quarantine: timedelta
) -> Promotion:
    """Executes a reviewed plan; called again, it goes on where it stopped and does nothing twice.

    With `resume` it also tries again what failed or was left out, as far as that still stands as planned.

    Takes the database, since each batch of steps is a transaction of its own. Raises PlanNotFound, PlanBlocked,
    PlanDigestMismatch, PlanExpired, ConfirmDeletesMismatch, TotalExceeded, PlanStale, EmailUnverified.
    """
    promotion_id = await runner.begin(database, account_id=account_id, order=order, actor=actor)
    return await runner.run(database, account_id=account_id, promotion_id=promotion_id, quarantine=quarantine)


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID | None) -> Promotion:
    """A promotion with its steps. Raises PromotionNotFound."""
    promotion = None
    if promotion_id is not None:
        promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound("There is no such promotion.")
    return promotion


async def get_status(conn: Conn, *, account_id: UUID) -> Status:
    """How many plans and promotions are open, and whether the account may promote at all."""
    account = await identity.get_account(conn, account_id=account_id)
    plans_open, running = await store.count_open(conn, account_id=account_id, now=clock.now())
    return Status(
        plans_open=plans_open,
        promotions_running=running,
        email_verified=account.email_verified_at is not None,
    )


async def list_abandoned(conn: Conn) -> list[Abandoned]:
    """Promotions that have been running for minutes, the longest first: their process died, most likely."""
    return await store.list_abandoned(conn, before=clock.now() - ABANDONED, limit=ABANDONED_AT_ONCE)


async def finish(database: Database, *, account_id: UUID, promotion_id: UUID, quarantine: timedelta) -> Promotion:
    """Goes on with a promotion until it has ended; one that has is given as it is. Raises PromotionNotFound."""
    return await runner.run(database, account_id=account_id, promotion_id=promotion_id, quarantine=quarantine)


async def prune(conn: Conn) -> int:
    """Forgets plans of a month ago that were never promoted; their number."""
    return await store.prune_plans(conn, before=clock.now() - PLAN_KEPT)
