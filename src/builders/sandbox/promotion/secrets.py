"""Reveal the secrets that a promotion created, once."""

from dataclasses import replace
from uuid import UUID

from builders.kit.db.connections import Database
from builders.kit.process.secret_keys import Keyring
from builders.sandbox.records import ActionKind, Promotion, Step, StepStatus
from builders.sandbox.resources.webhooks import is_secret_made
from builders.sandbox.store import plans as plan_store
from builders.webhooks import service as webhooks


async def reveal_secrets(
    database: Database, *, account_id: UUID, promotion: Promotion, keyring: Keyring
) -> Promotion:
    """Return the promotion with the secrets that were not shown yet; of concurrent callers, one receives them."""
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
