"""Promote a plan: start, run, and add outstanding confirmations, open invoices and new secrets to the result."""

from dataclasses import replace
from uuid import UUID

from builders.aliases import service as aliases
from builders.invoices import service as invoices
from builders.kit.db.connections import Conn, Database
from builders.kit.http.callers import Actor
from builders.kit.outbound.client import Outbound
from builders.kit.process.secret_keys import Keyring
from builders.sandbox.promotion.run import read_promotion, run_promotion
from builders.sandbox.promotion.start import start as start_promotion
from builders.sandbox.records import MOST_SHOWN, ActionKind, Promotion, PromotionRequest, Step, StepStatus
from builders.sandbox.resources.kinds import RunParameters
from builders.sandbox.resources.webhooks import is_secret_made
from builders.sandbox.store import plans as plan_store
from builders.webhooks import service as webhooks


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

    With `resume` it also retries failed and skipped steps, unless what they depend on has changed. A job executes
    a large promotion, which is returned as `running`. New secrets are in one response only.

    Take the database, since each batch of steps is a transaction. Raise PlanNotFound, PlanBlocked,
    PlanDigestMismatch, PlanExpired, ConfirmDeletesMismatch, TotalExceeded, PlanStale, EmailUnverified,
    PromotionRunning, ProjectArchived.
    """
    promotion_id, is_large = await start_promotion(
        database, outbound=outbound, account_id=account_id, request=request, actor=actor
    )
    owner = {"account_id": account_id, "promotion_id": promotion_id}
    promotion = None if is_large else await run_promotion(database, **owner, parameters=parameters)
    async with database.connection() as conn:
        promotion = (
            await _add_outstanding(conn, account_id=account_id, promotion=promotion)
            if promotion
            else await get_promotion(conn, **owner)
        )
    return await _reveal_secrets(database, account_id=account_id, promotion=promotion, keyring=parameters.keyring)


async def get_promotion(conn: Conn, *, account_id: UUID, promotion_id: UUID) -> Promotion:
    """Return a promotion with its steps, unconfirmed destinations and open invoices. Raise PromotionNotFound."""
    promotion = await read_promotion(conn, account_id=account_id, promotion_id=promotion_id)
    return await _add_outstanding(conn, account_id=account_id, promotion=promotion)


async def _add_outstanding(conn: Conn, *, account_id: UUID, promotion: Promotion) -> Promotion:
    """Return the promotion with the unconfirmed destinations and the open invoices, in two statements."""
    done = {
        step.resource_id
        for step in promotion.steps
        if step.status is StepStatus.SUCCEEDED and step.action is not ActionKind.DELETE
    }
    unconfirmed = await aliases.list_unconfirmed(
        conn, account_id=account_id, alias_ids=[each for each in done if each], limit=MOST_SHOWN
    )
    billed = {each.id for each in promotion.invoices}
    unpaid = await invoices.list_open(conn, account_id=account_id, invoice_ids=billed) if billed else frozenset()
    return replace(
        promotion, unconfirmed=unconfirmed, unpaid=[each for each in promotion.invoices if each.id in unpaid]
    )


async def _reveal_secrets(
    database: Database, *, account_id: UUID, promotion: Promotion, keyring: Keyring
) -> Promotion:
    """Return the promotion with the secrets that no response has shown; only one caller receives them."""
    made = [step for step in promotion.steps if _may_show(step)]
    if not made:
        return promotion
    async with database.transaction() as conn:
        plan = await plan_store.find_plan(conn, account_id=account_id, plan_id=promotion.plan_id)
        fresh = [step for step in made if plan and is_secret_made(plan.actions[step.position])]
        ids = [step.resource_id for step in fresh if step.resource_id]
        secrets = await webhooks.reveal_secrets(conn, keyring=keyring, account_id=account_id, destination_ids=ids)
    shown = [
        replace(step, signing_secret=secrets.get(step.resource_id) if step.resource_id else None)
        for step in promotion.steps
    ]
    return replace(promotion, steps=shown)


def _may_show(step: Step) -> bool:
    is_new = step.address.startswith("webhook.") and step.action is ActionKind.CREATE
    return is_new and step.status is StepStatus.SUCCEEDED
