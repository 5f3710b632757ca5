"""The public interface of the sandbox."""

from datetime import timedelta
from uuid import UUID

from builders.kit.db.connections import Conn, Database
from builders.kit.events import outbox
from builders.kit.http.callers import Actor
from builders.kit.http.pagination import Page, PageRequest
from builders.kit.outbound.client import Outbound
from builders.kit.values import clock
from builders.projects.service import (
    ProjectArchived as ProjectArchived,
)
from builders.sandbox import planner
from builders.sandbox.errors import PlanNotFound
from builders.sandbox.events import PLAN_CREATED, PlanData
from builders.sandbox.manifest import Manifest
from builders.sandbox.overview import (
    get_overview as get_overview,
)
from builders.sandbox.promotion import run, secrets, start
from builders.sandbox.promotion.complete import (
    abandon as abandon,
)
from builders.sandbox.promotion.locks import (
    account_lock as account_lock,
)
from builders.sandbox.promotion.run import (
    get_promotion as get_promotion,
    run_promotion as run_promotion,
)
from builders.sandbox.promotion.start import (
    FINISH as FINISH,
    resume_abandoned as resume_abandoned,
)
from builders.sandbox.records import (
    Plan,
    PlanOverview,
    PlanStatus,
    Promotion,
    PromotionRequest,
    TargetAccount,
)
from builders.sandbox.rehearsal import (
    Script as Script,
    rehearse as rehearse,
)
from builders.sandbox.reset import (
    reset_account as reset_account,
)
from builders.sandbox.resources.execution import RunParameters as RunParameters
from builders.sandbox.simulate import (
    check_names as check_names,
    simulate_event as simulate_event,
)
from builders.sandbox.store import plans as plan_store
from builders.webhooks import service as webhooks

PLAN_RETENTION = timedelta(days=30)


async def make_plan(
    database: Database,
    *,
    outbound: Outbound,
    target: TargetAccount,
    manifest: Manifest,
    actor: Actor,
    cooling_off: timedelta,
) -> Plan:
    """Store and return a reviewable plan from the live state to the manifest; the number of statements is fixed.

    A plan with errors is stored as `blocked`, with all of them. Take the database, since the URLs of webhooks are
    resolved outside a transaction. Publish plan.created. Raise ProjectArchived.
    """
    urls = await webhooks.validate_urls(outbound, [each.url for each in manifest.webhooks])
    async with database.transaction() as conn:
        plan = await planner.make_plan(
            conn, target=target, manifest=manifest, actor=actor, urls=urls, cooling_off=cooling_off
        )
        await plan_store.insert_plan(conn, plan=plan)
        data = PlanData(id=plan.id, manifest=plan.manifest, status=plan.status)
        await outbox.publish(conn, PLAN_CREATED, account_id=target.account_id, data=data)
    return plan


async def list_plans(
    conn: Conn, *, account_id: UUID, page: PageRequest, status: PlanStatus | None = None
) -> Page[PlanOverview]:
    """Return a page of the account's plans without their actions, newest first."""
    found = await plan_store.list_plans(
        conn, account_id=account_id, status=status, before=page.before_id, limit=page.limit + 1, now=clock.now()
    )
    return page.cut(found, lambda plan: [str(plan.id)])


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Plan:
    """Return a plan of the account. Raise PlanNotFound."""
    plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=plan_id)
    if plan is None:
        raise PlanNotFound
    return plan


async def promote(
    database: Database,
    *,
    outbound: Outbound,
    account_id: UUID,
    request: PromotionRequest,
    actor: Actor,
    parameters: RunParameters,
) -> Promotion:
    """Execute a reviewed plan. A repeated call continues where the promotion stopped, and repeats nothing.

    With `resume` it also retries failed and skipped steps, unless what they depend on has changed. A large
    promotion is returned as it stands, while a job continues it. New secrets are in one response only.

    Take the database, since each batch of steps is a transaction. Raise PlanNotFound, PlanBlocked,
    PlanDigestMismatch, PlanExpired, ConfirmDeletesMismatch, TotalExceeded, PlanStale, EmailUnverified,
    PromotionRunning, ProjectArchived.
    """
    promotion_id, is_large = await start.start(
        database, outbound=outbound, account_id=account_id, request=request, actor=actor
    )
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    promotion = None if is_large else await run_promotion(database, **owner, parameters=parameters)
    async with database.connection() as conn:
        promotion = (
            await run.add_outstanding(conn, account_id=account_id, promotion=promotion)
            if promotion
            else await get_promotion(conn, **owner)
        )
    return await secrets.reveal_secrets(
        database, account_id=account_id, promotion=promotion, keyring=parameters.keyring
    )


async def prune_plans(conn: Conn) -> int:
    """Delete plans that are older than 30 days and were never promoted; return their number."""
    return await plan_store.prune_plans(conn, before=clock.now() - PLAN_RETENTION)
