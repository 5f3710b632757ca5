"""The door of the sandbox."""

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
from builders.sandbox import (
    beginning,
    outstanding,
    planner,
    revealing,
    runner,
)
from builders.sandbox.errors import PlanNotFound, PromotionNotFound
from builders.sandbox.events import PLAN_CREATED, PlanData
from builders.sandbox.gates import (
    gate as gate,
)
from builders.sandbox.means import Means
from builders.sandbox.overview import (
    get_overview as get_overview,
)
from builders.sandbox.records import (
    Abandoned,
    Ground,
    Order,
    Plan,
    PlanOverview,
    PlanStatus,
    Promotion,
)
from builders.sandbox.rehearsal import (
    Script as Script,
    rehearse as rehearse,
)
from builders.sandbox.reset import (
    reset_account as reset_account,
)
from builders.sandbox.simulate import (
    check_names as check_names,
    simulate_event as simulate_event,
)
from builders.sandbox.store import plans as plan_store, promotions as store
from builders.sandbox.wishes import Manifest
from builders.webhooks import service as webhooks

PLAN_KEPT = timedelta(days=30)
ABANDONED = timedelta(minutes=2)
ABANDONED_AT_ONCE = 1000


async def make_plan(
    database: Database,
    *,
    outbound: Outbound,
    ground: Ground,
    manifest: Manifest,
    actor: Actor,
    cooling_off: timedelta,
) -> Plan:
    """A reviewable plan from the live state to the manifest; a few statements for any number of resources.

    A plan with errors is stored too, `blocked`, with all of them. Takes the database, since name servers are asked
    about the URLs of webhooks. Publishes plan.created. Raises ProjectArchived.
    """
    urls = await webhooks.validate_urls(outbound, [wish.url for wish in manifest.webhooks])
    async with database.transaction() as conn:
        plan = await planner.draft(
            conn, ground=ground, manifest=manifest, actor=actor, urls=urls, cooling_off=cooling_off
        )
        await plan_store.insert_plan(conn, plan=plan)
        news = PlanData(id=plan.id, manifest=plan.manifest, status=plan.status)
        await outbox.publish(conn, PLAN_CREATED, account_id=ground.account_id, data=news)
    return plan


async def list_plans(
    conn: Conn, *, account_id: UUID, page: PageRequest, status: PlanStatus | None = None
) -> Page[PlanOverview]:
    """The account's plans without their actions, newest first."""
    found = await plan_store.list_plans(
        conn, account_id=account_id, status=status, before=page.before_id, limit=page.limit + 1, now=clock.now()
    )
    return page.cut(found, lambda plan: [str(plan.id)])


async def get_plan(conn: Conn, *, account_id: UUID, plan_id: UUID) -> Plan:
    """A plan of the account. Raises PlanNotFound."""
    plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=plan_id)
    if plan is None:
        raise PlanNotFound
    return plan


async def promote(
    database: Database, *, outbound: Outbound, account_id: UUID, order: Order, actor: Actor, means: Means
) -> Promotion:
    """Executes a reviewed plan; called again, it goes on where it stopped and does nothing twice.

    With `resume` it also tries again what failed or was left out, as far as that still stands as planned. A large
    one is given as it stands, while a job goes on with it. Secrets that were made are in the answer of the first
    call after they were, and in no other.

    Takes the database, since each batch of steps is a transaction of its own. Raises PlanNotFound, PlanBlocked,
    PlanDigestMismatch, PlanExpired, ConfirmDeletesMismatch, TotalExceeded, PlanStale, EmailUnverified,
    PromotionRunning, ProjectArchived.
    """
    promotion_id, is_large = await beginning.begin(
        database, outbound=outbound, account_id=account_id, order=order, actor=actor
    )
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    if is_large:
        async with database.connection() as conn:
            promotion = await runner.get(conn, **owner)
    else:
        promotion = await runner.run(database, **owner, means=means)
    async with database.connection() as conn:
        promotion = await outstanding.find_outstanding(conn, account_id=account_id, promotion=promotion)
    return await revealing.reveal(database, account_id=account_id, promotion=promotion, keyring=means.keyring)


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """A promotion with its steps. Raises PromotionNotFound."""
    promotion = await store.find_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    if promotion is None:
        raise PromotionNotFound
    return await outstanding.find_outstanding(conn, account_id=account_id, promotion=promotion)


async def list_abandoned(conn: Conn) -> list[Abandoned]:
    """Promotions that have been running for minutes, the longest first: their process died, most likely."""
    return await store.list_abandoned(conn, before=clock.now() - ABANDONED, limit=ABANDONED_AT_ONCE)


async def finish(database: Database, *, account_id: UUID, promotion_id: UUID, means: Means) -> Promotion:
    """Goes on with a promotion until it has ended; one that has is given as it is. Raises PromotionNotFound."""
    return await runner.run(database, account_id=account_id, promotion_id=promotion_id, means=means)


async def prune(conn: Conn) -> int:
    """Forgets plans of a month ago that were never promoted; their number."""
    return await plan_store.prune_plans(conn, before=clock.now() - PLAN_KEPT)
